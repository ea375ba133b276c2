"""Logical positions from native ones, and one-dimensional launches folded over the axes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from building import Kernel
from evaluate import run

from ruda_core.dtypes import DType, i32, i64
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import expressions, walk
from ruda_core.ir.verify import verify
from ruda_core.passes.positions import positions

NAMES = [
    (name, axis)
    for name in ("absolute_pos", "unit_pos", "workgroup_pos", "workgroup_count")
    for axis in (None, 0, 1, 2)
]


def probe(dim: tuple[int, int, int], index: DType, spread: bool = False) -> ir.Function:
    """Writes every position of every unit, a row of 16 for each unit."""
    k = Kernel(dim=dim, index=index, spread=spread)
    out = k.array("out", i64)
    row = k.builtin("absolute_pos") * len(NAMES)
    for slot, (name, axis) in enumerate(NAMES):
        k.store(out, row + slot, k.builtin(name, axis).to(i64))
    return k.function()


def natively(function: ir.Function) -> ir.Function:
    function = positions(function)
    verify(function)
    names = {
        (e.name, e.axis is None)
        for s in walk(function.body)
        for e in expressions(s)
        if isinstance(e, ir.Builtin)
    }
    allowed = {"native_workgroup_pos", "native_workgroup_count", "unit_pos", "workgroup_count"}
    assert all(name in allowed and not linear for name, linear in names)
    return function


@pytest.mark.parametrize("index", [i32, i64], ids=str)
@pytest.mark.parametrize("dim", [(4, 1, 1), (2, 3, 1), (2, 1, 2), (1, 1, 1), (1, 2, 2)])
def test_positions_are_the_same(dim: tuple[int, int, int], index: DType) -> None:
    count = (3, 2, 2)
    units = int(np.prod(dim) * np.prod(count))
    found = []
    for function in (probe(dim, index), natively(probe(dim, index))):
        out = np.full(units * len(NAMES), -1, np.int64)
        run(function, out=out, count=count)
        found.append(out)
    assert np.array_equal(*found)
    assert np.array_equal(found[0].reshape(units, -1)[:, 0], np.arange(units))


@pytest.mark.parametrize("native", [(5, 1, 1), (3, 2, 1), (2, 2, 2), (4, 4, 1)])
@pytest.mark.parametrize("index", [i32, i64], ids=str)
def test_a_folded_launch_has_linear_positions_and_silent_padding(
    native: tuple[int, int, int], index: DType
) -> None:
    dim, groups = (2, 2, 1), 5
    plain = np.full(groups * 4 * len(NAMES), -1, np.int64)
    run(probe(dim, index), out=plain, count=(groups, 1, 1))
    out = np.full_like(plain, -1)
    run(natively(probe(dim, index, spread=True)), out=out, count=(groups, 1, 1), native_count=native)
    assert np.array_equal(plain, out)


def test_each_position_is_computed_once() -> None:
    k = Kernel(dim=(4, 1, 1))
    out = k.array("out", i32)
    for at in range(5):
        k.store(out, k.builtin("absolute_pos") + at, k.builtin("absolute_pos", 0))
    lets = [s for s in positions(k.function()).body if isinstance(s, ir.Let)]
    assert len(lets) == len({s.symbol.name for s in lets}) <= 6


def test_an_axis_of_one_unit_is_zero() -> None:
    k = Kernel(dim=(4, 1, 1))
    out = k.array("out", i32)
    k.store(out, k.builtin("unit_pos"), k.builtin("unit_pos", 2))
    axes = {
        e.axis
        for s in walk(positions(k.function()).body)
        for e in expressions(s)
        if isinstance(e, ir.Builtin)
    }
    assert axes == {0}


def test_kernels_without_positions_are_left_alone() -> None:
    k = Kernel()
    k.store(k.array("out", i32), 0, 1)
    f = k.function()
    assert list(itertools.chain(positions(f).body)) == list(f.body)
