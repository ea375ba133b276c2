"""What a parameter may be beside a dtype or an array: the index type, and a compile-time value.

Apart from `values`, which launches of a kernel from disk do without.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NoReturn

from ruda_core.errors import RudaError


class IndexType:
    """The type of positions and lengths: i32, or i64 for launches that need it.

    As `ruda.index` it is an annotation and, in a kernel, a cast.
    """

    name = "index"
    kind: Literal["int"] = "int"
    is_integer = True
    is_float = False
    is_signed = True
    lanes = 1

    @property
    def scalar(self) -> IndexType:
        return self

    def __repr__(self) -> str:
        return "index"

    def __reduce__(self) -> str:
        return "INDEX"

    def __call__(self, value: Any) -> NoReturn:
        raise RudaError("ruda.index(...) casts inside a kernel; on the host, use int(...)")


INDEX = IndexType()


@dataclass(frozen=True, slots=True)
class ComptimeValue:
    """The argument of a `Comptime[...]` parameter."""

    value: Any
