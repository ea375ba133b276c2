"""Annotation types of kernel parameters: what stands after the colon."""

from __future__ import annotations

import typing
from dataclasses import dataclass
from typing import Any, TypeVar

from ruda_core.dtypes import DType, VecType, bool_

Element = DType | VecType | TypeVar


def _checked_element(owner: str, item: Any) -> Element:
    if item is bool:
        return bool_
    if isinstance(item, (DType, VecType, TypeVar)):
        return item
    raise TypeError(f"{owner}[...] takes a dtype such as f32, a Vec type or a TypeVar, not {item!r}")


@dataclass(frozen=True)
class ArrayType:
    """`Array[T]`: one-dimensional, contiguous, knows its length."""

    element: Element

    def __repr__(self) -> str:
        return f"Array[{_name(self.element)}]"


@dataclass(frozen=True)
class TensorType:
    """`Tensor[T]`: any rank, with shape and strides."""

    element: Element

    def __repr__(self) -> str:
        return f"Tensor[{_name(self.element)}]"


@dataclass(frozen=True)
class ComptimeType:
    """`Comptime[int]`: a Python value that specialises the kernel."""

    python: Any

    def __repr__(self) -> str:
        return f"Comptime[{getattr(self.python, '__name__', self.python)}]"


def _name(element: Element) -> str:
    return element.__name__ if isinstance(element, TypeVar) else repr(element)


if typing.TYPE_CHECKING:
    _T = TypeVar("_T")

    class Array(typing.Generic[_T]):
        """See `ArrayType`."""

    class Tensor(typing.Generic[_T]):
        """See `TensorType`."""

    Comptime = typing.Annotated[_T, "comptime"]
else:

    class Array:
        """`Array[f32]`: annotation of a one-dimensional array parameter."""

        def __class_getitem__(cls, item: Any) -> ArrayType:
            return ArrayType(_checked_element("Array", item))

    class Tensor:
        """`Tensor[f32]`: annotation of a tensor parameter of any rank."""

        def __class_getitem__(cls, item: Any) -> TensorType:
            return TensorType(_checked_element("Tensor", item))

    class Comptime:
        """`Comptime[int]`: annotation of a compile-time parameter."""

        def __class_getitem__(cls, item: Any) -> ComptimeType:
            return ComptimeType(item)


ParameterType = ArrayType | TensorType | ComptimeType | DType | VecType | TypeVar
