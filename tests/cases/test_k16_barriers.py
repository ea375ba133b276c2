"""A barrier that only some units reach is a compile error; one that all reach works."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from support import launch

import ruda_core as ruda
from ruda_core import Array, i32

pytestmark = pytest.mark.timeout(60)
DIM = 64


@ruda.kernel
def returns_first(x: Array[i32], out: Array[i32]):
    tile = ruda.shared(i32, DIM)
    i, unit = ruda.ABSOLUTE_POS, ruda.UNIT_POS
    if i >= len(x):
        return
    tile[unit] = x[i]
    ruda.barrier()
    if unit == 0:
        out[ruda.WORKGROUP_POS] = tile[0]


@ruda.kernel
def in_a_branch(x: Array[i32]):
    if ruda.UNIT_POS < 16:
        ruda.barrier()
    x[0] = 1


@ruda.kernel
def in_a_loop(x: Array[i32]):
    for _ in range(x[ruda.UNIT_POS]):
        ruda.barrier()
    x[0] = 1


@ruda.kernel
def after_a_break(x: Array[i32]):
    for k in range(4):
        if x[ruda.UNIT_POS] == k:
            break
        ruda.barrier()


@ruda.kernel
def after_a_continue(x: Array[i32]):
    for k in range(4):
        if x[ruda.UNIT_POS] == k:
            continue
        ruda.barrier()


@ruda.kernel
def in_a_chain(x: Array[i32]):
    flag = 0
    if x[ruda.UNIT_POS] > 0:
        flag = 1
    if flag == 1:
        ruda.barrier()
    x[0] = 1


@ruda.func
def helper(x: Array[i32]):
    ruda.barrier()
    x[0] = 1


@ruda.kernel
def in_a_helper(x: Array[i32]):
    if ruda.UNIT_POS > 3:
        helper(x)


@ruda.kernel
def on_a_written_array(x: Array[i32]):
    x[ruda.UNIT_POS] = 1
    if x[0] == 1:
        ruda.barrier()
    x[1] = 2


BAD = {
    returns_first: ("if i >= len(x)", "ruda.barrier()"),
    in_a_branch: ("if ruda.UNIT_POS < 16", "ruda.barrier()"),
    in_a_loop: ("for _ in range", "ruda.barrier()"),
    after_a_break: ("if x[ruda.UNIT_POS] == k", "ruda.barrier()"),
    after_a_continue: ("if x[ruda.UNIT_POS] == k", "ruda.barrier()"),
    in_a_chain: ("if flag == 1", "ruda.barrier()"),
    in_a_helper: ("if ruda.UNIT_POS > 3", ""),
    on_a_written_array: ("if x[0] == 1", "ruda.barrier()"),
}


def line_of(kernel, text):
    lines, start = inspect.getsourcelines(kernel.fn)
    return start + next(k for k, line in enumerate(lines) if text in line)


@pytest.mark.parametrize("kernel", BAD, ids=lambda k: k.name)
def test_a_barrier_that_some_units_miss_is_refused_with_both_lines(client, kernel):
    x = client.tensor(np.zeros(100, np.int32))
    args = (x, client.tensor(np.zeros(2, np.int32))) if kernel is returns_first else (x,)
    with pytest.raises(ruda.UniformityError) as caught:
        kernel.launch(client, 2, DIM, *args)
    assert isinstance(caught.value, ruda.CompileError)
    branch, barrier = BAD[kernel]
    assert str(line_of(kernel, branch)) in str(caught.value)
    if barrier:
        assert str(line_of(kernel, barrier)) in str(caught.value)
        assert caught.value.line in (line_of(kernel, branch), line_of(kernel, barrier))
    assert not x.numpy().any(), "nothing was launched"


@ruda.kernel
def group_sums(x: Array[i32], out: Array[i32]):
    tile = ruda.shared(i32, DIM)
    i, unit = ruda.ABSOLUTE_POS, ruda.UNIT_POS
    tile[unit] = 0
    if i < len(x):
        tile[unit] = x[i]
    half = DIM // 2
    while half > 0:
        ruda.barrier()
        if unit < half:
            tile[unit] += tile[unit + half]
        half //= 2
    if unit == 0:
        out[ruda.WORKGROUP_POS] = tile[0]


def test_the_guard_around_the_load_is_right(client):
    out = client.tensor(np.zeros(2, np.int32))
    group_sums.launch(client, 2, DIM, client.tensor(np.ones(100, np.int32)), out)
    assert out.tolist() == [64, 36]


@ruda.kernel
def uniform_branches(x: Array[i32], n: i32, steps: Array[i32], out: Array[i32]):
    tile = ruda.shared(i32, DIM)
    unit = ruda.UNIT_POS
    if ruda.WORKGROUP_POS > 5:
        return
    tile[unit] = x[unit]
    if n > 2:
        ruda.barrier()
        tile[DIM - 1 - unit] = unit
    for k in range(steps[0]):
        if steps[k] == 7:
            break
        ruda.barrier()
        if unit == k:
            tile[0] = tile[0] + 1
    ruda.barrier()
    total = ruda.shared(i32, 1)
    if unit == 0:
        total[0] = tile[0]
    ruda.barrier()
    count = ruda.uniform_load(total, 0)
    while count > 0:
        ruda.barrier()
        count -= 10
    if len(x) > 3:
        ruda.barrier()
    out[unit] = tile[unit] + count


def test_barriers_under_uniform_control_are_allowed(client):
    steps = np.array([5, 1, 1, 7, 1], np.int32)
    x = np.zeros(DIM, np.int32)
    got = launch(client, uniform_branches, x, 3, steps, units=DIM, dim=DIM, out=np.zeros(DIM, np.int32))
    tile = np.arange(DIM)[::-1].copy()
    tile[0] += 3
    count = tile[0] - 10 * -(-tile[0] // 10)
    assert got.tolist() == (tile + count).tolist()
