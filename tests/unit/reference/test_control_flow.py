"""Ifs, loops, jumps and blocks that go different ways in different units."""

from __future__ import annotations

import numpy as np
import pytest
from reference_harness import POS, Body, Kernel, array, below, length, num

from ruda_core.dtypes import DType, i32, i64
from ruda_core.ir import build
from ruda_core.ir import nodes as ir

OUT = array("out", i32)
PARITY = build.binary("&", POS, num(1))


def compare(op: str, a: ir.Expr, b: ir.Expr | int) -> ir.Expr:
    return build.compare(op, a, num(b) if isinstance(b, int) else b)


def assign(symbol: ir.Symbol, value: ir.Expr) -> ir.Assign:
    return ir.Assign(None, symbol, value)


def bump(symbol: ir.Symbol, by: ir.Expr) -> ir.Assign:
    return assign(symbol, build.binary("+", build.ref(symbol), by))


def results(body: Body, symbol: ir.Symbol, units: int = 96) -> list[int]:
    body.store(OUT, POS, build.ref(symbol), check=below(POS, length(OUT)))
    out = np.full(units, -99, np.int32)
    Kernel(body, [OUT], 32)(-(-units // 32), out=out)
    return out.tolist()


def test_if_else() -> None:
    b = Body()
    v = b.variable(num(5))
    inner = ir.If(None, compare("<", POS, 10), (bump(v, num(100)),), (bump(v, POS),))
    b.add(ir.If(None, compare("==", PARITY, 1), (inner,), (assign(v, num(-1)),)))
    assert results(b, v) == [((105 if i < 10 else 5 + i) if i % 2 else -1) for i in range(96)]


def test_a_first_assignment_in_both_branches() -> None:
    b = Body()
    v = ir.Symbol("v", i32, mutable=True)
    b.add(ir.If(None, compare("<", POS, 40), (assign(v, POS),), (assign(v, num(7)),)))
    assert results(b, v) == [i if i < 40 else 7 for i in range(96)]


def test_loop_with_break_and_continue() -> None:
    """Collatz-like: units leave at different trips, and some skip part of the body."""
    b = Body()
    n, steps = b.variable(build.binary("+", POS, num(1))), b.variable(num(0))
    odd = compare("==", build.binary("%", build.ref(n), num(2)), 1)
    triple = build.binary("+", build.binary("*", build.ref(n), num(3)), num(1))
    b.add(
        ir.Loop(
            None,
            (
                ir.If(None, compare("==", build.ref(n), 1), (ir.Break(None),)),
                bump(steps, num(1)),
                ir.If(None, odd, (assign(n, triple), ir.Continue(None))),
                assign(n, build.binary("//", build.ref(n), num(2))),
            ),
        )
    )

    def collatz(n: int) -> int:
        steps = 0
        while n != 1:
            steps, n = steps + 1, (3 * n + 1 if n % 2 else n // 2)
        return steps

    assert results(b, steps) == [collatz(i + 1) for i in range(96)]


@pytest.mark.parametrize(
    ("start", "stop", "step"),
    [
        (num(0), num(5), num(1)),
        (num(3), POS, num(1)),
        (POS, num(7), num(-3)),
        (POS, build.binary("+", POS, num(4)), num(2)),
        (num(10), num(0), build.binary("-", POS, num(4))),
        (num(0), POS, build.binary("%", POS, num(3))),
        (num(2**31 - 4), num(2**31 - 1), num(2)),
        (num(-(2**31)), num(2**31 - 1), build.binary("+", num(2**30), POS)),
        (num(2**31 - 1), num(-(2**31)), build.binary("-", num(-(2**31)), build.binary("*", POS, num(-1)))),
        (num(5), num(5), num(1)),
    ],
)
def test_ranges_are_pythons(start: ir.Expr, stop: ir.Expr, step: ir.Expr) -> None:
    b = Body()
    trips, last = b.variable(num(0)), b.variable(num(-7))
    i = ir.Symbol("i", i32)
    b.add(ir.For(None, i, start, stop, step, (bump(trips, num(1)), assign(last, build.ref(i)))))
    at = ir.Array("last", i32, "global")
    b.store(at, POS, build.ref(last), check=below(POS, length(at)))
    b.store(OUT, POS, build.ref(trips), check=below(POS, length(OUT)))
    out, ends = np.zeros(40, np.int32), np.zeros(40, np.int32)
    Kernel(b, [OUT, at], 8)(5, out=out, last=ends)
    for unit in range(40):
        bounds = [_at(e, unit) for e in (start, stop, step)]
        line = range(*bounds) if bounds[2] else range(0)
        assert out[unit] == len(line)
        assert ends[unit] == (line[-1] if len(line) else -7)


def _at(e: ir.Expr, unit: int) -> int:
    """The value of a bound for one unit, wrapped to 32 bits."""
    if isinstance(e, ir.Const):
        return int(e.value)
    if isinstance(e, ir.Builtin):
        return unit
    a, b = _at(e.a, unit), _at(e.b, unit)
    value = {"+": a + b, "-": a - b, "*": a * b, "%": a % b if b else 0}[e.op]
    return (value + 2**31) % 2**32 - 2**31


@pytest.mark.parametrize("index", [i32, i64], ids=str)
def test_ranges_to_the_ends_of_the_index_type(index: DType) -> None:
    b = Body()
    out = array("out", index)
    position = ir.Builtin(index, None, "absolute_pos")
    sums, i = b.variable(num(0, index)), ir.Symbol("i", index)
    start, stop = num(index.min, index), build.binary("-", num(index.max, index), position)
    b.add(ir.For(None, i, start, stop, num(index.max, index), (bump(sums, num(1, index)),)))
    b.store(out, position, build.ref(sums))
    got = np.zeros(4, index.numpy)
    Kernel(b, [out], 4, index=index)(1, out=got)
    assert got.tolist() == [len(range(index.min, index.max - unit, index.max)) for unit in range(4)]


def test_jumps_out_of_for_loops() -> None:
    """Break, continue, a leave of the block around, and what follows for those that stay."""
    b = Body()
    v, i = b.variable(num(0)), ir.Symbol("i", i32)
    here = build.ref(i)
    loop = ir.For(
        None,
        i,
        num(0),
        build.binary("%", POS, num(11)),
        num(1),
        (
            ir.If(None, compare("==", here, 2), (ir.Continue(None),)),
            ir.If(None, build.both(compare("==", here, 5), compare("==", PARITY, 0)), (ir.Leave(None, 1),)),
            ir.If(None, compare("==", here, 7), (ir.Break(None),)),
            bump(v, here),
        ),
    )
    b.add(ir.Block(None, 1, (loop, bump(v, num(1000)))), bump(v, num(10000)))

    def one(unit: int) -> int:
        v = 0
        for i in range(unit % 11):
            if i == 2:
                continue
            if i == 5 and unit % 2 == 0:
                break
            if i == 7:
                v += 1000
                break
            v += i
        else:
            v += 1000
        return v + 10000

    assert results(b, v) == [one(unit) for unit in range(96)]


def test_returns_from_inside_nested_loops() -> None:
    b = Body()
    i, j = ir.Symbol("i", i32), ir.Symbol("j", i32)
    product = build.binary("*", build.ref(i), build.ref(j))
    found = ir.If(
        None,
        compare("==", product, POS),
        (ir.Store(None, OUT, (POS,), build.ref(i), below(POS, length(OUT))), ir.Leave(None, ir.KERNEL)),
    )
    inner = ir.For(None, j, num(2), num(10), num(1), (found,))
    b.add(ir.For(None, i, num(2), num(10), num(1), (inner,)))
    b.store(OUT, POS, num(-1), check=below(POS, length(OUT)))
    out = np.zeros(64, np.int32)
    Kernel(b, [OUT], 32)(2, out=out)
    wanted = [next((i for i in range(2, 10) for j in range(2, 10) if i * j == n), -1) for n in range(64)]
    assert out.tolist() == wanted


def test_a_value_of_a_loop_that_is_used_after_it_is_that_of_the_units_own_last_trip() -> None:
    b = Body()
    n, x = b.variable(num(0)), ir.Symbol("x", i32)
    b.add(
        ir.Loop(
            None,
            (
                bump(n, num(3)),
                ir.Let(None, x, build.binary("*", build.ref(n), num(2))),
                ir.If(None, compare(">", build.ref(n), POS), (ir.Break(None),)),
            ),
        )
    )
    b.store(OUT, POS, build.ref(x), check=below(POS, length(OUT)))
    out = np.zeros(32, np.int32)
    Kernel(b, [OUT], 32)(1, out=out)
    assert out.tolist() == [(unit // 3 + 1) * 6 for unit in range(32)]


def test_many_exits_in_a_row() -> None:
    """More guards than Python could nest."""
    b = Body()
    v = b.variable(num(0))
    steps: list[ir.Stmt] = []
    for k in range(150):
        t = ir.Symbol("t", i32)
        steps += [
            ir.If(None, compare("==", POS, k), (ir.Leave(None, 1),)),
            ir.Let(None, t, build.binary("+", build.ref(v), num(1))),
            assign(v, build.ref(t)),
        ]
    b.add(ir.Block(None, 1, tuple(steps)))
    assert results(b, v) == list(range(96))


def test_expressions_deeper_than_python_parses() -> None:
    b = Body()
    value: ir.Expr = POS
    for _ in range(200):
        value = build.binary("+", value, num(1))
    v = b.variable(value)
    assert results(b, v) == [unit + 200 for unit in range(96)]


def test_code_that_no_unit_reaches_does_nothing() -> None:
    b = Body()
    v = b.variable(num(1))
    b.add(
        ir.If(None, compare(">", POS, 1 << 20), (assign(v, num(2)), ir.Leave(None, ir.KERNEL))),
        bump(v, num(1)),
    )
    assert results(b, v) == [2] * 96
