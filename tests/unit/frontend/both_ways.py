"""Runs a kernel two ways: lowered, by the reference interpreter, and as the Python function that it is."""

from __future__ import annotations

import struct
import types
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ruda_core.artifact import ArrayParam, KernelSource, Mode, RudaCount, RudaDim, Slot, VariantFacts
from ruda_core.compiler import Compiler, KernelSpec
from ruda_core.dtypes import BY_NAME, DType, ValueType
from ruda_core.frontend import ComptimeValue, signature
from ruda_core.ir.types import ArrayType, ComptimeType, TensorType
from ruda_core.reference.memory import Page
from ruda_core.reference.program import Program
from ruda_core.reference.target import TARGET

COMPILER = Compiler(None, TARGET, backend="reference")


def run(
    fn: Callable[..., Any],
    *values: Any,
    count: Any = 1,
    dim: Any = 1,
    mode: Mode = "checked",
    typevars: dict[TypeVar, ValueType] | None = None,
    index64: bool = False,
) -> None:
    """Launch on the reference interpreter; arrays are NumPy's and are changed in place."""
    given = dict(zip((p.name for p in signature(fn).params), values, strict=True))
    size = RudaDim.of(dim)
    spec = KernelSpec(
        fn,
        fn.__name__,
        _arguments(fn, given, typevars or {}),
        typevars or {},
        (size.x, size.y, size.z),
        mode,
    )
    lowered = COMPILER.lower(spec, index64=index64)
    source = COMPILER.compile(spec, lowered, VariantFacts(index64=index64))
    groups = tuple(RudaCount.of(count))
    words = struct.pack(source.layout.format, *(_word(s, source, groups, given) for s in source.layout.slots))
    pages = [Page(np.frombuffer(bytearray(given[b.arrays[0]].tobytes()), np.uint8)) for b in source.bindings]
    failures: list[Exception] = []
    launch = Program(source).launcher(lambda _stream, error: failures.append(error))
    launch(0, *groups, *pages, words)
    if failures:
        raise failures[0]
    for binding, page in zip(source.bindings, pages, strict=True):
        array = given[binding.arrays[0]]
        array[...] = np.frombuffer(page.bytes.tobytes(), array.dtype).reshape(array.shape)


def _arguments(fn: Any, given: dict[str, Any], typevars: dict[TypeVar, ValueType]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for p in signature(fn).params:
        annotation = p.annotation
        if isinstance(annotation, ComptimeType):
            out[p.name] = ComptimeValue(given[p.name])
        elif isinstance(annotation, (ArrayType, TensorType)):
            element = typevars.get(annotation.element, annotation.element)  # type: ignore[arg-type]
            rank = given[p.name].ndim if isinstance(annotation, TensorType) else None
            out[p.name] = ArrayParam(p.name, element.scalar.name, element.lanes, rank)  # type: ignore[union-attr]
        else:
            out[p.name] = typevars.get(annotation, annotation)  # type: ignore[arg-type]
    return out


def _word(slot: Slot, source: KernelSource, groups: tuple[int, ...], given: dict[str, Any]) -> Any:
    match slot.kind:
        case "count":
            return groups[slot.axis]
        case "length":
            lanes = next(p.lanes for p in source.params if isinstance(p, ArrayParam) and p.name == slot.name)
            return given[slot.name].size // lanes
        case "shape":
            return given[slot.name].shape[slot.axis]
        case "stride":
            return given[slot.name].strides[slot.axis] // given[slot.name].itemsize
        case "scalar":
            return given[slot.name].item() if isinstance(given[slot.name], np.generic) else given[slot.name]
    return 0


# The same source as Python ------------------------------------------------------------------------


def as_python(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function with NumPy's scalars for dtypes and one unit for a launch."""
    namespace = dict(fn.__globals__)
    for name, value in list(namespace.items()):
        if isinstance(value, DType):
            namespace[name] = value.numpy.type
        elif type(value).__name__ == "Func":
            namespace[name] = types.FunctionType(value.fn.__code__, namespace, name, value.fn.__defaults__)
    namespace["ruda"] = _Unit()
    return types.FunctionType(fn.__code__, namespace, fn.__name__, fn.__defaults__, fn.__closure__)


class _Unit:
    """What `ruda.NAME` is for the only unit of a launch."""

    ABSOLUTE_POS = UNIT_POS = WORKGROUP_POS = np.int32(0)
    WORKGROUP_DIM = WORKGROUP_COUNT = np.int32(1)
    inf, nan = np.inf, np.nan

    def __getattr__(self, name: str) -> Any:
        return BY_NAME[name].numpy.type if name in BY_NAME else getattr(np, name)

    @staticmethod
    def unroll(items: Any) -> Any:
        return items

    @staticmethod
    def select(cond: Any, a: Any, b: Any) -> Any:
        return a if cond else b

    @staticmethod
    def local(dtype: Any, shape: Any) -> Any:
        return np.zeros(shape, dtype)

    @staticmethod
    def atomic_add(array: Any, index: Any, value: Any) -> Any:
        old = array[index].copy()
        array[index] += value
        return old
