"""Shared and local arrays, bounds of every kind of memory in every mode, and values that live over barriers."""

from __future__ import annotations

import numpy as np
import pytest
from support import NUMPY, T, has, launch

import ruda_core as ruda
from ruda_core import Array, Tensor, bool_, f32, i32, u32

WAIT = 60


@ruda.kernel
def reverse_in_group(x: Array[T], out: Array[T]):
    tile = ruda.shared(T, ruda.WORKGROUP_DIM)
    i, unit = ruda.ABSOLUTE_POS, ruda.UNIT_POS
    tile[unit] = x[i]
    ruda.barrier()
    out[i] = tile[ruda.WORKGROUP_DIM - 1 - unit]


@pytest.mark.parametrize("name", ["bool", "u8", "i16", "u32", "f16", "bf16", "f32", "i64", "f64"])
@pytest.mark.parametrize("dim", [1, 7, 32])
def test_shared_arrays_of_every_dtype(client, name, dim):
    if not has(client, name):
        pytest.skip(f"no {name}")
    x = (np.arange(3 * dim) % 100).astype(NUMPY[name])
    out = client.tensor(np.zeros_like(x))
    reverse_in_group.launch(client, 3, dim, client.tensor(x), out)
    expected = x.reshape(3, dim)[:, ::-1].ravel()
    np.testing.assert_array_equal(out.numpy().astype(float), expected.astype(float))


@ruda.kernel
def private_arrays(x: Array[i32], out: Array[i32]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        digits = ruda.local(i32, 5)
        table = ruda.local(f32, (2, 3))
        for k in range(5):
            digits[k] = x[i] // 10 ** (4 - k) % 10
        for a in range(2):
            for b in range(3):
                table[a, b] = f32(10 * a + b)
        number = 0
        for k in range(5):
            number += digits[4 - k] * 10 ** (4 - k)
        out[i] = number + i32(table[1, 2])


def test_local_arrays_belong_to_one_unit(client):
    x = np.array([12345, 0, 90817, 7], np.int32)
    got = launch(client, private_arrays, x, units=4, out=np.zeros_like(x))
    assert got.tolist() == [int(f"{v:05d}"[::-1]) + 12 for v in x]


@ruda.kernel
def two_dimensional(x: Tensor[f32], out: Tensor[f32]):
    tile = ruda.shared(f32, (4, 5))
    row, col = ruda.UNIT_POS_Y, ruda.UNIT_POS_X
    tile[row, col] = x[row, col]
    ruda.barrier()
    out[col, row] = tile[row, col]
    if row == 0 and col == 0:
        out[0, 4] = tile[0, 5] + tile[1, -1] + tile[4, 0] + 0.5  # in the array, but past an axis


def test_each_axis_is_checked_on_its_own(client):
    x = np.arange(1, 21, dtype=np.float32).reshape(4, 5)
    out = client.tensor(np.zeros((5, 5), np.float32))
    two_dimensional.launch(client, 1, (5, 4), client.tensor(x), out)
    expected = np.zeros((5, 5), np.float32)
    expected[:, :4] = x.T
    expected[0, 4] = 0.5
    np.testing.assert_array_equal(out.numpy(), expected)


@ruda.kernel
def over_barriers(x: Array[i32], out: Array[i32]):
    tile = ruda.shared(i32, 32)
    mine = ruda.local(i32, 3)
    unit = ruda.UNIT_POS
    kept, parity = x[unit], unit % 2
    for k in range(3):
        mine[k] = kept * (k + 1)
    for k in range(3):
        tile[unit] = mine[k] + parity
        ruda.barrier()
        kept += tile[(unit + k + 1) % 32]
        ruda.barrier()
    out[unit] = kept


def test_values_live_over_barriers_in_loops(client):
    x = np.arange(32, dtype=np.int32) ** 2
    got = launch(client, over_barriers, x, units=32, dim=32, out=np.zeros_like(x))
    kept = x.copy()
    for k in range(3):
        kept += np.roll(x * (k + 1) + np.arange(32) % 2, -(k + 1))
    assert got.tolist() == kept.tolist()


@ruda.kernel
def global_exchange(x: Array[i32]):
    i = ruda.ABSOLUTE_POS
    x[i] = i
    ruda.barrier()
    other = x[i ^ 1]
    ruda.barrier()
    x[i] = other * 10


def test_a_barrier_orders_global_accesses_of_a_group(client):
    x = client.tensor(np.zeros(64, np.int32))
    global_exchange.launch(client, 2, 32, x)
    assert x.tolist() == [10 * (k ^ 1) for k in range(64)]


@ruda.kernel
def outside(x: Array[T], where: i32, out: Array[T]):
    tile = ruda.shared(T, 4)
    mine = ruda.local(T, 4)
    for k in range(4):
        tile[k] = 1
        mine[k] = 1
    ruda.barrier()
    out[0] = x[where]
    out[1] = tile[where]
    out[2] = mine[where]
    x[where] = 5
    tile[where] = 5
    mine[where] = 5
    for k in range(4):
        out[3] += x[k] + tile[k] + mine[k]


@pytest.mark.parametrize("name", ["u8", "i32", "f16", "f32"])
@pytest.mark.parametrize("where", [-1, 4, 5, 1000, 2**31 - 1, -(2**31)])
def test_global_shared_and_local_accesses_out_of_bounds(client, name, where):
    x, out = client.tensor(np.ones(4, NUMPY[name])), client.tensor(np.zeros(4, NUMPY[name]))
    outside.launch(client, 1, 1, x, where, out)
    assert out.tolist() == [0, 0, 0, 12] and x.tolist() == [1] * 4


@ruda.kernel
def matrix_access(m: Tensor[i32], row: i32, col: i32, out: Array[i32]):
    out[0] = m[row, col]
    m[row, col] = 9


@pytest.mark.parametrize("row, col", [(0, 4), (1, -1), (3, 0), (-1, 4), (0, 2**30), (2**30, 0)], ids=str)
def test_an_index_past_one_axis_is_out_of_bounds(client, row, col):
    host = np.ones((3, 4), np.int32)
    for m in (client.tensor(host), client.tensor(np.ascontiguousarray(host.T)).T):
        out = client.tensor(np.full(1, 7, np.int32))
        matrix_access.launch(client, 1, 1, m, row, col, out)
        assert out.tolist() == [0] and m.numpy().sum() == 12


@ruda.kernel
def shared_stray(where: i32, out: Array[i32]):
    ours = ruda.shared(i32, 4)
    ours[where] = 1
    out[0] = 3


@ruda.kernel
def local_stray(where: i32, out: Array[i32]):
    mine = ruda.local(i32, 4)
    mine[0] = 1
    out[0] = mine[where] + 3


@ruda.kernel
def atomic_stray(where: i32, out: Array[i32]):
    ruda.atomic_add(out, where, 1)


STRAYS = {shared_stray: ("ours", 4), local_stray: ("mine", 4), atomic_stray: ("out", 2)}


@pytest.mark.parametrize("kernel", STRAYS, ids=lambda k: k.name)
@pytest.mark.parametrize("where", [-1, 7])
def test_validate_mode_names_array_index_and_length(client, kernel, where):
    out = client.tensor(np.zeros(2, np.int32))
    kernel.prepare(client, 1, where, out, mode="validate")(1, where, out)
    with pytest.raises(ruda.KernelFault) as caught:
        client.sync().result(timeout=WAIT)
    name, length = STRAYS[kernel]
    fault = caught.value
    assert (fault.kernel, fault.array, fault.index, fault.length) == (kernel.name, name, where, length)
    kernel.prepare(client, 1, 1, out, mode="validate")(1, 1, out)
    client.sync().result(timeout=WAIT)


COPIES = {
    "whole words": (1000, 0, 500, 400),
    "odd bytes": (1000, 1, 502, 399),
    "a little back": (1000, 4, 0, 800),
    "a little on": (1000, 0, 4, 800),
    "back by an odd step": (1000, 5, 0, 801),
    "large, back": (5 << 20, 64, 0, 4 << 20),
    "large, on": (5 << 20, 0, 64, (4 << 20) + 12),
}


@pytest.mark.parametrize("size, at, to, count", COPIES.values(), ids=COPIES)
def test_copies_within_one_tensor(client, size, at, to, count):
    """Between any parts of it, as if the source were taken first; a fault waits for the next read."""
    x = np.random.default_rng(0).integers(0, 256, size, np.uint8)
    tensor, out = client.tensor(x), client.tensor(np.zeros(2, np.int32))
    shared_stray.prepare(client, 1, 7, out, mode="validate")(1, 7, out)
    tensor[to : to + count].copy_from(tensor[at : at + count])
    with pytest.raises(ruda.KernelFault):
        client.sync().result(timeout=WAIT)
    x[to : to + count] = x[at : at + count].copy()
    np.testing.assert_array_equal(tensor.numpy(), x)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_copies_between_tensors_are_ordered_with_launches(client, dtype):
    first, second, count = np.arange(7, dtype=dtype), np.arange(7, 14, dtype=dtype), np.zeros(2, np.int32)
    x, y, out = client.tensor(first), client.tensor(second), client.tensor(count)
    atomic_stray.launch(client, 3, 1, 1, out)
    copy = client.tensor(count)
    copy.copy_from(out)
    atomic_stray.launch(client, 3, 1, 1, out)
    x.copy_from(y)
    y.fill(0)
    assert copy.tolist() == [0, 3] and out.tolist() == [0, 6]
    np.testing.assert_array_equal(x.numpy(), second)


@ruda.kernel
def zeroed(out: Array[i32]):
    ours, mine = ruda.shared(i32, 8), ruda.local(i32, 8)
    unit = ruda.UNIT_POS
    out[unit] += ours[unit] + mine[unit]
    ruda.barrier()
    ours[unit] = 77


def test_memory_starts_as_zeros_in_validate_mode(client):
    out = client.tensor(np.zeros(8, np.int32))
    for _ in range(3):
        zeroed.prepare(client, 8, out, mode="validate")(4, out)
    assert not out.numpy().any()


@ruda.kernel
def in_every_mode(x: Array[f32], flags: Array[bool_], out: Array[f32]):
    i = ruda.ABSOLUTE_POS
    if i < len(out):
        total = 0.0
        for k in range(len(x)):
            total += x[k] * f32(flags[k])
        out[i] = total + x[i]


@pytest.mark.parametrize("mode", ["checked", "validate", "unchecked"])
def test_accesses_inside_are_right_in_every_mode(client, mode):
    x, flags = np.arange(20, dtype=np.float32), np.arange(20) % 3 == 0
    args = client.tensor(x), client.tensor(flags), client.tensor(np.zeros(20, np.float32))
    in_every_mode.prepare(client, 8, *args, mode=mode)(3, *args)
    assert args[2].tolist() == (x + x[flags].sum()).tolist()


@ruda.kernel
def uniform(x: Array[u32], out: Array[u32]):
    cell = ruda.shared(u32, 1)
    unit = ruda.UNIT_POS
    for k in range(3):
        if unit == k:
            cell[0] = x[k]
        ruda.barrier()
        n = ruda.uniform_load(cell, 0)
        while n > 0:
            ruda.barrier()
            n -= 1
        ruda.barrier()
        out[unit] += ruda.uniform_load(x, k) + n


def test_a_uniform_load_is_the_same_in_every_unit(client):
    out = client.tensor(np.zeros(16, np.uint32))
    uniform.launch(client, 1, 16, client.tensor(np.array([3, 0, 5], np.uint32)), out)
    assert out.tolist() == [8] * 16
