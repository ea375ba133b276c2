"""Validate mode: the first fault describes itself, all are counted, and accesses stay checked."""

from __future__ import annotations

import numpy as np
import pytest
from building import Kernel, const
from evaluate import Buffer, run

from ruda_core.artifact import Site
from ruda_core.dtypes import DType, f32, i32, i64, u32, u64
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import walk
from ruda_core.ir.verify import verify
from ruda_core.passes.bounds import bounds
from ruda_core.passes.dead_code import dead_code
from ruda_core.passes.faults import FAULTS, WORDS, faults
from ruda_core.passes.fold import fold


def lowered(k: Kernel) -> ir.Function:
    function = faults(dead_code(bounds(fold(k.function()))))
    verify(function)
    assert not any(isinstance(s, (ir.Assert, ir.Report)) for s in walk(function.body))
    return function


def test_the_first_fault_is_described() -> None:
    k = Kernel(dim=(4, 1, 1), mode="validate")
    x, shift = k.array("x", f32), k.scalar("shift", i32)
    k.store(x, k.builtin("absolute_pos") + shift, 1)
    record, data = np.zeros(WORDS, np.uint32), np.zeros(3, np.float32)
    f = lowered(k)
    run(f, x=data, shift=1, **{FAULTS: record}, program=77)
    assert record[:7].tolist() == [2, 77, 0, 3, 0, 3, 0]
    assert data.tolist() == [0, 1, 1]
    assert f.sites == (Site("kernel.py", 1, "x"),)
    assert [a.name for a in f.arrays] == ["x", FAULTS]


def test_a_negative_index_is_sign_extended() -> None:
    k = Kernel(mode="validate")
    x, n = k.array("x", f32), k.scalar("n", i32)
    k.store(x, n, 1)
    record = np.zeros(WORDS, np.uint32)
    run(lowered(k), x=np.zeros(3, np.float32), n=-5, **{FAULTS: record})
    assert record[3:7].view(np.int64).tolist() == [-5, 3]


@pytest.mark.parametrize(("dtype", "index"), [(u32, 2**32 - 1), (u64, 2**40 + 1), (i64, -(2**40))])
def test_wide_indices_are_reported_whole(dtype: DType, index: int) -> None:
    k = Kernel(mode="validate")
    x, n = k.array("x", f32), k.scalar("n", dtype)
    k.store(x, n, 1)
    record = np.zeros(WORDS, np.uint32)
    run(lowered(k), x=np.zeros(3, np.float32), n=index, **{FAULTS: record})
    assert record[0] == 1
    assert record[3:7].view(np.int64).tolist() == [index, 3]


@pytest.mark.parametrize(
    ("row", "col", "index", "length"), [(0, 7, 7, 3), (5, 1, 5, 2), (5, 7, 5, 2), (-1, 0, -1, 2)]
)
def test_the_failing_axis_is_reported(row: int, col: int, index: int, length: int) -> None:
    k = Kernel(mode="validate")
    t, r, c = k.array("t", f32, rank=2), k.scalar("r", i32), k.scalar("c", i32)
    k.store(t, (r, c), 1)
    record, data = np.zeros(WORDS, np.uint32), np.zeros(6, np.float32)
    run(lowered(k), t=Buffer(data, shape=(2, 3)), r=row, c=col, **{FAULTS: record})
    assert record[3:7].view(np.int64).tolist() == [index, length]
    assert not data.any()


def test_loads_give_zero_and_unused_loads_are_reported() -> None:
    k = Kernel(mode="validate")
    x, out, n = k.array("x", f32), k.array("out", f32), k.scalar("n", i32)
    k.load(x, n)
    k.store(out, 0, k.load(x, n) + 1)
    record, out_data = np.zeros(WORDS, np.uint32), np.zeros(1, np.float32)
    run(lowered(k), x=np.full(2, 9, np.float32), out=out_data, n=2, **{FAULTS: record})
    assert (record[0], record[2], out_data[0]) == (2, 0, 1)


def test_asserts() -> None:
    k = Kernel(mode="validate", sites=(Site("kernel.py", 1, None, "n is positive"),))
    n = k.scalar("n", i32)
    k.check(n > 0, 0)
    for value, count in ((3, 0), (-3, 1)):
        record = np.zeros(WORDS, np.uint32)
        run(lowered(k), n=value, **{FAULTS: record})
        assert (record[0], record[3:7].tolist()) == (count, [0, 0, 0, 0])


def test_an_access_that_is_always_outside_is_reported_and_gone() -> None:
    k = Kernel(mode="validate")
    s = k.memory("shared", "s", i32, (4,))
    k.store(s, const(i32, 4), 1)
    record = np.zeros(WORDS, np.uint32)
    f = lowered(k)
    run(f, **{FAULTS: record})
    assert record[:7].tolist() == [1, 0, 0, 4, 0, 4, 0]
    assert not any(isinstance(x, ir.Store) for x in walk(f.body))


@pytest.mark.parametrize("mode", ["checked", "unchecked"])
def test_other_modes_report_nothing(mode: str) -> None:
    k = Kernel(mode=mode)
    k.store(k.array("x", f32), k.builtin("absolute_pos"), 1)
    function = bounds(k.function())
    assert faults(function) is function
