"""A kernel's or helper's parameters, with their annotations evaluated."""

from __future__ import annotations

import ast
import inspect
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ruda_core.dtypes import DType, Vec, VecType, bool_, spelled
from ruda_core.errors import CompileError, KernelSyntaxError, KernelTypeError
from ruda_core.frontend.arguments import IndexType
from ruda_core.frontend.source import Source, parameters, source_of
from ruda_core.ir.span import Span, error_at
from ruda_core.ir.types import Array, ArrayType, Comptime, ComptimeType, ParameterType, Tensor, TensorType

Annotation = ParameterType | IndexType


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter as the user wrote it."""

    name: str
    annotation: Annotation
    default: Any
    """`inspect.Parameter.empty` when there is none."""
    span: Span

    @property
    def has_default(self) -> bool:
        return self.default is not inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class KernelSignature:
    """The parameters of one kernel or helper, in order."""

    name: str
    params: tuple[Parameter, ...]
    file: str
    line: int
    returns: Any = None
    """The evaluated return annotation: a type, a tuple of types, or None when it says nothing."""

    @property
    def typevars(self) -> tuple[TypeVar, ...]:
        """The generic dtypes, in order of appearance."""
        found: dict[TypeVar, None] = {}
        for p in self.params:
            variable = getattr(p.annotation, "element", p.annotation)
            if isinstance(variable, TypeVar):
                found[variable] = None
        return tuple(found)


_known: weakref.WeakKeyDictionary[Callable[..., Any], KernelSignature] = weakref.WeakKeyDictionary()


def signature(fn: Callable[..., Any], scope: Mapping[str, Any] | None = None) -> KernelSignature:
    """The signature of a function, worked out once.

    `scope` holds names of the defining function, for annotations that are strings. Raises
    KernelTypeError, at the parameter, for an annotation that is missing or means nothing here.
    """
    found = _known.get(fn)
    if found is None:
        found = _known[fn] = _signature(fn, source_of(fn), scope or {})
    return found


def _signature(fn: Callable[..., Any], source: Source, scope: Mapping[str, Any]) -> KernelSignature:
    node = source.node
    for extra, stars in ((node.args.vararg, "*"), (node.args.kwarg, "**")):
        if extra is not None:
            raise error_at(
                KernelSyntaxError,
                f"{stars}{extra.arg} is not in the kernel language: name each parameter",
                source.span(extra),
            )
    defaults = {p.name: p.default for p in inspect.signature(fn).parameters.values()}
    names = _Names(fn, scope)
    params = tuple(
        Parameter(arg.arg, _annotation(arg, source, fn, names), defaults[arg.arg], source.span(arg))
        for arg in parameters(node)
    )
    returns = _returns(node, source, fn, names)
    return KernelSignature(source.name, params, source.file, source.span(node).line, returns)


def _annotation(arg: ast.arg, source: Source, fn: Callable[..., Any], names: _Names) -> Annotation:
    span = source.span(arg.annotation or arg)
    if arg.annotation is None:
        advice = _RECEIVER.get(arg.arg) or (
            f"write {arg.arg}: f32, {arg.arg}: Array[f32] or {arg.arg}: Comptime[int]"
        )
        raise error_at(
            KernelTypeError, f"parameter {arg.arg!r} of {source.name} has no annotation: {advice}", span
        )
    value = names.evaluate(fn.__annotations__[arg.arg], span)
    if value is bool:
        return bool_
    if isinstance(value, (ArrayType, TensorType, ComptimeType, DType, VecType, TypeVar, IndexType)):
        return value
    raise error_at(
        KernelTypeError,
        f"parameter {arg.arg!r} of {source.name} has the annotation {ast.unparse(arg.annotation)}, which is no "
        f"parameter type: {_advice(value)}",
        span,
    )


_RECEIVER = dict.fromkeys(
    ("self", "cls"),
    "a kernel or helper is no method: write it outside the class, or put @staticmethod above the decorator "
    "and leave this parameter out",
)
_ADVICE: dict[type, str] = {
    int: "write a dtype such as i32, or Comptime[int]",
    float: "write a dtype such as f32, or Comptime[float]",
    tuple: "write Comptime[tuple]",
    list: "write Array[f32], or Comptime[tuple] for values known at compile time",
    np.ndarray: "write Array[f32], or Tensor[f32] for several axes",
    Array: "write Array[f32]",
    Tensor: "write Tensor[f32]",
    Comptime: "write Comptime[int]",
    Vec: "write Array[Vec[f32, 4]], or in a helper Vec[f32, 4]",
}


def _advice(value: Any) -> str:
    """What to write instead of an annotation that is no parameter type."""
    kind = getattr(value, "__origin__", value)
    found = _ADVICE.get(kind) if isinstance(kind, type) else None
    if found is None and (meant := spelled(value)) is not None:
        found = f"write {meant}"
    return found or "write a dtype such as f32, Array[f32], Tensor[f32] or Comptime[int]"


def _returns(node: ast.FunctionDef, source: Source, fn: Callable[..., Any], names: _Names) -> Any:
    if node.returns is None:
        return None
    value = names.evaluate(fn.__annotations__["return"], source.span(node.returns))
    items = getattr(value, "__args__", None) if getattr(value, "__origin__", None) is tuple else None
    kept = tuple(bool_ if v is bool else v for v in (items or (value,)))
    if not all(isinstance(v, (DType, VecType, TypeVar, IndexType)) for v in kept):
        return None  # says nothing about dtypes
    return kept if items else kept[0]


class _Names(Mapping[str, Any]):
    """What a string annotation may name: the closure, the defining function, the module, builtins."""

    def __init__(self, fn: Any, scope: Mapping[str, Any]) -> None:
        self._cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
        self._scope = scope
        self._globals = fn.__globals__

    def __getitem__(self, name: str) -> Any:
        if name in self._cells:
            try:
                return self._cells[name].cell_contents
            except ValueError:
                pass  # not bound yet; the frame may have it
        return self._scope[name] if name in self._scope else self._globals[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._globals, **self._scope, **self._cells})

    def __len__(self) -> int:
        return len(list(iter(self)))

    def evaluate(self, annotation: Any, span: Span) -> Any:
        """The annotation's value; strings are evaluated, also strings in strings."""
        try:
            while isinstance(annotation, str):
                annotation = eval(annotation, {"__builtins__": _builtins(self._globals)}, self)
        except CompileError as error:  # ours, of Array[...] and its like: it belongs to the parameter's place
            raise error_at(type(error), error.message, span) from None
        except Exception as error:  # whatever the user's expression raises
            raise error_at(KernelTypeError, f"the annotation cannot be evaluated: {error}", span) from error
        return annotation


def _builtins(namespace: dict[str, Any]) -> Any:
    import builtins

    return namespace.get("__builtins__", builtins)
