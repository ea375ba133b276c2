"""Validate mode: the record that reads and syncs look at."""

from __future__ import annotations

import numpy as np
from reference_harness import POS, Body, Kernel, Tensor, array, below, length, num

from ruda_core.artifact import Site
from ruda_core.dtypes import i32
from ruda_core.ir import build
from ruda_core.ir import nodes as ir

X = array("x", i32)
SITES = (Site("k.py", 3, "x"), Site("k.py", 4, None, "too far"))


def record(kernel: Kernel) -> list[int]:
    return kernel.faults[:7].view(np.int32).tolist()


def test_accesses_out_of_bounds_are_counted_and_the_first_is_described() -> None:
    b = Body()
    at = build.binary("-", POS, num(3))
    b.store(X, at, num(1), check=below(at, length(X)), site=0)
    kernel = Kernel(b, [X], mode="validate", sites=SITES)
    x = np.zeros(50, np.int32)
    kernel(1, x=x)
    assert x.all()
    assert record(kernel) == [14, 7, 0, -3, -1, 50, 0]


def test_nothing_is_recorded_for_units_that_do_not_get_there() -> None:
    b = Body()
    inner = Body()
    inner.load(X, POS, check=below(POS, length(X)), site=0)
    b.add(ir.If(None, below(POS, length(X)), inner.body()))
    kernel = Kernel(b, [X], mode="validate", sites=SITES)
    kernel(1, x=np.zeros(50, np.int32))
    assert not kernel.faults.any()


def test_the_first_fault_of_several_launches_stays() -> None:
    b = Body()
    b.load(X, POS, check=below(POS, length(X)), site=0)
    kernel = Kernel(b, [X], mode="validate", sites=SITES)
    kernel(1, x=np.zeros(63, np.int32))
    kernel(1, x=np.zeros(60, np.int32))
    assert record(kernel) == [5, 7, 0, 63, 0, 63, 0]


def test_asserts_and_reports() -> None:
    b = Body()
    b.add(ir.Assert(None, build.compare("<", POS, num(60)), 1))
    kernel = Kernel(b, [], mode="validate", sites=SITES)
    kernel(1)
    assert record(kernel) == [4, 7, 1, 0, 0, 0, 0]
    b = Body()
    b.add(ir.If(None, build.compare("==", POS, num(9)), (ir.Report(None, 0, POS, num(5)),)))
    kernel = Kernel(b, [], mode="validate", sites=SITES)
    kernel(1)
    assert record(kernel) == [1, 7, 0, 9, 0, 5, 0]


def test_the_failing_axis_of_a_tensor_is_described() -> None:
    t = array("t", i32, rank=2)
    b = Body()
    row, column = num(1), POS
    shape = [ir.Shape(i32, None, t, k) for k in range(2)]
    b.load(t, row, column, check=build.both(below(row, shape[0]), below(column, shape[1])), site=0)
    kernel = Kernel(b, [t], mode="validate", sites=SITES)
    kernel(1, t=Tensor(np.zeros(120, np.int32), (2, 60)))
    assert record(kernel) == [4, 7, 0, 60, 0, 60, 0]


def test_a_record_that_the_kernel_itself_writes() -> None:
    """What expanded checks look like: atomics and stores on the hidden array."""
    from ruda_core.dtypes import u32
    from ruda_core.passes.faults import FAULTS

    faults = array(FAULTS, u32)
    b, first = Body(), Body()
    symbol = ir.Symbol("n", u32)
    first.add(ir.Atomic(None, symbol, "add", faults, (num(0),), (num(1, u32),)))
    program = ir.Param(u32, None, "program", "program")
    stores = (ir.Store(None, faults, (num(1),), program), ir.Store(None, faults, (num(2),), num(1, u32)))
    first.add(ir.If(None, build.compare("==", build.ref(symbol), num(0, u32)), stores))
    b.add(ir.If(None, build.compare(">", POS, num(50)), first.body()))
    kernel = Kernel(b, [], mode="validate", sites=SITES, hidden=[faults])
    kernel(1)
    assert record(kernel)[:3] == [13, 7, 1]
