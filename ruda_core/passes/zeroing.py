"""Validate mode: shared memory starts as zeros, where the target does not promise it.

The units of a workgroup clear each shared array together, and wait, before the kernel's own code.

Runs after `flatten` (it stores by linear indices) and before `bind` and `storage`, which pack what it
stores like everything else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from ruda_core.capabilities import Target
from ruda_core.dtypes import VecType, unsigned
from ruda_core.ir import build
from ruda_core.ir import nodes as ir


def zeroing(function: ir.Function, target: Target) -> ir.Function:
    """The function with its shared memory cleared first, in validate mode."""
    arrays = function.in_space("shared")
    if function.mode != "validate" or target.supports("shared_zero") or not arrays:
        return function
    unit = ir.Symbol("unit", function.index)
    head: list[ir.Stmt] = [ir.Let(None, unit, _linear_unit(function))]
    for array in arrays:
        head.extend(_cleared(function, array, build.ref(unit)))
    return replace(function, body=(*head, ir.Barrier(None), *function.body))


def _linear_unit(function: ir.Function) -> ir.Expr:
    index = function.index
    x, y, z = (ir.Builtin(index, None, "unit_pos", axis) for axis in range(3))
    rows = build.binary("+", y, build.binary("*", z, build.const(index, function.dim[1])))
    return build.binary("+", x, build.binary("*", rows, build.const(index, function.dim[0])))


def _cleared(function: ir.Function, array: ir.Array, unit: ir.Expr) -> Iterator[ir.Stmt]:
    index, size, units = function.index, prod(array.shape), function.units
    rounds = -(-size // units)
    turn = ir.Symbol("turn", index)
    place = build.binary("+", unit, build.binary("*", build.ref(turn), build.const(index, units)))
    store = ir.Store(None, array, (place,), _zero(array))
    inside = ir.If(None, build.compare("<", place, build.const(index, size)), (store,))
    zero, one = build.const(index, 0), build.const(index, 1)
    stop = build.const(index, rounds)
    trips = build.const(unsigned(index), rounds)
    yield ir.For(None, turn, zero, stop, one, (inside,), trips)


def _zero(array: ir.Array) -> ir.Expr:
    if not isinstance(array.dtype, VecType):
        return build.zero(array.dtype)
    scalar = build.const(array.dtype.scalar, 0)
    return ir.MakeVector(array.dtype, None, (scalar,) * array.dtype.lanes)


__all__ = ["zeroing"]
