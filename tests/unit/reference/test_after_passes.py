"""Functions as the compiler hands them over: checks inserted, faults and trip counts explicit."""

from __future__ import annotations

import numpy as np
import pytest
from reference_harness import POS, Body, Kernel, Tensor, array, num
from reference_kernels import matmul_body, op

from ruda_core.dtypes import f32, i32
from ruda_core.ir import build
from ruda_core.ir import nodes as ir
from ruda_core.passes.bounds import bounds
from ruda_core.passes.dead_code import dead_code
from ruda_core.passes.faults import faults
from ruda_core.passes.fold import fold
from ruda_core.passes.trips import trips
from ruda_core.passes.uniformity import uniformity

LANGUAGE = (fold, uniformity, bounds, dead_code, faults, trips)
UNIT = ir.Builtin(i32, None, "unit_pos")


@pytest.mark.parametrize("mode", ["checked", "validate", "unchecked"])
def test_shared_memory_loops_and_uniform_loads(mode: str) -> None:
    y = array("y", i32)
    shared = ir.Array("s", i32, "shared", (64,))
    b = Body()
    b.store(shared, UNIT, POS)
    b.add(ir.Barrier(None))
    turned = b.load(shared, op("-", num(63), UNIT))
    fifth, i = ir.Symbol("w", i32), ir.Symbol("i", i32)
    b.add(ir.UniformLoad(None, fifth, shared, (num(5),)))
    total = b.variable(num(0))
    step = ir.Assign(None, total, op("+", build.ref(total), build.ref(i)))
    b.add(ir.For(None, i, POS, num(100), num(7), (step,)))
    b.store(y, POS, op("+", op("+", turned, build.ref(fifth)), build.ref(total)))
    kernel = Kernel(b, [y, shared], 64, mode=mode, passes=LANGUAGE)
    got = np.zeros(100, np.int32)
    kernel(2, y=got)
    starts = [p // 64 * 64 for p in range(100)]
    wanted = [s + 63 - p % 64 + s + 5 + sum(range(p, 100, 7)) for p, s in enumerate(starts)]
    assert got.tolist() == wanted
    if mode == "validate":
        assert kernel.faults[:7].tolist() == [28, 7, kernel.faults[2], 100, 0, 100, 0]
        assert kernel.source.sites[kernel.faults[2]].array == "y"


@pytest.mark.parametrize("mode", ["checked", "validate", "unchecked"])
def test_reads_and_writes_out_of_bounds(mode: str) -> None:
    x, y = array("x", f32), array("y", f32)
    b = Body()
    b.store(y, op("*", POS, num(2)), b.load(x, op("-", POS, num(1))))
    kernel = Kernel(b, [x, y], mode=mode, passes=LANGUAGE)
    xs, ys = np.arange(1, 31, dtype=np.float32), np.full(40, -1, np.float32)
    kernel(1, x=xs, y=ys)
    assert ys[1::2].tolist() == [-1] * 20
    assert ys[2::2].tolist() == xs[:19].tolist()
    if mode != "unchecked":
        assert ys[0] == 0
    assert kernel.faults[0] == (1 + 64 - 31 + 64 - 20 if mode == "validate" else 0)


@pytest.mark.parametrize("mode", ["checked", "validate"])
def test_tiled_matmul(mode: str) -> None:
    m, k, n = 40, 33, 50
    rng = np.random.default_rng(1)
    a, b = rng.random((m, k), np.float32), rng.random((k, n), np.float32)
    c = np.zeros((m, n), np.float32)
    body, arrays = matmul_body(checks=False)
    kernel = Kernel(body, arrays, (16, 16), mode=mode, passes=LANGUAGE)
    kernel((-(-n // 16), -(-m // 16)), a=Tensor(a, (m, k)), b=Tensor(b, (k, n)), c=Tensor(c, (m, n)))
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)
