"""Atomic operations from compare-exchange, for all units in any order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from bare import TARGET
from lanes import run

from ruda_core.capabilities import Target
from ruda_core.dtypes import DType, f32, i32, u32
from ruda_core.errors import UnsupportedFeature
from ruda_core.ir import build as b
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import walk
from ruda_core.ir.verify import verify
from ruda_core.passes.atomics import atomics
from ruda_core.passes.storage import storage

ONLY_CAS = replace(TARGET, atomics={"u32": frozenset({"compare_exchange"})})
COMMON = frozenset({"add", "exchange", "compare_exchange", "load"})
WORDS = replace(TARGET, atomics={"u32": COMMON, "i32": COMMON})
UNIT = ir.Builtin(i32, None, "absolute_pos")


def kernel(op: str, dtype: DType, stored: DType, value: ir.Expr, check: ir.Expr | None = None) -> ir.Function:
    cell, out = ir.Array("cell", dtype, "global"), ir.Array("out", dtype, "global")
    old = ir.Symbol("old", dtype)
    args = () if op == "load" else (value,)
    body = (
        ir.Atomic(None, old, op, cell, (b.const(i32, 1),), args, check),
        ir.Store(None, out, (UNIT,), b.ref(old)),
    )
    bindings = (ir.Binding("cell", stored, (cell,)), ir.Binding("out", dtype, (out,)))
    return ir.Function("f", (), (cell, out), body, (64, 1, 1), i32, bindings=bindings)


def lower(f: ir.Function, target: Target) -> ir.Function:
    for step in (storage, atomics):
        f = step(f, target)
        verify(f, step.__name__)
    return f


def value_of(dtype: DType) -> ir.Expr:
    return b.cast(dtype, UNIT, raw=True)


@pytest.mark.parametrize("target", [ONLY_CAS, WORDS])
def test_float_add_counts_exactly(target: Target) -> None:
    cell, out = np.zeros(3, np.float32), np.zeros(4096, np.float32)
    f = lower(kernel("add", f32, f32, b.const(f32, 0.25)), target)
    assert f.bindings[0].dtype is u32
    assert f.bindings[0].atomic
    run(f, {"cell": cell.view(np.uint32), "out": out}, 4096)
    assert list(cell) == [0.0, 1024.0, 0.0]
    assert sorted(out) == [0.25 * k for k in range(4096)]


@pytest.mark.parametrize("op", ["add", "sub", "min", "max", "and", "or", "xor", "exchange", "store", "load"])
@pytest.mark.parametrize("stored", [i32, u32], ids=str)
@pytest.mark.parametrize("target", [ONLY_CAS, WORDS])
def test_signed_integers(op: str, stored: DType, target: Target) -> None:
    if target is ONLY_CAS and stored is i32:
        target = replace(target, atomics={"i32": target.atomics["u32"]})
    start, n = -3, 9
    cell = np.array([7, start, 7], np.int32)
    out = np.zeros(n, np.int32)
    unit = b.binary("-", UNIT, b.const(i32, 5))
    run(lower(kernel(op, i32, stored, unit), target), {"cell": cell.view(stored.numpy), "out": out}, n)
    values = list(range(-5, 4))
    total = start
    for v in values:
        total = {
            "add": total + v,
            "sub": total - v,
            "min": min(total, v),
            "max": max(total, v),
            "and": total & v,
            "or": total | v,
            "xor": total ^ v,
            "load": total,
        }.get(op, v)
    if op in ("exchange", "store"):
        assert cell[1] in values
    else:
        assert cell[1] == total
    assert cell[0] == cell[2] == 7


def test_out_of_bounds_gives_zero_and_changes_nothing() -> None:
    inside = b.compare("<", UNIT, b.const(i32, 2))
    cell, out = np.zeros(3, np.float32), np.full(4, 9, np.float32)
    f = lower(kernel("add", f32, f32, b.const(f32, 1.0), inside), ONLY_CAS)
    run(f, {"cell": cell.view(np.uint32), "out": out}, 4)
    assert cell[1] == 2.0
    assert sorted(out) == [0.0, 0.0, 0.0, 1.0]
    assert list(out[2:]) == [0.0, 0.0]


def test_native_operations_stay() -> None:
    target = replace(TARGET, atomics={"f32": frozenset({"add"})})
    f = lower(kernel("add", f32, f32, b.const(f32, 1.0)), target)
    assert [s.op for s in walk(f.body) if isinstance(s, ir.Atomic)] == ["add"]
    assert f.bindings[0].dtype is f32


def test_without_compare_exchange_it_is_refused() -> None:
    with pytest.raises(UnsupportedFeature, match="atomic_add on f32"):
        lower(kernel("add", f32, f32, b.const(f32, 1.0)), TARGET)
