"""Float rules on bare targets, against NumPy and exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from bare import apply, corners, pairs
from test_casts import agree, exact

from ruda_core.dtypes import DType, bf16, bool_, f16, f32, f64
from ruda_core.ir import build as b
from ruda_core.passes import values

ALL_FLOATS = [f16, bf16, f32, f64]
NUMPY = {
    "min": np.minimum,
    "max": np.maximum,
    "fmin": np.fmin,
    "fmax": np.fmax,
    "copysign": np.copysign,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.rint,
    "abs": np.abs,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
}


def reference(fn: str, dtype: DType, *args: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        wide = NUMPY[fn](*(a.astype(np.float64) for a in args))
    return wide if fn.startswith("is") else wide.astype(dtype.numpy)


@pytest.mark.parametrize("fn", ["floor", "ceil", "trunc", "round", "abs"])
@pytest.mark.parametrize("dtype", ALL_FLOATS, ids=str)
def test_rounding_and_abs(fn: str, dtype: DType) -> None:
    x = np.concatenate([corners(dtype), np.arange(-4, 4.25, 0.25).astype(dtype.numpy)])
    agree(apply(lambda p: b.math(fn, p), (dtype,), x), reference(fn, dtype, x), x)


@pytest.mark.parametrize("dtype", ALL_FLOATS, ids=str)
def test_sign(dtype: DType) -> None:
    x = corners(dtype)
    with np.errstate(all="ignore"):
        want = np.sign(x.astype(np.float64))
    got = apply(lambda p: b.math("sign", p), (dtype,), x).astype(np.float64)
    assert np.array_equal(got, want, equal_nan=True)


@pytest.mark.parametrize("fn", ["min", "max", "fmin", "fmax", "copysign"])
@pytest.mark.parametrize("dtype", ALL_FLOATS, ids=str)
def test_choices(fn: str, dtype: DType) -> None:
    x, y = pairs(dtype, dtype)
    got = apply(lambda p, q: b.math(fn, p, q), (dtype, dtype), x, y)
    same_zero = (x == 0) & (y == 0) if fn != "copysign" else np.zeros(len(x), bool)
    agree(got[~same_zero], reference(fn, dtype, x, y)[~same_zero], x[~same_zero])


@pytest.mark.parametrize("fn", ["isnan", "isinf", "isfinite"])
@pytest.mark.parametrize("dtype", ALL_FLOATS, ids=str)
def test_tests(fn: str, dtype: DType) -> None:
    x = corners(dtype)
    from ruda_core.ir import nodes as ir

    got = apply(lambda p: ir.Math(bool_, None, fn, (p,)), (dtype,), x, result=bool_)
    assert (got == reference(fn, dtype, x)).all()


@pytest.mark.parametrize("op", sorted({"<", "<=", ">", ">=", "==", "!="}))
@pytest.mark.parametrize("dtype", ALL_FLOATS, ids=str)
def test_comparisons(op: str, dtype: DType) -> None:
    x, y = pairs(dtype, dtype)
    got = apply(lambda p, q: b.compare(op, p, q), (dtype, dtype), x, y, result=bool_)
    want = [values.compare(op, float(p), float(q)) for p, q in zip(x, y, strict=True)]
    assert (got == np.array(want)).all()


def floor_of_exact_quotient(dtype: DType, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    out = []
    for p, q in zip(x.astype(float), y.astype(float), strict=True):
        if not math.isfinite(p) or not math.isfinite(q) or q == 0:
            with np.errstate(all="ignore"):
                out.append(float(np.floor_divide(np.float64(p), np.float64(q))))
            continue
        whole = math.floor(Fraction(p) / Fraction(q))
        out.append(
            values.rounded(dtype, Fraction(whole)) if whole else math.copysign(0.0, p) * math.copysign(1, q)
        )
    return np.array(out)


@pytest.mark.parametrize("dtype", ALL_FLOATS, ids=str)
def test_remainder_is_numpys(dtype: DType) -> None:
    x, y = pairs(dtype, dtype)
    with np.errstate(all="ignore"):
        want = (
            np.remainder(x, y)
            if dtype in (f32, f64)
            else np.remainder(x.astype(np.float32), y.astype(np.float32))
        )
    if dtype not in (f32, f64):
        want = exact(dtype, f32, want)
    agree(apply(lambda p, q: b.binary("%", p, q), (dtype, dtype), x, y), want, np.stack([x, y], 1))


@pytest.mark.parametrize("dtype", [f32, f64, f16], ids=str)
def test_floor_quotient(dtype: DType) -> None:
    x, y = pairs(dtype, dtype)
    got = apply(lambda p, q: b.binary("//", p, q), (dtype, dtype), x, y).astype(float)
    want = floor_of_exact_quotient(dtype, x, y)
    with np.errstate(all="ignore"):
        large = ~(np.abs(want) < 2.0**31)
    agree(got[~large], want[~large], np.stack([x, y], 1)[~large])
    finite = large & np.isfinite(want)
    assert np.allclose(got[finite], want[finite], rtol=2**-9 if dtype is f16 else 2**-22)
    assert np.array_equal(got[~np.isfinite(want)], want[~np.isfinite(want)], equal_nan=True)


@pytest.mark.parametrize("dtype", ALL_FLOATS, ids=str)
@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_nonfinite_constants(value: float, dtype: DType) -> None:
    x = np.zeros(3, dtype.numpy)
    got = apply(lambda p: b.const(dtype, value), (dtype,), x).astype(float)
    assert np.array_equal(got, np.full(3, value), equal_nan=True)


def test_a_row_maximum_that_starts_at_minus_infinity() -> None:
    x = np.array([-3.0, -7.0, np.nan], np.float32)
    got = apply(lambda p: b.math("max", b.const(f32, -math.inf), p), (f32,), x)
    agree(got, x, x)
