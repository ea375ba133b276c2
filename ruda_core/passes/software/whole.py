"""Rounding to whole numbers, signs, and the choice of two floats, without any function of the target.

NaN is told by bits, never by comparison: some compilers assume that there is none. Rounding goes through
integers, so that nothing depends on how float additions are contracted or reordered.
"""

from __future__ import annotations

from collections.abc import Callable

from ruda_core.dtypes import DType, f32, i32, i64, unsigned
from ruda_core.passes.software.convert import is_nan
from ruda_core.passes.software.expr import Value


def fraction_bits(dtype: DType) -> int:
    """Stored bits of the significand."""
    return 23 if dtype is f32 else 52


def magnitude_bits(x: Value) -> Value:
    """The bits without the sign, as an unsigned integer."""
    word = unsigned(x.dtype)
    return x.bits(word) & (word.max >> 1)


def infinity_bits(dtype: DType) -> int:
    """The bits of positive infinity."""
    return 0x7F800000 if dtype is f32 else 0x7FF << 52


def absolute(x: Value) -> Value:
    """`abs(x)`; -0 gives 0, NaN stays NaN."""
    return magnitude_bits(x).bits(x.dtype)


def copysign(x: Value, y: Value) -> Value:
    """`x` with the sign bit of `y`."""
    word = unsigned(x.dtype)
    return (magnitude_bits(x) | (y.bits(word) & (1 << word.bits - 1))).bits(x.dtype)


def sign(x: Value) -> Value:
    """-1, 0 or 1, and 0 for -0; NaN stays NaN."""
    word = unsigned(x.dtype)
    bias = 127 if x.dtype is f32 else 1023
    one = x.bits(word) & (1 << word.bits - 1) | bias << fraction_bits(x.dtype)
    ordered = magnitude_bits(x).ne(0).where(one, 0).bits(x.dtype)
    return is_nan(x).where(x, ordered)


def _to_whole(x: Value) -> tuple[Value, Value, Value]:
    """Where `x` has a fraction, that `x` (else 0) with its truncated value as an integer and as a float."""
    limit = (fraction_bits(x.dtype) + (127 if x.dtype is f32 else 1023)) << fraction_bits(x.dtype)
    small = magnitude_bits(x) < limit
    y = small.where(x, 0)
    whole = y.to(i32 if x.dtype is f32 else i64)
    return small, y, whole


def trunc(x: Value) -> Value:
    """Towards zero; the sign of a zero is kept."""
    small, _, whole = _to_whole(x)
    return small.where(copysign(whole.to(x.dtype), x), x)


def floor(x: Value) -> Value:
    """Towards minus infinity."""
    small, y, whole = _to_whole(x)
    whole = (whole.to(x.dtype) > y).where(whole - 1, whole)
    return small.where(copysign(whole.to(x.dtype), x), x)


def ceil(x: Value) -> Value:
    """Towards infinity."""
    small, y, whole = _to_whole(x)
    whole = (whole.to(x.dtype) < y).where(whole + 1, whole)
    return small.where(copysign(whole.to(x.dtype), x), x)


def round_even(x: Value) -> Value:
    """To the nearest whole number, halves to even."""
    small, y, whole = _to_whole(x)
    rest = absolute(y - whole.to(x.dtype))  # exact
    up = (rest > 0.5) | (rest.eq(0.5) & (whole & 1).ne(0))
    step = (y < 0).where(-1, whole.like(1))
    whole = up.where(whole + step, whole)
    return small.where(copysign(whole.to(x.dtype), x), x)


def extreme(x: Value, y: Value, *, least: bool, number: bool) -> Value:
    """min or max; with NaN the other value when `number`, else NaN."""
    first = (y < x) if least else (y > x)
    chosen = first.where(y, x)
    if number:
        return is_nan(x).where(y, is_nan(y).where(x, chosen))
    return is_nan(x).where(x, is_nan(y).where(y, chosen))


def is_inf(x: Value) -> Value:
    """Either infinity."""
    return magnitude_bits(x).eq(infinity_bits(x.dtype))


def is_finite(x: Value) -> Value:
    """Neither infinite nor NaN."""
    return magnitude_bits(x) < infinity_bits(x.dtype)


WHOLE: dict[str, Callable[..., Value]] = {
    "abs": absolute,
    "copysign": copysign,
    "sign": sign,
    "trunc": trunc,
    "floor": floor,
    "ceil": ceil,
    "round": round_even,
    "min": lambda x, y: extreme(x, y, least=True, number=False),
    "max": lambda x, y: extreme(x, y, least=False, number=False),
    "fmin": lambda x, y: extreme(x, y, least=True, number=True),
    "fmax": lambda x, y: extreme(x, y, least=False, number=True),
}
"""Results have the operands' dtype, f32 or f64, and are exact."""

TESTS: dict[str, Callable[[Value], Value]] = {"isnan": is_nan, "isinf": is_inf, "isfinite": is_finite}
"""Results are bool."""
