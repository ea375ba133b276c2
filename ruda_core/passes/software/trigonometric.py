"""sin, cos, tan for f32 over its whole range, from + - * and integer operations.

Below 8192 the argument is reduced by pi/2 in four parts (Cody and Waite; the first three have 11 bits,
so that their products are exact); from there on by 96 bits of the exact product with 2/pi, of which
integers keep the part that matters (M. Payne and R. Hanek, 1983). Polynomials on -pi/4 to pi/4 are our
own near-minimax fits; tan of an odd quadrant is a corrected quotient.

Largest errors in ULP over a million f32, measured by tests/unit/passes/test_software.py:
sin 1.6, cos 1.7, tan 2.6.
"""

from __future__ import annotations

from ruda_core.dtypes import f32, i32, u32
from ruda_core.passes.software.bits import clz32, high_product
from ruda_core.passes.software.convert import INFINITY, SIGN
from ruda_core.passes.software.exact import quotient
from ruda_core.passes.software.exponential import nearest
from ruda_core.passes.software.expr import Value, polynomial
from ruda_core.passes.software.modulo import power_of_two
from ruda_core.passes.software.whole import magnitude_bits

_SIN = (-0.00019517005421221256, 0.008332176133990288, -0.16666655242443085)
_COS = (2.4438189939246513e-05, -0.0013887365348637104, 0.04166664555668831)
_TAN = (
    0.009474902413785458,
    0.0029590947087854147,
    0.024537552148103714,
    0.05337875336408615,
    0.13339228928089142,
    0.3333313763141632,
)
_HALF_PI = (1.5703125, 0.0004837512969970703, 7.549533620476723e-08, 2.5633440682570896e-12)
_TWO_OVER_PI = (
    0,  # whole part
    0xA2F9836E,
    0x4E441529,
    0xFC2757D1,
    0xF534DDC0,
    0xDB629599,
    0x3C439041,
    0xFE5163AB,
    0xDEBBC561,
)
_HALF_PI_WORD = 0xC90FDAA2  # pi/2 * 2**31


def _pick(index: Value, first: int) -> Value:
    """The word of 2/pi at `index + first`, for an index from 0 to 4."""
    result = index.like(_TWO_OVER_PI[first + 4])
    for k in (3, 2, 1, 0):
        result = index.eq(k).where(_TWO_OVER_PI[first + k], result)
    return result


def _large(x: Value) -> tuple[Value, Value]:
    """Quadrant (u32) and rest of an |x| of 8192 or more."""
    bits = magnitude_bits(x)
    m = (bits & 0x7FFFFF) | 0x800000
    start = (bits >> 23) - 120  # first bit of 2/pi that counts, past the 32 of its whole part
    index, shift = start >> 5, start & 31
    words = [_pick(index, k) for k in range(4)]
    w = [(words[k] << shift) | ((words[k + 1] >> 1) >> (31 - shift)) for k in range(3)]
    # m * w modulo 2**96: two bits of quadrant, then the fraction.
    low = m * w[2]
    middle = m * w[1]
    carry = high_product(m, w[2])
    p1 = middle + carry
    overflow = (p1 < carry).where(1, p1.like(0))
    p0 = m * w[0] + high_product(m, w[1]) + overflow
    high, rest = (p0 << 2) | (p1 >> 30), (p1 << 2) | (low >> 30)
    up = (high >> 31).ne(0)
    quadrant = (p0 >> 30) + up.where(1, p0.like(0))
    negated = ~rest + 1
    high = up.where(~high + negated.eq(0).where(1, high.like(0)), high)
    rest = up.where(negated, rest)
    zeros = clz32(high | 1)
    top = (high << zeros) | ((rest >> 1) >> (31 - zeros))
    r = high_product(top, top.like(_HALF_PI_WORD)).to(f32) * power_of_two(-31 - zeros.to(i32), x)
    negative = up ^ (x.bits(u32) & SIGN).ne(0)
    flipped = (x.bits(u32) & SIGN).ne(0).where(0 - quadrant, quadrant)
    return flipped & 3, negative.where(-r, r)


def quadrants(x: Value) -> tuple[Value, Value]:
    """q (u32, modulo 4) and r from about -pi/4 to pi/4 with x = q pi/2 + r; anything for what is not finite."""
    s = x.scope
    large = magnitude_bits(x) >= 0x46000000
    y = large.where(0, x)
    n = nearest(y * 0.6366197466850281)
    k = n.to(f32)
    r = y
    for part in _HALF_PI:
        r = r - k * part
    quadrant, rest = s.variable((n & 3).bits(u32), "quadrant"), s.variable(r, "rest")
    with s.when(large):
        q, r = _large(x)
        quadrant.set(q)
        rest.set(r)
    return quadrant.get(), rest.get()


def _sine(r: Value, z: Value) -> Value:
    return r + r * z * polynomial(z, _SIN)


def _cosine(z: Value) -> Value:
    return 1 - (0.5 * z - z * z * polynomial(z, _COS))


def _circular(x: Value, turn: int) -> Value:
    q, r = quadrants(x)
    q = q + turn
    z = r * r
    value = (q & 1).ne(0).where(_cosine(z), _sine(r, z))
    value = (q & 2).ne(0).where(-value, value)
    finite = magnitude_bits(x) < INFINITY
    return finite.where(value, x.scope.opaque(f32, float("nan")))


def sin(x: Value) -> Value:
    """Sine."""
    tiny = magnitude_bits(x) < 0x39000000
    return tiny.where(x, _circular(x, 0))


def cos(x: Value) -> Value:
    """Cosine."""
    return _circular(x, 1)


def tan(x: Value) -> Value:
    """Tangent."""
    q, r = quadrants(x)
    z = r * r
    t = r + r * z * polynomial(z, _TAN)
    odd = (q & 1).ne(0)
    inverse = quotient(t.like(-1), odd.where(t, 1))
    finite = magnitude_bits(x) < INFINITY
    value = finite.where(odd.where(inverse, t), x.scope.opaque(f32, float("nan")))
    tiny = magnitude_bits(x) < 0x39000000
    return tiny.where(x, value)


__all__ = ["cos", "sin", "tan"]
