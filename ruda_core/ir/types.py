"""Annotation types of kernel parameters: what stands after the colon."""

from __future__ import annotations

import typing
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from ruda_core.dtypes import BY_NAME, DType, Vec, VecType, bool_, shown, spelled
from ruda_core.errors import KernelTypeError
from ruda_core.source_text import running

Element = DType | VecType | TypeVar


def _checked_element(owner: str, item: Any) -> Element:
    if item is bool:
        return bool_
    if isinstance(item, (DType, VecType, TypeVar)):
        return item
    raise KernelTypeError(f"{owner}[{_shown(item)}]: {_advice(owner, item)}", **running())


def _shown(item: Any) -> str:
    if isinstance(item, tuple):
        return ", ".join(_shown(part) for part in item)
    return shown(item)


def _advice(owner: str, item: Any) -> str:
    """What to write instead of an element that is none."""
    if isinstance(item, tuple):
        first = spelled(item[0]) if item else None
        where = "len(x)" if owner == "Array" else "t.shape(0) and t.rank"
        return f"sizes are the argument's own, and a kernel reads them by {where}: write {owner}[{first or 'f32'}]"
    meant = spelled(item)
    if meant is not None:
        return f"{_shown(item)} is no dtype of kernels: write {owner}[{meant}]"
    if item is Vec:
        return f"a vector has a dtype and a length: write {owner}[Vec[f32, 4]]"
    if isinstance(item, (ArrayType, TensorType, ComptimeType)):
        return f"an element is one number or vector: write {owner}[f32]" + (
            ", or Tensor[f32] for several axes" if owner == "Array" else ""
        )
    return f"an element is a dtype ({', '.join(BY_NAME)}), a Vec or a TypeVar: write {owner}[f32]"


def _called(owner: str) -> KernelTypeError:
    return KernelTypeError(f"{owner} is an annotation, with brackets: write {owner}[f32]", **running())


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

        def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
            raise _called("Array")

    class Tensor:
        """`Tensor[f32]`: annotation of a tensor parameter of any rank."""

        def __class_getitem__(cls, item: Any) -> TensorType:
            return TensorType(_checked_element("Tensor", item))

        def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
            raise _called("Tensor")

    class Comptime:
        """`Comptime[int]`: annotation of a compile-time parameter."""

        def __class_getitem__(cls, item: Any) -> ComptimeType:
            return ComptimeType(item)


ParameterType = ArrayType | TensorType | ComptimeType | DType | VecType | TypeVar
