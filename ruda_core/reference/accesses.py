"""Loads, stores and atomics as Python source."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ruda_core.dtypes import i64, u32
from ruda_core.ir import nodes as ir
from ruda_core.passes.faults import FAULTS
from ruda_core.reference import atomics, faults, memory
from ruda_core.reference.expressions import Expressions

_HELPERS: dict[str, Any] = {
    "gather": memory.gather,
    "scatter": memory.scatter,
    "linear": memory.linear,
    "unflatten": memory.unflatten,
    "inside": memory.inside,
    "allowed": memory.allowed,
    "checked": memory.checked,
    "checked_vector": memory.checked_vector,
    "first": memory.of_first_unit,
    "atomic": atomics.atomic,
    "record": faults.record_access,
}

Access = ir.Load | ir.Store | ir.Atomic | ir.UniformLoad


class Accesses:
    """Renders memory accesses with the given expressions, and says what memory the code needs."""

    def __init__(self, expressions: Expressions, written: frozenset[ir.Array], native_faults: bool) -> None:
        self.x = expressions
        self.written = written
        self.native_faults = native_faults
        self.globals: dict[ir.Array, str] = {}
        self.prologue: list[str] = []
        self._made: dict[ir.Array, str] = {}
        self._bases: dict[ir.Array, str] = {}
        self.fault_record: ir.Array | None = None
        expressions.namespace.update(_HELPERS)

    def memory(self, array: ir.Array) -> str:
        """The name of an array's memory."""
        if array.space == "global":
            if array not in self.globals:
                self.globals[array] = self.x.fresh("a")
            return self.globals[array]
        if array not in self._made:
            self._made[array] = self._make(array)
        return self._made[array]

    def _make(self, array: ir.Array) -> str:
        if array.space == "constant":
            return self.x.object(array, lambda: memory.constant(array.dtype, array.values))
        name = self.x.fresh("a")
        each = "c.groups" if array.space == "shared" else "c.lanes"
        self.x.namespace["fresh"] = memory.fresh
        element = self.x.object(("type", array.dtype), lambda: array.dtype)
        self.prologue.append(f"{name} = fresh({element}, {each} * {math.prod(array.shape)})")
        return name

    def _base(self, array: ir.Array) -> str:
        """Where a lane's own part of shared or local memory begins."""
        name = self._bases.get(array)
        if name is None:
            name = self._bases[array] = self.x.fresh("b")
            source = f"c.shared_base({math.prod(array.shape)})" if array.space == "shared" else "c.lane()"
            self.prologue.append(f"{name} = {source}")
        return name

    def _number(self, value: int) -> str:
        return self.x.object(("int64", value), lambda: np.int64(value))

    def _strides(self, array: ir.Array) -> list[str]:
        dense = [math.prod(array.shape[k + 1 :]) for k in range(len(array.shape))]
        if array.space != "local":
            return [self._number(n) for n in dense]
        # Local memory has one row of lanes for each element: a uniform index is then one plain row.
        names = []
        for n in dense:
            name = self.x.fresh("s")
            self.prologue.append(f"{name} = int64_type(c.lanes * {n})")
            names.append(name)
        self.x.namespace["int64_type"] = np.int64
        return names

    def address(self, s: Access, indices: list[str]) -> str:
        """The flat element index of an access; of the array's own memory for an `Array` parameter."""
        array = s.array
        if array.space == "global":
            if array.rank is None:
                return indices[0]
            return self._tensor_address(s, indices)
        if array.space == "constant":
            base = self._number(0)
        else:
            base = self._base(array)
        if len(indices) == 1 and array.space == "constant":
            return indices[0]
        return f"linear({base}, ({', '.join(self._strides(array))},), ({', '.join(indices)},))"

    def _tensor_address(self, s: Access, indices: list[str]) -> str:
        array, int64 = s.array, self._wide
        axes = range(array.rank or 0)
        offset = self.x.slot("offset", int64, array.name)
        strides = self._tuple([self.x.slot("stride", int64, array.name, k) for k in axes])
        if not s.flat:
            return f"linear({offset}, {strides}, {self._tuple(indices)})"
        shape = self._tuple([self.x.slot("shape", int64, array.name, k) for k in axes])
        return f"unflatten({offset}, {shape}, {strides}, {indices[0]})"

    _wide = i64

    @staticmethod
    def _tuple(items: list[str]) -> str:
        return f"({', '.join(items)},)" if items else "()"

    def load(self, s: ir.Load | ir.UniformLoad, mask: str) -> str:
        """Source of the loaded value."""
        indices = [self._name(self.x.index(e)) for e in s.index]
        check = None if s.check is None else self._name(self.x.render(s.check))
        self._report(s, mask, check, indices)
        address = self.address(s, indices)
        if isinstance(s, ir.UniformLoad):
            unit_axes = sum(n > 1 for n in self.x.function.dim)
            address = f"first({address}, {unit_axes})"
            check = check and f"first({check}, {unit_axes})"
        copy = s.array in self.written
        value = f"gather({self.memory(s.array)}, {address}, {copy})"
        if check is not None:
            helper = "checked_vector" if s.array.dtype.lanes > 1 else "checked"
            value = f"{helper}({check}, {value})"
        if s.array.dtype.kind == "bool":
            value = f"({value} != {self.x.object('zero byte', lambda: np.uint8(0))})"
        return value

    def store(self, s: ir.Store, mask: str) -> str:
        """Source of the statement."""
        value = self._name(self.x.render(s.value))
        address, mask = self._guarded(s, mask)
        return f"scatter({self.memory(s.array)}, {address}, {value}, {mask})"

    def atomic(self, s: ir.Atomic, mask: str) -> str:
        """Source of the old value (a statement where nobody wants it)."""
        args = self._tuple([self._name(self.x.render(a)) for a in s.args])
        address, mask = self._guarded(s, mask)
        old = s.symbol is not None
        return f"atomic({self.memory(s.array)}, {s.op!r}, {address}, {args}, {mask}, c.shape, {old})"

    def _guarded(self, s: ir.Store | ir.Atomic, mask: str) -> tuple[str, str]:
        indices = [self._name(self.x.index(e)) for e in s.index]
        check = None if s.check is None else self._name(self.x.render(s.check))
        self._report(s, mask, check, indices)
        address = self._name(self.address(s, indices))
        if check is not None:
            mask = f"allowed({mask}, {check})"
        elif self.x.function.mode == "unchecked":
            own, limit = self._limits(s, indices, address)
            mask = f"allowed({mask}, inside({own}, {limit}))"
        return address, mask

    def _limits(self, s: ir.Store | ir.Atomic, indices: list[str], address: str) -> tuple[str, str]:
        """What must be below what for an unchecked access to stay inside its memory."""
        array = s.array
        if array.space == "global":
            return address, f"{self.memory(array)}.length"
        dense = [math.prod(array.shape[k + 1 :]) for k in range(len(array.shape))]
        strides = self._tuple([self._number(n) for n in dense])
        return f"linear({self._number(0)}, {strides}, {self._tuple(indices)})", str(math.prod(array.shape))

    def _name(self, text: str) -> str:
        """A name for source that is used twice, or whose place in the order matters."""
        if text.isidentifier():
            return text
        name = self.x.fresh("t")
        self.x.emit(f"{name} = {text}")
        return name

    # Faults, where the pass that expands them has not run ------------------------------------------

    def _report(self, s: Access, mask: str, check: str | None, indices: list[str]) -> None:
        if not self.native_faults or s.site is None or check is None:
            return
        lengths = self._lengths(s)
        places = self._tuple([f"({i}, {n})" for i, n in zip(indices, lengths, strict=True)])
        self.record(s.site, mask, check, places)

    def record(self, site: int, mask: str, check: str, places: str = "()") -> None:
        """Report the units of `mask` for which `check` fails."""
        if self.fault_record is None:
            self.fault_record = ir.Array(FAULTS, u32, "global")
        record = self.memory(self.fault_record)
        program = self.x.slot("program", u32)
        self.x.emit(f"record({record}, int({program}), {site}, {mask}, {check}, {places}, c.shape)")

    def _lengths(self, s: Access) -> list[str]:
        array = s.array
        if array.space != "global":
            return [str(n) for n in array.shape]
        if array.rank is None or s.flat:
            return [self.x.slot("length", self._wide, array.name)]
        return [self.x.slot("shape", self._wide, array.name, k) for k in range(array.rank)]
