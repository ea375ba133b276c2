"""Atomics on global and shared arrays, the float add by compare-exchange included."""

from __future__ import annotations

import numpy as np
import pytest
from support import NUMPY, T, launch

import ruda_core as ruda
from ruda_core import Array, f32, i32, u32

UNITS = 256


@ruda.kernel
def add_quarter(cell: Array[T]):
    ruda.atomic_add(cell, 0, 0.25)


@ruda.kernel
def shared_quarters(out: Array[f32]):
    cell = ruda.shared(f32, 2)
    if ruda.UNIT_POS < 2:
        cell[ruda.UNIT_POS] = 0.0
    ruda.barrier()
    ruda.atomic_add(cell, ruda.UNIT_POS % 2, 0.25)
    ruda.barrier()
    if ruda.UNIT_POS < 2:
        ruda.atomic_add(out, ruda.UNIT_POS, cell[ruda.UNIT_POS])


@pytest.mark.parametrize("name", ["f32", "f64"])
def test_float_adds_from_4096_units(client, name):
    cell = client.tensor(np.zeros(1, NUMPY[name]))
    if "add" not in client.features().atomics.get(name, ()):
        assert name != "f32", "32-bit compare-exchange is on every backend"
        with pytest.raises(ruda.UnsupportedFeature, match=name):
            add_quarter.launch(client, 64, 64, cell)
        return
    add_quarter.launch(client, 64, 64, cell)
    assert cell.tolist() == [1024.0]


def test_float_adds_in_shared_memory(client):
    out = client.tensor(np.zeros(2, np.float32))
    shared_quarters.launch(client, 8, 64, out)
    assert out.tolist() == [64.0, 64.0]


@ruda.kernel
def all_operations(cells: Array[T], values: Array[T]):
    i = ruda.ABSOLUTE_POS
    if i < len(values):
        v = values[i]
        ruda.atomic_add(cells, 0, v)
        ruda.atomic_sub(cells, 1, v)
        ruda.atomic_min(cells, 2, v)
        ruda.atomic_max(cells, 3, v)
        ruda.atomic_and_(cells, 4, v)
        ruda.atomic_or_(cells, 5, v)
        ruda.atomic_xor(cells, 6, v)


@pytest.mark.parametrize("name", ["i32", "u32", "i64", "u64"])
def test_every_operation_on_integers(client, name):
    kind = NUMPY[name]
    rng = np.random.default_rng(2)
    info = np.iinfo(kind)
    values = rng.integers(info.min, info.max, UNITS, dtype=kind)
    start = np.array([1, 2, info.max, info.min, -1 if info.min else info.max, 0, 5], kind)
    operations = {"add", "sub", "min", "max", "and", "or", "xor"}
    there = client.features().atomics.get(name, frozenset())
    if not operations <= there:
        assert name not in ("i32", "u32")
        with pytest.raises(ruda.UnsupportedFeature, match=name):
            launch(client, all_operations, values, units=UNITS, out=start)
        return
    cells, given = client.tensor(start), client.tensor(values)
    all_operations.launch_over(client, UNITS, cells, given)
    with np.errstate(all="ignore"):
        expected = [
            start[0] + values.sum(dtype=kind), start[1] - values.sum(dtype=kind), values.min(), values.max(),
            np.bitwise_and.reduce(values), np.bitwise_or.reduce(values), start[6] ^ np.bitwise_xor.reduce(values),
        ]  # fmt: skip
    assert cells.tolist() == [int(v) for v in expected]


@ruda.kernel
def old_values(cells: Array[T], out: Array[T]):
    out[0] = ruda.atomic_add(cells, 0, 1)
    out[1] = ruda.atomic_max(cells, 0, 100)
    out[2] = ruda.atomic_exchange(cells, 0, 7)
    out[3] = ruda.atomic_compare_exchange(cells, 0, 7, 8)
    out[4] = ruda.atomic_compare_exchange(cells, 0, 7, 9)
    out[5] = ruda.atomic_load(cells, 0)
    ruda.atomic_store(cells, 0, 33)
    out[6] = ruda.atomic_min(cells, 0, 3)
    out[7] = ruda.atomic_sub(cells, 0, 5)


@pytest.mark.parametrize("name", ["i32", "u32"])
def test_the_old_value_is_returned(client, name):
    cells = client.tensor(np.array([5, 0], NUMPY[name]))
    out = client.tensor(np.zeros(8, NUMPY[name]))
    old_values.launch(client, 1, 1, cells, out)
    assert out.tolist() == [5, 6, 100, 7, 8, 8, 33, 3]
    assert cells.tolist() == [(3 - 5) % (1 << 32) if name == "u32" else -2, 0]


@ruda.kernel
def tickets(counter: Array[i32], seen: Array[u32]):
    ticket = ruda.atomic_add(counter, 0, 1)
    seen[ticket] = u32(ticket) + 1


def test_every_unit_draws_its_own_ticket(client):
    counter, seen = client.tensor(np.zeros(1, np.int32)), client.tensor(np.zeros(2048, np.uint32))
    tickets.launch(client, 32, 64, counter, seen)
    np.testing.assert_array_equal(seen.numpy(), np.arange(2048) + 1)


@ruda.kernel
def shared_operations(values: Array[T], out: Array[T]):
    cells = ruda.shared(T, 4)
    unit = ruda.UNIT_POS
    if unit < 4:
        cells[unit] = values[0]
    ruda.barrier()
    v = values[unit]
    ruda.atomic_add(cells, 0, v)
    ruda.atomic_min(cells, 1, v)
    ruda.atomic_max(cells, 2, v)
    ruda.atomic_xor(cells, 3, v)
    ruda.barrier()
    if unit < 4:
        out[unit] = cells[unit]


@pytest.mark.parametrize("name", ["i32", "u32"])
def test_operations_in_shared_memory(client, name):
    values = np.random.default_rng(4).integers(0, 2**31, 64).astype(np.int64)
    values[::2] -= 2**31
    values = values.astype(NUMPY[name])
    got = launch(client, shared_operations, values, units=64, dim=64, out=np.zeros(4, values.dtype))
    with np.errstate(all="ignore"):
        total = values[0] + values.sum(dtype=values.dtype)
        mixed = values[0] ^ np.bitwise_xor.reduce(values)
    assert got.tolist() == [total, values.min(), values.max(), mixed]


@ruda.kernel
def outside(cells: Array[i32], where: i32, out: Array[i32]):
    out[0] = ruda.atomic_add(cells, where, 5)
    out[1] = ruda.atomic_exchange(cells, where, 9)
    out[2] = ruda.atomic_compare_exchange(cells, where, 1, 9)


@pytest.mark.parametrize("where", [-1, 2, 1000, 2**31 - 1])
def test_out_of_bounds_atomics_give_zero_and_change_nothing(client, where):
    cells, out = client.tensor(np.array([1, 1], np.int32)), client.tensor(np.full(3, 7, np.int32))
    outside.launch(client, 1, 1, cells, where, out)
    assert out.tolist() == [0, 0, 0] and cells.tolist() == [1, 1]


@ruda.kernel
def plain_and_atomic(cells: Array[u32], out: Array[u32]):
    i = ruda.ABSOLUTE_POS
    if i < len(out):
        before = cells[i]
        ruda.atomic_add(cells, i, 2)
        cells[i] = cells[i] * 10
        out[i] = before


def test_plain_and_atomic_access_may_be_mixed(client):
    cells, out = client.tensor(np.arange(5, dtype=np.uint32)), client.tensor(np.zeros(5, np.uint32))
    plain_and_atomic.launch(client, 1, 5, cells, out)
    assert cells.tolist() == [20, 30, 40, 50, 60] and out.tolist() == [0, 1, 2, 3, 4]
