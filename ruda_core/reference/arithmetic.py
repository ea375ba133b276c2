"""The operators: how each is spelled in generated code, by kind of operand.

An entry is a format of `{a}` and `{b}`, or a function of both. NumPy's own operators already have the
language's meaning for wrap-around, floor division by zero and shifts of one dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ruda_core.conversions import to_bf16
from ruda_core.dtypes import DType, bf16
from ruda_core.passes.values import floor_quotient

Operator = str | Callable[[Any, Any], Any]

_F32 = np.dtype(np.float32)


def div_trunc(a: Any, b: Any) -> Any:
    """Quotient towards zero; 0 for a zero divisor, MIN / -1 wraps."""
    floored = np.floor_divide(a, b)
    inexact = (np.fmod(a, b) != 0) & ((a < 0) != (b < 0))
    return floored + inexact.astype(floored.dtype)


def _whole_quotient(a: Any, b: Any) -> Any:
    return np.trunc(np.divide(a, b))


def _through_f32(operator: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """f32 holds what bf16 operands give exactly enough that rounding the result again is rounding once."""

    def apply(a: Any, b: Any) -> Any:
        return to_bf16(operator(a.astype(_F32), b.astype(_F32)))

    return apply


def shift(operator: np.ufunc, dtype: DType) -> Callable[[Any, Any], Any]:
    """A shift by an amount of any integer dtype, total: out of range gives 0, or -1."""
    bits, target = dtype.bits, dtype.numpy

    def apply(a: Any, amount: Any) -> Any:
        if amount.dtype == target:
            return operator(a, amount)
        outside = (amount < 0) | (amount >= bits)
        return operator(a, np.where(outside, bits, amount).astype(target))[()]

    return apply


def _floor_quotient(a: Any, b: Any) -> Any:
    if a.dtype == np.float16:
        return floor_quotient(a.astype(_F32), b.astype(_F32)).astype(np.float16)
    return floor_quotient(a, b)


_COMMON: dict[str, Operator] = {
    "+": "({a} + {b})",
    "-": "({a} - {b})",
    "*": "({a} * {b})",
    "&": "({a} & {b})",
    "|": "({a} | {b})",
    "^": "({a} ^ {b})",
}
_INTEGER: dict[str, Operator] = {
    **_COMMON,
    "//": np.floor_divide,
    "%": np.remainder,
    "div_trunc": div_trunc,
    "rem_trunc": np.fmod,
    "quo": div_trunc,
    "rem": np.fmod,
}
_FLOAT: dict[str, Operator] = {
    **_COMMON,
    "/": "({a} / {b})",
    "//": _floor_quotient,
    "%": np.remainder,
    "div_trunc": _whole_quotient,
    "rem_trunc": np.fmod,
    "quo": _whole_quotient,
    "rem": np.fmod,
}
_SHIFTS = {"<<": np.left_shift, ">>": np.right_shift, "shl": np.left_shift, "shr": np.right_shift}


def operator(op: str, dtype: DType) -> Operator | None:
    """How operands of `dtype` are combined by `op`; None when the language has no such operation."""
    if dtype.is_integer and op in _SHIFTS:
        return shift(_SHIFTS[op], dtype)
    table = _FLOAT if dtype.is_float else _INTEGER if dtype.is_integer else _COMMON
    found = table.get(op)
    return _through_f32(found) if dtype is bf16 and callable(found) else found
