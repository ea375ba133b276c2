"""A loaded kernel: the generated code, and how a launch finds its values and memories."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ruda_core.artifact import KernelSource
from ruda_core.conversions import conversion
from ruda_core.driver import LaunchFunction, Report
from ruda_core.dtypes import BY_NAME, DType, ValueType, VecType
from ruda_core.errors import BackendCompileError, ServerError
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import expressions, walk
from ruda_core.passes.faults import FAULTS
from ruda_core.reference.expressions import SlotUse
from ruda_core.reference.generate import generate
from ruda_core.reference.lanes import Geometry, Triple

_GEOMETRIES = 16
"""Launch shapes that a program remembers."""


@dataclass(frozen=True, slots=True)
class _ArrayPlan:
    """Where one array parameter lies: numbers are positions in the launch's storages and words."""

    storage: int
    element: ValueType
    offset: int | None
    length: int | None
    """None: all of the storage."""


class Program:
    """One kernel, ready to run. `text` is the generated Python."""

    def __init__(self, source: KernelSource) -> None:
        function = source.program
        if not isinstance(function, ir.Function):
            raise BackendCompileError(
                f"{source.location}: the reference backend takes the kernel's IR, and got none"
            )
        self.source = source
        self.function = function
        generated = generate(function)
        self.text = generated.text
        self.kernel = generated.run
        self.plans = tuple(self._plan(array) for array in generated.arrays)
        self.read = self._reader(generated.slots)
        self.width = _widest(function)
        self._geometries: dict[Triple, Geometry] = {}

    def _find(self, kind: str, name: str, axis: int = 0) -> int | None:
        for at, slot in enumerate(self.source.layout.slots):
            if (slot.kind, slot.name, slot.axis) == (kind, name, axis):
                return at
        return None

    def _plan(self, array: ir.Array) -> _ArrayPlan:
        offset = self._find("offset", array.name)
        for at, binding in enumerate(self.source.bindings):
            if array.name in binding.arrays:
                if array.rank is not None:
                    return _ArrayPlan(at, array.dtype, None, None)
                return _ArrayPlan(at, array.dtype, offset, self._find("length", array.name))
            if array.name == FAULTS and not binding.arrays:
                return _ArrayPlan(at, array.dtype, None, None)
        raise BackendCompileError(f"{self.source.location}: no binding holds the array {array.name}")

    def _reader(self, uses: tuple[SlotUse, ...]) -> Callable[[bytes], tuple[Any, ...]]:
        """A function from the parameter block to NumPy scalars, generated for these slots."""
        namespace: dict[str, Any] = {"frombuffer": np.frombuffer, "array": np.array}
        views: dict[str, str] = {}
        values = [self._slot_source(use, namespace, views) for use in uses]
        lines = [f" {name} = frombuffer(words, {name}_type)" for name in views.values()]
        text = "\n".join(["def read(words):", *lines, f" return ({''.join(v + ', ' for v in values)})"])
        exec(compile(text, f"<parameters of {self.source.name}>", "exec"), namespace)
        read: Callable[[bytes], tuple[Any, ...]] = namespace["read"]
        return read

    def _slot_source(self, use: SlotUse, namespace: dict[str, Any], views: dict[str, str]) -> str:
        if isinstance(use.type, VecType):
            parts = (SlotUse(use.kind, use.name, k, use.type.scalar) for k in range(use.type.lanes))
            return f"array([{', '.join(self._slot_source(p, namespace, views) for p in parts)}])"
        at = self._find(use.kind, use.name, use.axis)
        if at is None:
            if use.kind in ("offset", "zero", "program"):
                name = f"none_{use.type.name}"
                namespace[name] = use.type.numpy.type(0)
                return name
            raise BackendCompileError(
                f"{self.source.location}: the parameter block has no {use.kind} of {use.name or 'the launch'}"
            )
        stored = BY_NAME[self.source.layout.slots[at].dtype]
        view = views.setdefault(stored.name, stored.name)
        namespace[f"{view}_type"] = stored.numpy
        value = f"{view}[{self.source.layout.offsets[at] // stored.itemsize}]"
        return self._converted(value, stored, use.type, namespace)

    @staticmethod
    def _converted(value: str, stored: DType, wanted: DType, namespace: dict[str, Any]) -> str:
        if stored is wanted:
            return value
        name = f"{stored.name}_to_{wanted.name}"
        namespace[name] = conversion(stored, wanted)
        return f"{name}({value})"

    def geometry(self, count: Triple) -> Geometry:
        """How a launch of this many workgroups lies in lanes."""
        found = self._geometries.get(count)
        if found is None:
            if len(self._geometries) >= _GEOMETRIES:
                self._geometries.clear()
            found = Geometry(self.function.dim, count, self.function.index.numpy, self.width)
            self._geometries[count] = found
        return found

    def launcher(self, report: Report) -> LaunchFunction:
        """A function that runs one launch at once, and reports what goes wrong in it."""
        unpack = struct.Struct(self.source.layout.format).unpack_from
        plans, kernel, read, geometry = self.plans, self.kernel, self.read, self.geometry
        spread = self.source.spread
        logical = [self._find("count", "", axis) for axis in range(3)]
        last: tuple[bytes, tuple[Any, ...], tuple[Any, ...]] = (b"", (), ())
        # The parameters of the last launch, as numbers and as NumPy scalars: launches in a loop often repeat them.

        def launch(stream: int, x: int, y: int, z: int, *rest: Any) -> None:
            nonlocal last
            words = rest[-1]
            try:
                seen, numbers, values = last
                if words != seen or not values:
                    numbers, values = unpack(words), read(words)
                    last = (words, numbers, values)
                count = (x, y, z)
                if spread:
                    a, b, c = (1 if at is None else numbers[at] for at in logical)
                    count = (a, b, c)
                if not (count[0] and count[1] and count[2]):
                    return
                memories = [
                    rest[p.storage].part(
                        p.element,
                        0 if p.offset is None else numbers[p.offset],
                        -1 if p.length is None else numbers[p.length],
                    )
                    for p in plans
                ]
                with np.errstate(all="ignore"):
                    shape = geometry(count)
                    for chunk in shape.kept or shape.chunks():
                        kernel(chunk, values, *memories)
            except Exception as error:
                report(stream, self._failure(error))

        return launch

    def _failure(self, error: Exception) -> ServerError:
        failure = ServerError(f"{self.source.location} failed on the reference backend: {error!r}")
        failure.__cause__ = error
        return failure


def _widest(function: ir.Function) -> int:
    """Bytes of the widest value that the function computes."""
    found = (e.type.itemsize for s in walk(function.body) for e in expressions(s))
    return max(found, default=4)
