"""fma: the exact product and sum, rounded once.

Narrow floats go through f64, where the product is exact and the sum is rounded to odd, so that rounding
it again rounds once. f64 follows S. Boldo and G. Melquiond, "Emulation of FMA and correctly rounded
sums: proved algorithms using rounding to odd" (IEEE Transactions on Computers, 2008), and exact
fractions where its products could overflow or lose bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from ruda_core.conversions import to_bf16
from ruda_core.dtypes import DType, bf16, f64

_SPLIT = np.float64((1 << 27) + 1)
_LEAST, _GREATEST = np.float64(2.0**-400), np.float64(2.0**400)
_SUM_LIMIT = np.float64(2.0**1000)
_F64 = np.dtype(np.float64)


def _two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """The rounded sum, and what rounding lost."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def _odd_sum(a: Any, b: Any) -> Any:
    """The sum rounded to odd."""
    total, lost = _two_sum(a, b)
    bits = np.asarray(total).view(np.int64)
    even = (bits & 1 == 0) & (lost != 0) & np.isfinite(total) & np.isfinite(lost)
    away = np.where((lost > 0) == (total > 0), 1, -1)
    return np.where(even, bits + away, bits).view(_F64)


def _halves(a: Any) -> tuple[Any, Any]:
    big = _SPLIT * a
    high = big - (big - a)
    return high, a - high


def _two_product(a: Any, b: Any) -> tuple[Any, Any]:
    product = a * b
    (a1, a2), (b1, b2) = _halves(a), _halves(b)
    return product, a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2)


def _fused_f64(a: Any, b: Any, c: Any) -> Any:
    shape = np.broadcast_shapes(np.shape(a), np.shape(b), np.shape(c))
    a, b, c = (np.atleast_1d(x) for x in np.broadcast_arrays(a, b, c))
    product, low = _two_product(a, b)
    high, lost = _two_sum(c, low)
    total, more = _two_sum(product, high)
    result = np.asarray(total + _odd_sum(lost, more))
    plain = np.where(np.isfinite(a) & np.isfinite(b) & ~np.isfinite(c), c, a * b + c)
    finite = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    simple = ~finite | (a == 0) | (b == 0)  # nothing is lost, or nothing can be
    result = np.where(simple, plain, result)
    for at in zip(*np.nonzero(~simple & ~_safe(a, b, c)), strict=True):
        result[at] = _exact(float(a[at]), float(b[at]), float(c[at]))
    return result.reshape(shape)[()]


def _exact(a: float, b: float, c: float) -> float:
    """By fractions; the product is not zero."""
    total = Fraction(a) * Fraction(b) + Fraction(c)
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def _safe(a: Any, b: Any, c: Any) -> Any:
    """Where no step of the emulation can overflow or lose bits to underflow."""
    sizes = [np.abs(a), np.abs(b)]
    inside = [(x >= _LEAST) & (x <= _GREATEST) for x in sizes]
    return inside[0] & inside[1] & (np.abs(c) < _SUM_LIMIT)


def fma(dtype: DType) -> Callable[[Any, Any, Any], Any]:
    """`a * b + c` of this dtype with one rounding."""
    if dtype is f64:
        return _fused_f64
    narrow: Callable[[Any], Any] = to_bf16 if dtype is bf16 else lambda x: x.astype(dtype.numpy)

    def apply(a: Any, b: Any, c: Any) -> Any:
        exact_product = a.astype(_F64) * b.astype(_F64)
        return narrow(_odd_sum(exact_product, c.astype(_F64)))[()]

    return apply
