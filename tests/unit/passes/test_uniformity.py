"""Barriers are reached by all units or by none, and errors name both lines."""

from __future__ import annotations

import pytest
from building import Kernel, const, fn, select

from ruda_core.dtypes import f32, i32
from ruda_core.errors import UniformityError
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import walk
from ruda_core.passes.accesses import Access, accesses
from ruda_core.passes.uniformity import barrier_dependent_arrays, divergent, uniformity


def kernel() -> Kernel:
    return Kernel(dim=(64, 1, 1))


def refused(k: Kernel) -> UniformityError:
    function = k.function()
    with pytest.raises(UniformityError) as caught:
        uniformity(function)
    return caught.value


def accepted(k: Kernel) -> None:
    function = k.function()
    assert uniformity(function) is function


def test_a_barrier_in_a_divergent_branch() -> None:
    k = kernel()
    k.let(const(i32, 0))
    with k.if_(k.builtin("unit_pos") < 16):
        k.barrier()
    error = refused(k)
    assert (error.line, error.file) == (3, "kernel.py")
    assert "branch at line 2" in str(error) and "kernel.py:3" in str(error)


def test_a_barrier_after_a_divergent_return() -> None:
    k = kernel()
    x = k.array("x", f32)
    with k.if_(k.builtin("absolute_pos") >= k.len(x)):
        k.leave()
    k.barrier()
    error = refused(k)
    assert error.line == 3
    assert "return at line 2" in str(error) and "branch at line 1" in str(error)


def test_uniform_conditions() -> None:
    k = kernel()
    x, out, n = k.array("x", i32), k.array("out", i32), k.scalar("n", i32)
    i = k.let(k.builtin("workgroup_pos"))
    with k.if_((n > 3) & (k.len(x) > i)):
        k.barrier()
    v = k.load(x, i)
    with k.if_((v // 2 + n).eq(4)):
        k.barrier()
    with k.range(0, v):
        k.barrier()
    with k.if_(n < 0):
        k.leave()
    with k.if_(k.builtin("unit_pos").eq(0)):
        k.store(out, i, select(n > 0, n, v))
    k.barrier()
    accepted(k)


def test_loads_that_are_not_uniform() -> None:
    for make in ("written", "divergent index", "shared", "atomic"):
        k = kernel()
        x, shared = k.array("x", i32), k.memory("shared", "s", i32, (4,))
        place = k.builtin("unit_pos" if make == "divergent index" else "workgroup_pos")
        if make == "written":
            k.store(x, k.builtin("unit_pos"), 1)
        if make == "atomic":
            v = k.atomic("add", x, 0, const(i32, 1))
        else:
            v = k.load(shared if make == "shared" else x, place)
        with k.if_(v > 0):
            k.barrier()
        assert refused(k).line == k.line, make


def test_uniform_load_makes_a_value_uniform_and_is_a_barrier() -> None:
    k = kernel()
    s = k.memory("shared", "s", i32, (4,))
    v = k.uniform_load(s, const(i32, 0))
    with k.if_(v > 0):
        k.barrier()
    accepted(k)
    k = kernel()
    s = k.memory("shared", "s", i32, (4,))
    with k.if_(k.builtin("unit_pos") > 0):
        k.uniform_load(s, const(i32, 0))
    assert "uniform_load" in str(refused(k))


def test_a_variable_assigned_where_control_diverged() -> None:
    k = kernel()
    v = k.var(const(i32, 0))
    with k.if_(k.builtin("unit_pos") > 3):
        k.set(v, 1)
    with k.if_(v > 0):
        k.barrier()
    assert refused(k).line == 5


def test_a_divergent_break_counts_for_later_iterations() -> None:
    k = kernel()
    with k.loop():
        k.barrier()
        with k.if_(k.builtin("unit_pos") > 3):
            k.break_()
    error = refused(k)
    assert error.line == 2 and "break at line 4" in str(error)


def test_a_counter_of_a_divergent_loop() -> None:
    k = kernel()
    v = k.var(const(i32, 0))
    with k.loop():
        k.set(v, v + 1)
        with k.if_(v > k.builtin("unit_pos")):
            k.break_()
    with k.if_(v > 5):
        k.barrier()
    assert refused(k).line == 7


def test_control_comes_together_after_a_divergent_loop_and_block() -> None:
    k = kernel()
    n = k.scalar("n", i32)
    with k.range(0, k.builtin("unit_pos")), k.if_(n > 3):
        k.break_()
    k.barrier()
    with k.block() as label, k.if_(k.builtin("unit_pos") > 3):
        k.leave(label)
    k.barrier()
    with k.range(0, n), k.if_(k.builtin("unit_pos") > 3):
        k.continue_()
    k.barrier()
    accepted(k)


def test_a_continue_skips_a_barrier() -> None:
    k = kernel()
    with k.range(0, 4):
        k.barrier()
        with k.if_(k.builtin("unit_pos") > 3):
            k.continue_()
        k.barrier()
    error = refused(k)
    assert error.line == 5 and "continue at line 4" in str(error)


def test_a_return_inside_a_loop_reaches_beyond_it() -> None:
    k = kernel()
    with k.range(0, 4), k.if_(k.builtin("unit_pos") > 3):
        k.leave()
    k.barrier()
    assert refused(k).line == 4


def test_a_halving_loop_with_barriers_is_uniform() -> None:
    k = kernel()
    s, stride = k.memory("shared", "s", f32, (64,)), k.var(const(i32, 32))
    u = k.builtin("unit_pos")
    with k.while_(stride > 0):
        k.barrier()
        with k.if_(u < stride):
            k.store(s, u, k.load(s, u + stride))
        k.set(stride, stride // 2)
    accepted(k)


def test_axes_of_one_unit_do_not_differ() -> None:
    k = kernel()
    with k.if_(k.builtin("unit_pos", 1) > 0):
        k.barrier()
    accepted(k)


def test_divergent_symbols() -> None:
    k = kernel()
    n = k.scalar("n", i32)
    same = k.let(n * 2)
    other = k.let(fn("min", k.builtin("absolute_pos"), same))
    found = divergent(k.function())
    assert found == {other.expr.symbol}  # type: ignore[attr-defined]


def test_accesses() -> None:
    k = kernel()
    x, y, c = k.array("x", i32), k.array("y", i32), k.array("c", i32)
    k.array("unused", i32)
    k.store(y, 0, k.load(x, const(i32, 0)))
    k.atomic("add", c, 0, const(i32, 1))
    assert accesses(k.function()) == {
        x: Access(reads=True),
        y: Access(writes=True),
        c: Access(reads=True, writes=True, atomic=True),
    }


def test_arrays_that_barriers_depend_on() -> None:
    k = kernel()
    rows, x, data, y = (k.array(n, i32) for n in ("rows", "x", "data", "y"))
    out = k.array("out", i32)
    g, u = k.builtin("workgroup_pos"), k.builtin("unit_pos")
    total = k.var(const(i32, 0))
    with k.range(k.load(rows, g), k.load(rows, g + 1)):
        k.set(total, total + 1)
    with k.if_(k.load(x, g) > 0):
        k.leave()
    with k.loop(), k.if_(k.load(data, u) > 0):
        k.break_()
    with k.if_(total > 4):
        k.barrier()
    with k.if_(k.load(y, u) > 4):
        k.store(out, u, 1)
    names = [a.name for a in barrier_dependent_arrays(k.function())]
    assert names == ["rows", "x"]


def test_no_barrier_depends_on_nothing() -> None:
    k = kernel()
    x = k.array("x", i32)
    with k.if_(k.load(x, const(i32, 0)) > 0):
        k.leave()
    k.store(x, 1, 1)
    assert barrier_dependent_arrays(k.function()) == ()
    assert [type(s) for s in walk(k.function().body)][1] is ir.If
