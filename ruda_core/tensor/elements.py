"""Element types: what users write for them, how they lie, and where launches count from."""

from __future__ import annotations

from typing import Any

import numpy as np

from ruda_core.dtypes import DType, ValueType, VecType, as_dtype
from ruda_core.errors import LaunchArgumentError


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
