"""What no result depends on goes; what is an effect stays."""

from __future__ import annotations

from building import Kernel, const

from ruda_core.dtypes import f32, i32
from ruda_core.ir.text import show
from ruda_core.ir.verify import verify
from ruda_core.passes.dead_code import dead_code


def left(k: Kernel) -> str:
    function = dead_code(k.function())
    verify(function)
    return "\n".join(show(function).splitlines()[1:])


def test_chains_of_unused_values_go() -> None:
    k = Kernel()
    x, s = k.array("x", f32), k.memory("shared", "s", f32, (4,))
    a = k.let(k.builtin("unit_pos"))
    b = k.let(a + 1)
    k.load(s, b)
    v = k.var(b)
    with k.if_(b > 3):
        k.set(v, 2)
    with k.range(0, b):
        k.let(b)
    k.store(x, 0, 1)
    assert left(k) == "  store x[0:i32] = 1.0:f32"


def test_effects_stay() -> None:
    k = Kernel()
    x = k.array("x", i32)
    k.atomic("add", x, 0, const(i32, 1))
    k.atomic("load", x, 0)
    k.uniform_load(x, const(i32, 0))
    k.load(x, const(i32, 9), check=const(i32, 9).__lt__(k.len(x)).expr, site=0)
    k.barrier()
    assert [line.split()[0] for line in left(k).splitlines()] == ["atomic", "uniform_load", "load", "barrier"]
    assert "atomic add" in left(k)


def test_what_control_never_reaches_goes() -> None:
    k = Kernel()
    x, n = k.array("x", i32), k.scalar("n", i32)
    with k.loop():
        with k.if_(n > 0):
            k.break_()
        with k.else_():
            k.continue_()
        k.store(x, 1, 9)
    k.leave()
    k.store(x, 0, n)
    text = left(k)
    assert "store" not in text and text.endswith("leave #0")


def test_an_endless_loop_is_left_alone_and_a_break_is_followed() -> None:
    k = Kernel()
    x, n = k.array("x", i32), k.scalar("n", i32)
    with k.loop(), k.if_(n > 0):
        k.break_()
    k.store(x, 0, n)
    assert "store" in left(k)


def test_branches_and_blocks_are_tidied() -> None:
    k = Kernel()
    x, n = k.array("x", i32), k.scalar("n", i32)
    with k.block():
        with k.if_(n > 0):
            k.let(n)
        with k.else_():
            k.store(x, 0, n)
    assert left(k) == "  if not (n > 0:i32):\n    store x[0:i32] = n"


def test_unused_global_arrays_stay() -> None:
    k = Kernel()
    k.array("x", i32)
    k.memory("local", "s", i32, (2,))
    assert [a.name for a in dead_code(k.function()).arrays] == ["x"]
