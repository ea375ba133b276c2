"""The small records that name storage in calls."""

from __future__ import annotations

from dataclasses import dataclass

from ruda_core.memory import Handle


@dataclass(frozen=True, slots=True)
class ArrayArg:
    """Storage as the argument of an `Array` parameter: `length` elements from the handle's start."""

    handle: Handle
    length: int


@dataclass(frozen=True, slots=True)
class TensorArg:
    """Storage as the argument of a `Tensor` parameter; strides in elements, from the handle's start."""

    handle: Handle
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TensorLayout:
    """Tensor storage: the handle, and its strides in elements."""

    handle: Handle
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CopyDescriptor:
    """A strided tensor to read: strides in elements of `elem_size` bytes."""

    handle: Handle
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    elem_size: int
