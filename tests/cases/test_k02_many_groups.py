"""Counts above what one axis of a device takes."""

from __future__ import annotations

import numpy as np
import pytest

import ruda_core as ruda
from ruda_core import Array, i32, i64, u32


@ruda.kernel
def number(out: Array[u32]):
    i = ruda.ABSOLUTE_POS
    if i < len(out):
        out[i] = u32(i)


@ruda.kernel
def groups(out: Array[i32], counts: Array[i32]):
    out[ruda.WORKGROUP_POS] = ruda.WORKGROUP_POS_X + 1
    if ruda.ABSOLUTE_POS == 0:
        counts[0] = ruda.WORKGROUP_COUNT
        counts[1] = ruda.WORKGROUP_COUNT_X
        counts[2] = ruda.WORKGROUP_COUNT_Y


@ruda.kernel
def count_units(total: Array[u32]):
    ruda.atomic_add(total, 0, 1)


def test_one_dimension_of_65536_groups(client):
    n = 4_194_241
    out = client.tensor(np.full(n + 64, 7, np.uint32))
    number.launch(client, ruda.RudaCount.cover(n, 64), 64, out[:n])
    got = out.numpy()
    assert got[4_194_240] == 4_194_240 and (got[:n] == 0).sum() == 1
    np.testing.assert_array_equal(got[:n], np.arange(n))
    assert (got[n:] == 7).all(), "nothing is written past the end"


def test_positions_stay_linear_however_the_count_is_spread(client):
    n = 70_000
    out, counts = client.tensor(np.zeros(n, np.int32)), client.tensor(np.zeros(3, np.int32))
    groups.launch(client, n, 1, out, counts)
    np.testing.assert_array_equal(out.numpy(), np.arange(n) + 1)
    assert counts.tolist() == [n, n, 1]


@pytest.mark.parametrize("n", [65_535, 65_536, 65_537, 131_071])
def test_padding_groups_do_nothing(client, n):
    total = client.tensor(np.zeros(1, np.uint32))
    count_units.launch(client, n, 2, total)
    assert total.item() == 2 * n


@ruda.kernel
def last_ones(out: Array[i64], first: i64):
    group = i64(ruda.WORKGROUP_POS)
    if group >= first:
        out[group - first] = group
        out[7] = i64(ruda.WORKGROUP_COUNT)


def test_more_groups_than_31_bits_count_run_or_are_refused(client):
    n = 2**31 + 5
    out = client.zeros(8, np.int64)
    try:
        last_ones.launch(client, n, 1, out, n - 3)
    except ruda.LaunchLimitError as error:
        assert str(n) in str(error)
        assert out.tolist() == [0] * 8
    else:
        assert out.tolist() == [n - 3, n - 2, n - 1, 0, 0, 0, 0, n]


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_two_dimensional_counts_over_the_limit_are_refused_with_both_numbers(client, axis):
    limit = client.properties().max_workgroup_count[axis]
    if limit >= 2**31 - 1:
        pytest.skip(f"the limit of axis {axis} is the index type's own")
    count = [2, 2, 1]
    count[axis] = limit + 1
    total = client.tensor(np.zeros(1, np.uint32))
    with pytest.raises(ruda.LaunchLimitError) as caught:
        count_units.launch(client, tuple(count), 1, total)
    assert (caught.value.requested, caught.value.limit) == (limit + 1, limit)
    assert str(limit + 1) in str(caught.value) and str(limit) in str(caught.value)
    assert total.item() == 0


@pytest.mark.parametrize(
    "count, dim", [((3, 5, 7), (2, 1, 2)), ((4, 3), (8, 4)), ((2, 1, 3), (1, 1, 5))], ids=str
)
def test_linear_positions_run_x_first(client, count, dim):
    @ruda.kernel
    def positions(linear: Array[i32], by_axis: Array[i32], group: Array[i32], unit: Array[i32]):
        i = ruda.ABSOLUTE_POS
        x, y, z = ruda.ABSOLUTE_POS_X, ruda.ABSOLUTE_POS_Y, ruda.ABSOLUTE_POS_Z
        width = ruda.WORKGROUP_COUNT_X * ruda.WORKGROUP_DIM_X
        height = ruda.WORKGROUP_COUNT_Y * ruda.WORKGROUP_DIM_Y
        linear[i] = i
        by_axis[i] = x + width * (y + height * z)
        group[i] = ruda.WORKGROUP_POS
        unit[i] = ruda.UNIT_POS

    full_dim, full_count = (*dim, 1, 1)[:3], (*count, 1, 1)[:3]
    n = int(np.prod(full_dim) * np.prod(full_count))
    outs = [client.tensor(np.full(n, -1, np.int32)) for _ in range(4)]
    positions.launch(client, count, dim, *outs)
    linear, by_axis, group, unit = (t.numpy() for t in outs)
    np.testing.assert_array_equal(linear, np.arange(n))
    np.testing.assert_array_equal(by_axis, np.arange(n))
    units = [c * d for c, d in zip(full_count, full_dim, strict=True)]
    z, y, x = np.unravel_index(np.arange(n), units[::-1])
    (gx, ux), (gy, uy), (gz, uz) = (divmod(p, d) for p, d in zip((x, y, z), full_dim, strict=True))
    np.testing.assert_array_equal(group, gx + full_count[0] * (gy + full_count[1] * gz))
    np.testing.assert_array_equal(unit, ux + full_dim[0] * (uy + full_dim[1] * uz))
