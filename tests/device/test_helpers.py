"""Functions that kernels call: typed, generic, compile-time and array parameters, several results, barriers."""

from __future__ import annotations

import numpy as np
import pytest
from support import T, launch

import ruda_core as ruda
from ruda_core import Array, Comptime, Tensor, f32, i32, u8


@ruda.func
def bump(x: Array[i32], i: ruda.index):
    x[i] = x[i] + 1
    return x[i]


@ruda.func
def find(x: Array[i32], wanted: i32):
    for a in range(4):
        for b in range(4):
            if x[a * 4 + b] == wanted:
                return a * 4 + b, True
            if x[a * 4 + b] < 0:
                return -1, False
    return -1, False


@ruda.func
def divmod_of(a: T, b: T):
    return a // b, a % b


@ruda.func
def power(x: T, n: Comptime[int]):
    result = T(1)
    for _ in ruda.unroll(range(n)):
        result *= x
    return result


@ruda.func
def halved(x: f32):
    x = x / 2  # a parameter may be assigned to
    if x > 10:
        return 10.0
    return x


@ruda.func
def twice(x: f32):
    return halved(halved(x))


@ruda.kernel
def order(x: Array[i32], out: Array[i32]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        out[i] = x[i] + 10 * bump(x, i) + 100 * x[i]


@ruda.kernel
def search(x: Array[i32], wanted: Array[i32], out: Array[i32], found: Array[i32]):
    i = ruda.ABSOLUTE_POS
    if i < len(wanted):
        where, there = find(x, wanted[i])
        out[i] = i32(where)
        found[i] = i32(there)


@ruda.kernel
def mixed(x: Array[T], out: Tensor[T], floats: Array[f32]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        out[0, i], out[1, i] = divmod_of(x[i], 3)
        out[2, i] = power(x[i], 3)
        out[3, i] = power(x[i], 0)
        floats[i] = twice(f32(x[i]) * 8)


@ruda.kernel
def in_conditions(x: Array[i32], out: Array[i32]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        n = 0
        while bump(x, i) < 5 and n < 10:
            n += 1
            if n == 2:
                continue
        out[i] = n


def test_operands_are_evaluated_from_left_to_right(client):
    x = np.arange(4, dtype=np.int32)
    got, left = launch(client, order, units=4, out=(x, np.zeros(4, np.int32)))[::-1]
    assert left.tolist() == [1, 2, 3, 4]
    assert got.tolist() == [v + 10 * (v + 1) + 100 * (v + 1) for v in range(4)]


def test_early_returns_of_several_values(client):
    x = np.array([5, 3, 9, 9, 7, 2, -1, 8, *[0] * 8], np.int32)
    wanted = np.array([5, 9, 2, -1, 8, 42], np.int32)
    outs = np.zeros(6, np.int32), np.zeros(6, np.int32)
    where, found = launch(client, search, x, wanted, units=6, out=outs)
    assert where.tolist() == [0, 2, 5, 6, -1, -1]
    assert found.tolist() == [1, 1, 1, 1, 0, 0]


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.int16])
def test_generic_and_compile_time_parameters(client, dtype):
    x = np.array([0, 1, 5, 7], dtype)
    out, floats = launch(client, mixed, x, units=4, out=(np.zeros((4, 4), dtype), np.zeros(4, np.float32)))
    np.testing.assert_array_equal(out, [x // 3, x % 3, x**3, x**0])
    assert floats.tolist() == [0, 2, 5, 5]


def test_helpers_in_loop_conditions(client):
    x = np.array([0, 3, 4, 10], np.int32)
    x, out = launch(client, in_conditions, units=4, out=(x, np.zeros(4, np.int32)))
    assert out.tolist() == [4, 1, 0, 0] and x.tolist() == [5, 5, 5, 11]


@ruda.func
def rotate(value: i32):
    """The value of the next unit of the workgroup; memory and barriers of its own."""
    cells = ruda.shared(i32, 8)
    unit = ruda.UNIT_POS
    cells[unit] = value
    ruda.barrier()
    return cells[(unit + 1) % 8]


@ruda.kernel
def rotate_twice(x: Array[i32], out: Array[i32]):
    i = ruda.ABSOLUTE_POS
    out[i] = 100 * rotate(x[i]) + rotate(rotate(x[i]))


def test_shared_memory_in_a_helper_is_one_allocation_a_call(client):
    x = np.arange(16, dtype=np.int32)
    got = launch(client, rotate_twice, x, units=16, dim=8, out=np.zeros_like(x))
    groups = x.reshape(2, 8)
    assert got.tolist() == (100 * np.roll(groups, -1, 1) + np.roll(groups, -2, 1)).ravel().tolist()


@ruda.func
def fill(into: Array[T], value: T):
    for k in range(len(into)):
        into[k] = value


@ruda.func
def total(of: Array[T]):
    result = T(0)
    for k in range(len(of)):
        result += of[k]
    return result


@ruda.func
def trace(of: Tensor[T]):
    result = T(0)
    for k in range(min(of.shape(0), of.shape(1))):
        result += of[k, k]
    return result


@ruda.kernel
def arrays_by_reference(x: Array[i32], m: Tensor[f32], out: Array[i32], floats: Array[f32]):
    mine = ruda.local(i32, 4)
    ours = ruda.shared(u8, 3)
    fill(mine, 7)
    if ruda.UNIT_POS == 0:
        fill(ours, 200)
        fill(x, 9)
    ruda.barrier()
    out[0] = total(mine)
    out[1] = i32(total(ours))
    out[2] = total(x)
    floats[0] = trace(m)


def test_arrays_of_every_kind_are_passed_by_reference(client):
    m = client.tensor(np.arange(12, dtype=np.float32).reshape(3, 4)).T
    x, out = client.tensor(np.zeros(5, np.int32)), client.tensor(np.zeros(3, np.int32))
    floats = client.tensor(np.zeros(1, np.float32))
    arrays_by_reference.launch(client, 1, 4, x, m, out, floats)
    assert out.tolist() == [28, 600 % 256, 45] and floats.tolist() == [0 + 5 + 10]


@ruda.func
def endless(x: i32):
    return endless(x - 1)


@ruda.kernel
def calls_endless(out: Array[i32]):
    out[0] = endless(3)


@ruda.func
def disagrees(x: i32):
    if x > 0:
        return x
    return f32(x)


@ruda.kernel
def calls_disagrees(out: Array[i32]):
    out[0] = i32(disagrees(out[1]))


@ruda.kernel
def calls_wrongly(out: Array[i32]):
    out[0] = i32(halved(out[1]))


@pytest.mark.parametrize("kernel", [calls_endless, calls_disagrees, calls_wrongly], ids=lambda k: k.name)
def test_helpers_that_cannot_be_are_refused(client, kernel):
    with pytest.raises(ruda.CompileError) as caught:
        kernel.launch(client, 1, 1, client.tensor(np.zeros(2, np.int32)))
    assert caught.value.file == __file__ and caught.value.line


def test_a_kernel_is_launched_not_called():
    with pytest.raises(ruda.RudaError, match="launch"):
        order(1, 2)
