"""Infinities and NaN as constants, minimum and maximum with NaN, rounding at exact halves."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support import FLOATS, NUMPY, R, T, launch, refused_without

import ruda_core as ruda
from ruda_core import Array, Comptime, Tensor, bool_, f32, i32

NAN = float("nan")
TABLE = (math.inf, -math.inf, NAN, -0.0, 0.0, -1.5)
HALVES = (0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 3.5)


@ruda.kernel
def row_maximum(x: Tensor[T], out: Array[T]):
    row = ruda.ABSOLUTE_POS
    if row < len(out):
        best = T(-ruda.inf)
        for col in range(x.shape(1)):
            best = max(best, x[row, col])
        out[row] = best


@ruda.kernel
def constants(out: Array[T]):
    out[0] = ruda.inf
    out[1] = -ruda.inf
    out[2] = ruda.nan
    out[3] = math.inf
    out[4] = -math.inf
    out[5] = math.nan
    out[6] = float("inf")
    out[7] = float("-inf")
    out[8] = NAN


@pytest.mark.parametrize("name", FLOATS)
def test_infinities_and_nan_are_constants(client, name):
    with refused_without(client, name):
        got = launch(client, constants, units=1, out=np.zeros(9, NUMPY[name]))
    expected = [np.inf, -np.inf, np.nan, np.inf, -np.inf, np.nan, np.inf, -np.inf, np.nan]
    np.testing.assert_array_equal(got.astype(np.float64), expected)


@ruda.kernel
def from_a_table(at: Array[i32], out: Array[T]):
    i = ruda.ABSOLUTE_POS
    out[i] = TABLE[at[i]]
    out[i + 6] = T(TABLE[i32(0)])


@pytest.mark.parametrize("mode", ["checked", "unchecked"])
@pytest.mark.parametrize("name", FLOATS)
def test_constant_arrays_hold_infinities_and_nan(client, name, mode):
    at = np.array([5, 4, 3, 2, 1, 0], np.int32)
    with refused_without(client, name):
        out = client.tensor(np.zeros(12, NUMPY[name]))
        run = from_a_table.launch if mode == "checked" else from_a_table.launch_unchecked
        run(client, 1, 6, client.tensor(at), out)
        got = out.numpy().astype(np.float64)
    expected = np.array([TABLE[k] for k in at] + [np.inf] * 6)
    np.testing.assert_array_equal(got, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(expected[numbers]))


@pytest.mark.parametrize("name", FLOATS)
def test_row_maximum_from_minus_infinity(client, name):
    kind = NUMPY[name]
    with refused_without(client, name):
        got = launch(client, row_maximum, np.array([[-3, -7]], kind), units=1, out=np.zeros(1, kind))
        empty = launch(client, row_maximum, np.zeros((1, 0), kind), units=1, out=np.zeros(1, kind))
    assert got.astype(float).tolist() == [-3.0]
    assert empty.astype(float).tolist() == [-np.inf]
    if name == "f32":
        assert empty.view(np.uint32)[0] == 0xFF800000


@ruda.kernel
def classify(x: Array[T], out: Tensor[bool_]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        out[0, i] = ruda.isnan(x[i])
        out[1, i] = ruda.isinf(x[i])
        out[2, i] = ruda.isfinite(x[i])
        out[3, i] = x[i] != x[i]
        out[4, i] = x[i] == x[i]
        out[5, i] = x[i] == ruda.inf
        out[6, i] = x[i] > ruda.nan
        out[7, i] = not x[i] < 1.0
        out[8, i] = x[i] != ruda.nan


@pytest.mark.parametrize("name", FLOATS)
def test_nan_and_infinity_are_told_apart(client, name):
    x = np.array([1, -0.0, np.inf, -np.inf, np.nan, 100, -np.nan], NUMPY[name])
    with refused_without(client, name):
        got = launch(client, classify, x, units=x.size, out=np.zeros((9, x.size), np.bool_))
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        expected = [
            np.isnan(wide), np.isinf(wide), np.isfinite(wide), wide != wide, wide == wide, wide == np.inf,
            np.zeros(x.size, bool), ~(wide < 1), np.ones(x.size, bool),
        ]  # fmt: skip
    np.testing.assert_array_equal(got, expected)


@ruda.kernel
def extremes(x: Array[T], y: Array[T], out: Tensor[T]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        out[0, i] = min(x[i], y[i])
        out[1, i] = max(x[i], y[i])
        out[2, i] = ruda.minimum(x[i], y[i])
        out[3, i] = ruda.maximum(x[i], y[i])
        out[4, i] = ruda.fmin(x[i], y[i])
        out[5, i] = ruda.fmax(x[i], y[i])
        out[6, i] = max(x[i], 1.0)
        out[7, i] = max(1.0, x[i])
        out[8, i] = min(x[i], NAN)


@pytest.mark.parametrize("name", FLOATS)
def test_minimum_and_maximum_with_nan_in_either_place(client, name):
    values = np.array([np.nan, 1, -2, np.inf, -np.inf, 0.5], NUMPY[name])
    x, y = np.repeat(values, values.size), np.tile(values, values.size)
    with refused_without(client, name):
        got = launch(client, extremes, x, y, units=x.size, out=np.zeros((9, x.size), x.dtype))
    a, b = x.astype(np.float64), y.astype(np.float64)
    low, high, one = np.minimum(a, b), np.maximum(a, b), np.maximum(a, 1.0)
    expected = (low, high, low, high, np.fmin(a, b), np.fmax(a, b), one, one, np.full(a.size, np.nan))
    for k, right in enumerate(expected):
        np.testing.assert_array_equal(got[k].astype(np.float64), right, err_msg=f"row {k}")


@ruda.kernel
def known_extremes(m: Comptime[float], out: Array[f32]):
    out[0] = min(1.0, m)
    out[1] = min(m, 1.0)
    out[2] = max(1.0, m)
    out[3] = max(m, 1.0)
    out[4] = min(2.0, m, 1.0)
    out[5] = max(2, 1, ruda.nan)
    out[6] = min((1.0, NAN))
    out[7] = max(TABLE)
    out[8] = min(0, max(m, 0))
    out[9] = ruda.minimum(1.0, m)
    out[10] = min(2.0, m, f32(1.0))
    out[11] = min(3, 2.5, 2) / 4


def test_minimum_and_maximum_of_constants_with_nan_in_any_place(client):
    got = launch(client, known_extremes, NAN, units=1, out=np.zeros(12, np.float32))
    np.testing.assert_array_equal(got, [np.nan] * 11 + [0.5])


@ruda.kernel
def reduce_maximum(x: Array[f32], out: Array[f32]):
    best, number = x[0], x[0]
    for i in range(1, len(x)):
        best = max(best, x[i])
        number = ruda.fmax(number, x[i])
    out[0], out[1] = best, number


@pytest.mark.parametrize("row", [[2, np.nan, 5], [np.nan, 2, 5], [2, 5, np.nan]], ids=str)
def test_maximum_of_a_row_does_not_depend_on_the_order(client, row):
    got = launch(client, reduce_maximum, np.array(row, np.float32), units=1, out=np.zeros(2, np.float32))
    np.testing.assert_array_equal(got, np.array([np.nan, 5], np.float32))


@ruda.kernel
def clamps(x: Array[T], out: Array[T]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        out[i] = ruda.clamp(x[i], -1, 2)


def test_clamp_keeps_nan(client):
    x = np.array([np.nan, -3, 0.5, 9, np.inf, -np.inf], np.float32)
    got = launch(client, clamps, x, units=x.size, out=np.zeros_like(x))
    np.testing.assert_array_equal(got, np.clip(x, np.float32(-1), np.float32(2)))


@ruda.kernel
def roundings(x: Array[T], out: Tensor[T]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        out[0, i] = round(x[i])
        out[1, i] = ruda.floor(x[i])
        out[2, i] = ruda.ceil(x[i])
        out[3, i] = ruda.trunc(x[i])


@ruda.kernel
def rounded_constants(out: Array[R]):
    for k in ruda.unroll(range(len(HALVES))):
        out[k] = round(HALVES[k])


@pytest.mark.parametrize("name", FLOATS)
def test_rounding_at_exact_halves_goes_to_even(client, name):
    x = np.array([*HALVES, 0.49, 0.51, 7.0, -99.5, 100.5, np.inf, -np.inf, np.nan], NUMPY[name])
    with refused_without(client, name):
        got = launch(client, roundings, x, units=x.size, out=np.zeros((4, x.size), x.dtype))
        folded = launch(client, rounded_constants, units=1, out=np.zeros(len(HALVES), x.dtype))
    wide = x.astype(np.float64)
    assert got[0, : len(HALVES)].astype(float).tolist() == [0, 2, 2, 0, -2, -2, 4]
    for row, function in zip(got, (np.rint, np.floor, np.ceil, np.trunc), strict=True):
        np.testing.assert_array_equal(row.astype(np.float64), function(wide))
    assert folded.astype(float).tolist() == [0, 2, 2, 0, -2, -2, 4]
