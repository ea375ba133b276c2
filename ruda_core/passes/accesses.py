"""Which arrays a function reads, writes, and accesses atomically."""

from __future__ import annotations

from dataclasses import dataclass

from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import walk


@dataclass(frozen=True, slots=True)
class Access:
    """What a function does with one array."""

    reads: bool = False
    writes: bool = False
    atomic: bool = False

    def __or__(self, other: Access) -> Access:
        return Access(self.reads or other.reads, self.writes or other.writes, self.atomic or other.atomic)


def _access(s: ir.Stmt) -> Access | None:
    match s:
        case ir.Load() | ir.UniformLoad():
            return Access(reads=True)
        case ir.Store():
            return Access(writes=True)
        case ir.MaskedStore():
            return Access(reads=True, writes=True, atomic=True)
        case ir.Atomic():
            return Access(reads=s.op != "store", writes=s.op != "load", atomic=True)
    return None


def accesses(function: ir.Function) -> dict[ir.Array, Access]:
    """The arrays that the function accesses, in the order of `function.arrays`."""
    found: dict[ir.Array, Access] = {}
    for stmt in walk(function.body):
        access = _access(stmt)
        if access is not None:
            array: ir.Array = stmt.array  # type: ignore[attr-defined]  # every statement with an access has one
            found[array] = found.get(array, Access()) | access
    return {array: found[array] for array in function.arrays if array in found}


def read_only(function: ir.Function) -> frozenset[ir.Array]:
    """Global and constant arrays that the function never writes."""
    found = accesses(function)
    return frozenset(a for a in function.in_space("global", "constant") if not found.get(a, Access()).writes)
