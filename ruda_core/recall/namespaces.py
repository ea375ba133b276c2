"""Modules and classes: what code may reach through their attributes."""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from types import FunctionType, MemberDescriptorType, ModuleType
from typing import Any

import numpy as np

from ruda_core.dtypes import DType
from ruda_core.frontend.intrinsics import EXPORTS
from ruda_core.recall.describe import Describer, Description, Uncovered
from ruda_core.recall.functions import PURE_BUILTINS, host

# Modules ------------------------------------------------------------------------------------------

_NUMPY_FUNCTIONS = frozenset(
    "all amax amin any arange argmax argmin array asarray clip cumprod cumsum diff dot dtype flip full linspace "
    "max mean min ndim ones outer prod reshape round select shape size sort sum tile transpose where zeros".split()
)
"""Functions of NumPy's whose results depend on their arguments alone, beside its ufuncs and scalar types."""


def module(d: Description, value: ModuleType) -> object:
    """A module by those of its attributes that the code may mean. Raises Uncovered."""
    if value.__name__ in _LIBRARIES:
        return _library(d, value)
    top = value.__name__.partition(".")[0]
    if type(value) is not ModuleType or top in ("ruda_core", "numpy", "ml_dtypes") or _is_standard(top):
        raise Uncovered(f"module {value.__name__} has more to it than values")
    if "__getattr__" in vars(value):
        raise Uncovered(f"module {value.__name__} makes up its attributes")
    d.namespaces = True
    return d.once("module", value, lambda: (value.__name__, list(_attributes(d, value))))


def _attributes(d: Description, value: ModuleType) -> Iterator[object]:
    space = vars(value)
    for name in sorted(d.names.intersection(space)):
        yield name, d.of(space[name])


def _library(d: Description, value: ModuleType) -> object:
    """A module that is the same wherever its version is, of which the code reads harmless things only."""
    d.namespaces = True
    harmless = _LIBRARIES[value.__name__]
    for name in d.names:
        if not harmless(value, name):
            raise Uncovered(f"{value.__name__}.{name} may give something else in another process")
    return "module", value.__name__


def _of_ruda(value: Any, name: str) -> bool:
    found = vars(value).get(name)
    if name in EXPORTS or isinstance(found, DType) or getattr(found, "__module__", None) in _OF_VALUES:
        return True
    return found is None and name not in value.__all__


def _of_numpy(value: ModuleType, name: str) -> bool:
    if name in getattr(value, "__numpy_submodules__", ()):
        return False
    found = vars(value).get(name)
    scalar = isinstance(found, type) and issubclass(found, np.generic)
    return scalar or isinstance(found, (np.ufunc, float, type(None))) or name in _NUMPY_FUNCTIONS


def _of_ml_dtypes(value: ModuleType, name: str) -> bool:
    return isinstance(vars(value).get(name), (type, type(None)))


_LIBRARIES: dict[str, Callable[[Any, str], bool]] = {
    "ruda_core": _of_ruda,
    "numpy": _of_numpy,
    "ml_dtypes": _of_ml_dtypes,
    "math": lambda value, name: True,
}


def _is_standard(top: str) -> bool:
    return top in sys.stdlib_module_names and top != "__main__"


# Classes ------------------------------------------------------------------------------------------

_OF_VALUES = frozenset({"ruda_core.dtypes", "ruda_core.ir.types", "ruda_core.artifact"})
"""Modules of ruda's whose classes are values and nothing else; what they do goes with ruda's own code."""
_BASES = frozenset({"enum", "typing", "abc"})
"""Modules whose classes stand above users' own and bring no values."""
_BOOKKEEPING = frozenset(
    "__module__ __qualname__ __doc__ __dict__ __weakref__ __annotations__ __annotate__ __annotate_func__ "
    "__annotations_cache__ __dataclass_fields__ __dataclass_params__ __match_args__ __slots__ "
    "__firstlineno__ __static_attributes__ __abstractmethods__ _abc_impl __parameters__ __orig_bases__ "
    "__type_params__ __signature__".split()
)
_SLOTS: tuple[type, ...] = (MemberDescriptorType, type(vars(inspect.FullArgSpec)["args"]))
"""How fields of a class with slots, and of a named tuple, are read."""
_GENERATED = frozenset(
    "__init__ __repr__ __eq__ __lt__ __le__ __gt__ __ge__ __hash__ __setattr__ __delattr__ __replace__ "
    "__getstate__ __setstate__ _dataclass_getstate _dataclass_setstate".split()
)
"""Methods that `dataclass` makes of the fields."""


def class_(d: Description, value: type) -> object:
    """A class with all that its own body says. Raises Uncovered."""
    top = value.__module__.partition(".")[0]
    if value.__module__ in _OF_VALUES or value in (object, type(None)) or top in _BASES:
        return "class", value.__module__, value.__qualname__
    if top == "builtins":
        if value.__name__ not in PURE_BUILTINS and not issubclass(value, (BaseException, str)):
            raise Uncovered(f"{value!r} may give something else in another process")
        return "class", "builtins", value.__name__
    if top in ("numpy", "ml_dtypes"):
        if not issubclass(value, (np.generic, np.dtype)):
            raise Uncovered(f"{value!r} is no scalar type")
        return "class", top, value.__name__
    if top == "ruda_core" or _is_standard(top) or type(value).__module__ not in ("builtins", "enum", "abc"):
        raise Uncovered(f"{value!r} has more to it than its body")
    return d.once("class", value, lambda: _body(d, value))


def _body(d: Description, value: type) -> object:
    bases = [d.of(base) for base in value.__bases__]
    members: list[tuple[str, Any]] = (
        list(value.__members__.items()) if isinstance(value, enum.EnumMeta) else []
    )
    own = [(name, member.name, d.of(member.value)) for name, member in members]
    names = {name for name, _ in members}
    rest = [(name, _attribute(d, item)) for name, item in _own(value) if name not in names]
    return value.__module__, value.__qualname__, bases, own, list(_fields(d, value)), rest


def _own(value: type) -> Iterator[tuple[str, Any]]:
    """The attributes that the class's body gives it, without what Python itself and `dataclass` add."""
    is_enum = isinstance(value, enum.EnumMeta)
    for name, item in sorted(vars(value).items()):
        if name in _BOOKKEEPING or isinstance(item, _SLOTS):
            continue
        function = _function(item)
        private = name.startswith("_")
        if private and (_made_by_python(name, function) if function is not None else is_enum):
            continue
        yield name, item


def _made_by_python(name: str, function: FunctionType) -> bool:
    """Whether a private method is what `enum`, `NamedTuple` or `dataclass` makes of a class's fields."""
    home = function.__module__ or ""
    if home in ("enum", "collections", "typing") or home.startswith("namedtuple_"):
        return True
    within: FunctionType = getattr(
        function, "__wrapped__", function
    )  # a record's repr is guarded against cycles
    return name in _GENERATED and within.__code__.co_filename == "<string>"


def _function(item: Any) -> FunctionType | None:
    """The plain function behind an attribute of a class."""
    if isinstance(item, property):
        item = item.fget
    elif isinstance(item, (staticmethod, classmethod)):
        item = item.__func__
    elif isinstance(item, functools.cached_property):
        item = item.func
    return item if isinstance(item, FunctionType) else None


def _attribute(d: Description, item: Any) -> object:
    function = _function(item)
    return (type(item).__name__, host(d, function)) if function is not None else d.of(item)


def _fields(d: Description, value: type) -> Iterator[object]:
    """How a dataclass's fields are filled in."""
    for field in vars(value).get("__dataclass_fields__", {}).values():
        has_default = field.default is not dataclasses.MISSING
        if field.default_factory is not dataclasses.MISSING:
            raise Uncovered(f"{value.__qualname__}.{field.name} has a factory")
        yield field.name, field.init, field.kw_only, d.of(field.default) if has_default else ""


NAMESPACES: dict[type, Describer] = {ModuleType: module, type: class_}
