"""Trip counts are those of Python's `range` up to the ends of the index type."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from building import Kernel
from evaluate import run, value_of

from ruda_core.dtypes import DType, i32, i64
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import walk
from ruda_core.ir.verify import verify
from ruda_core.passes.trips import trips


def corners(dtype: DType) -> list[int]:
    return [dtype.min, dtype.min + 1, -7, -1, 0, 1, 2, 7, 100, dtype.max - 1, dtype.max]


@pytest.mark.parametrize("dtype", [i32, i64], ids=str)
@pytest.mark.parametrize("known", [True, False])
def test_trips_are_exact(dtype: DType, known: bool) -> None:
    for step in [dtype.min, -5, -2, -1, 0, 1, 2, 3, dtype.max]:
        k = Kernel(index=dtype)
        with k.range(k.scalar("a", dtype), k.scalar("b", dtype), step if known else k.scalar("s", dtype)):
            pass
        function = trips(k.function())
        verify(function)
        *lets, loop = function.body
        assert isinstance(loop, ir.For) and loop.trips is not None
        for a, b in itertools.product(corners(dtype), corners(dtype)):
            env: dict[ir.Symbol, object] = {}
            for let in lets:
                assert isinstance(let, ir.Let)
                env[let.symbol] = value_of(let.value, env, a=a, b=b, s=step)
            right = max(0, -((a - b) // step)) if step else 0
            assert value_of(loop.trips, env, a=a, b=b, s=step) == right, (a, b, step)


def test_constant_ranges_have_constant_trips() -> None:
    k = Kernel()
    with k.range(3, 20, 4):
        pass
    (loop,) = trips(k.function()).body
    assert isinstance(loop, ir.For) and isinstance(loop.trips, ir.Const) and loop.trips.value == 5


def test_bounds_are_evaluated_once() -> None:
    k = Kernel()
    out = k.array("out", i32)
    v = k.var(k.scalar("n", i32))
    with k.range(0, v) as i:
        k.set(v, v + 1)
        k.store(out, i, v)
    function = trips(k.function())
    data = np.zeros(5, np.int32)
    run(function, out=data, n=4)
    assert data.tolist() == [5, 6, 7, 8, 0]
    assert all(s.trips is not None for s in walk(function.body) if isinstance(s, ir.For))
