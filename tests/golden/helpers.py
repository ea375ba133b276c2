"""`@ruda.func`: helpers and how they are inlined; plain functions at compile time."""

from __future__ import annotations

import math
from typing import TypeVar

import ruda_core as ruda
from ruda_core import Array, Comptime, Tensor, f32, i32, u32

T = TypeVar("T")
S = TypeVar("S", u32, i32)


def _ceil_div(a, b):
    return -(-a // b)


@ruda.func
def _add(a: T, b: T):
    return a + b


@ruda.func
def _clamped(v: T, low: T, high: T):
    if v < low:
        return low
    if v > high:
        return high
    return v


@ruda.func
def _divmod(a: S, b: S):
    if b == 0:
        return 0, 0
    return a // b, a % b


@ruda.func
def _fill(a: Array[T], value: T, n: i32 = 4):
    for k in range(n):
        a[k] = value


@ruda.func
def _halve(n: i32):
    while n > 10:
        n //= 2
    return n


@ruda.func
def _power(x: f32, n: Comptime[int]):
    if n == 0:
        return 1.0
    acc = x
    for _ in ruda.unroll(range(n - 1)):
        acc *= x
    return acc


@ruda.func
def _find(x: Array[f32], what: f32):
    for i in range(len(x)):
        if x[i] == what:
            return i
    return -1


@ruda.func
def _exchange(value: f32):
    tile = ruda.shared(f32, ruda.WORKGROUP_DIM)
    tile[ruda.UNIT_POS] = value
    ruda.barrier()
    return tile[ruda.WORKGROUP_DIM - 1 - ruda.UNIT_POS]


@ruda.func
def _trace(t: Tensor[f32]):
    total = 0
    for i in range(min(t.shape(0), t.shape(1))):
        total += t[i, i]
    return total


@ruda.func
def _log_once(out: Array[f32], value: f32):
    if value < 0:
        return
    out[0] = math.log(value)


@ruda.func
def _as_declared(n: i32) -> u32:
    if n > 3:
        return 1
    return 0


@ruda.func
def _counter(counter: Array[u32]):
    return ruda.atomic_add(counter, 0, 1) >= 0


def generic_helpers(x: Array[f32], n: Array[u32]):
    i = ruda.ABSOLUTE_POS
    acc = 0
    acc = _add(acc, x[i])
    x[i] = _clamped(acc, 0, 1)
    n[i] = _add(n[i], 3)
    q, r = _divmod(n[i], u32(7))
    n[i] = q + r
    k = 0
    k = _add(k, 1)
    n[k] = k


def arrays_by_reference(x: Array[f32]):
    mine = ruda.local(f32, 4)
    _fill(mine, 2)
    _fill(x, mine[1], n=2)
    x[0] = _find(x, 3.5) * 0.0 if False else 1.0
    _log_once(x, x[1])


def parameters_may_be_assigned(out: Array[i32], n: i32):
    out[0] = _halve(n)
    out[1] = n


def compile_time_arguments(x: Array[f32]):
    x[0] = _power(x[0], 3) + _power(x[1], 0)
    tile = ruda.shared(f32, _ceil_div(100, 32))
    tile[0] = x[2]
    x[3] = tile[0]


def early_returns_in_loops(x: Array[f32], out: Array[i32]):
    out[0] = _find(x, x[1])


def one_allocation_for_each_call_site(x: Array[f32]):
    i = ruda.ABSOLUTE_POS
    x[i] = _exchange(x[i])
    ruda.barrier()
    x[i] = _exchange(x[i] + 1)


def tensors(t: Tensor[f32], out: Array[f32]):
    tile = ruda.shared(f32, (4, 4))
    tile[0, 0] = t[0, 0]
    out[0] = _trace(t) + _trace(tile)


def declared_results(out: Array[u32], n: i32):
    out[0] = _as_declared(n)


def a_call_that_is_not_made(counter: Array[u32], out: Array[u32], n: i32):
    out[0] = 1 if n > 3 and _counter(counter) else 0
