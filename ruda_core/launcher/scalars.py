"""Python and NumPy scalars to the dtype that a parameter declares.

A float rounds to the declared float dtype. Refused are a fraction to an integer, an integer out of
range or one that a float dtype does not hold exactly, and a finite value that would become infinite.
The generated launchers take the ordinary case (a float for f32, an int for i32) without coming here.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from ruda_core.artifact import ScalarParam
from ruda_core.dtypes import BY_NAME, DType
from ruda_core.launcher.plan import LaunchPlan, described, refuse

_F32 = struct.Struct("<f")
_NARROW = {"f16": (11, -13, 65504.0), "bf16": (8, -125, float.fromhex("0x1.fep127"))}
"""Digits, the smallest normal exponent (of `math.frexp`) and the largest finite value."""

Converter = Callable[[Any], Any]


def converter(plan: LaunchPlan, param: ScalarParam) -> Converter:
    """A function that gives the value to pack, or raises LaunchArgumentError."""
    dtype = BY_NAME[param.dtype]
    convert = _to_bool if dtype.kind == "bool" else _to_float if dtype.is_float else _to_int

    def checked(value: Any) -> Any:
        try:
            return convert(dtype, value)
        except _Refused as refused:
            reason = str(refused)
        # outside of the handler: the error stands alone
        refuse(plan, param, f"{described(value)}: {reason}" if reason else described(value))

    return checked


class _Refused(Exception):  # noqa: N818  # turned into LaunchArgumentError with the parameter's name
    """Why a value does not fit."""


def _number(value: Any) -> Any:
    """A Python bool, int or float of the same value."""
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, bool | int | float):
        return value if type(value) in (bool, int, float) else _plain(value)
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.floating) or type(value).__name__ == "bfloat16":
        return float(value)
    if isinstance(value, np.ndarray | str | bytes | complex | np.complexfloating):
        raise _Refused
    try:
        return operator.index(value)
    except TypeError:
        raise _Refused from None


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, int) else float(value)


def _to_bool(dtype: DType, value: Any) -> int:
    number = _number(value)
    if number not in (0, 1):
        raise _Refused("a bool is True, False, 0 or 1")
    return int(number)


def _to_int(dtype: DType, value: Any) -> int:
    number = _number(value)
    if isinstance(number, float):
        if not number.is_integer():
            raise _Refused("it is not a whole number")
        number = int(number)
    number = int(number)
    if not dtype.min <= number <= dtype.max:
        raise _Refused(f"it is not in {dtype.min} to {dtype.max}")
    return number


def _to_float(dtype: DType, value: Any) -> float:
    number = _number(value)
    try:
        wide = float(number)
        rounded = round_to(dtype, wide)
    except OverflowError:
        raise _Refused(f"it is beyond the largest {dtype.name}") from None
    if not isinstance(number, float) and rounded != number:
        raise _Refused(f"{dtype.name} does not hold this integer exactly: pass a float to round it")
    return rounded


def round_to(dtype: DType, value: float) -> float:
    """`value` rounded once, half to even, to a float dtype; OverflowError for a finite one beyond it."""
    if dtype.name == "f64" or not math.isfinite(value):
        return value
    if dtype.name == "f32":
        single: float = _F32.unpack(_F32.pack(value))[0]
        return single
    digits, smallest, largest = _NARROW[dtype.name]
    quantum = max(math.frexp(value)[1], smallest) - digits
    rounded = math.ldexp(round(math.ldexp(value, -quantum)), quantum)
    if abs(rounded) > largest:
        raise OverflowError
    return math.copysign(rounded, value)
