"""`//` and `%` of floats by long division of the significands: exact for every pair of operands.

The quotient is the floor of the exact quotient, rounded once to the dtype; from 2**31 (f64: 2**63) on
it is a division. The remainder is exact before the divisor is added to give it the
divisor's sign, which rounds as NumPy does.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import NamedTuple

from ruda_core.dtypes import f32, i32, i64, u32, unsigned
from ruda_core.passes.software.convert import is_nan
from ruda_core.passes.software.expr import Scope, Value
from ruda_core.passes.software.whole import (
    copysign,
    fraction_bits,
    infinity_bits,
    magnitude_bits,
)


def power_of_two(exponent: Value, x: Value) -> Value:
    """2**exponent in the dtype of `x`; the result is a normal number. `exponent` is i32, for f64 i64."""
    bias = 127 if x.dtype is f32 else 1023
    return ((exponent + bias) << fraction_bits(x.dtype)).bits(x.dtype)


def _unpack(x: Value) -> tuple[Value, Value]:
    """Significand (unsigned) and biased exponent (at least 1) of |x|."""
    fraction = fraction_bits(x.dtype)
    bits = magnitude_bits(x)
    field = bits >> fraction
    low = bits & ((1 << fraction) - 1)
    normal = field.ne(0)
    return normal.where(low | (1 << fraction), low), normal.where(field, 1)


class _Division(NamedTuple):
    """Of the magnitudes of two floats."""

    quotient: Value
    """Modulo its width."""
    rest: Value
    """As a float."""
    rests: Value
    """Whether there is a rest: where the device flushes subnormals, the float does not tell."""
    missing: Value
    """What the rest lacks of the divisor, as a float; for a dividend below the divisor rounded."""


def _divided(s: Scope, a: Value, d: Value) -> _Division:
    word = unsigned(a.dtype)
    signed = i32 if word.bits == 32 else i64
    fraction = fraction_bits(a.dtype)
    step = word.bits - fraction - 1
    ma, ea = _unpack(a)
    md, ed = _unpack(d)
    md = md.eq(0).where(1, md)
    below = ea < ed
    first = below.where(0, ma.quo(md))
    quotient, rest = s.variable(first, "quotient"), s.variable(ma - first * md, "rest")
    left = s.variable(below.where(0, ea - ed).to(u32), "left")  # some drivers hang on 64-bit loop counters
    with s.loop():
        n = left.get()
        s.stop_if(n.eq(0))
        k = (n < step).where(n, step)
        t = rest.get() << k
        digit = t.quo(md)
        rest.set(t - digit * md)
        quotient.set((quotient.get() << k) + digit)
        left.set(n - k)
    bias = (127 if a.dtype is f32 else 1023) + fraction
    exponent = ed.to(signed) - bias
    half = exponent >> 1
    low, high = power_of_two(half, a), power_of_two(exponent - half, a)
    size_a, size_d = magnitude_bits(a).bits(a.dtype), magnitude_bits(d).bits(a.dtype)
    left_over = rest.get()
    return _Division(
        quotient.get(),
        below.where(size_a, left_over.to(a.dtype) * low * high),
        below.where(magnitude_bits(a).ne(0), left_over.ne(0)),
        below.where(size_d - size_a, (md - left_over).to(a.dtype) * low * high),
    )


def _undefined(a: Value, d: Value) -> Value:
    """Where the remainder is NaN: a NaN operand, an infinite dividend, a zero divisor."""
    infinity = infinity_bits(a.dtype)
    return is_nan(d) | (magnitude_bits(a) >= infinity) | magnitude_bits(d).eq(0)


def _signs_differ(a: Value, d: Value) -> Value:
    word = unsigned(a.dtype)
    return ((a.bits(word) ^ d.bits(word)) >> word.bits - 1).ne(0)


def remainder(a: Value, d: Value) -> Value:
    """`a % d` with the sign of `d`."""
    s = a.scope
    division = _divided(s, a, d)
    short = division.rests & _signs_differ(a, d)
    result = copysign(short.where(division.missing, division.rest), d)
    return _undefined(a, d).where(s.opaque(a.dtype, float("nan")), result)


def floor_quotient(a: Value, d: Value, over: Callable[[Value, Value], Value] = operator.truediv) -> Value:
    """`a // d`: the floor of the exact quotient; by zero what division gives. `over` divides, correctly rounded."""
    s = a.scope
    word = unsigned(a.dtype)
    quotient, _, rests, _ = _divided(s, a, d)
    differ = _signs_differ(a, d)
    up = differ & rests
    near = over(a, magnitude_bits(d).eq(0).where(1, d))
    large = magnitude_bits(near) >= ((word.bits - 1) + (127 if a.dtype is f32 else 1023)) << fraction_bits(
        a.dtype
    )
    whole = up.where(quotient + 1, quotient).to(a.dtype)
    whole = differ.where(-whole, whole)
    zero = magnitude_bits(d).eq(0)
    infinite = s.opaque(a.dtype, float("inf"))
    by_zero = (
        magnitude_bits(a).eq(0).where(s.opaque(a.dtype, float("nan")), differ.where(-infinite, infinite))
    )
    result = large.where(near, whole)
    nan = is_nan(d) | is_nan(a) | (~zero & (magnitude_bits(a) >= infinity_bits(a.dtype)))
    return nan.where(s.opaque(a.dtype, float("nan")), zero.where(by_zero, result))
