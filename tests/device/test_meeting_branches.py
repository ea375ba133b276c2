"""Places to which a branch that all units share and one of each unit's own both lead, between barriers."""

from __future__ import annotations

import pytest
from workgroups import UNITS, assert_agrees, halved, turned, values, waits

import ruda_core as ruda
from ruda_core import Array, f32, i32


@ruda.func
def mixed(v: f32):
    """Too long for a compiler to compute it before a branch asks for it."""
    return (1.0 / v + v / 3.0) * v * v * v * (v + 1.0) * (v + 2.0) - 2.0 / v


@ruda.kernel
def assigns(x: Array[f32], n: i32, out: Array[f32]):
    tile = ruda.shared(f32, UNITS)
    tile[ruda.UNIT_POS] = 0.0
    v = x[ruda.ABSOLUTE_POS]
    k = n
    if n > 5 or mixed(v) > 0.0:
        tile[ruda.UNIT_POS] = 5.0
        k = n * 2
    ruda.barrier()
    read = tile[(ruda.UNIT_POS + 3) % UNITS]
    ruda.barrier()
    tile[ruda.UNIT_POS] = read + f32(k)
    ruda.barrier()
    out[ruda.ABSOLUTE_POS] = f32(k) + tile[(ruda.UNIT_POS + 5) % UNITS]


@ruda.kernel
def returns_from_one_way(x: Array[f32], n: i32, out: Array[f32]):
    v = turned(x)
    if n > 5:
        out[ruda.ABSOLUTE_POS] = v
    elif x[ruda.ABSOLUTE_POS] > 0.0:
        out[ruda.ABSOLUTE_POS] = 9.0
        return
    out[ruda.ABSOLUTE_POS] = halved(v, n)


@ruda.kernel
def keeps_the_answer(x: Array[f32], n: i32, out: Array[f32]):
    v = turned(x)
    go = True
    if n < 6:
        go = mixed(x[ruda.ABSOLUTE_POS]) > 0.0
    if go:
        v = halved(v, n)
    out[ruda.ABSOLUTE_POS] = v


@ruda.kernel
def chooses_the_answer(x: Array[f32], n: i32, out: Array[f32]):
    v = turned(x)
    if ruda.select(n < 6, mixed(x[ruda.ABSOLUTE_POS]) > 0.0, True):
        v = halved(v, n)
    out[ruda.ABSOLUTE_POS] = v


@ruda.kernel
def leaves_behind_statements(x: Array[f32], n: i32, out: Array[f32]):
    v = x[ruda.ABSOLUTE_POS]
    w = x[len(x) - 1 - ruda.ABSOLUTE_POS]
    left = i32(1)
    while True:
        if left <= 0 or v <= 0.0:
            w += 1.0
            break
        left -= 1
        w = v + f32(n)
    waits(v)
    out[ruda.ABSOLUTE_POS] = w


@ruda.kernel
def leaves_or_goes_on(x: Array[f32], n: i32, out: Array[f32]):
    v = x[ruda.ABSOLUTE_POS]
    w = x[len(x) - 1 - ruda.ABSOLUTE_POS]
    left = i32(1)
    while True:
        if left <= 0 or v <= 0.0:
            break
        else:
            left -= 1
            w = v + f32(n)
    waits(v)
    out[ruda.ABSOLUTE_POS] = w


@ruda.kernel
def leaves_by_two(x: Array[f32], n: i32, out: Array[f32]):
    v = x[ruda.ABSOLUTE_POS]
    w = x[len(x) - 1 - ruda.ABSOLUTE_POS]
    left = i32(1)
    while True:
        if v <= 0.0:
            w -= 1.0
            if n > 3:
                break
        if left <= 0:
            break
        left -= 1
        w = v + f32(n)
    waits(v)
    out[ruda.ABSOLUTE_POS] = w


@pytest.mark.parametrize(
    "kernel",
    [
        assigns,
        returns_from_one_way,
        keeps_the_answer,
        chooses_the_answer,
        leaves_behind_statements,
        leaves_or_goes_on,
        leaves_by_two,
    ],
    ids=lambda kernel: kernel.name,
)
@pytest.mark.parametrize("n", [5, 6])
def test_no_unit_speaks_for_another(client, kernel, n):
    assert_agrees(client, kernel, values(), n)
