"""Comparisons that some compilers get wrong."""

from __future__ import annotations

import numpy as np
import pytest
from support import refused_without

import ruda_core as ruda
from ruda_core import Array, f32, i8, i16, i32, i64, u8, u32, u64


@ruda.kernel
def signed(x: Array[i8], out: Array[i32]):
    i = ruda.ABSOLUTE_POS
    v = i64(x[i])
    out[i] = (
        (1 if v > 1 else 0) + (2 if v < -1 else 0) + (4 if v <= i64(i32(1)) else 0) + (8 if v >= 300 else 0)
    )


@ruda.kernel
def unsigned(x: Array[u8], out: Array[i32]):
    i = ruda.ABSOLUTE_POS
    v = u64(x[i])
    out[i] = (1 if v > 1 else 0) + (2 if v < 200 else 0) + (4 if v != 5 else 0) + (8 if v < 300 else 0)


@pytest.mark.parametrize("kernel", [signed, unsigned], ids=["signed", "unsigned"])
def test_widened_values_against_constants(client, kernel):
    dtype = np.int8 if kernel is signed else np.uint8
    x = np.arange(256, dtype=np.uint8).view(dtype)
    out = client.zeros(256, np.int32)
    with refused_without(client, "i64"):
        kernel.launch(client, 4, 64, client.tensor(x), out)
    v = x.astype(np.int64)
    if kernel is signed:
        right = (v > 1) + 2 * (v < -1) + 4 * (v <= 1)
    else:
        right = (v > 1) + 2 * (v < 200) + 4 * (v != 5) + 8
    np.testing.assert_array_equal(out.numpy(), right)


@ruda.kernel
def negated(x: Array[i16], y: Array[i16], out: Array[i32]):
    i = ruda.ABSOLUTE_POS
    v = -x[i]
    w = x[i] * (-(x[i] ** 0))
    z = ~x[i] + 1
    out[i] = i32(v >> y[i]) + (100000 if v <= y[i] else 0) + i32(ruda.sign(0 - x[i]))
    out[i + 8] = i32(ruda.clamp(w, y[i], w)) + (100000 if z <= y[i] else 0)


def test_the_least_number_is_its_own_negative(client):
    x = np.array([-32768, -32767, -1, 0, 1, 32767, -32768, -32768], np.int16)
    y = np.array([15, 15, 15, 1, 2, 3, 0, 20], np.int16)
    out = client.zeros(16, np.int32)
    negated.launch(client, 1, 8, client.tensor(x), client.tensor(y), out)
    v = -x
    right = (v >> np.minimum(y, 15)).astype(np.int32) + 100000 * (v <= y) + np.sign(v)
    clamped = np.minimum(np.maximum(v, y), v).astype(np.int32) + 100000 * (v <= y)
    np.testing.assert_array_equal(out.numpy(), np.concatenate([right, clamped]))


@ruda.kernel
def never_negative(x: Array[f32], out: Array[i32]):
    i = ruda.ABSOLUTE_POS
    a = ruda.abs(x[i])
    out[i] = (
        (1 if a > -1.0 else 0)
        + (2 if a >= 0.0 else 0)
        + (4 if -a < 1.0 else 0)
        + (8 if -a <= 0.0 else 0)
        + (16 if not (a < -1.0) else 0)
        + (32 if ruda.sqrt(x[i]) > -1.0 else 0)
        + (64 if x[i] * x[i] >= 0.0 else 0)
        + (128 if a > -1.0 and a != 2.0 else 0)
    )


def test_nan_is_not_above_what_no_number_is_below(client):
    x = np.array([np.nan, 2.0, 0.0, np.inf] * 16, np.float32)
    out = client.zeros(64, np.int32)
    never_negative.launch(client, 1, 64, client.tensor(x), out)
    np.testing.assert_array_equal(out.numpy(), [16, 127, 255, 255] * 16)


@ruda.kernel
def doubled(x: Array[f32], out: Array[i32]):
    i = ruda.ABSOLUTE_POS
    twice = i64(x[i]) * 2
    out[i] = (1 if twice >= -2 else 0) + (2 if twice < 6 else 0) + (4 if i64(x[i]) << 1 > 6 else 0)


def test_doubled_values_against_constants(client):
    x = np.array([-40.0, -2.5, -1.0, 0.0, 2.0, 3.5, 4.0, 1e6] * 8, np.float32)
    out = client.zeros(64, np.int32)
    with refused_without(client, "i64"):
        doubled.launch(client, 1, 64, client.tensor(x), out)
    twice = x.astype(np.int64) * 2
    np.testing.assert_array_equal(out.numpy(), (twice >= -2) + 2 * (twice < 6) + 4 * (twice > 6))


@ruda.kernel
def counted(x: Array[f32], out: Array[f32]):
    i = ruda.ABSOLUTE_POS
    v = x[i]
    for _ in range(-3, 1):
        v = ruda.select(x[i] > 5.0, f32(i64(v) != 0), v + ruda.abs(f32(300.0)))
    k = i32(-3)
    while k < 1:
        v = ruda.select(x[i] > 5.0, f32(i64(v) != 0), v + ruda.abs(f32(20.0)))
        k += 1
    k = i32(-2)
    while k < 1:
        v = ruda.select(x[i] > 5.0, f32(i64(v) != 0), v + ruda.abs(f32(3.0)))
        k += 1
    out[i] = v


def test_loops_from_below_zero_to_zero(client):
    x = np.arange(64, dtype=np.float32) / 8
    out = client.zeros(64, np.float32)
    with refused_without(client, "i64"):
        counted.launch(client, 1, 64, client.tensor(x), out)
    np.testing.assert_array_equal(out.numpy(), np.where(x > 5, 1, x + 1289).astype(np.float32))


@ruda.kernel
def finite(x: Array[u32], y: Array[f32], z: Array[u8], out: Array[i32]):
    i = ruda.ABSOLUTE_POS
    v = x[i]
    w = y[i]
    q = z[i]
    odd = ~(i64(w) // i64(v))
    zeros = ruda.local(u64, 5)
    for k in range(5):
        zeros[k] = u64(0)
    v = ruda.select(not odd, ruda.rem_trunc(u32(1), x[65]), ruda.reverse_bits(u32(w)))
    if ruda.isfinite(ruda.trunc(f32(q) / f32(q))):
        out[i] = 1


def test_nan_is_not_finite_when_it_was_truncated(client):
    x = np.arange(1, 97, dtype=np.uint32)
    y = np.arange(96, dtype=np.float32) * 2.5 - 20
    z = np.arange(96, dtype=np.uint8) % 4
    out = client.zeros(96, np.int32)
    with refused_without(client, "i64"):
        finite.launch(client, 3, 32, client.tensor(x), client.tensor(y), client.tensor(z), out)
    np.testing.assert_array_equal(out.numpy(), z != 0)


@ruda.kernel
def bounded(x: Array[i32], y: Array[i32], out: Array[i32]):
    i = ruda.ABSOLUTE_POS
    v = x[i]
    out[i] = ruda.clamp(max(ruda.div_trunc(v, v), -v), v, -y[i])


def test_negations_within_min_and_max(client):
    x = np.arange(-32, 32, dtype=np.int32) * 1000003
    y = -np.abs(x[::-1]) - 5
    out = client.zeros(64, np.int32)
    bounded.launch(client, 1, 64, client.tensor(x), client.tensor(y), out)
    np.testing.assert_array_equal(out.numpy(), np.minimum(np.abs(x), -y))


@ruda.kernel
def shifted_divisors(s: u64, x: Array[u32], out: Array[u64]):
    i = ruda.ABSOLUTE_POS
    v = x[i]
    out[i] = ruda.rem_trunc(u64(7), s)
    out[i] = ruda.clz(s % (u64(2) >> v)) + 100 * ((s + u64(i)) // (u64(8) >> v))


def test_a_divisor_that_was_shifted_away(client):
    x = np.arange(64, dtype=np.uint32) % 8
    out = client.zeros(64, np.uint64)
    with refused_without(client, "i64"):
        shifted_divisors.launch(client, 2, 32, 3**30, client.tensor(x), out)
    right = []
    for i, v in enumerate(x.tolist()):
        small, large = 2 >> v, 8 >> v
        rest = 3**30 % small if small else 0
        right.append(64 - rest.bit_length() + 100 * ((3**30 + i) // large if large else 0))
    np.testing.assert_array_equal(out.numpy(), np.array(right, np.uint64))
