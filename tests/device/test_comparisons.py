"""Comparisons that some compilers get wrong."""

from __future__ import annotations

import numpy as np
import pytest

import ruda_core as ruda
from ruda_core import Array, i8, i16, i32, i64, u8, u64


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
    if not client.features().dtypes["i64"].arithmetic:
        pytest.skip("the device lacks arithmetic:i64")
    dtype = np.int8 if kernel is signed else np.uint8
    x = np.arange(256, dtype=np.uint8).view(dtype)
    out = client.zeros(256, np.int32)
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
