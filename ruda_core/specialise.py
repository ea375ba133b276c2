"""What of a launch's arguments specialises a kernel: generic dtypes, ranks, compile-time values.

From a signature, one small function is generated that binds the arguments and gives the parts of the
specialisation key beside the run-time arguments, in order. Kernels whose parameters have concrete types
and no defaults need none of it.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeVar

import numpy as np

from ruda_core.artifact import ArrayParam
from ruda_core.dtypes import DType, ValueType, VecType, as_dtype, bool_, f32, i32
from ruda_core.errors import LaunchArgumentError
from ruda_core.frontend.arguments import ComptimeValue
from ruda_core.frontend.signature import KernelSignature
from ruda_core.ir.types import ArrayType, ComptimeType, TensorType

Split = Callable[..., tuple[tuple[Any, ...], tuple[Any, ...]]]
"""`split(*args, **kwargs)` -> (key parts, run-time arguments)."""


@dataclass(frozen=True, slots=True)
class Specialisation:
    """Concrete types of all parameters."""

    arguments: Mapping[str, Any]
    """For each parameter: a dtype, an `ArrayParam`, or a `ComptimeValue`."""
    typevars: Mapping[TypeVar, ValueType]


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the key: what `read` makes of the argument of a parameter."""

    name: str
    read: Callable[[Any], Any]


class Comptime:
    """A compile-time value as part of a key: equal only to the same type with the same bits."""

    __slots__ = ("_key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self._key = exact_key(value)

    def __hash__(self) -> int:
        try:
            return hash(self._key)
        except TypeError:
            raise LaunchArgumentError(
                f"a compile-time argument is a number, a text, an enum's member, or a tuple or dataclass of them, "
                f"not {self.value!r}"
            ) from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Comptime) and self._key == other._key


def exact_key(value: Any) -> Any:
    """A hashable stand-in: 1, True and 1.0 differ, and so do 0.0 and -0.0."""
    if isinstance(value, float):
        return float, struct.pack("<d", value)
    if isinstance(value, (tuple, list)):
        return type(value), tuple(exact_key(item) for item in value)
    if isinstance(value, enum.Enum):
        return type(value), value.name
    if isinstance(value, np.generic):
        return type(value), value.tobytes()
    if is_dataclass(value) and not isinstance(value, type):
        return type(value), tuple(exact_key(getattr(value, f.name)) for f in fields(value))
    return type(value), value


def scalar_dtype(value: Any) -> DType:
    """The dtype that a scalar argument brings to a generic parameter."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return i32
    if isinstance(value, float):
        return f32
    if isinstance(value, (np.generic, DType)):
        return as_dtype(getattr(value, "dtype", value))
    raise LaunchArgumentError(f"expected a Python or NumPy scalar, got {type(value).__name__}")


def element_of(argument: Any) -> ValueType | None:
    """The element type of an array argument or of an annotation; None for one that has none of its own."""
    if isinstance(argument, (ArrayType, TensorType)):
        return None if isinstance(argument.element, TypeVar) else argument.element
    element = getattr(argument, "dtype", None)
    return element if isinstance(element, (DType, VecType)) else None


def rank_of(argument: Any) -> int | None:
    """The rank of a tensor argument; None when it has no shape."""
    shape = getattr(argument, "shape", None)
    try:
        return None if shape is None else len(shape)
    except TypeError:
        raise LaunchArgumentError(f"the shape of {argument!r} is a tuple of ints, not {shape!r}") from None


class Specialiser:
    """Splits the arguments of one kernel."""

    def __init__(self, signature: KernelSignature) -> None:
        self.signature = signature
        self.parts = tuple(_parts(signature))
        self.runtime = tuple(p.name for p in signature.params if not isinstance(p.annotation, ComptimeType))
        self.trivial = not self.parts and not any(p.has_default for p in signature.params)
        """Nothing to split: every launch has the same key and all arguments are run-time arguments."""
        self.split = self._generate()

    def _generate(self) -> Split:
        namespace: dict[str, Any] = {f"read_{i}": part.read for i, part in enumerate(self.parts)}
        head = []
        for i, p in enumerate(self.signature.params):
            namespace[f"default_{i}"] = p.default
            head.append(f"{p.name}=default_{i}" if p.has_default else p.name)
        keys = "".join(f"read_{i}({part.name})," for i, part in enumerate(self.parts))
        values = "".join(f"{name}," for name in self.runtime)
        # the parameters are the function's only locals that a user names, so nothing can clash but its own globals
        source = f"def split({', '.join(head)}):\n    return ({keys}), ({values})\n"
        exec(compile(source, f"<split of {self.signature.name}>", "exec"), namespace)
        split: Split = namespace["split"]
        return split

    def specialisation(self, key: Sequence[Any]) -> Specialisation:
        """Concrete types from the key parts of one launch. Raises LaunchArgumentError."""
        found = dict(zip(((p.name, p.read) for p in self.parts), key, strict=True))
        typevars = self._bind(found)
        arguments: dict[str, Any] = {}
        for p in self.signature.params:
            annotation = p.annotation
            if isinstance(annotation, ComptimeType):
                value = found[p.name, Comptime].value
                if not _is_a(value, annotation.python):
                    raise self._refused(p.name, repr(annotation), f"{value!r} ({type(value).__name__})")
                arguments[p.name] = ComptimeValue(value)
            elif isinstance(annotation, ArrayType):
                arguments[p.name] = _array(p.name, self._concrete(annotation.element, typevars), None)
            elif isinstance(annotation, TensorType):
                rank = found[p.name, rank_of]
                if rank is None:
                    raise self._refused(p.name, repr(annotation), "a value without a shape")
                arguments[p.name] = _array(p.name, self._concrete(annotation.element, typevars), rank)
            else:
                arguments[p.name] = self._concrete(annotation, typevars)
        return Specialisation(arguments, typevars)

    def check_types(self, given: Sequence[Any]) -> None:
        """Raise LaunchArgumentError unless these are annotations or sample arguments of the parameters."""
        for p, value in zip(self.signature.params, given, strict=False):
            if not _fits(p.annotation, value):
                raise self._refused(p.name, f"{p.annotation!r}, or an argument like it", repr(value))

    def _bind(self, found: Mapping[tuple[str, Any], Any]) -> dict[TypeVar, ValueType]:
        typevars: dict[TypeVar, ValueType] = {}
        owners: dict[TypeVar, str] = {}
        scalars = []
        for p in self.signature.params:
            annotation = p.annotation
            if isinstance(annotation, TypeVar):
                scalars.append((annotation, p.name))
            elif isinstance(annotation, (ArrayType, TensorType)) and isinstance(annotation.element, TypeVar):
                given: ValueType | None = found[p.name, element_of]
                if given is not None:
                    self._bind_one(typevars, owners, annotation.element, given, p.name)
        for variable, name in scalars:
            if variable not in typevars:
                self._bind_one(typevars, owners, variable, found[name, scalar_dtype], name)
        return typevars

    def _bind_one(
        self,
        typevars: dict[TypeVar, ValueType],
        owners: dict[TypeVar, str],
        variable: TypeVar,
        element: ValueType,
        name: str,
    ) -> None:
        bound = typevars.setdefault(variable, element)
        owner = owners.setdefault(variable, name)
        if bound != element:
            raise self._refused(name, f"{bound!r}, as {owner} binds {variable.__name__}", f"{element!r}")
        allowed = variable.__constraints__
        if allowed and element not in allowed:
            names = ", ".join(repr(a) for a in allowed)
            raise self._refused(name, f"one of {names} for {variable.__name__}", repr(element))

    def _concrete(self, element: Any, typevars: Mapping[TypeVar, ValueType]) -> ValueType:
        if not isinstance(element, TypeVar):
            concrete: ValueType = element
            return concrete
        if element not in typevars:
            raise LaunchArgumentError(
                f"{self.signature.name}: nothing binds the generic dtype {element.__name__}: pass at least one "
                f"RudaTensor for it (an ArrayArg has no dtype of its own)"
            )
        return typevars[element]

    def _refused(self, name: str, expected: str, got: str) -> LaunchArgumentError:
        return LaunchArgumentError(f"{self.signature.name}: parameter {name}: expected {expected}, got {got}")


_COMPTIME_KINDS: Mapping[Any, tuple[type, ...]] = {
    bool: (bool, np.bool_),
    int: (int, np.integer),
    float: (float, int, np.floating, np.integer),
}
"""The values that a `Comptime[...]` of Python's numbers takes; other kinds are the kernel's own business."""


def _is_a(value: Any, kind: Any) -> bool:
    wanted = _COMPTIME_KINDS.get(kind) if isinstance(kind, type) else None
    # arrays and lists have an error of their own that says where they belong
    return (
        wanted is None or isinstance(value, wanted) or not isinstance(value, int | float | str | np.generic)
    )


def _fits(annotation: Any, given: Any) -> bool:
    """True when what `compile` was given for a parameter is its annotation or a sample argument."""
    if isinstance(annotation, ComptimeType):
        return True
    if isinstance(annotation, (ArrayType, TensorType)):
        if isinstance(given, (ArrayType, TensorType)) and type(given) is not type(annotation):
            return False
        if not isinstance(given, (ArrayType, TensorType)) and not hasattr(given, "handle"):
            return False
        element = element_of(given)
        return element is None or isinstance(annotation.element, TypeVar) or element == annotation.element
    if isinstance(given, (DType, VecType)):
        return isinstance(annotation, TypeVar) or given == annotation
    return isinstance(given, int | float | np.generic)


def _parts(signature: KernelSignature) -> list[Part]:
    parts = []
    for p in signature.params:
        annotation = p.annotation
        if isinstance(annotation, ComptimeType):
            parts.append(Part(p.name, Comptime))
            continue
        if isinstance(annotation, TypeVar):
            parts.append(Part(p.name, scalar_dtype))
            continue
        if isinstance(annotation, (ArrayType, TensorType)) and isinstance(annotation.element, TypeVar):
            parts.append(Part(p.name, element_of))
        if isinstance(annotation, TensorType):
            parts.append(Part(p.name, rank_of))
    return parts


def _array(name: str, element: ValueType, rank: int | None) -> ArrayParam:
    return ArrayParam(name, element.scalar.name, element.lanes, rank)
