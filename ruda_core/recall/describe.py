"""Values as text that is equal for equal values in every process, or a refusal.

What a kernel's code depends on is described completely or not at all: whoever cannot be told apart for
certain raises Uncovered, and the kernel is then compiled as if there were no disk.
"""

from __future__ import annotations

import dataclasses
import enum
import struct
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType, GenericAlias
from typing import Any, TypeVar

import numpy as np

from ruda_core.dtypes import DType, VecType
from ruda_core.frontend.arguments import ComptimeValue, IndexType
from ruda_core.frontend.intrinsics import Intrinsic
from ruda_core.ir.types import ArrayType, ComptimeType, TensorType


class Uncovered(Exception):
    """Something that a description cannot stand for; the message says what."""


Describer = Callable[["Description", Any], object]


class Description:
    """One description while it is made: nested tuples of plain values, whose `repr` is the text."""

    def __init__(self, names: Iterable[str], describers: Mapping[type, Describer]) -> None:
        """`names`: the attributes that any of the code may read, by which modules are described.
        `describers`: how values are described, by their type or a type above it."""
        self.names = frozenset(names)
        self.found: set[str] = set()
        """The names that the code turned out to mention."""
        self.namespaces = False
        """Whether `names` counted: something was described by its attributes."""
        self.functions: list[FunctionType] = []
        """Every function that was described, in an order that is the same for equal descriptions."""
        self.places: set[tuple[int, str]] = set()
        """The names that were described: `id` of the namespace or the cell, and the name."""
        self._describers = describers
        self._seen: dict[tuple[str, int], tuple[int, Any]] = {}

    def of(self, value: Any) -> object:
        """The description of a value. Raises Uncovered."""
        describer = self._describers.get(type(value))
        if describer is None:
            # a member of an enum may also be a number or a text
            kinds = (enum.Enum,) if isinstance(value, enum.Enum) else type(value).__mro__
            describer = next(self._describers[kind] for kind in kinds if kind in self._describers)
        return describer(self, value)

    def once(self, what: str, value: Any, make: Callable[[], object]) -> object:
        """`make()`; for an object that was met before only which one, so that cycles end."""
        known = self._seen.get((what, id(value)))
        if known is not None:
            return "again", known[0]
        self._seen[what, id(value)] = len(self._seen), value  # kept, so that no other gets its id
        return what, make()


# Describers ---------------------------------------------------------------------------------------


def _plain(d: Description, value: Any) -> object:
    _exactly(value, int, bool, str, type(None))
    return type(value).__name__, value


def _float(d: Description, value: float) -> object:
    _exactly(value, float)
    return "float", struct.pack("<d", value)


def _items(d: Description, value: Any) -> object:
    kind = type(value)
    head = kind.__name__ if kind in (tuple, list) else d.of(kind)
    if isinstance(value, list):
        _exactly(value, list)
    return d.once("items", value, lambda: (head, tuple([d.of(item) for item in value])))


def _mapping(d: Description, value: dict[Any, Any]) -> object:
    _exactly(value, dict)
    return d.once("dict", value, lambda: tuple([(d.of(k), d.of(v)) for k, v in value.items()]))


def _scalar(d: Description, value: np.generic) -> object:
    kind = type(value)
    if kind.__module__.partition(".")[0] not in ("numpy", "ml_dtypes") or isinstance(
        value, (np.object_, np.void)
    ):
        raise Uncovered(f"{value!r:.60} is no scalar of NumPy's own")
    return kind.__module__, kind.__qualname__, value.tobytes()


def _member(d: Description, value: enum.Enum) -> object:
    return "member", d.of(type(value)), value.name, d.of(value.value)


def _record(d: Description, value: Any) -> object:
    """A frozen dataclass: its class and its fields, when it has nothing else."""
    kind = type(value)
    params = getattr(kind, "__dataclass_params__", None)
    if params is None or not params.frozen:
        raise Uncovered(f"{value!r:.60} is a {kind.__qualname__}")
    names = [f.name for f in dataclasses.fields(value)]
    if not set(getattr(value, "__dict__", ())).issubset(names):
        raise Uncovered(f"{kind.__qualname__} keeps more than its fields")

    def make() -> object:
        return d.of(kind), tuple([(name, d.of(getattr(value, name))) for name in names])

    return d.once("record", value, make)


def _typevar(d: Description, value: TypeVar) -> object:
    return d.once("generic", value, lambda: (value.__name__, tuple([d.of(c) for c in value.__constraints__])))


def _comptime(d: Description, value: ComptimeType) -> object:
    kind = value.python  # only numbers among them are checked, and those by identity
    return "Comptime", getattr(kind, "__module__", ""), getattr(kind, "__qualname__", repr(kind))


def _alias(d: Description, value: GenericAlias) -> object:
    return "alias", d.of(value.__origin__), tuple([d.of(arg) for arg in value.__args__])


def _exactly(value: Any, *kinds: type) -> None:
    """Raise Uncovered for a subclass, whose operators may be its own."""
    if type(value) not in kinds:
        raise Uncovered(f"{value!r:.60} is a {type(value).__qualname__}")


VALUES: dict[type, Describer] = {
    type(None): _plain,
    enum.Enum: _member,
    bool: _plain,
    int: _plain,
    str: _plain,
    float: _float,
    tuple: _items,
    list: _items,
    dict: _mapping,
    np.generic: _scalar,
    DType: lambda d, value: value.name,
    VecType: lambda d, value: (value.scalar.name, value.lanes),
    IndexType: lambda d, value: "index",
    Intrinsic: lambda d, value: ("intrinsic", value.name),
    TypeVar: _typevar,
    ArrayType: lambda d, value: ("Array", d.of(value.element)),
    TensorType: lambda d, value: ("Tensor", d.of(value.element)),
    ComptimeType: _comptime,
    ComptimeValue: lambda d, value: ("comptime", d.of(value.value)),
    GenericAlias: _alias,
    object: _record,
}
