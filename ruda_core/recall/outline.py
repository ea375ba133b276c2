"""A signature without its source: what a kernel's annotations and defaults say, and no places in the text."""

from __future__ import annotations

import builtins
import inspect
from collections import ChainMap
from collections.abc import Mapping
from typing import Any, TypeVar

from ruda_core.dtypes import DType, VecType, bool_
from ruda_core.frontend.arguments import IndexType
from ruda_core.frontend.signature import KernelSignature, Parameter
from ruda_core.ir.span import UNKNOWN
from ruda_core.ir.types import ArrayType, ComptimeType, TensorType

_TYPES = (ArrayType, TensorType, ComptimeType, DType, VecType, TypeVar, IndexType)


def outline(fn: Any, scope: Mapping[str, Any] | None) -> KernelSignature | None:
    """The signature of a function, its spans unknown and its line that of the first decorator.

    None where anything is out of the ordinary: reading the source then says what.
    """
    code = fn.__code__
    if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS) or vars(fn):
        return None  # attributes such as __wrapped__ and __signature__ change what a signature is
    positional = code.co_varnames[: code.co_argcount]
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    defaults = dict(zip(reversed(positional), reversed(fn.__defaults__ or ()), strict=False))
    defaults |= fn.__kwdefaults__ or {}
    try:
        found = evaluated(fn, scope)
        annotations = [bool_ if found[name] is bool else found[name] for name in names]
    except Exception:  # whatever the user's expressions raise
        return None
    if not all(isinstance(annotation, _TYPES) for annotation in annotations):
        return None
    params = tuple(
        Parameter(name, annotation, defaults.get(name, inspect.Parameter.empty), UNKNOWN)
        for name, annotation in zip(names, annotations, strict=True)
    )
    return KernelSignature(
        code.co_name, params, code.co_filename, code.co_firstlineno, found.get("return", None)
    )


def evaluated(fn: Any, scope: Mapping[str, Any] | None) -> dict[str, Any]:
    """The annotations of a function, those that are strings evaluated. Raises what evaluating raises."""
    given: dict[str, Any] = fn.__annotations__
    if not any(isinstance(annotation, str) for annotation in given.values()):
        return given
    cells = {}
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
        try:
            cells[name] = cell.cell_contents
        except ValueError:
            pass  # not bound yet; the defining function may have it
    names = ChainMap(cells, dict(scope or {}), fn.__globals__)
    space = {"__builtins__": fn.__globals__.get("__builtins__", builtins)}
    found = {}
    for name, annotation in given.items():
        while isinstance(annotation, str):
            annotation = eval(annotation, space, names)
        found[name] = annotation
    return found
