"""arcsin, arccos, arctan, arctan2 for f32.

Odd polynomials (our own near-minimax fits) on 0 to 0.5 and 0 to tan(pi/8); beyond these the reductions
of Cephes (S. Moshier): arcsin(x) = pi/2 - 2 arcsin(sqrt((1 - x)/2)), arctan(x) = pi/4 +
arctan((x - 1)/(x + 1)) of the ratio brought below 1. Quotients and roots are corrected ones.

Largest errors in ULP over a million f32, measured by tests/unit/passes/test_software.py:
arcsin 2.3, arccos 1.1, arctan 2.6, arctan2 2.6.
"""

from __future__ import annotations

from ruda_core.dtypes import f32, u32
from ruda_core.passes.software.convert import INFINITY, SIGN, is_nan
from ruda_core.passes.software.exact import quotient, square_root
from ruda_core.passes.software.expr import Value, polynomial
from ruda_core.passes.software.whole import absolute, copysign, magnitude_bits

_ASIN = (
    0.042271245270967484,
    0.024119235575199127,
    0.04548224061727524,
    0.07495206594467163,
    0.16666755080223083,
)
_ATAN = (
    -0.06079861521720886,
    0.10594723373651505,
    -0.14243698120117188,
    0.1999848335981369,
    -0.33333316445350647,
)
PI = 3.1415927410125732
PI_LOW = -8.742277657347586e-08
HALF_PI = 1.5707963705062866
HALF_PI_LOW = -4.371139000186241e-08
QUARTER_PI = 0.7853981852531433
_TAN_EIGHTH = 0.41421356797218323


def _arcsin_parts(a: Value) -> tuple[Value, Value, Value]:
    """Whether `a` is above a half, the argument of the polynomial, and its arcsine."""
    above = a > 0.5
    z = above.where(0.5 * (1 - a), a * a)
    root = above.where(square_root(above.where(z, 1)), a)
    return above, root, root + root * z * polynomial(z, _ASIN)


def _domain(x: Value, result: Value) -> Value:
    outside = magnitude_bits(x) > 0x3F800000
    return is_nan(x).where(x, outside.where(x.scope.opaque(f32, float("nan")), result))


def _unit(x: Value) -> Value:
    """|x| where it is at most 1, else 0."""
    return (magnitude_bits(x) > 0x3F800000).where(0, absolute(x))


def arcsin(x: Value) -> Value:
    """Inverse sine; NaN beyond 1."""
    a = _unit(x)
    above, _, value = _arcsin_parts(a)
    result = above.where(HALF_PI - (2 * value - HALF_PI_LOW), value)
    return _domain(x, copysign(result, x))


def arccos(x: Value) -> Value:
    """Inverse cosine; NaN beyond 1."""
    above, _, value = _arcsin_parts(_unit(x))
    negative = (x.bits(u32) & SIGN).ne(0)
    far = negative.where(PI - (2 * value - PI_LOW), 2 * value)
    signed = negative.where(-value, value)
    near = HALF_PI - (signed - HALF_PI_LOW)
    return _domain(x, above.where(far, near))


def _arctan_ratio(low: Value, high: Value) -> Value:
    """arctan(low / high) for 0 <= low <= high, high > 0."""
    turned = low > high * _TAN_EIGHTH
    numerator = turned.where(low - high, low)
    denominator = turned.where(low + high, high)
    t = quotient(numerator, denominator)
    z = t * t
    value = t + t * z * polynomial(z, _ATAN)
    return turned.where(QUARTER_PI + value, value)


def arctan(x: Value) -> Value:
    """Inverse tangent."""
    a = absolute(x)
    above = magnitude_bits(x) > 0x3F800000
    huge = magnitude_bits(x) > 0x4C800000  # 2**26: pi/2
    tiny = magnitude_bits(x) < 0x39000000
    y = (huge | tiny).where(1, a)
    value = _arctan_ratio(above.where(1, y), above.where(y, 1))
    value = above.where(HALF_PI - (huge.where(0, value) - HALF_PI_LOW), value)
    return (is_nan(x) | tiny).where(x, copysign(value, x))


def arctan2(y: Value, x: Value) -> Value:
    """The angle of the point (x, y), with the signs of zeros and infinities as NumPy has them."""
    ym, xm = magnitude_bits(y), magnitude_bits(x)
    both = ym.eq(INFINITY) & xm.eq(INFINITY)
    ay = both.where(y.like(1), absolute(y))
    ax = both.where(y.like(1), absolute(x))
    steep = ay > ax
    low, high = steep.where(ax, ay), steep.where(ay, ax)
    hm, lm = magnitude_bits(high), magnitude_bits(low)
    # Exponents that far apart decide alone; else both are brought near 1.
    apart = (hm > lm + (30 << 23)) | hm.eq(0) | (hm >= INFINITY)
    scale_up = hm < 0x20000000
    scale_down = hm > 0x5F000000
    factor = scale_up.where(2.0**80, scale_down.where(2.0**-70, y.like(1)))
    a = apart.where(1, low) * apart.where(1, factor)
    b = apart.where(1, high) * apart.where(1, factor)
    angle = _arctan_ratio(a, b)
    # Some devices divide by way of a reciprocal, and flush that of a large number.
    back = scale_down.where(2.0**-64, y.like(1))
    ratio = low / (hm.eq(0).where(1, high) * back) * back
    angle = apart.where(hm.eq(0).where(0, ratio), angle)
    angle = steep.where(HALF_PI - (angle - HALF_PI_LOW), angle)
    negative = (x.bits(u32) & SIGN).ne(0)
    angle = negative.where(PI - (angle - PI_LOW), angle)
    result = copysign(angle, y)
    return is_nan(x).where(x, is_nan(y).where(y, result))


__all__ = ["arccos", "arcsin", "arctan", "arctan2"]
