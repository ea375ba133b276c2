"""Captured names: what a kernel may take from its module and closure, and noticing when it changes."""

from __future__ import annotations

import dataclasses
import enum
import itertools
import struct
import types
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np

from ruda_core.dtypes import DType, VecType
from ruda_core.frontend.arguments import IndexType
from ruda_core.frontend.functions import Func
from ruda_core.frontend.intrinsics import Intrinsic


class _Missing:
    def __repr__(self) -> str:
        return "<no value>"


MISSING = _Missing()

PlainFunction = types.FunctionType


class Capture:
    """One name that a specialisation depends on: where its value is read, and what it is now."""

    __slots__ = ("_holder", "_in_cell", "_name", "_path", "_seen")

    def __init__(
        self, holder: dict[str, Any] | types.CellType, name: str, path: tuple[str, ...] = ()
    ) -> None:
        """`holder` is a module's namespace or a closure's cell; `path` are attributes to follow."""
        self._holder: Any = holder
        self._in_cell = isinstance(holder, types.CellType)
        self._name = name
        self._path = path
        self._seen: tuple[Any, int, Callable[[], bool] | None] = (self, -1, None)
        """The last value, its key, and whether that still holds (None: it cannot change); replaced as one."""

    def value(self) -> Any:
        """The object that the name means now; MISSING when there is none."""
        try:
            found = self._holder.cell_contents if self._in_cell else self._holder[self._name]
            for attribute in self._path:
                found = getattr(found, attribute)
        except (KeyError, ValueError, AttributeError):
            return MISSING
        return found

    def read(self) -> int:
        """A number for the current value: equal only for values of one type with the same bits."""
        if self._in_cell or self._path:
            found = self.value()
        else:
            found = self._holder.get(self._name, MISSING)
        last, key, holds = self._seen
        if found is last and (holds is None or holds()):
            return key
        exact = key_of(found)
        key = _numbers.setdefault(exact, next(_count))
        fn = found.fn if isinstance(found, Func) else found if isinstance(found, PlainFunction) else None
        self._seen = (found, key, None if fn is None else _unchanged(fn))
        return key

    @property
    def place(self) -> tuple[dict[str, Any] | types.CellType, str, tuple[str, ...]]:
        """Where the value is read: the namespace or cell, the name, the attributes to follow."""
        return self._holder, self._name, self._path

    def at(self, path: tuple[str, ...]) -> Capture:
        """The capture of an attribute of this one's value."""
        return Capture(self._holder, self._name, (*self._path, *path))

    def __repr__(self) -> str:
        return ".".join((self._name, *self._path))

    def _identity(self) -> tuple[int, str, tuple[str, ...]]:
        return id(self._holder), self._name, self._path

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Capture) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())


_count = itertools.count()
_numbers: dict[Any, int] = {}
"""A number for each value seen: keys of launches are then tuples of ints."""


def capture_key(captures: Iterable[Capture]) -> tuple[int, ...]:
    """The current values of all captures as one hashable key."""
    return tuple([c.read() for c in captures])


def _unchanged(fn: Any) -> Callable[[], bool]:
    """A test of whether a function, which stays the same object, has kept its code and its cells."""
    code, contents = fn.__code__, _contents(fn)
    if any(isinstance(c.value, (Func, PlainFunction)) for c in contents):
        return lambda: False  # those can change too: look again each time
    if not contents:
        return lambda: fn.__code__ is code
    return lambda: fn.__code__ is code and _contents(fn) == contents


# Keys -------------------------------------------------------------------------------------------


class _Code:
    """Stands for a code object, equal ones for equal code; compares by identity, so it is cheap."""

    __slots__ = ("__weakref__",)


_codes: weakref.WeakKeyDictionary[types.CodeType, _Code] = weakref.WeakKeyDictionary()
_code_of: dict[int, tuple[weakref.ref[types.CodeType], _Code]] = {}


def _code_key(code: types.CodeType) -> _Code:
    entry = _code_of.get(id(code))
    if entry is not None and entry[0]() is code:
        return entry[1]
    key = _codes.get(code)
    if key is None:
        key = _codes[code] = _Code()
    _code_of[id(code)] = (weakref.ref(code), key)
    return key


class _Same:
    """A key for what can only be compared by identity."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def key_of(value: Any) -> Any:
    """A hashable stand-in for a captured value: 1, True and 1.0 differ, and so do 0.0 and -0.0."""
    kind = type(value)
    if kind is int or kind is bool:
        return kind, value
    if kind is float:
        return float, struct.pack("<d", value)
    if isinstance(value, (Func, PlainFunction)):
        return _function_key(value, ())
    if isinstance(value, enum.Enum):
        return kind, value.name, key_of(value.value)
    if isinstance(value, tuple):
        return kind, tuple([key_of(item) for item in value])
    if isinstance(value, np.generic):
        return kind, value.tobytes()
    if is_frozen(value):
        return kind, tuple([key_of(getattr(value, f.name)) for f in dataclasses.fields(value)])
    if isinstance(value, (DType, VecType, str)):
        return kind, value
    return _Same(value)


def _function_key(function: Any, inside: tuple[Any, ...]) -> Any:
    """Code, closure and defaults. Globals are captures of their own, read where the function was lowered."""
    fn = function.fn if isinstance(function, Func) else function
    if fn in inside:
        return "itself"
    cells = []
    for cell in fn.__closure__ or ():
        try:
            content = cell.cell_contents
        except ValueError:
            content = MISSING
        nested = isinstance(content, (Func, PlainFunction))
        cells.append(_function_key(content, (*inside, fn)) if nested else key_of(content))
    defaults = (*(fn.__defaults__ or ()), *(fn.__kwdefaults__ or {}).values())
    return (
        type(function),
        _code_key(fn.__code__),
        id(fn.__globals__),
        tuple(cells),
        tuple([key_of(d) for d in defaults]),
    )


def _contents(fn: Any) -> list[_Same]:
    """What the cells of a function hold now."""
    found = []
    for cell in fn.__closure__ or ():
        try:
            found.append(_Same(cell.cell_contents))
        except ValueError:
            found.append(_Same(MISSING))
    return found


# What may be captured -----------------------------------------------------------------------------


def is_frozen(value: Any) -> bool:
    """True for an instance of a frozen dataclass."""
    params = getattr(type(value), "__dataclass_params__", None)
    return params is not None and bool(params.frozen)


_SIMPLE = (int, float, DType, VecType, IndexType, TypeVar, enum.Enum, Intrinsic, Func, type(None), str)


def refusal(value: Any) -> str | None:
    """Why a value cannot be captured; None when it can."""
    if isinstance(value, tuple):
        return next((reason for item in value if (reason := refusal(item)) is not None), None)
    if hasattr(type(value), "launch") and hasattr(value, "fn"):
        return (
            "is a kernel, and kernels do not call kernels: put what both need into a @ruda.func, "
            "or launch them one after the other"
        )
    if (
        isinstance(value, (*_SIMPLE, np.generic, types.ModuleType, type))
        or is_frozen(value)
        or callable(value)
    ):
        return None
    kind = type(value).__name__
    if any(
        hasattr(value, name) for name in ("__array_interface__", "__dlpack__", "__cuda_array_interface__")
    ):
        return f"is an array ({kind}): pass it to the kernel as an Array or Tensor parameter"
    advice = {
        "list": "make it a tuple",
        "dict": "use a frozen dataclass",
        "set": "make it a tuple",
        "complex": "use two floats",
    }.get(kind, "pass it as a parameter, or capture numbers, tuples, enum members or frozen dataclasses")
    return f"is a {kind}, which is not a compile-time value: {advice}"


def plain(value: Any) -> Any:
    """NumPy scalars as Python's numbers, in tuples too; anything else as it is."""
    if isinstance(value, np.generic):
        number = value.item()
        return number if isinstance(number, (int, float)) else float(value)
    if type(value) is tuple:
        return tuple([plain(item) for item in value])
    return value


class Resolver:
    """Finds the names of one function that are not its own, and records which were read."""

    def __init__(self, fn: Any, found: dict[Capture, None]) -> None:
        self._cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
        self._globals: dict[str, Any] = fn.__globals__
        builtins = self._globals.get("__builtins__", {})
        self._builtins: dict[str, Any] = builtins if isinstance(builtins, dict) else vars(builtins)
        self._found = found

    def find(self, name: str) -> tuple[Any, Capture | None]:
        """The value of a name and its capture, not yet recorded; (MISSING, None) for an unknown name."""
        holder: Any = self._cells.get(name)
        if holder is None and name in self._globals:
            holder = self._globals
        if holder is None:
            return self._builtins.get(name, MISSING), None
        capture = Capture(holder, name)
        return capture.value(), capture

    def names(self) -> list[str]:
        """What it finds, Python's own left out."""
        return [*self._cells, *self._globals]

    def record(self, capture: Capture | None) -> None:
        """Make the specialisation depend on a capture."""
        if capture is not None:
            self._found.setdefault(capture)


CONSTANT_MODULES = frozenset({"ruda_core", "math", "numpy", "ml_dtypes", "builtins"})
"""Modules whose attributes do not change: reading one needs no capture."""


def called_on_host(function: Callable[..., Any], found: dict[Capture, None], depth: int = 8) -> None:
    """Record what a plain function reads, so that changing it is noticed: globals and what its closure holds,
    attributes of modules and classes among them, also from functions inside it, and what the plain functions
    among them read. Attributes that are made anew each time, and the insides of other objects, are left out."""
    fn = getattr(function, "__func__", function)
    if not isinstance(fn, PlainFunction) or depth == 0:
        return
    names = {name for code in _with_nested(fn.__code__) for name in code.co_names}
    holders: list[tuple[Any, str]] = [
        (fn.__globals__, name) for name in sorted(names & fn.__globals__.keys())
    ]
    holders += [
        (cell, name) for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True)
    ]
    for holder, name in holders:
        _read_on_host(Capture(holder, name), names, found, depth)


def _read_on_host(capture: Capture, names: set[str], found: dict[Capture, None], depth: int) -> None:
    """Record one name of a plain function's, whose code mentions `names`."""
    if capture in found or depth == 0:
        return
    value = capture.value()
    if isinstance(value, (types.ModuleType, type)):
        if getattr(value, "__module__", value.__name__).partition(".")[0] in CONSTANT_MODULES:
            return
        for name in sorted(names & vars(value).keys()):
            if not name.startswith("__"):
                _read_on_host(capture.at((name,)), names, found, depth - 1)
    elif value is capture.value():  # a bound method is another one at each look
        found[capture] = None
    if callable(value):
        called_on_host(value, found, depth - 1)


def _with_nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _with_nested(const)
