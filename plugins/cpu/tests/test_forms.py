"""The forms that kernels take, seen in the text, and what compiling them costs."""

from __future__ import annotations

import time

import numpy as np
from ruda_cpu.run.jit import machine
from ruda_cpu.target import strips_at_once

import ruda_core as ruda
from ruda_core import Array, Tensor, f32, i32, u8, u32

ANY = "llvm.vector.reduce.or"


@ruda.kernel
def saxpy(a: f32, x: Array[f32], y: Array[f32]):
    i = ruda.ABSOLUTE_POS
    if i < len(y):
        y[i] = a * x[i] + y[i]


@ruda.kernel(fp_contract=False)
def separate(a: f32, x: Array[f32]):
    i = ruda.ABSOLUTE_POS
    x[i] = a * x[i] + a


@ruda.kernel
def polynomial(n: i32, c: Array[f32], y: Array[f32]):
    i = ruda.ABSOLUTE_POS
    total = f32(0)
    for k in range(n):
        total = total * 0.5 + c[k]
    y[i] = total


@ruda.kernel
def collatz(y: Array[i32]):
    i = ruda.ABSOLUTE_POS
    v = y[i]
    steps = 0
    while v > 1:
        v = v // 2 if v % 2 == 0 else 3 * v + 1
        steps += 1
    y[i] = steps


@ruda.kernel
def transpose(a: Tensor[f32], b: Tensor[f32]):
    x = ruda.ABSOLUTE_POS_X
    y = ruda.ABSOLUTE_POS_Y
    b[x, y] = a[y, x]


@ruda.kernel
def horner(n: i32, c: Array[f32], y: Array[f32]):
    i = ruda.ABSOLUTE_POS
    x = y[i]
    total = 0.0
    for k in range(n):
        total = total * x + c[k]
    y[i] = total


@ruda.kernel
def counted(data: Array[u8], out: Array[u32]):
    bins = ruda.shared(u32, 256)
    unit = ruda.UNIT_POS
    bins[unit] = 0
    ruda.barrier()
    for i in range(ruda.ABSOLUTE_POS, len(data), 256 * ruda.WORKGROUP_COUNT):
        ruda.atomic_add(bins, data[i], 1)
    ruda.barrier()
    ruda.atomic_add(out, unit, bins[unit])


def text(kernel, dim, *types):
    return ruda.compile_for("cpu", kernel, dim, *types).source


def test_a_guard_is_the_bounds_of_a_loop_without_branches():
    source = text(saxpy, 256, f32, Array[f32], Array[f32])
    assert "llvm.smin.i64" in source
    assert "<16 x" not in source and "parallel_accesses" in source


def test_no_contraction_where_the_kernel_forbids_it():
    assert " contract " in text(saxpy, 256, f32, Array[f32], Array[f32])
    assert "contract" not in text(separate, 256, f32, Array[f32])


def test_a_loop_that_all_units_share_has_no_mask():
    source = text(polynomial, 256, i32, Array[f32], Array[f32])
    assert "<16 x float>" in source and ANY not in source


def test_a_loop_that_units_leave_one_by_one_has_one():
    source = text(collatz, 256, Array[i32])
    assert "<16 x i32>" in source and ANY in source


def test_turns_that_all_units_of_a_strip_make_need_no_mask():
    source = text(counted, 256, Array[u8], Array[u32])
    assert "llvm.vector.reduce.umin" in source and "load i8, ptr" in source
    data = np.random.default_rng(1).integers(0, 256, 5003, np.uint8)
    client = ruda.client("cpu")
    out = client.zeros(256, np.uint32)
    counted.launch(client, 3, 256, client.tensor(data), out)
    np.testing.assert_array_equal(out.numpy(), np.bincount(data, minlength=256))


def test_strips_whose_loops_are_the_same_share_one():
    source = text(horner, 256, i32, Array[f32], Array[f32])
    assert source.count("alloca <16 x float>") == strips_at_once()


def test_dense_tensors_have_code_of_their_own():
    client = ruda.client("cpu")
    a = client.zeros((4, 4), f32)
    source = transpose.compile(client, (16, 16), a, client.zeros((4, 4), f32)).source
    assert "define internal i8 @dense(" in source and "define internal i8 @strided(" in source


def test_the_text_is_the_same_each_time():
    assert text(collatz, 256, Array[i32]) == text(collatz, 256, Array[i32])


def long_kernel():
    lines = ["@ruda.kernel", "def long(y: Array[f32]):", "    i = ruda.ABSOLUTE_POS", "    v0 = y[i]"]
    lines += [f"    v{k} = v{k - 1} * 0.5 + v{max(k - 7, 0)}" for k in range(1, 496)]
    lines.append("    y[i] = v495")
    return "\n".join(lines)


def test_five_hundred_lines_compile_in_less_than_a_second(tmp_path, monkeypatch):
    (tmp_path / "long_kernel.py").write_text(
        f"import ruda_core as ruda\nfrom ruda_core import Array, f32\n\n{long_kernel()}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import long_kernel as module

    source = text(module.long, 256, Array[f32])
    start = time.thread_time()
    machine().compile(source)
    assert time.thread_time() - start < 1.0
