"""Element types: what users write for them, how they lie, and where launches count from."""

from __future__ import annotations

from typing import Any

import numpy as np

from ruda_core.dtypes import DType, ValueType, VecType, as_dtype
from ruda_core.errors import LaunchArgumentError
from ruda_core.memory import host_array


def element_type(value: object) -> ValueType:
    """ruda's dtype or vector type of what a user wrote; raises LaunchArgumentError for what is none."""
    if isinstance(value, VecType):
        return value
    try:
        return as_dtype(value)
    except TypeError as error:
        raise LaunchArgumentError(str(error)) from None


def scalar_type(value: object) -> DType:
    """The same for a dtype of scalars."""
    kind = element_type(value)
    if isinstance(kind, VecType):
        raise LaunchArgumentError(f"a dtype of scalars is needed here, not {kind!r}")
    return kind


def host_dtype(host: np.ndarray[Any, Any]) -> DType:
    """ruda's dtype of a host array; raises LaunchArgumentError for one that the language lacks."""
    try:
        return as_dtype(host.dtype)
    except TypeError as error:
        raise LaunchArgumentError(f"{error}: convert the array with astype first") from error


def host_elements(array: Any, dtype: object = None) -> tuple[np.ndarray[Any, Any], DType]:
    """The elements of an array, a nested list or a DLPack producer on the host, as `dtype` where one is given.

    Raises LaunchArgumentError for what are no numbers of it.
    """
    wanted = None if dtype is None else scalar_type(dtype)
    try:
        if wanted is not None and isinstance(array, list | tuple | int | float):
            host = np.asarray(array, wanted.numpy)  # refuses what an array's conversion would wrap
        else:
            host = host_array(array)
            host = host if wanted is None else host.astype(wanted.numpy, copy=False)
    except (ValueError, TypeError, OverflowError) as error:
        what = "an array of numbers" if wanted is None else f"an array of {wanted!r}"
        raise LaunchArgumentError(f"this {type(array).__name__} is not {what}: {error}") from error
    return host, wanted or host_dtype(host)


def element(kind: DType, value: Any) -> Any:
    """A number as one element; raises LaunchArgumentError for one that the dtype does not hold, save by rounding a float."""
    try:
        number = float(value) if kind.is_float else int(value)
        held = kind.is_float or (number == value and kind.min <= number <= kind.max)
    except (TypeError, ValueError, OverflowError):
        held = False
    if not held or isinstance(value, str | bytes):
        raise LaunchArgumentError(f"{value!r} ({type(value).__name__}) is no value of {kind.name}")
    with np.errstate(over="ignore"):
        return kind.numpy.type(number)


def alignment_of(kind: ValueType) -> int:
    """Bytes that the address of an element must be a multiple of; a vector of three lies as its scalars."""
    return kind.scalar.itemsize if kind.lanes == 3 else kind.itemsize


def unit_of(kind: ValueType) -> int:
    """Offset units of one element: offsets count elements, save that vectors of three, which no
    allocation's start is a multiple of, count components."""
    return 3 if kind.lanes == 3 else 1


def placed(byte_offset: int, kind: ValueType) -> int:
    """The offset, in the units of launches, of an aligned place in a storage."""
    return byte_offset // (kind.itemsize if kind.lanes != 3 else kind.scalar.itemsize)
