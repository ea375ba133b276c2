"""Whole kernels against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from reference_harness import POS, Body, Kernel, Tensor, array, below, length, num
from reference_kernels import axis, matmul_body, op

from ruda_core.dtypes import DType, f32, i32
from ruda_core.ir import build
from ruda_core.ir import nodes as ir

UNIT = ir.Builtin(i32, None, "unit_pos")
GROUP = ir.Builtin(i32, None, "workgroup_pos")


@pytest.mark.parametrize("n", [1, 255, 4096, 100_003])
def test_saxpy(n: int) -> None:
    x, y = array("x", f32), array("y", f32)
    b, inner = Body(), Body()
    product = op("*", ir.Param(f32, None, "a"), inner.load(x, POS))
    inner.store(y, POS, op("+", product, inner.load(y, POS)))
    b.add(ir.If(None, build.compare("<", POS, length(y)), inner.body()))
    rng = np.random.default_rng(n)
    xs, ys = rng.random(n, np.float32), rng.random(n, np.float32)
    wanted = np.float32(2.5) * xs + ys
    Kernel(b, [x, y], 256, scalars=[("a", f32)])(-(-n // 256), x=xs, y=ys, a=2.5)
    assert (ys == wanted).all()


@pytest.mark.parametrize("dtype", [f32, i32], ids=str)
def test_tree_reduction(dtype: DType) -> None:
    x, sums = array("x", dtype), array("sums", dtype)
    part = ir.Array("part", dtype, "shared", (128,))
    b = Body()
    b.store(part, UNIT, b.load(x, POS, check=below(POS, length(x))))
    b.add(ir.Barrier(None))
    half = b.variable(num(64))
    step = Body()
    done = build.compare("==", build.ref(half), num(0))
    step.add(ir.If(None, done, (ir.Break(None),)))
    inner = Body()
    own, other = inner.load(part, UNIT), inner.load(part, op("+", UNIT, build.ref(half)))
    inner.store(part, UNIT, op("+", own, other))
    step.add(ir.If(None, build.compare("<", UNIT, build.ref(half)), inner.body()))
    step.add(ir.Barrier(None), ir.Assign(None, half, op("//", build.ref(half), 2)))
    b.add(ir.Loop(None, step.body()))
    last = Body()
    last.store(sums, GROUP, last.load(part, num(0)))
    b.add(ir.If(None, build.compare("==", UNIT, num(0)), last.body()))
    n = 128 * 700 - 50
    data = np.random.default_rng(0).integers(0, 1000, n).astype(dtype.numpy)
    got = np.zeros(700, dtype.numpy)
    Kernel(b, [x, sums, part], 128)(700, x=data, sums=got)
    wanted = np.pad(data, (0, 50)).reshape(700, 128).sum(axis=1, dtype=dtype.numpy)
    assert (got == wanted).all()


@pytest.mark.parametrize("shape", [(64, 64, 64), (50, 37, 70), (128, 16, 96)])
def test_tiled_matmul(shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    rng = np.random.default_rng(1)
    a, b = rng.random((m, k), np.float32), rng.random((k, n), np.float32)
    c = np.zeros((m, n), np.float32)
    body, arrays = matmul_body(checks=True)
    Kernel(body, arrays, (16, 16))(
        (-(-n // 16), -(-m // 16)), a=Tensor(a, (m, k)), b=Tensor(b, (k, n)), c=Tensor(c, (m, n))
    )
    wanted = np.zeros((m, n), np.float32)
    for i in range(k):
        wanted = wanted + a[:, i : i + 1] * b[i : i + 1]
    assert (c == wanted).all()


def test_mandelbrot() -> None:
    """Units leave the loop at different trips."""
    width, height, limit = 70, 40, 60
    out = array("out", i32)
    x, y = axis("absolute_pos", 0), axis("absolute_pos", 1)
    b = Body()
    cx = b.let(op("-", op("*", build.cast(f32, x), num(3.0 / width, f32)), num(2.0, f32)))
    cy = b.let(op("-", op("*", build.cast(f32, y), num(2.0 / height, f32)), num(1.0, f32)))
    re, im, n = b.variable(num(0.0, f32)), b.variable(num(0.0, f32)), b.variable(num(0))
    r, i = build.ref(re), build.ref(im)
    k = ir.Symbol("k", i32)
    step = Body()
    size = op("+", op("*", r, r), op("*", i, i))
    step.add(ir.If(None, build.compare(">", size, num(4.0, f32)), (ir.Break(None),)))
    new = step.let(op("+", op("-", op("*", r, r), op("*", i, i)), cx))
    step.add(ir.Assign(None, im, op("+", op("*", op("*", num(2.0, f32), r), i), cy)))
    step.add(ir.Assign(None, re, new), ir.Assign(None, n, op("+", build.ref(n), 1)))
    b.add(ir.For(None, k, num(0), num(limit), num(1), step.body()))
    inside = build.both(below(x, num(width)), below(y, num(height)))
    b.store(out, op("+", op("*", y, width), x), build.ref(n), check=inside)
    got = np.zeros(width * height, np.int32)
    Kernel(b, [out], (16, 8))((-(-width // 16), height // 8), out=got)

    f = np.float32
    gx, gy = np.meshgrid(
        np.arange(width).astype(f) * f(3.0 / width) - f(2),
        np.arange(height).astype(f) * f(2.0 / height) - f(1),
    )
    zr, zi, wanted = np.zeros_like(gx), np.zeros_like(gy), np.zeros(gx.shape, np.int32)
    live = np.ones(gx.shape, bool)
    for _ in range(limit):
        live &= zr * zr + zi * zi <= f(4)
        new = zr * zr - zi * zi + gx
        zi, zr = np.where(live, f(2) * zr * zi + gy, zi), np.where(live, new, zr)
        wanted += live
    assert (got.reshape(height, width) == wanted).all()


def test_grid_stride_sum() -> None:
    """Fewer units than elements: linear indices in a loop of uneven trips."""
    x, out = array("x", i32), array("out", i32)
    b = Body()
    total, i = b.variable(num(0)), ir.Symbol("i", i32)
    inner = Body()
    inner.add(ir.Assign(None, total, op("+", build.ref(total), inner.load(x, build.ref(i)))))
    stride = op("*", ir.Builtin(i32, None, "workgroup_count"), 64)
    b.add(ir.For(None, i, POS, length(x), stride, inner.body()))
    b.store(out, POS, build.ref(total))
    data = np.arange(10_001, dtype=np.int32)
    got = np.zeros(256, np.int32)
    Kernel(b, [x, out])(4, x=data, out=got)
    assert got.tolist() == [int(data[u::256].sum()) for u in range(256)]
