"""Exits become branches and breaks without changing what a kernel does."""

from __future__ import annotations

import numpy as np
import pytest
from building import Kernel, const
from evaluate import Buffer, run
from generator import EDGES, Generator, always_checked

from ruda_core.capabilities import Target
from ruda_core.dtypes import i32
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import walk
from ruda_core.ir.text import show
from ruda_core.ir.verify import verify
from ruda_core.passes.exits import exits

PLAIN = Target(storage=frozenset(), arithmetic=frozenset())
RETURN = Target(storage=frozenset(), arithmetic=frozenset(), semantics=frozenset({"return"}))


def resolved(k: Kernel, target: Target = PLAIN) -> ir.Function:
    function = exits(k.function(), target)
    verify(function)
    assert not any(
        isinstance(s, ir.Leave) and (s.label != ir.KERNEL or target is PLAIN) for s in walk(function.body)
    )
    return function


def lines(function: ir.Function) -> list[str]:
    return [line.strip() for line in show(function).splitlines()[1:]]


def test_a_guard_needs_only_an_else() -> None:
    k = Kernel()
    x, n = k.array("x", i32), k.scalar("n", i32)
    with k.if_(n > 3):
        k.leave()
    k.store(x, 0, n)
    assert lines(resolved(k)) == ["if (n > 3:i32):", "else:", "store x[0:i32] = n"]


def test_returns_of_the_kernel_stay_where_the_target_has_them() -> None:
    k = Kernel()
    x, n = k.array("x", i32), k.scalar("n", i32)
    with k.if_(n > 3):
        k.leave()
    k.store(x, 0, n)
    function = k.function()
    assert show(exits(function, RETURN)) == show(function)


def test_a_search_at_the_end_of_a_helper_is_a_break() -> None:
    k = Kernel()
    x, n = k.array("x", i32), k.scalar("n", i32)
    with k.block() as label, k.range(0, n) as i, k.if_(i.eq(3)):
        k.store(x, 0, i)
        k.leave(label)
    function = resolved(k)
    assert not any(isinstance(s, (ir.Block, ir.Assign)) for s in walk(function.body))
    assert lines(function)[-1] == "break"


def search(k: Kernel, n: object, x: ir.Array) -> None:
    """for i: for j: if i*j == n: x[0] = i; return 1 … return 2"""
    result = k.var(const(i32, 0), "result")
    with k.block() as label:
        with k.range(1, 5) as i:
            with k.range(1, 5) as j, k.if_((i * j).eq(n)):
                k.store(x, 0, i)
                k.set(result, 1)
                k.leave(label)
            k.store(x, 1, i)
        k.set(result, 2)
    k.store(x, 2, result)


@pytest.mark.parametrize("n", [0, 1, 6, 16, 17])
def test_an_exit_from_two_loops(n: int) -> None:
    k = Kernel()
    x = k.array("x", i32)
    search(k, k.scalar("n", i32), x)
    found = []
    for function in (k.function(), resolved(k)):
        data = np.zeros(3, np.int32)
        run(function, x=data, n=n)
        found.append(data.tolist())
    assert found[0] == found[1]


def test_a_block_in_a_loop_may_break_the_loop() -> None:
    k = Kernel()
    x, n = k.array("x", i32), k.scalar("n", i32)
    with k.range(0, 6) as i:
        with k.block() as label:
            with k.loop():
                with k.if_(i > 1):
                    k.leave(label)
                k.break_()
            with k.if_(i.eq(n)):
                k.break_()
            with k.if_(i.eq(0)):
                k.continue_()
            k.store(x, i, 7)
        k.store(x, i, k.load(x, i) + 1)
    for value in (1, 0, 5, 9):
        found = []
        for function in (k.function(), resolved(k)):
            data = np.zeros(6, np.int32)
            run(function, x=data, n=value)
            found.append(data.tolist())
        assert found[0] == found[1], value


@pytest.mark.parametrize("seed", range(100))
def test_random_kernels_do_the_same(seed: int) -> None:
    g = Generator(seed + 5000)
    k = g.k
    outside = list(g.known)
    with k.block() as label:
        g.body(3)
        with k.if_(g.cond()):
            k.leave(label)
        inside = list(g.known), list(g.variables)
        with k.range(0, 3):
            g.body(1, True)
            with k.if_(g.cond()):
                k.leave(label)
        g.known, g.variables = inside
        g.body(1)
    g.known, g.variables = outside, []
    k.store(g.out, 0, g.expr())
    before = always_checked(k.function())
    after = exits(before, PLAIN)
    verify(after)
    assert not any(isinstance(s, ir.Leave) for s in walk(after.body))
    for _ in range(4):
        n, m = g.random.choice(EDGES), g.random.choice(EDGES)
        found = []
        for function in (before, after):
            data = np.zeros(4, np.int32)
            run(function, out=Buffer(data), n=n, m=m, count=(3, 1, 1))
            found.append(data.tolist())
        assert found[0] == found[1]
