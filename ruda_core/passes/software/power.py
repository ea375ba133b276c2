"""pow, cbrt, rsqrt, hypot for f32.

pow is 2**(y log2 x) with log2 x as an unevaluated sum of two f32 (about 2**-32 relative): atanh's series
of (m - 1)/(m + 1) with its leading term exact, products and sums with their errors (Dekker, Knuth). The
cube root is Newton's iteration on the inverse root, which needs no division, and one residual step.

Largest errors in ULP over a million f32, measured by tests/unit/passes/test_software.py:
pow 1.3, cbrt 0.5, rsqrt 1.5, hypot 1.2.
"""

from __future__ import annotations

from ruda_core.dtypes import f32, i32, u32
from ruda_core.passes.software.convert import INFINITY, SIGN, is_nan
from ruda_core.passes.software.exact import square_root, two_product, two_sum
from ruda_core.passes.software.exponential import clamp, exp2_reduced, nearest, scaled
from ruda_core.passes.software.expr import Value, polynomial
from ruda_core.passes.software.logarithm import safe, split
from ruda_core.passes.software.modulo import power_of_two
from ruda_core.passes.software.whole import absolute, copysign, magnitude_bits

_ATANH = (0.11706751585006714, 0.14273734390735626, 0.20000073313713074)  # from the fifth power on
_THIRD = 0.3333333432674408
_THIRD_LOW = -9.934107481068821e-09
_CBRT = (
    0.0006791051127947867,
    -0.014671546407043934,
    0.11870261281728745,
    -0.46448832750320435,
    1.3544660806655884,
)
_TWO_LOG2E = 2.885390043258667
_TWO_LOG2E_LOW = 3.851926067000022e-08
_ONE = 0x3F800000


def _log2_parts(x: Value) -> tuple[Value, Value]:
    """log2 of a positive finite `x` as a sum of two."""
    f, e = split(x)
    t, t_low = two_sum(f.like(2), f)
    s = f / t
    p, error = two_product(s, t)
    s_low = (((f - p) - error) - s * t_low) / t
    # s**3 / 3 with its errors: rounded, it alone would cost two units of the last place of large powers.
    z, z_error = two_product(s, s)
    cube, cube_error = two_product(z, s)
    third, third_error = two_product(cube, cube.like(_THIRD))
    third_error = third_error + (cube * _THIRD_LOW + (cube_error + z_error * s) * _THIRD)
    high, low = two_sum(s, third)
    low = low + (third_error + (s_low + s_low * z) + cube * z * polynomial(z, _ATANH))
    p, error = two_product(high, high.like(_TWO_LOG2E))
    error = error + (high * _TWO_LOG2E_LOW + low * _TWO_LOG2E)
    total, rest = two_sum(e, p)
    return total, rest + error


def pow(x: Value, y: Value) -> Value:
    """`x ** y`, NumPy's `power`: negative bases with whole exponents included."""
    s = x.scope
    xm, ym = magnitude_bits(x), magnitude_bits(y)
    a = safe(absolute(x))
    b = clamp(y, -(2.0**33), 2.0**33)  # beyond, any base but 1 overflows or vanishes
    high, low = _log2_parts(a)
    p, error = two_product(b, high)
    error = error + b * low
    k = clamp(p, -200.0, 200.0)
    n = nearest(k)
    value = scaled(exp2_reduced((k - n.to(f32)) + (magnitude_bits(p) > 0x43480000).where(0, error)), n)
    # Whole and odd exponents, for negative bases.
    large = ym >= 0x4B800000  # 2**24: all even
    small_y = large.where(0, is_nan(y).where(0, y))
    as_int = small_y.to(i32)
    whole = large | as_int.to(f32).eq(small_y)
    odd = ~large & whole & (as_int & 1).ne(0)
    negative = (x.bits(u32) & SIGN).ne(0)
    nan, infinity = s.opaque(f32, float("nan")), s.opaque(f32, float("inf"))
    falls = (y.bits(u32) & SIGN).ne(0)
    edge = xm.eq(0) | xm.eq(INFINITY)
    at_edge = (xm.eq(0) ^ falls).where(y.like(0), infinity)
    value = edge.where(at_edge, value)
    value = (negative & odd).where(-value, value)
    value = (negative & ~whole & ~edge).where(nan, value)
    value = is_nan(x).where(x, is_nan(y).where(y, value))
    one = ym.eq(0) | x.bits(u32).eq(_ONE) | (xm.eq(_ONE) & ym.eq(INFINITY))
    return one.where(1, value)


def cbrt(x: Value) -> Value:
    """The cube root."""
    bits = magnitude_bits(x)
    zero = bits.eq(0)
    keeps = zero | (bits >= INFINITY)
    a = keeps.where(1, absolute(x))
    subnormal = bits < 0x00800000
    m = (subnormal & ~keeps).where((bits & 0x7FFFFF).to(f32), a)
    word = m.bits(u32)
    # Exponent as 3 * third + rest, with an offset of 150 so that it stays positive.
    exponent = (word >> 23) + 23 - (subnormal & ~keeps).where(149, word.like(0))
    third = (exponent * 0xAAAB) >> 17
    rest = exponent - third * 3
    v = ((word & 0x7FFFFF) | ((rest + 127) << 23)).bits(f32)
    w = polynomial(v, _CBRT)
    for _ in range(2):
        w = w + w * (1 - v * w * w * w) * 0.3333333432674408
    y = v * w * w
    square, square_error = two_product(y, y)
    cube, cube_error = two_product(square, y)
    residual = (v - cube) - cube_error - square_error * y
    y = y + residual * w * w * 0.3333333432674408
    result = y * power_of_two(third.to(i32) - 50, y)
    return keeps.where(x, copysign(result, x))


def rsqrt(x: Value) -> Value:
    """1 / sqrt(x)."""
    s = x.scope
    bits = x.bits(u32)
    inside = (bits - 1) < INFINITY - 1
    tiny, huge = inside & (bits < 0x0D800000), inside & (bits > 0x7B000000)
    y = inside.where(x, 1)
    y = tiny.where((bits < 0x00800000).where((bits & 0x7FFFFF).to(f32) * 2.0**-49, y * 2.0**100), y)
    y = huge.where(y * 2.0**-20, y)
    value = 1 / square_root(y)
    value = tiny.where(value * 2.0**50, huge.where(value * 2.0**-10, value))
    zero = magnitude_bits(x).eq(0)
    infinity = s.opaque(f32, float("inf"))
    edge = zero.where(copysign(infinity, x), bits.eq(INFINITY).where(0, s.opaque(f32, float("nan"))))
    return is_nan(x).where(x, inside.where(value, edge))


def hypot(x: Value, y: Value) -> Value:
    """sqrt(x*x + y*y) without overflow on the way; infinite when either is, even beside NaN."""
    s = x.scope
    xm, ym = magnitude_bits(x), magnitude_bits(y)
    less = xm < ym
    high, low = less.where(ym, xm), less.where(xm, ym)
    special = (high >= INFINITY) | high.eq(0)
    large, small = special.where(_ONE, high).bits(f32), special.where(0, low).bits(f32)
    # Far enough from the ends that no square that counts is subnormal: some devices flush those.
    up, down = high < 0x2B800000, high > 0x5F000000
    factor = up.where(2.0**80, down.where(2.0**-70, x.like(1)))
    back = up.where(2.0**-80, down.where(2.0**70, x.like(1)))
    large, small = large * factor, small * factor
    # The larger square with its error, so that the sum rounds once.
    square, error = two_product(large, large)
    value = square_root(square + (small * small + error)) * back
    infinite = xm.eq(INFINITY) | ym.eq(INFINITY)
    edge = high.eq(0).where(0, infinite.where(s.opaque(f32, float("inf")), s.opaque(f32, float("nan"))))
    return special.where(edge, value)


__all__ = ["cbrt", "hypot", "pow", "rsqrt"]
