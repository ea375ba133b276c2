"""Compile-time numbers: how they become a dtype, and Python's own arithmetic on them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from ruda_core.dtypes import DType, bf16, f16, f32, f64

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "**": operator.pow,
}
COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "is": operator.is_,
    "is not": operator.is_not,
    "in": lambda a, b: a in b,
    "not in": lambda a, b: a not in b,
}
UNARY: dict[str, Callable[[Any], Any]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "not": operator.not_,
}

MAX_BITS = 1 << 16
"""Compile-time integers may not grow beyond this."""


class Unfit(Exception):
    """A number that a dtype does not hold; the message says why."""


def calculate(op: str, a: Any, b: Any) -> Any:
    """Python's own `a op b`. Raises Unfit with Python's reason."""
    if op == "**" and isinstance(a, int) and isinstance(b, int) and b * max(a.bit_length(), 1) > MAX_BITS:
        raise Unfit(f"{a} ** {b} is too large")
    if op == "<<" and isinstance(b, int) and b > MAX_BITS:
        raise Unfit(f"a shift by {b} is too large")
    try:
        result = BINARY[op](a, b)
    except (ArithmeticError, TypeError, ValueError) as error:
        raise Unfit(str(error)) from error
    if isinstance(result, complex):
        raise Unfit(f"{a} {op} {b} is a complex number")
    return result


def fit(value: Any, dtype: DType) -> int | float | bool:
    """The constant of `dtype` that a literal `value` becomes: exact for integers, rounded once for floats.

    Raises Unfit when it does not fit.
    """
    if dtype.is_float:
        rounded = round_to(value, dtype)
        if math.isinf(rounded) and not (isinstance(value, float) and math.isinf(value)):
            raise Unfit(
                f"{value} does not fit {dtype}: its largest value is {_largest(dtype)}; write math.inf for infinity"
            )
        return rounded
    if isinstance(value, float):
        raise Unfit(f"the float literal {value!r} does not become {dtype}: write {dtype}({value!r})")
    if dtype.kind == "bool":
        if value in (0, 1):
            return bool(value)
        raise Unfit(f"{int(value)} does not fit bool: write bool({int(value)})")
    if not dtype.min <= value <= dtype.max:
        raise Unfit(
            f"{int(value)} does not fit {dtype}, which holds {dtype.min} to {dtype.max}: use a wider dtype, or the "
            f"value that it wraps to"
        )
    return int(value)


def convert(value: Any, dtype: DType) -> int | float | bool:
    """A cast that is written out: floats truncate and saturate, as at run time.

    Integers must fit, as in NumPy. Raises Unfit.
    """
    if dtype.kind == "bool":
        return bool(value)
    if dtype.is_float:
        return round_to(value, dtype)
    if isinstance(value, float):
        if math.isnan(value):
            return 0
        if math.isinf(value):
            return dtype.max if value > 0 else dtype.min
        return min(max(int(value), dtype.min), dtype.max)
    return fit(value, dtype)


def round_to(value: Any, dtype: DType) -> float:
    """The nearest value of a float dtype, ties to even; infinity beyond its range."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >> 53:
        return _round_exactly(Fraction(value), dtype)
    number = float(value)
    if dtype == f64 or not math.isfinite(number):
        return number
    if dtype == bf16:
        return _round_exactly(Fraction(number), dtype) if number else number
    with np.errstate(over="ignore", under="ignore"):
        return float(dtype.numpy.type(number))


_MANTISSA = {f16: (11, -14, 15), bf16: (8, -126, 127), f32: (24, -126, 127), f64: (53, -1022, 1023)}
"""Significant bits, smallest normal exponent, largest exponent."""


def _round_exactly(value: Fraction, dtype: DType) -> float:
    bits, low, high = _MANTISSA[dtype]
    sign, value = (-1.0, -value) if value < 0 else (1.0, value)
    if not value:
        return 0.0
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    if value < Fraction(2) ** exponent:
        exponent -= 1
    if exponent > high:
        return sign * math.inf
    unit = Fraction(2) ** (max(exponent, low) - bits + 1)
    result = round(value / unit) * unit
    return sign * (math.inf if result >= Fraction(2) ** (high + 1) else float(result))


def _largest(dtype: DType) -> float:
    bits, _, high = _MANTISSA[dtype]
    return float((2 - Fraction(2) ** (1 - bits)) * Fraction(2) ** high)
