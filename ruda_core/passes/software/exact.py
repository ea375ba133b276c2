"""Correctly rounded f32 division and square root by integers, and more accurate ones by float residuals.

`divide` and `root` are exact whatever the target's own `/` and `sqrt` are, subnormals included: long
division and the digit-by-digit root of the significands, rounded to nearest even with a sticky bit.

`quotient` and `square_root` improve the target's results to about 0.51 ULP by one residual step, for
operands and results in the normal range. The residual is exact: products of split significands have no
rounding, so that contraction to fma changes nothing (T. J. Dekker, 1971).
"""

from __future__ import annotations

from ruda_core.dtypes import f32, i32, u32
from ruda_core.passes.software.bits import clz32
from ruda_core.passes.software.convert import INFINITY, MAGNITUDE, SIGN, is_nan
from ruda_core.passes.software.expr import Value


def two_product(a: Value, b: Value) -> tuple[Value, Value]:
    """`a * b` as a rounded product and its exact error."""
    p = a * b
    ah, bh = ((v.bits(u32) & 0xFFFFF000).bits(f32) for v in (a, b))
    al, bl = a - ah, b - bh
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


def two_sum(a: Value, b: Value) -> tuple[Value, Value]:
    """`a + b` as a rounded sum and its exact error (D. Knuth)."""
    s = a + b
    part = s - a
    return s, (a - (s - part)) + (b - part)


def quotient(a: Value, b: Value) -> Value:
    """`a / b` within 0.51 ULP; operands and result well inside the normal range."""
    q = a / b
    p, error = two_product(q, b)
    return q + ((a - p) - error) / b


def square_root(x: Value) -> Value:
    """sqrt within 0.51 ULP, for 0 and for `x` from 2**-100 to 2**120."""
    if not x.scope.has_sqrt:
        return root(x)
    r = x.fn("sqrt")
    p, error = two_product(r, r)
    safe = x.eq(0).where(1, r + r)
    return r + ((x - p) - error) / safe


def _unpack(x: Value) -> tuple[Value, Value]:
    """The significand shifted so that bit 23 is set, and the exponent (i32) that goes with it, of |x| > 0."""
    bits = x.bits(u32) & MAGNITUDE
    field = bits >> 23
    subnormal = field.eq(0)
    shift = subnormal.where(clz32(bits | 1) - 8, 0)
    significand = subnormal.where(bits << shift, (bits & 0x7FFFFF) | 0x800000)
    return significand, subnormal.where(1, field).to(i32) - shift.to(i32)


def _rounded(significand: Value, exponent: Value, sign: Value) -> Value:
    """A value from 26 bits (bit 25 set; the lowest is sticky) and a biased exponent, to nearest even."""
    small = exponent < 1
    drop = small.where(1 - exponent, 0)
    drop = (drop > 27).where(27, drop).to(u32)
    lost = (significand & ((significand.like(1) << drop) - 1)).ne(0).where(1, significand.like(0))
    s = (significand >> drop) | lost
    up = (s & 3) + ((s >> 2) & 1) > 2
    whole = (s >> 2) + up.where(1, s.like(0))
    field = small.where(0, exponent - 1).to(u32)  # the hidden bit adds one
    bits = whole + (field << 23)
    bits = (exponent > 254).where(INFINITY, (bits > INFINITY).where(INFINITY, bits))
    return (bits | sign).bits(f32)


def divide(a: Value, b: Value) -> Value:
    """`a / b`, correctly rounded for all operands."""
    s = a.scope
    sign = (a.bits(u32) ^ b.bits(u32)) & SIGN
    am, bm = a.bits(u32) & MAGNITUDE, b.bits(u32) & MAGNITUDE
    ma, ea = _unpack(a)
    mb, eb = _unpack(b)
    mb = bm.eq(0).where(1, mb)
    less = ma < mb
    ma = less.where(ma << 1, ma)
    exponent = ea - eb + 127 - less.where(1, ea.like(0))
    digits = ma.quo(mb)
    rest = ma - digits * mb
    for bits in (7, 7, 7, 4):  # 25 more digits, with a remainder below 2**24 shifted by up to 8
        t = rest << bits
        digit = t.quo(mb)
        rest = t - digit * mb
        digits = (digits << bits) | digit
    result = _rounded(digits | rest.ne(0).where(1, rest.like(0)), exponent, sign)
    nan = is_nan(a) | is_nan(b) | (am.eq(0) & bm.eq(0)) | (am.eq(INFINITY) & bm.eq(INFINITY))
    infinite = (sign | INFINITY).bits(f32)
    nothing = sign.bits(f32)
    special = am.eq(0) | bm.eq(INFINITY)
    result = (am.eq(INFINITY) | bm.eq(0)).where(infinite, special.where(nothing, result))
    return nan.where(s.opaque(f32, float("nan")), result)


def root(x: Value) -> Value:
    """sqrt(x), correctly rounded for all operands."""
    s = x.scope
    bits = x.bits(u32)
    m, field = _unpack(x)
    power = field - 127
    odd = (power & 1).ne(0)
    m = odd.where(m << 1, m)  # value = m * 2**-23 * 4**half, m from 2**23 to 2**25
    half = (power - odd.where(1, power.like(0))) >> 1
    rest, result = s.variable(m << 1, "rest"), s.variable(m.like(0), "root")
    digit = s.variable(m.like(1 << 24), "digit")
    with s.loop():  # one bit of the root a trip, highest first
        d = digit.get()
        s.stop_if(d.eq(0))
        r, q = rest.get(), result.get()
        t = q + q + d
        fits = r >= t
        rest.set(fits.where(r - t, r) << 1)
        result.set(fits.where(q + d, q))
        digit.set(d >> 1)
    sticky = rest.get().ne(0).where(1, m.like(0))
    digits = (result.get() << 1) | sticky
    value = _rounded(digits, half + 127, m.like(0))
    zero = (bits & MAGNITUDE).eq(0)
    keeps = zero | bits.eq(INFINITY) | is_nan(x)
    invalid = ((bits & SIGN).ne(0)) & ~zero
    return keeps.where(x, invalid.where(s.opaque(f32, float("nan")), value))
