"""Intervals contain every result, and say something where they can."""

from __future__ import annotations

import random

import pytest
from building import Kernel, const, fn

from ruda_core.dtypes import DType, i8, i32, u8, u32
from ruda_core.ir import nodes as ir
from ruda_core.passes import values
from ruda_core.passes.intervals import Interval, fit, full, of_function, of_operator
from ruda_core.passes.linear import Atoms, Form, Scope
from ruda_core.passes.ranges import integer_ranges

OPERATORS = [
    "+",
    "-",
    "*",
    "//",
    "%",
    "div_trunc",
    "rem_trunc",
    "&",
    "|",
    "^",
    "<<",
    ">>",
    "quo",
    "rem",
    "shl",
    "shr",
]


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("dtype", [i8, u8], ids=str)
def test_operators_contain_every_result(op: str, dtype: DType) -> None:
    r = random.Random(op)
    corners = [dtype.min, dtype.min + 1, -9, -8, -1, 0, 1, 2, 7, 8, 9, dtype.max - 1, dtype.max]
    corners = [c for c in corners if dtype.min <= c <= dtype.max]
    for _ in range(150):
        a, b = (Interval(*sorted(r.choices(corners, k=2))) for _ in range(2))
        found = fit(of_operator(op, a, b, dtype.bits), dtype)
        for x in {a.lo, a.hi, *(r.randint(a.lo, a.hi) for _ in range(6))}:
            for y in {b.lo, b.hi, *(r.randint(b.lo, b.hi) for _ in range(6))}:
                try:
                    result = values.binary(op, dtype, x, y)
                except ArithmeticError:
                    continue
                assert found.lo <= result <= found.hi, (x, op, y, a, b, found)


@pytest.mark.parametrize("name", ["min", "max", "abs", "sign", "popcount", "clz", "ctz"])
def test_functions_contain_every_result(name: str) -> None:
    r = random.Random(name)
    for _ in range(200):
        a, b = (Interval(*sorted(r.choices(range(-128, 128), k=2))) for _ in range(2))
        found = fit(of_function(name, [a, b], 8), i8)
        for x in range(a.lo, a.hi + 1):
            args = (x, r.randint(b.lo, b.hi)) if name in ("min", "max") else (x,)
            assert found.lo <= values.EXACT[name](i8, *args) <= found.hi


@pytest.mark.parametrize(
    ("op", "a", "b", "right"),
    [
        ("//", Interval(0, 100), Interval(4, 4), Interval(0, 25)),
        ("%", Interval(-100, 100), Interval(16, 16), Interval(0, 15)),
        ("%", Interval(0, 5), Interval(16, 16), Interval(0, 5)),
        (">>", Interval(0, 255), Interval(4, 4), Interval(0, 15)),
        ("&", Interval(-5, 1000), Interval(7, 7), Interval(0, 7)),
        ("*", Interval(-3, 2), Interval(5, 5), Interval(-15, 10)),
    ],
)
def test_operators_are_precise_where_it_matters(op: str, a: Interval, b: Interval, right: Interval) -> None:
    assert of_operator(op, a, b, 32) == right


def test_ranges_of_symbols_know_what_dominates_them() -> None:
    k = Kernel(dim=(64, 1, 1))
    out, n = k.array("out", i32), k.scalar("n", i32)
    u = k.let(k.builtin("unit_pos"))
    with k.if_((n >= 0) & (n < 10)):
        inside = k.let(n * 6 + u)
        k.store(out, inside, 1)
    outside = k.let(n * 6)
    total = k.let(fn("min", n.to(u32), const(u32, 5)))
    of = integer_ranges(k.function())
    assert of(inside.expr) == Interval(0, 9 * 6 + 63)
    assert of((inside // 8).expr) == Interval(0, 117 // 8)
    assert of(outside.expr) == full(i32)
    assert of(total.expr) == Interval(0, 5)
    assert of((u - 64).expr) == Interval(-64, -1)


def test_variables_have_no_range_outside_the_flow() -> None:
    k = Kernel()
    v = k.var(const(i32, 3))
    copy = k.let(v + 1)
    of = integer_ranges(k.function())
    assert of(copy.expr) == Interval(4, 4)
    assert of(v.expr) == full(i32)
    assert isinstance(v.expr, ir.Ref)


def test_proofs_chain_facts_and_split_maxima() -> None:
    atoms, scope = Atoms(), Scope()
    i, n, m = (Form(0, ((atoms.get(name, Interval(-1000, 1000)), 1),)) for name in "inm")
    atoms.learn((i - n).plus(1), scope)  # i < n
    atoms.learn(n - m, scope)  # n <= m
    assert atoms.holds((i - m).plus(1), scope)
    assert not atoms.holds((i - m).plus(2), scope)
    assert not atoms.holds(m - i, scope)
    top = atoms.get("top", Interval(-1000, 1000))
    atoms.define_extreme(top, "max", i, n.plus(-1))
    highest = Form(0, ((top, 1),))
    assert atoms.holds((highest - m).plus(1), scope)
    assert atoms.holds(i - highest, scope)
    assert not atoms.holds(highest - i, scope)


def test_learning_in_a_copy_leaves_the_scope_alone() -> None:
    atoms, scope = Atoms(), Scope()
    i = Form(0, ((atoms.get("i", Interval(0, 100)), 1),))
    inner = scope.copy()
    atoms.learn(i.plus(-5), inner)
    assert atoms.interval(i, inner) == Interval(0, 5)
    assert atoms.interval(i, scope) == Interval(0, 100)
