"""Groups that lie within bounds take code without checks; what they compute is the same as with them."""

from __future__ import annotations

import numpy as np
import pytest

import ruda_core as ruda
from ruda_core import Array, Tensor, f32, i32, u32

SIZE = 203
"""Elements of arrays, so that some groups lie within them and one crosses their end."""


@ruda.kernel
def around(x: Array[i32], y: Array[i32]):
    i = ruda.ABSOLUTE_POS
    y[i] = 100 * x[i - 3] + 10 * x[i + 1] + x[i + 70]


@ruda.kernel
def strided(x: Array[i32], y: Array[i32]):
    i = ruda.ABSOLUTE_POS
    y[3 * i + 1] = x[2 * i - 5]


@ruda.kernel
def far(by: i32, x: Array[i32], y: Array[i32]):
    i = ruda.ABSOLUTE_POS
    y[i] = x[i + by] + x[i + by + 1]


@ruda.kernel
def far_unsigned(by: u32, x: Array[i32], y: Array[i32]):
    i = u32(ruda.ABSOLUTE_POS)
    y[i] = x[i + by] + x[i + by + 2]


@ruda.kernel
def rows_apart(width: i32, x: Array[i32], y: Tensor[i32]):
    row, col = ruda.ABSOLUTE_POS_Y, ruda.ABSOLUTE_POS_X
    y[row, col] = x[row * width + col]


@ruda.kernel
def guarded(x: Tensor[f32], y: Tensor[f32]):
    row, col = ruda.ABSOLUTE_POS_Y, ruda.ABSOLUTE_POS_X
    if row < y.shape(0) and col < y.shape(1):
        y[row, col] = x[row - 1, col] + x[row + 1, col] + x[row, col - 1] + x[row, col + 1]


@ruda.kernel
def moving_limit(n: i32, limits: Array[i32], y: Tensor[i32]):
    row, col = ruda.ABSOLUTE_POS_Y, ruda.ABSOLUTE_POS_X
    limit = n
    if col < limit:
        y[row, col] += 1
    limit = n // 2
    if col < limit:
        y[row, col] += 10
    if row < y.shape(0):
        limit = limits[1]
        if col < limit:
            y[row, col] += 100
        if col < limits[2]:
            y[row, col] += 1000


@ruda.kernel
def in_turn(x: Array[i32], y: Array[i32]):
    held = ruda.shared(i32, 64)
    unit = ruda.UNIT_POS
    by = 1
    total = 0
    while by < 60:
        held[unit] = x[ruda.ABSOLUTE_POS + by]
        ruda.barrier()
        total = 3 * total + held[unit - by] + held[63 - unit]
        ruda.barrier()
        by = 2 * by + 1
    y[ruda.ABSOLUTE_POS] = total


def read(x, index):
    """Elements of x as a checked launch reads them."""
    index = np.asarray(index, np.int64)
    inside = (index >= 0) & (index < len(x))
    return np.where(inside, x[np.where(inside, index, 0)], 0)


def run(kernel, count, dim, out, *arguments):
    client = ruda.client("cpu")
    result = client.tensor(out)
    given = [client.tensor(a) if isinstance(a, np.ndarray) else a for a in arguments]
    kernel.launch(client, count, dim, *given, result)
    return result.numpy()


def numbers(size=SIZE):
    return np.arange(1, size + 1, dtype=np.int32)


def test_groups_at_both_ends_and_between():
    x, i = numbers(), np.arange(SIZE)
    out = run(around, 5, 64, np.zeros(SIZE, np.int32), x)
    np.testing.assert_array_equal(out, 100 * read(x, i - 3) + 10 * read(x, i + 1) + read(x, i + 70))


def test_indices_that_go_in_steps():
    x, i = numbers(), np.arange(256)
    expected = np.full(SIZE, -1, np.int32)
    inside = 3 * i + 1 < SIZE
    expected[3 * i[inside] + 1] = read(x, 2 * i - 5)[inside]
    np.testing.assert_array_equal(run(strided, 4, 64, np.full(SIZE, -1, np.int32), x), expected)


@pytest.mark.parametrize("by", [0, -40, 150, -(2**31), 2**31 - 1, 2**31 - 100, -(2**31) + 60])
def test_indices_that_wrap_are_out_of_bounds(by):
    x, i = numbers(), np.arange(256)
    wrapped = [((i + by + k + 2**31) % 2**32) - 2**31 for k in (0, 1)]
    out = run(far, 4, 64, np.zeros(256, np.int32), by, x)
    np.testing.assert_array_equal(out, read(x, wrapped[0]) + read(x, wrapped[1]))


@pytest.mark.parametrize("by", [0, 150, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 70])
def test_unsigned_indices_that_wrap_come_around(by):
    x, i = numbers(), np.arange(256)
    out = run(far_unsigned, 4, 64, np.zeros(256, np.int32), by, x)
    np.testing.assert_array_equal(out, read(x, (i + by) % 2**32) + read(x, (i + by + 2) % 2**32))


@pytest.mark.parametrize("width", [1, 16, 50, 0, -7, 2**30, 2**31 - 1, 2**31 - 5])
def test_rows_whose_distance_is_known_at_run_time(width):
    x = numbers()
    row, col = np.indices((16, 48))
    at = (row * width + col + 2**31) % 2**32 - 2**31
    out = run(rows_apart, (3, 4), (16, 4), np.zeros((16, 48), np.int32), width, x)
    np.testing.assert_array_equal(out, read(x, at))


@pytest.mark.parametrize("shape", [(40, 100), (3, 7), (64, 64), (1, 200)])
def test_guards_of_rows_and_columns(shape):
    x = np.random.default_rng(1).integers(0, 9, shape).astype(np.float32)
    p = np.pad(x, 1)
    expected = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
    count = (-(-shape[1] // 32), -(-shape[0] // 8))
    np.testing.assert_array_equal(run(guarded, count, (32, 8), np.zeros(shape, np.float32), x), expected)


def test_limits_that_change_on_the_way():
    col = np.indices((8, 96))[1]
    limits = np.array([0, 70, 33], np.int32)
    expected = (col < 64) * 1 + (col < 32) * 10 + (col < 70) * 100 + (col < 33) * 1000
    out = run(moving_limit, (3, 2), (32, 4), np.zeros((8, 96), np.int32), 64, limits)
    np.testing.assert_array_equal(out, expected)


def test_values_of_the_group_that_change_between_regions():
    x = numbers()
    absolute, unit = np.arange(256), np.arange(256) % 64
    total = np.zeros(256, np.int64)
    by = 1
    while by < 60:
        held = read(x, absolute + by).reshape(4, 64)
        before = np.where(unit - by >= 0, held[absolute // 64, np.maximum(unit - by, 0)], 0)
        total = 3 * total + before + held[absolute // 64, 63 - unit]
        by = 2 * by + 1
    out = run(in_turn, 4, 64, np.zeros(256, np.int32), x)
    np.testing.assert_array_equal(out, total.astype(np.int32))


def source(kernel, dim, *types):
    return ruda.compile_for("cpu", kernel, dim, *types).source


def test_a_group_within_bounds_has_no_checks():
    text = source(around, 64, Array[i32], Array[i32])
    inside, border = text.split("\ninside", 1)[1].split("\nborder", 1)
    assert "icmp ult" not in inside and "icmp ult" in border


def test_rows_run_side_by_side_where_they_are_straight_code():
    client = ruda.client("cpu")
    text = guarded.compile(client, (32, 8), *(client.zeros((64, 64), f32) for _ in range(2))).source
    inside = text.split("\ninside", 1)[1].split("\nborder", 1)[0]
    assert inside.count("store float %") == 4


def fetched(text):
    """How many elements ahead lines are fetched."""
    before = text.split("call void @llvm.prefetch", 1)[0].splitlines()[-3]
    return int(before.rsplit(" ", 1)[1])


def test_a_later_row_is_fetched_where_a_barrier_interrupts():
    assert fetched(source(in_turn, 64, Array[i32], Array[i32])) == 12 * 1024 // 4


def test_elsewhere_the_first_of_the_rows_that_are_read_goes_ahead_of_the_others():
    text = source(around, 64, Array[i32], Array[i32])
    assert fetched(text) == 256 // 4
    assert (
        text.count("call void @llvm.prefetch") == 64 * 4 // 64 * 2
    )  # once within bounds, once at the border
