"""Subgroup operations, for whatever size the device has; refused where it has none."""

from __future__ import annotations

import numpy as np
import pytest

import ruda_core as ruda
from ruda_core import Array, i32, u32

DIM = 64


@ruda.kernel
def shape(size: Array[i32], lane: Array[i32], group: Array[i32], count: Array[i32]):
    unit = ruda.UNIT_POS
    size[unit] = i32(ruda.SUBGROUP_SIZE)
    lane[unit] = i32(ruda.SUBGROUP_LANE)
    group[unit] = i32(ruda.SUBGROUP_ID)
    count[unit] = i32(ruda.SUBGROUP_COUNT)


@ruda.kernel
def operations(x: Array[i32], out: Array[i32]):
    unit = ruda.UNIT_POS
    v = x[unit]
    out[unit] = ruda.subgroup_sum(v)
    out[DIM + unit] = ruda.subgroup_min(v)
    out[2 * DIM + unit] = ruda.subgroup_max(v)
    out[3 * DIM + unit] = ruda.subgroup_inclusive_sum(v)
    out[4 * DIM + unit] = ruda.subgroup_exclusive_sum(v)
    out[5 * DIM + unit] = ruda.subgroup_broadcast(v, 1)
    out[6 * DIM + unit] = ruda.subgroup_shuffle_xor(v, 1)
    out[7 * DIM + unit] = ruda.subgroup_xor(v)
    out[8 * DIM + unit] = i32(ruda.subgroup_any(v > 90))
    out[9 * DIM + unit] = i32(ruda.subgroup_all(v > -200))
    out[10 * DIM + unit] = ruda.subgroup_or_(v)
    out[11 * DIM + unit] = ruda.subgroup_and_(v)


@pytest.fixture
def lanes(client):
    """Per unit of a workgroup of 64: its subgroup and lane, as the device numbers them."""
    arrays = [client.tensor(np.zeros(DIM, np.int32)) for _ in range(4)]
    if client.features().subgroup is None:
        with pytest.raises(ruda.UnsupportedFeature, match="subgroup"):
            shape.launch(client, 1, DIM, *arrays)
        pytest.skip("no subgroups; the kernel is refused")
    shape.launch(client, 1, DIM, *arrays)
    return [t.numpy() for t in arrays]


def test_every_unit_has_one_place(client, lanes):
    size, lane, group, count = lanes
    least, most = client.features().subgroup
    assert np.unique(size).size == 1 and least <= size[0] <= most
    assert np.unique(count).size == 1 and count[0] == np.unique(group).size
    assert len(set(zip(group.tolist(), lane.tolist(), strict=True))) == DIM
    assert lane.min() == 0 and lane.max() < size[0]


def test_operations_agree_with_numpy_in_each_subgroup(client, lanes):
    _, lane, group, _ = lanes
    x = np.random.default_rng(8).integers(-100, 100, DIM).astype(np.int32)
    out = client.tensor(np.zeros(12 * DIM, np.int32))
    operations.launch(client, 1, DIM, client.tensor(x), out)
    got = out.numpy().reshape(12, DIM)
    for g in np.unique(group):
        units = np.flatnonzero(group == g)
        units = units[np.argsort(lane[units])]
        v, n = x[units], units.size
        expected = [
            [v.sum()] * n, [v.min()] * n, [v.max()] * n, np.cumsum(v), np.cumsum(v) - v, [v[1]] * n,
            v[np.arange(n) ^ 1], [np.bitwise_xor.reduce(v)] * n, [(v > 90).any()] * n, [True] * n,
            [np.bitwise_or.reduce(v)] * n, [np.bitwise_and.reduce(v)] * n,
        ]  # fmt: skip
        np.testing.assert_array_equal(got[:, units], expected)


@ruda.kernel
def partial(x: Array[u32], out: Array[u32]):
    unit = ruda.UNIT_POS
    total = ruda.subgroup_sum(x[unit])
    if ruda.SUBGROUP_LANE == 0:
        ruda.atomic_add(out, 0, total)


@pytest.mark.parametrize("dim", [1, 3, 10, 33, 61])
def test_a_partial_last_subgroup(client, lanes, dim):
    x, out = client.tensor(np.arange(1, dim + 1, dtype=np.uint32)), client.tensor(np.zeros(1, np.uint32))
    partial.launch(client, 1, dim, x, out)
    assert out.tolist() == [dim * (dim + 1) // 2]


@ruda.kernel
def divergent(x: Array[u32], out: Array[u32]):
    if x[ruda.UNIT_POS] > 0:
        out[0] = ruda.subgroup_sum(x[0])


def test_operations_that_some_units_miss_are_refused(client, lanes):
    x = client.tensor(np.zeros(DIM, np.uint32))
    with pytest.raises(ruda.UniformityError):
        divergent.launch(client, 1, DIM, x, x)
