"""Conversions between numbers: rounding to narrow floats, and floats out of an integer's range."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from support import FLOATS, INTEGERS, NUMPY, cast_to_each, edge_integers, has, launch, refused_without, usable

import ruda_core as ruda
from ruda_core import Array, bf16, f32, i32, u32

OUTSIDE = 3e9
BELOW = -3e9


def converted(client, x, name):
    return next(got for _, got in cast_to_each(client, x, [name]))


def test_f32_to_bf16_rounds_to_nearest_even(client):
    x = np.array([3.14, 1.00390625, 1.01171875, -1e-8], np.float32)
    assert converted(client, x, "bf16").view(np.uint16).tolist() == [0x4049, 0x3F80, 0x3F82, 0xB22C]


def test_nan_with_low_payload_stays_nan_in_bf16(client):
    x = np.array([0x7F800001, 0xFF800001, 0x7FC00000, 0x7FFFFFFF], np.uint32).view(np.float32)
    assert np.isnan(converted(client, x, "bf16").astype(np.float32)).all()
    assert np.isnan(converted(client, x, "f16")).all()


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_f32_to_narrow_floats_over_their_whole_range(client, name):
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 2**32, 4000, dtype=np.uint64).astype(np.uint32)
    x = np.concatenate([bits.view(np.float32), rng.normal(0, 100, 500).astype(np.float32)])
    x = np.append(x, np.array([65504, 65519, 65520, 3.4e38, 6.1e-5, 1e-45, 0, -0.0], np.float32))
    with np.errstate(all="ignore"):
        expected = x.astype(NUMPY[name])
    normal = np.abs(expected.astype(np.float64)) >= float(ml_dtypes.finfo(NUMPY[name]).smallest_normal)
    kept = normal | np.isnan(x) | (x == 0)
    if name == "f16" and client.features().f16_subnormals:
        kept |= np.abs(x) >= 2**-14 * 2**-10  # subnormals of f16, not of f32
    got = converted(client, x, name)
    np.testing.assert_array_equal(got[kept].astype(np.float64), expected[kept].astype(np.float64))


@ruda.kernel
def narrow_arithmetic(x: Array[bf16], y: Array[bf16], out: Array[bf16]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        out[i] = x[i] * y[i] + y[i]


def test_each_operation_on_bf16_rounds(client):
    rng = np.random.default_rng(5)
    x, y = (rng.normal(0, 10, 500).astype(ml_dtypes.bfloat16) for _ in range(2))
    got = launch(client, narrow_arithmetic, x, y, units=500, out=np.zeros_like(x))
    np.testing.assert_array_equal(got.astype(np.float32), (x * y + y).astype(np.float32))


def test_f32_to_integers_truncates_and_saturates(client):
    nan = np.nan
    got = converted(client, np.array([-3.7, 3e9, -3e9, nan], np.float32), "i32")
    assert got.tolist() == [-3, 2147483647, -2147483648, 0]
    got = converted(client, np.array([3.9, -1.0, 5e9, nan], np.float32), "u32")
    assert got.tolist() == [3, 0, 4294967295, 0]


def saturated(x, name):
    info = np.iinfo(NUMPY[name])
    wide = [float(v) for v in x]
    exact = [0 if v != v else info.max if v == np.inf else info.min if v == -np.inf else int(v) for v in wide]
    return [min(max(v, int(info.min)), int(info.max)) for v in exact]


@pytest.mark.parametrize("source", FLOATS)
def test_floats_saturate_exactly_in_every_integer(client, source):
    ends = [2.0**bits for bits in (7, 8, 15, 16, 31, 32, 63, 64)]
    ends += [v - 1 for v in ends] + [v / 2 for v in ends]
    inner = [0.0, 0.99, 1.5, 127.5, 255.9, 32767.5, 65504.0, 1e30, np.inf]
    with np.errstate(all="ignore"):
        x = np.array([*ends, *inner, *(-v for v in (*ends, *inner)), np.nan]).astype(NUMPY[source])
    if source in ("f32", "f64"):
        x = np.concatenate([x, np.nextafter(x, -np.inf), np.nextafter(x, np.inf)])
        x = x[(np.abs(x) > 1e-30) | (x == 0) | np.isnan(x)]
    if not has(client, source):
        with refused_without(client, source):
            converted(client, x, "i32")
    for target, got in cast_to_each(client, x, usable(client, INTEGERS)):
        assert got.tolist() == saturated(x, target), target


@ruda.kernel
def constant_casts(x: Array[f32], out: Array[i32], unsigned: Array[u32]):
    out[0] = i32(OUTSIDE)
    out[1] = i32(BELOW)
    out[2] = i32(ruda.nan)
    out[3] = int(x[0])
    out[4] = i32(f32(2147483647))
    unsigned[0] = u32(BELOW)
    unsigned[1] = u32(f32(-1.0))
    unsigned[2] = u32(x[1] * 1e9)


def test_folded_casts_give_what_run_time_gives(client):
    x = np.array([-3.7, 5.0], np.float32)
    out = np.zeros(5, np.int32), np.zeros(3, np.uint32)
    got, unsigned = launch(client, constant_casts, x, units=1, out=out)
    assert got.tolist() == [2147483647, -2147483648, 0, -3, 2147483647]
    assert unsigned.tolist() == [0, 0, 4294967295]


@pytest.mark.parametrize("source", INTEGERS)
def test_integers_round_to_nearest_even_in_floats(client, source):
    if not has(client, source):
        pytest.skip(f"no {source}")
    info = np.iinfo(NUMPY[source])
    x = np.random.default_rng(9).integers(info.min, info.max, 300, dtype=NUMPY[source], endpoint=True)
    ties = [2**24 + 1, 2**24 + 3, 2**11 + 1, 2**8 + 1, 2**25 + 2, 65519, 65520, 2**53 + 1, 2**63 - 1]
    ties += [-t for t in ties] + [2**16 + 2**8 + 1, 2**40 + 2**32 + 1, 2**30 + 2**22 + 1]
    fit = [t for t in ties if info.min <= t <= info.max]
    x = np.concatenate([x, edge_integers(source), np.array(fit, NUMPY[source])])
    for target, got in cast_to_each(client, x, usable(client, FLOATS)):
        expected = [nearest_even(int(v), target) for v in x]
        np.testing.assert_array_equal(got.astype(np.float64), expected, err_msg=target)


def nearest_even(value, name):
    """The float of the dtype nearest to an integer, by exact arithmetic."""
    info = ml_dtypes.finfo(NUMPY[name])
    shift = max(abs(value).bit_length() - (info.nmant + 1), 0)
    quotient, rest = divmod(abs(value), 1 << shift)
    half = (1 << shift) >> 1
    if shift and (rest > half or (rest == half and quotient % 2)):
        quotient += 1
    magnitude = float(quotient << shift)
    if magnitude > float(info.max):
        magnitude = np.inf
    return -magnitude if value < 0 else magnitude
