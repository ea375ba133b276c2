"""Exact rounding on the host: conversions, floors of quotients and fused products, one rounding each."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ruda_core.conformance.numbers.values import Values, numpy_dtype
from ruda_core.dtypes import BY_NAME

_FORMATS = {"f16": (11, -14, 15), "bf16": (8, -126, 127), "f32": (24, -126, 127), "f64": (53, -1022, 1023)}
"""Bits of the significand, least and largest exponent of normal numbers."""


def nearest(x: Values, name: str) -> Values:
    """f64 rounded once to a float dtype, to nearest even."""
    if name == "f64":
        return x
    digits, least, largest = _FORMATS[name]
    with np.errstate(all="ignore"):
        _, exponent = np.frexp(x)
        step = np.ldexp(1.0, np.maximum(exponent - 1, least) - digits + 1)
        rounded = np.where(np.isfinite(x), np.rint(x / step) * step, x)
        over = np.abs(rounded) >= 2.0 ** (largest + 1)
        return np.where(over, np.copysign(np.inf, x), rounded).astype(numpy_dtype(name))


def integer_to_float(x: Values, name: str) -> Values:
    """Integers of any width to a float dtype, rounded once."""
    if name == "f64" or x.dtype.itemsize < 8:
        return nearest(x.astype(np.float64), name)
    negative = x < 0
    magnitude = np.where(negative, ~x.astype(np.uint64) + np.uint64(1), x.astype(np.uint64))
    low = magnitude & np.uint64(0x7FF)
    sticky = (magnitude >> np.uint64(11) | (low != 0)) << np.uint64(11)
    kept = np.where(magnitude >> np.uint64(53) != 0, sticky, magnitude).astype(np.float64)
    return nearest(np.where(negative, -kept, kept), name)


def float_to_integer(x: Values, name: str) -> Values:
    """Truncated and saturated; NaN gives 0."""
    target, info = numpy_dtype(name), BY_NAME[name]
    whole = np.trunc(x.astype(np.float64))
    above, below = whole >= 2.0 ** (info.bits - (info.kind == "int")), whole < info.min
    inside = np.where(above | below | np.isnan(whole), 0, whole).astype(target)
    found: Values = np.where(below, target.type(info.min), inside)
    found[above] = info.max
    return found


def converted(x: Values, name: str) -> Values:
    """What the language's cast gives."""
    source_is_float = x.dtype.kind not in "biu"
    if name == "bool":
        return np.asarray(x != 0)
    if BY_NAME[name].is_float:
        return nearest(x.astype(np.float64), name) if source_is_float else integer_to_float(x, name)
    return float_to_integer(x, name) if source_is_float else np.asarray(x.astype(numpy_dtype(name)))


def rational(numerator: int, denominator: int) -> float:
    """The nearest f64; infinite when it is beyond."""
    try:
        return numerator / denominator
    except OverflowError:
        return float("inf") if (numerator < 0) == (denominator < 0) else float("-inf")


def floor_of_quotient(a: Values, b: Values, name: str) -> Values:
    """The floor of the exact quotient, rounded once; where it is no finite number, what division gives."""
    with np.errstate(all="ignore"):
        out = a.astype(np.float64) / b.astype(np.float64)
    for k, (x, y) in enumerate(
        zip(a.astype(np.float64).tolist(), b.astype(np.float64).tolist(), strict=True)
    ):
        if y == 0 or not (abs(x) < float("inf") and abs(y) < float("inf")):
            continue
        (xn, xd), (yn, yd) = x.as_integer_ratio(), y.as_integer_ratio()
        floor = xn * yd // (xd * yn)
        out[k] = _odd(floor, name) if floor else out[k] * 0
    return nearest(out, name)


def _odd(whole: int, name: str) -> float:
    """A whole number as f64, with what is cut off kept in the last bit when it will be rounded again."""
    extra = whole.bit_length() - 53
    if extra <= 0 or name == "f64":
        return rational(whole, 1)
    cut = abs(whole) >> extra
    kept = (cut | (cut << extra != abs(whole))) << extra
    return rational(-kept if whole < 0 else kept, 1)


def fused(a: Values, b: Values, c: Values) -> Values:
    """a * b + c, rounded once; f32 or f64."""
    with np.errstate(all="ignore"):
        if a.dtype == np.float32:
            return _fused32(a, b, c)
        out = np.where(np.isfinite(a) & np.isfinite(b) & np.isinf(c), c, a * b + c)
    finite = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    for k in np.flatnonzero(finite):
        exact = Fraction(float(a[k])) * Fraction(float(b[k])) + Fraction(float(c[k]))
        product_is_zero = a[k] == 0 or b[k] == 0
        if exact:
            out[k] = rational(exact.numerator, exact.denominator)
        elif not product_is_zero:
            out[k] = 0.0
    return out


def _fused32(a: Values, b: Values, c: Values) -> Values:
    product, addend = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    total = product + addend
    part = total - product
    error = (product - (total - part)) + (addend - part)
    even = (total.view(np.uint64) & np.uint64(1)) == 0
    inexact = np.isfinite(total) & (error != 0) & even
    towards = np.where(error > 0, np.inf, -np.inf)
    return nearest(np.where(inexact, np.nextafter(total, towards), total), "f32")
