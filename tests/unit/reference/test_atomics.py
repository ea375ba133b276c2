"""Atomics in lane order: results and old values, also where many units meet at one element."""

from __future__ import annotations

import numpy as np
import pytest
from reference_harness import POS, Body, Kernel, array, below, length, num

from ruda_core.dtypes import DType, f32, f64, i32, i64, u32, u64
from ruda_core.ir import build
from ruda_core.ir import nodes as ir

UNITS = 640
_STEPS = {
    "add": lambda old, v: old + v,
    "sub": lambda old, v: old - v,
    "min": lambda old, v: np.minimum(old, v),
    "max": lambda old, v: np.maximum(old, v),
    "and": lambda old, v: old & v,
    "or": lambda old, v: old | v,
    "xor": lambda old, v: old ^ v,
    "exchange": lambda old, v: v,
    "store": lambda old, v: v,
}

CASES = [
    (dtype, op)
    for dtype in (i32, u32, i64, u64, f32, f64)
    for op in (*_STEPS, "compare_exchange")
    if dtype.is_integer or op not in ("and", "or", "xor")
]


def run(dtype: DType, op: str, places: np.ndarray, data: np.ndarray, size: int, *, old: bool) -> tuple:
    """What the kernel and what one unit after another gives: memories and old values."""
    where, values, memory, before = (
        array("where", i32),
        array("values", dtype),
        array("m", dtype),
        array("b", dtype),
    )
    b = Body()
    at, value = b.load(where, POS), b.load(values, POS)
    symbol = ir.Symbol("old", dtype) if old else None
    args = (value,) if op != "compare_exchange" else (value, build.binary("+", value, num(1, dtype)))
    b.add(ir.Atomic(None, symbol, op, memory, (at,), args, below(at, length(memory))))
    if symbol is not None:
        b.store(before, POS, build.ref(symbol))
    start = np.arange(size).astype(dtype.numpy)
    got, olds = start.copy(), np.full(UNITS, 99, dtype.numpy)
    Kernel(b, [where, values, memory, before])(
        UNITS // 64, where=places.astype(np.int32), values=data, m=got, b=olds
    )
    wanted, wanted_olds = start.copy(), np.zeros(UNITS, dtype.numpy)
    with np.errstate(over="ignore"):
        for k, (p, v) in enumerate(zip(places, data, strict=True)):
            if not 0 <= p < size:
                continue
            wanted_olds[k] = wanted[p]
            if op == "compare_exchange":
                wanted[p] = v + dtype.numpy.type(1) if wanted[p] == v else wanted[p]
            else:
                wanted[p] = _STEPS[op](wanted[p], v)
    return got, wanted, olds, wanted_olds


@pytest.mark.parametrize("spread", [1, 3, 40, UNITS])
@pytest.mark.parametrize(("dtype", "op"), CASES, ids=str)
def test_each_operation(dtype: DType, op: str, spread: int) -> None:
    rng = np.random.default_rng(spread)
    places = rng.permutation(UNITS) - 2 if spread == UNITS else rng.integers(-1, spread + 1, UNITS)
    data = rng.integers(0, 50, UNITS).astype(dtype.numpy)
    if dtype.is_float and op != "compare_exchange":
        data = data + rng.random(UNITS).astype(dtype.numpy)
    got, wanted, olds, wanted_olds = run(dtype, op, places, data, spread, old=op != "store")
    assert got.tolist() == wanted.tolist()
    if op != "store":
        assert olds.tolist() == wanted_olds.tolist()
    got, wanted, *_ = run(dtype, op, places, data, spread, old=False)
    assert got.tolist() == wanted.tolist()


def test_a_counter_counts_every_active_unit_once() -> None:
    counter, order = array("n", u32), array("order", u32)
    b, inner = Body(), Body()
    symbol = ir.Symbol("ticket", u32)
    inner.add(ir.Atomic(None, symbol, "add", counter, (num(0),), (num(1, u32),)))
    inner.store(order, POS, build.ref(symbol))
    odd = build.compare("==", build.binary("&", POS, num(1)), num(1))
    b.add(ir.If(None, odd, inner.body()))
    n, tickets = np.zeros(1, np.uint32), np.full(200_000, 0xFFFFFFFF, np.uint32)
    Kernel(b, [counter, order])(200_000 // 64, n=n, order=tickets)
    assert n[0] == 100_000
    assert tickets[1::2].tolist() == list(range(100_000))
    assert (tickets[::2] == 0xFFFFFFFF).all()


def test_shared_histogram() -> None:
    data, out = array("data", i32), array("out", u32)
    bins = ir.Array("bins", u32, "shared", (16,))
    unit, group = ir.Builtin(i32, None, "unit_pos"), ir.Builtin(i32, None, "workgroup_pos")
    b = Body()
    b.add(ir.Atomic(None, None, "add", bins, (b.load(data, POS),), (num(1, u32),)))
    b.add(ir.Barrier(None))
    total = b.load(bins, unit, check=below(unit, num(16)))
    place = build.binary("+", build.binary("*", group, num(16)), unit)
    b.add(ir.If(None, below(unit, num(16)), (ir.Store(None, out, (place,), total),)))
    values = np.random.default_rng(0).integers(0, 16, 64 * 9).astype(np.int32)
    got = np.zeros(16 * 9, np.uint32)
    Kernel(b, [data, out, bins])(9, data=values, out=got)
    wanted = [np.bincount(row, minlength=16) for row in values.reshape(9, 64)]
    assert (got.reshape(9, 16) == wanted).all()


def test_atomic_load() -> None:
    x, y = array("x", i32), array("y", i32)
    b = Body()
    symbol = ir.Symbol("v", i32)
    b.add(ir.Atomic(None, symbol, "load", x, (POS,), (), below(POS, length(x))))
    b.store(y, POS, build.ref(symbol))
    got = np.full(64, 5, np.int32)
    Kernel(b, [x, y])(1, x=np.arange(1, 41, dtype=np.int32), y=got)
    assert got.tolist() == [*range(1, 41), *[0] * 24]
