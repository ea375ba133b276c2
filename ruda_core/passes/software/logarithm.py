"""log, log2, log10, log1p, arcsinh, arccosh, arctanh for f32, from + - * and integer operations.

x = m 2**e with m from sqrt(1/2) to sqrt(2), and log(1 + f) = f - f*f/2 + f**3 R(f) with our own
near-minimax R; e ln2 is added in two parts (Cody and Waite). log2 and log10 multiply by the constant in
two parts as S. Moshier's Cephes does. log1p corrects the rounding of 1 + x as W. Kahan's method does,
and the inverse hyperbolic functions are log1p of the forms used by FDLIBM.

Largest errors in ULP over a million f32, measured by tests/unit/passes/test_software.py:
log 0.9, log2 1.3, log10 1.9, log1p 0.9, arcsinh 1.7, arccosh 2.0,
arctanh 1.8.
"""

from __future__ import annotations

from ruda_core.dtypes import f32, i32, u32
from ruda_core.passes.software.convert import INFINITY, SIGN, is_nan
from ruda_core.passes.software.exact import quotient, square_root
from ruda_core.passes.software.exponential import LN2, LN2_HIGH, LN2_LOW
from ruda_core.passes.software.expr import Value, polynomial
from ruda_core.passes.software.whole import absolute, copysign, magnitude_bits

_R = (
    0.06917984038591385,
    -0.11779666692018509,
    0.1186603531241417,
    -0.12385798245668411,
    0.14219918847084045,
    -0.16669197380542755,
    0.20002152025699615,
    -0.24999986588954926,
    0.3333331048488617,
)
_SQRT_HALF = 0x3F3504F3
_LOG2E_LESS_1 = 0.44269505143165588
_LOG10E_HIGH = 0.4375
_LOG10E_LOW = -0.0032055180240422487
_LOG10_2_HIGH = 0.30078125
_LOG10_2_LOW = 0.0002487456973176449


def split(x: Value) -> tuple[Value, Value]:
    """m - 1 (m from sqrt(1/2) to sqrt(2)) and the exponent as f32, of a positive finite `x`."""
    bits = x.bits(u32)
    subnormal = bits < 0x00800000
    # The low 23 bits as an integer are the subnormal's value: exact as a normal float.
    bits = subnormal.where((bits & 0x7FFFFF).to(f32).bits(u32), bits)
    bias = subnormal.where(149, bits.like(0)).to(i32)
    shifted = bits - _SQRT_HALF
    exponent = shifted.bits(i32) >> 23
    m = ((shifted & 0x7FFFFF) + _SQRT_HALF).bits(f32)
    return m - 1, (exponent - bias).to(f32)


def _tail(f: Value) -> Value:
    """log(1 + f) - f."""
    z = f * f
    return f * z * polynomial(f, _R) - 0.5 * z


def edges(x: Value, result: Value) -> Value:
    """The logarithm's values at and below zero, at infinity and NaN."""
    s = x.scope
    bits = x.bits(u32)
    keeps = is_nan(x) | bits.eq(INFINITY)
    zero = magnitude_bits(x).eq(0)
    negative = (bits & SIGN).ne(0)
    special = zero.where(s.opaque(f32, float("-inf")), negative.where(s.opaque(f32, float("nan")), result))
    return keeps.where(x, special)


def safe(x: Value) -> Value:
    """`x` where it is positive and finite, else 1."""
    bits = x.bits(u32)
    return (bits - 1 >= INFINITY - 1).where(x.like(1), x)


def log(x: Value) -> Value:
    """The natural logarithm."""
    f, e = split(safe(x))
    result = (f + (_tail(f) + e * LN2_LOW)) + e * LN2_HIGH
    return edges(x, result)


def log2(x: Value) -> Value:
    """The logarithm to base 2."""
    f, e = split(safe(x))
    t = _tail(f)
    result = (t * _LOG2E_LESS_1 + f * _LOG2E_LESS_1 + t + f) + e
    return edges(x, result)


def log10(x: Value) -> Value:
    """The logarithm to base 10."""
    f, e = split(safe(x))
    t = _tail(f)
    low = t * _LOG10E_LOW + f * _LOG10E_LOW + e * _LOG10_2_LOW
    result = (low + t * _LOG10E_HIGH + f * _LOG10E_HIGH) + e * _LOG10_2_HIGH
    return edges(x, result)


def log1p(x: Value) -> Value:
    """log(1 + x)."""
    y = (x > -1).where(x, 0)
    y = magnitude_bits(y).eq(INFINITY).where(0, is_nan(x).where(0, y))
    u = y + 1
    lost = (y < 1).where(y - (u - 1), 1 - (u - y))
    f, e = split(u)
    near = (y > -0.29) & (y < 0.41)
    f = near.where(y, f)
    e = near.where(0, e)
    correction = near.where(0, lost / u)
    result = (f + (_tail(f) + (e * LN2_LOW + correction))) + e * LN2_HIGH
    tiny = absolute(x) < 2.0**-25
    s = x.scope
    below = (x < -1).where(s.opaque(f32, float("nan")), result)
    below = x.eq(-1).where(s.opaque(f32, float("-inf")), below)
    keeps = is_nan(x) | x.bits(u32).eq(INFINITY) | tiny
    return keeps.where(x, below)


def arcsinh(x: Value) -> Value:
    """Inverse hyperbolic sine."""
    a = absolute(x)
    large = a >= 2.0**20
    y = (large | is_nan(x)).where(1, a)
    z = y * y
    near = log1p(y + quotient(z, square_root(z + 1) + 1))
    result = large.where(log(a) + LN2, near)
    return (is_nan(x) | (a < 2.0**-12)).where(x, copysign(result, x))


def arccosh(x: Value) -> Value:
    """Inverse hyperbolic cosine; NaN below 1."""
    large = x >= 2.0**20
    inside = (x >= 1) & ~large & ~is_nan(x)
    t = inside.where(x, 1) - 1
    near = log1p(t + square_root(t + t + t * t))
    result = large.where(log(x) + LN2, near)
    below = (x < 1).where(x.scope.opaque(f32, float("nan")), result)
    return is_nan(x).where(x, below)


def arctanh(x: Value) -> Value:
    """Inverse hyperbolic tangent; infinite at 1 and -1, NaN beyond."""
    s = x.scope
    a = absolute(x)
    inside = (a < 1) & ~is_nan(x)
    y = inside.where(a, 0)
    tiny = y < 2.0**-13
    v = tiny.where(0.25, y)
    result = 0.5 * log1p(quotient(v + v, 1 - v))
    edge = a.eq(1).where(s.opaque(f32, float("inf")), s.opaque(f32, float("nan")))
    value = inside.where(result, edge)
    return (is_nan(x) | (inside & tiny)).where(x, copysign(value, x))


__all__ = ["arccosh", "arcsinh", "arctanh", "log", "log10", "log1p", "log2"]
