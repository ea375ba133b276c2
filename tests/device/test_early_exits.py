"""Loops that some units of a workgroup never reach, after conditions that all of them share."""

from __future__ import annotations

import numpy as np
import pytest
from workgroups import assert_agrees, halved, turned, values, waits

import ruda_core as ruda
from ruda_core import Array, f32, i32


@ruda.func
def settled(v: f32, steps: i32):
    for k in range(steps):
        v = v / (1.5 + f32(k)) + 1.0
    return v


@ruda.kernel
def returns(x: Array[f32], n: i32, out: Array[f32]):
    v = turned(x)
    if n > 3:
        v += 1.0
        if v < 0.0:
            out[ruda.ABSOLUTE_POS] = -1.0
            return
    out[ruda.ABSOLUTE_POS] = halved(v, n)


@ruda.kernel
def returns_by_both(x: Array[f32], n: i32, out: Array[f32]):
    v = turned(x)
    if n > 3 and settled(v, n) * v < 0.0:
        out[ruda.ABSOLUTE_POS] = -1.0
        return
    out[ruda.ABSOLUTE_POS] = halved(v, n)


@ruda.kernel
def returns_from_a_loop(x: Array[f32], n: i32, out: Array[f32]):
    v = turned(x)
    for k in range(n):
        if v < f32(k) - 2.0:
            out[ruda.ABSOLUTE_POS] = -1.0
            return
        v += 0.5
    left = n
    while left > 0:
        v = v * 0.5 + 1.0
        left -= 1
    out[ruda.ABSOLUTE_POS] = v


@ruda.kernel
def goes_on(x: Array[f32], n: i32, out: Array[f32]):
    v = turned(x)
    for j in range(n):
        if j > 1:
            v += 0.25
            if v < f32(j):
                continue
        for _ in range(n):
            v = v * 0.5 + 1.0
    out[ruda.ABSOLUTE_POS] = v


@ruda.func
def halved_or_not(v: f32, n: i32):
    if n > 3:
        v += 1.0
        if v < 0.0:
            return f32(9.0)
    for _ in range(n):
        v = v * 0.5 + 1.0
    return v


@ruda.kernel
def returns_from_a_function(x: Array[f32], n: i32, out: Array[f32]):
    out[ruda.ABSOLUTE_POS] = halved_or_not(turned(x), n)


@ruda.kernel
def chooses(x: Array[f32], n: i32, out: Array[f32]):
    v = turned(x)
    if n > 3 and settled(v, n) * v < 0.0:
        v += 1.0
    else:
        for _ in range(n):
            v = v * 0.5 + 1.0
    out[ruda.ABSOLUTE_POS] = v


@ruda.kernel
def stops(x: Array[f32], n: i32, out: Array[f32]):
    v = x[ruda.ABSOLUTE_POS]
    w = x[len(x) - 1 - ruda.ABSOLUTE_POS]
    left = i32(1)
    while left > 0 and v > 0.0:
        left -= 1
        w = v + f32(n)
    waits(v)
    out[ruda.ABSOLUTE_POS] = w


@pytest.mark.parametrize(
    "kernel",
    [returns, returns_by_both, returns_from_a_loop, goes_on, returns_from_a_function, chooses, stops],
    ids=lambda kernel: kernel.name,
)
@pytest.mark.parametrize("order", [1, -1])
def test_each_unit_goes_its_own_way(client, kernel, order):
    assert_agrees(client, kernel, np.sort(values())[::order].copy(), 5)
