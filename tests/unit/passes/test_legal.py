"""Uniform loads, scalars and checks; and all these passes together on random kernels."""

from __future__ import annotations

import numpy as np
import pytest
from building import Kernel, const
from evaluate import Buffer, Undefined, run
from generator import EDGES, Generator, always_checked

from ruda_core.capabilities import Target
from ruda_core.dtypes import ALL, DType, bool_, f16, f32, i8, i32, u8
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import expressions, walk
from ruda_core.ir.verify import verify
from ruda_core.passes.bind import bind
from ruda_core.passes.bounds import bounds
from ruda_core.passes.checks import checks
from ruda_core.passes.dead_code import dead_code
from ruda_core.passes.exits import exits
from ruda_core.passes.faults import FAULTS, WORDS, faults
from ruda_core.passes.flatten import flatten
from ruda_core.passes.fold import fold
from ruda_core.passes.positions import positions
from ruda_core.passes.scalars import SLOTS, scalars
from ruda_core.passes.trips import trips
from ruda_core.passes.uniform_loads import uniform_loads

PLAIN = Target(storage=frozenset(d.name for d in ALL), arithmetic=frozenset())


def test_uniform_loads_broadcast_one_units_value() -> None:
    k = Kernel(dim=(2, 3, 1))
    out, s = k.array("out", i32), k.memory("shared", "s", i32, (6,))
    u = k.let(k.builtin("unit_pos"))
    with k.range(0, 6) as i:
        k.store(s, u, u * 10 + i)
        k.store(out, i * 6 + u, k.uniform_load(s, i))
        k.barrier()
    found = []
    for function in (k.function(), uniform_loads(bounds(k.function()))):
        verify(function)
        data = np.zeros(36, np.int32)
        run(function, out=data)
        found.append(data.tolist())
    assert found[0] == found[1] == [i * 10 + i for i in range(6) for _ in range(6)]


def test_one_cell_for_each_dtype() -> None:
    k = Kernel(dim=(4, 1, 1))
    x, y = k.array("x", i32), k.array("y", f32)
    for array in (x, y, x):
        k.uniform_load(array, const(i32, 0))
    function = uniform_loads(k.function())
    verify(function)
    assert [(a.name, a.space, a.shape) for a in function.arrays[2:]] == [
        ("uniform_i32", "shared", (1,)),
        ("uniform_f32", "shared", (1,)),
    ]
    assert not any(isinstance(s, ir.UniformLoad) for s in walk(function.body))


@pytest.mark.parametrize(
    ("dtype", "value"), [(bool_, True), (i8, -5), (u8, 250), (f16, 0.5), (f32, 1.5), (i32, -7)], ids=str
)
def test_scalars_travel_in_slots(dtype: DType, value: float) -> None:
    k = Kernel()
    k.store(k.array("out", dtype), 0, k.scalar("n", dtype))
    function = scalars(k.function())
    verify(function)
    (param,) = [e for s in walk(function.body) for e in expressions(s) if isinstance(e, ir.Param)]
    assert param.type.name == SLOTS.get(dtype.name, dtype.name)
    data = np.zeros(1, dtype.numpy)
    run(function, out=data, n=value)
    assert data[0] == value


def test_checks_become_control_flow() -> None:
    k = Kernel(dim=(8, 1, 1))
    x, out, c = k.array("x", i32), k.array("out", i32), k.array("c", i32)
    i = k.builtin("absolute_pos")
    k.store(out, i, k.load(x, i) + k.atomic("add", c, i, const(i32, 1)))
    function = checks(bounds(k.function()), PLAIN)
    verify(function)
    assert all(getattr(s, "check", None) is None for s in walk(function.body))
    data, counts = np.zeros(6, np.int32), np.full(2, 4, np.int32)
    run(function, x=np.array([1, 2, 3, 4], np.int32), out=data, c=counts)
    assert (data.tolist(), counts.tolist()) == ([5, 6, 3, 4, 0, 0], [5, 5])


def test_dialects_that_render_checks_keep_them() -> None:
    k = Kernel()
    k.store(k.array("x", i32), k.builtin("absolute_pos"), 1)
    function = bounds(k.function())
    lazy = Target(storage=frozenset(), arithmetic=frozenset(), semantics=frozenset({"lazy_select"}))
    assert checks(function, lazy) is function


def legalised(function: ir.Function) -> ir.Function:
    for step in (fold, bounds, dead_code, trips, faults, uniform_loads, scalars):
        function = step(function)
        verify(function, step.__name__)
    function = positions(function)
    for last in (flatten, bind, exits, checks):
        function = last(function, PLAIN)
        verify(function, last.__name__)
    return dead_code(function)


@pytest.mark.parametrize("mode", ["checked", "validate"])
@pytest.mark.parametrize("seed", range(60))
def test_random_kernels_do_the_same(seed: int, mode: str) -> None:
    g = Generator(seed + 9000, mode=mode)
    g.body(3)
    before = g.k.function()
    after = legalised(before)
    verify(after)
    for _ in range(4):
        n, m = g.random.choice(EDGES), g.random.choice(EDGES)
        plain, data = np.zeros(4, np.int32), np.zeros(9, np.int32)
        record = np.zeros(WORDS, np.uint32)
        run(always_checked(before), out=plain, n=n, m=m, count=(3, 1, 1))
        arrays = {"out": Buffer(data, offset=3, length=4), FAULTS: record}
        run(after, arrays=arrays, n=n, m=m, count=(3, 1, 1), flattened=True)
        assert data[3:7].tolist() == plain.tolist()
        assert not data[:3].any() and not data[7:].any()
        assert bool(record[0]) == (mode == "validate" and faulty(before, n, m))


def faulty(function: ir.Function, n: int, m: int) -> bool:
    """True when some access of the plain function is out of bounds."""
    try:
        run(function, out=np.zeros(4, np.int32), n=n, m=m, count=(3, 1, 1))
    except Undefined:
        return True
    return False
