"""exp, exp2, expm1, sinh, cosh, tanh, erf for f32, from + - * and integer operations.

Reduction x = n ln2 + r after Cody and Waite (ln2 in two parts, the first of 9 bits so that its products
are exact); polynomials are our own near-minimax fits. `expm1` on the reduced argument is
r + r*r*P(r), shared by all. sinh and tanh use odd polynomials near zero, erf near zero an odd
polynomial and beyond it 1 - exp(-p(x)) with p fitted to -log(erfc(x)).

Largest errors in ULP over a million f32, measured by tests/unit/passes/test_software.py:
exp 1.0, exp2 1.0, expm1 1.7, sinh 1.6, cosh 1.4, tanh 1.3, erf 1.2.
"""

from __future__ import annotations

import math

from ruda_core.dtypes import f32, i32
from ruda_core.passes.software.convert import is_nan
from ruda_core.passes.software.exact import quotient
from ruda_core.passes.software.expr import Value, polynomial
from ruda_core.passes.software.modulo import power_of_two
from ruda_core.passes.software.whole import absolute, copysign

_P = (0.0013941319193691015, 0.00836329534649849, 0.04166637361049652, 0.16666576266288757, 0.5)
_SINH = (2.8174979433970293e-06, 0.000198360561626032, 0.008333350531756878, 0.1666666716337204)
_TANH = (
    0.0021467518527060747,
    -0.00818188302218914,
    0.021702678874135017,
    -0.05394715815782547,
    0.13333208858966827,
    -0.3333333134651184,
)
_ERF = (
    8.32748701213859e-05,
    -0.000813321559689939,
    0.0052002607844769955,
    -0.026859119534492493,
    0.11283691227436066,
    -0.37612634897232056,
    0.12837916612625122,
)
_ERFC = (
    -1.0618633723424864e-06,
    1.706045077298768e-05,
    -9.768439485924318e-05,
    3.6202654882799834e-05,
    0.0030004684813320637,
    -0.023222973570227623,
    0.10627716779708862,
    0.6346777677536011,
    1.1290096044540405,
    -9.109018719755113e-05,
)
LOG2E = 1.4426950216293335
LN2_HIGH = 0.693359375
LN2_LOW = -0.00021219444170128554
LN2 = 0.6931471824645996


def nearest(x: Value) -> Value:
    """The nearest i32 of a moderate `x`; ties go either way."""
    half = copysign(x.like(0.5), x)
    return (x + half).to(i32)


def clamp(x: Value, low: float, high: float) -> Value:
    """`x` between two bounds; NaN becomes 0."""
    y = is_nan(x).where(0, x)
    return (y < low).where(low, (y > high).where(high, y))


def scaled(x: Value, n: Value) -> Value:
    """x * 2**n, for n from -250 to 250: two normal factors, so that only the last product rounds."""
    half = n >> 1
    return x * power_of_two(half, x) * power_of_two(n - half, x)


def reduced(x: Value) -> tuple[Value, Value]:
    """n and r with x = n ln2 + r."""
    n = nearest(x * LOG2E)
    k = n.to(f32)
    return n, (x - k * LN2_HIGH) - k * LN2_LOW


def _expm1_reduced(r: Value) -> Value:
    return r + r * r * polynomial(r, _P)


def exp_scaled(x: Value, shift: int) -> Value:
    """exp(x) * 2**shift without overflow before the last product; `x` from -200 to 120, not NaN."""
    n, r = reduced(x)
    return scaled(_expm1_reduced(r) + 1, n + shift)


def exp(x: Value) -> Value:
    """e**x."""
    return is_nan(x).where(x, exp_scaled(clamp(x, -110.0, 90.0), 0))


def exp2_reduced(r: Value) -> Value:
    """2**r for r from -0.5 to 0.5."""
    return _expm1_reduced(r * LN2) + 1


def exp2(x: Value) -> Value:
    """2**x."""
    y = clamp(x, -160.0, 130.0)
    n = nearest(y)
    return is_nan(x).where(x, scaled(exp2_reduced(y - n.to(f32)), n))


def expm1_moderate(y: Value) -> Value:
    """e**y - 1 for y from -30 to 89."""
    n, r = reduced(y)
    e = _expm1_reduced(r)
    m = (n > 127).where(127, n)
    scale = power_of_two(m, y)
    result = scale * e + (scale - 1)
    return n.eq(0).where(e, (n > 127).where(result * 2, result))


def expm1(x: Value) -> Value:
    """e**x - 1."""
    tiny = absolute(x) < 2.0**-26
    return (is_nan(x) | tiny).where(x, expm1_moderate(clamp(x, -30.0, 89.0)))


def sinh(x: Value) -> Value:
    """Hyperbolic sine."""
    a = clamp(absolute(x), 0.0, 95.0)
    z = a * a
    near = a + a * z * polynomial(z, _SINH)
    half = exp_scaled(a, -1)
    far = half - 0.25 / half
    return is_nan(x).where(x, copysign((a < 1).where(near, far), x))


def cosh(x: Value) -> Value:
    """Hyperbolic cosine."""
    half = exp_scaled(clamp(absolute(x), 0.0, 95.0), -1)
    return is_nan(x).where(x, half + 0.25 / half)


def tanh(x: Value) -> Value:
    """Hyperbolic tangent."""
    a = clamp(absolute(x), 0.0, 10.0)
    z = a * a
    near = a + a * z * polynomial(z, _TANH)
    far = 1 - quotient(a.like(2), exp_scaled(a + a, 0) + 1)
    return is_nan(x).where(x, copysign((a < 0.625).where(near, far), x))


_TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)


def erf(x: Value) -> Value:
    """The error function."""
    a = clamp(absolute(x), 0.0, 4.0)
    # Where the sum's second term would be subnormal, some devices flush it.
    near = (a < 2.0**-40).where(a * _TWO_OVER_ROOT_PI, a + a * polynomial(a * a, _ERF))
    b = (a < 0.92).where(0.92, a)
    far = 1 - exp_scaled(-polynomial(b, _ERFC), 0)
    return is_nan(x).where(x, copysign((a < 0.93).where(near, far), x))


__all__ = ["cosh", "erf", "exp", "exp2", "expm1", "sinh", "tanh"]
