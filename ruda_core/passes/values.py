"""What each operator gives on constants: the language's meaning, to the bit.

Integers are Python ints in the dtype's range, floats are Python floats that the dtype holds exactly
(every float dtype is a subset of f64), bools are bools. `ArithmeticError` means that the operation has
no defined value (a `RAW` operator or raw cast outside its range).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from ruda_core.dtypes import DType, unsigned

Value = int | float | bool

_LOGIC: dict[str, Callable[[int, int], int]] = {"&": operator.and_, "|": operator.or_, "^": operator.xor}
_COMPARE: dict[str, Callable[[Value, Value], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def wrap(dtype: DType, value: int) -> int:
    """`value` modulo two to the width, in the dtype's range."""
    value &= (1 << dtype.bits) - 1
    return value - (1 << dtype.bits) if dtype.kind == "int" and value > dtype.max else value


def rounded(dtype: DType, value: int | float | Fraction) -> float:
    """The exact `value` rounded once, to nearest even, to a float dtype; overflow gives infinity."""
    with np.errstate(all="ignore"):
        if isinstance(value, float):
            wide = value
            if dtype.name == "bf16":
                return float(dtype.numpy.type(_odd_f32(wide)))
        else:
            wide = _odd_f64(Fraction(value)) if dtype.name != "f64" else _nearest_f64(Fraction(value))
            if dtype.name == "bf16":
                return float(dtype.numpy.type(_odd_f32(wide)))
        return float(dtype.numpy.type(wide))


def _nearest_f64(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _odd_f64(value: Fraction) -> float:
    """Rounded to odd, after which rounding to a narrower float is as good as rounding once."""
    near = _nearest_f64(value)
    if math.isinf(near) or Fraction(near) == value:
        return near
    bits = int(np.float64(near).view(np.int64))
    bits -= abs(Fraction(near)) > abs(value)
    return float(np.int64(bits | 1).view(np.float64))


def _odd_f32(value: float) -> np.float32:
    near = np.float32(value)
    if math.isnan(value) or float(near) == value:
        return near
    bits = int(near.view(np.int32))
    bits -= abs(float(near)) > abs(value)
    return np.int32(bits | 1).view(np.float32)


def unary(op: str, dtype: DType, a: Value) -> Value:
    if op == "not" or dtype.kind == "bool":
        return not a
    if op == "~":
        return wrap(dtype, ~int(a))
    return -a if dtype.is_float else wrap(dtype, -int(a))


def binary(op: str, dtype: DType, a: Value, b: Value) -> Value:
    """One of SEMANTIC or RAW; `b` of a shift is the amount, of any integer dtype."""
    if dtype.is_float:
        return _float_binary(op, dtype, float(a), float(b))
    if dtype.kind == "bool":
        return bool(_LOGIC[op](int(a), int(b)))
    return wrap(dtype, _int_binary(op, dtype, int(a), int(b)))


def _int_binary(op: str, dtype: DType, a: int, b: int) -> int:
    match op:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "//":
            return a // b if b else 0
        case "%":
            return a % b if b else 0
        case "div_trunc" | "rem_trunc":
            return _truncating(op == "div_trunc", a, b) if b else 0
        case "<<" | ">>":
            if not 0 <= b < dtype.bits:
                return -1 if op == ">>" and a < 0 else 0
            return a << b if op == "<<" else a >> b
        case "quo" | "rem":
            if b == 0 or (a == dtype.min and b == -1 and dtype.kind == "int"):
                raise ArithmeticError(f"{a} {op} {b} has no value")
            return _truncating(op == "quo", a, b)
        case "shl" | "shr":
            if not 0 <= b < dtype.bits:
                raise ArithmeticError(f"{op} by {b} has no value")
            return a << b if op == "shl" else a >> b
    return _LOGIC[op](a, b)


def _truncating(quotient: bool, a: int, b: int) -> int:
    q = abs(a) // abs(b)
    q = -q if (a < 0) != (b < 0) else q
    return q if quotient else a - q * b


def _float_binary(op: str, dtype: DType, a: float, b: float) -> float:
    # One rounding of an f64 result to f32 or narrower equals rounding the exact result, for these four.
    x, y = np.float64(a), np.float64(b)
    with np.errstate(all="ignore"):
        match op:
            case "+":
                return rounded(dtype, float(x + y))
            case "-":
                return rounded(dtype, float(x - y))
            case "*":
                return rounded(dtype, float(x * y))
            case "/":
                return rounded(dtype, float(x / y))
            case "rem":
                return float(np.fmod(x, y))
        if op == "//":
            wide = np.float32 if dtype.bits == 16 else dtype.numpy.type
            return rounded(dtype, float(floor_quotient(wide(a), wide(b))))
        scalar = dtype.numpy.type
        return float(np.remainder(scalar(a), scalar(b)))


def floor_quotient(a: Any, b: Any) -> Any:
    """`a // b` of NumPy's f32 or f64: the floor of the exact quotient, rounded once; from 2**31 (f64: 2**63) on a division.

    NumPy's own divides a rounded difference, and misses quotients by one from 2**22 (f64: 2**51) on. Here it
    divides twice, by a step of 2**32 and what is left, each quotient small enough to be right.
    """
    with np.errstate(all="ignore"):
        near = a / b
        most, step = 2.0 ** (8 * a.itemsize - 1), 2.0**32
        x, y = np.abs(a).astype(np.float64), np.abs(b).astype(np.float64)
        rest = np.fmod(x, y * step)
        low = np.floor_divide(rest, y)
        differ = np.signbit(a) != np.signbit(b)
        whole = np.floor_divide(x, y * step) * step + (low + (differ & (np.fmod(rest, y) != 0)))
        small = np.where(differ, -whole, whole).astype(a.dtype)
        return np.where(np.isinf(a) & (b != 0), np.nan, np.where(np.abs(near) < most, small, near))[()]


def compare(op: str, a: Value, b: Value) -> bool:
    return _COMPARE[op](a, b)


def cast(to: DType, source: DType, a: Value, *, raw: bool = False) -> Value:
    """Conversion by value: see `ir.Cast`."""
    if to.kind == "bool":
        return a != 0
    if to.is_float:
        return rounded(to, float(a) if source.is_float else int(a))
    if not source.is_float:
        return wrap(to, int(a))
    if raw and not (math.isfinite(a) and to.min <= math.trunc(a) <= to.max):
        raise ArithmeticError(f"{a} has no plain conversion to {to}")
    if math.isnan(a):
        return 0
    if math.isinf(a):
        return to.max if a > 0 else to.min
    return min(max(math.trunc(a), to.min), to.max)


def to_bits(dtype: DType, a: Value) -> int:
    """The value's bits as an unsigned integer."""
    if dtype.is_float:
        with np.errstate(all="ignore"):
            return int(dtype.numpy.type(a).view(unsigned(dtype).numpy))
    return int(a) & ((1 << dtype.bits) - 1)


def from_bits(dtype: DType, bits: int) -> Value:
    """The value of `dtype` that has these bits (for bool, any bit set is True)."""
    if dtype.kind == "bool":
        return bits != 0
    if dtype.is_float:
        return float(np.array(bits, unsigned(dtype).numpy).view(dtype.numpy)[()])
    return wrap(dtype, bits)


def _sign(dtype: DType, a: Value) -> Value:
    if a != a:
        return a
    sign = (a > 0) - (a < 0)
    return float(sign) if dtype.is_float else sign


def _fma(dtype: DType, a: float, b: float, c: float) -> float:
    if math.isfinite(a) and math.isfinite(b) and not math.isfinite(c):
        return c  # also where the rounded product would be infinite
    if not all(map(math.isfinite, (a, b, c))):
        with np.errstate(all="ignore"):
            return float(np.float64(a) * np.float64(b) + np.float64(c))
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        product = math.copysign(1.0, a) * math.copysign(1.0, b)
        same = a * b == 0 and c == 0 and product == math.copysign(1.0, c)
        return math.copysign(0.0, product) if same else 0.0
    return rounded(dtype, exact)


def int_pow(dtype: DType, base: int, exponent: int) -> int:
    """Exact with wrap; for a negative exponent 0, save for bases 1 and -1."""
    if exponent >= 0:
        return wrap(dtype, pow(base, exponent, 1 << dtype.bits))
    if base in (1, -1):
        return base if exponent % 2 else 1
    return 0


def _extreme(a: Value, b: Value, *, least: bool, number: bool) -> Value:
    if a != a or b != b:
        return (b if a != a else a) if number else (a if a != a else b)
    return a if (a <= b if least else a >= b) else b


def _float1(fn: Callable[[np.float64], np.float64]) -> Callable[[DType, Value], Value]:
    def apply(dtype: DType, a: Value) -> Value:
        with np.errstate(all="ignore"):
            return rounded(dtype, float(fn(np.float64(a))))

    return apply


def _leading_zeros(dtype: DType, a: Value) -> int:
    return dtype.bits - to_bits(dtype, a).bit_length()


def _trailing_zeros(dtype: DType, a: Value) -> int:
    bits = to_bits(dtype, a)
    return (bits & -bits).bit_length() - 1 if bits else dtype.bits


EXACT: dict[str, Callable[..., Value]] = {
    "sqrt": _float1(np.sqrt),
    "floor": _float1(np.floor),
    "ceil": _float1(np.ceil),
    "trunc": _float1(np.trunc),
    "round": _float1(np.rint),
    "fma": _fma,
    "copysign": lambda dtype, a, b: math.copysign(a, b),
    "sign": _sign,
    "abs": lambda dtype, a: abs(a) if dtype.is_float else wrap(dtype, abs(a)),
    "min": lambda dtype, a, b: _extreme(a, b, least=True, number=False),
    "max": lambda dtype, a, b: _extreme(a, b, least=False, number=False),
    "fmin": lambda dtype, a, b: _extreme(a, b, least=True, number=True),
    "fmax": lambda dtype, a, b: _extreme(a, b, least=False, number=True),
    "isnan": lambda dtype, a: math.isnan(a),
    "isinf": lambda dtype, a: math.isinf(a),
    "isfinite": lambda dtype, a: math.isfinite(a),
    "popcount": lambda dtype, a: to_bits(dtype, a).bit_count(),
    "clz": _leading_zeros,
    "ctz": _trailing_zeros,
    "reverse_bits": lambda dtype, a: int(f"{a:0{dtype.bits}b}"[::-1], 2),
    "mulhi": lambda dtype, a, b: (a * b) >> dtype.bits,
    "pow": int_pow,
}
"""Functions by name, called with the operands' dtype and values. `pow` is for integer bases only."""


def holds(dtype: DType, value: Value) -> bool:
    """True when `value` is one of the dtype's values."""
    if dtype.is_float:
        return isinstance(value, float) and (value != value or rounded(dtype, value) == value)
    if dtype.kind == "bool":
        return isinstance(value, bool)
    return isinstance(value, int) and not isinstance(value, bool) and dtype.min <= value <= dtype.max


__all__ = [
    "EXACT",
    "Value",
    "binary",
    "cast",
    "compare",
    "from_bits",
    "holds",
    "int_pow",
    "rounded",
    "to_bits",
    "unary",
    "wrap",
]
