"""Kernels compute what the same Python computes on NumPy scalars: control flow, order, short circuits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from both_ways import as_python, run

import ruda_core as ruda
from ruda_core import Array, f32, i32, u32

STEPS = (1, 2, 4)
PAIRS = ((0, 3), (1, 5))
TABLE = (7, 1, 5, 3)


def nested_breaks(n: i32, x: Array[i32]):
    total = 0
    for i in range(n):
        if x[i] == 3:
            continue
        j = 0
        while True:
            j += 1
            if j > x[i]:
                break
            if j == 5:
                break
            total += j
        if total > 40:
            break
    x[0] = total


def loop_variable_changes(n: i32, x: Array[i32]):
    k = 0
    for i in range(n):
        i = i * 2 % n
        x[k] += i
        k += 1
    for i in range(n - 1, -1, -2):
        x[i] -= 1
    x[1] = k


def swaps_and_tuples(n: i32, x: Array[i32]):
    a, b = x[0], x[1]
    for _ in range(n):
        a, b = b, a + b
        (a, b), c = (b, a), a - b
        x[2] += c
    x[0], x[1] = x[1] + a, x[0] + b
    x[3] = x[4] = a ^ b


def unrolled(n: i32, x: Array[i32]):
    for k in ruda.unroll(range(5)):
        if k == 1:
            continue
        if x[k] > 50:
            continue
        if x[k] == n:
            break
        x[k] += k
    for step in STEPS:
        x[step] += x[step - 1]
    for k, weight in PAIRS:
        x[k] *= weight
        if x[k] > 60:
            break


def short_circuits(n: i32, x: Array[i32]):
    i = 0
    while i < len(x) and x[i] != 7:
        i += 1
    x[0] = i
    if i < len(x) and x[i] == 7 and n > 2:
        x[1] = 1
    else:
        x[1] = 2
    if i >= len(x) or x[i] == 0:
        x[2] = 9
    x[3] = 1 if not (n > 3 or x[0] > 3) else 0
    x[4] = 5 if n and x[5] else 6


@ruda.func
def _counted(x: Array[i32], value: i32):
    x[7] += 1
    return value


def operands_are_evaluated_once_and_in_order(n: i32, x: Array[i32]):
    if 0 < _counted(x, n) < _counted(x, 5) < _counted(x, 9):
        x[0] = 1
    x[1] = x[7] + _counted(x, 3) + x[7]
    x[_counted(x, 2)] += x[7]
    x[3] = _counted(x, 1) if n > 2 else x[7]


@ruda.func
def _search(x: Array[i32], what: i32):
    for i in range(len(x)):
        if x[i] == what:
            return i, True
        if x[i] < 0:
            return -1, False
    return len(x), False


@ruda.func
def _collatz(n: i32):
    steps = 0
    while n > 1:
        if n % 2 == 0:
            n //= 2
        else:
            n = 3 * n + 1
        steps += 1
        if steps > 100:
            return steps
    return steps


def helpers(n: i32, x: Array[i32]):
    at, found = _search(x, n)
    x[0] = at
    x[1] += found
    x[2] = _collatz(n) + _collatz(n + 1) * _collatz(7)
    x[3] = n


def while_with_continue(n: i32, x: Array[i32]):
    i = 0
    total = 0
    while i < n:
        i += 1
        if i % 3 == 0:
            continue
        total += i
        if total > 20:
            x[0] = i
            return
    x[1] = total


def tables(n: i32, x: Array[i32]):
    for k in range(len(TABLE)):
        x[k] += TABLE[(k + n) % 4]
    x[4] = max(TABLE) - min(x[0], x[1], n)


def literals_and_flags(n: i32, x: Array[i32]):
    best = -1
    top = 0
    hits = 0
    seen = False
    for i in range(len(x)):
        hits += x[i] > 4
        if x[i] > top:
            top, best = x[i], i
            seen = True
    sign = 1 if n > 2 else -1
    x[0] = best * sign
    x[1] = top
    x[2] = hits
    x[3] = 1 if seen else 0


KERNELS: list[Callable[..., Any]] = [
    nested_breaks,
    loop_variable_changes,
    swaps_and_tuples,
    unrolled,
    short_circuits,
    operands_are_evaluated_once_and_in_order,
    helpers,
    while_with_continue,
    tables,
    literals_and_flags,
]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
@pytest.mark.parametrize("seed", range(4))
def test_a_kernel_means_what_python_means(kernel: Callable[..., Any], seed: int) -> None:
    random = np.random.default_rng(seed)
    n = np.int32(random.integers(1, 8))
    values = random.integers(0, 9, 8).astype(np.int32)
    if seed == 1:
        values[:] = 0
    if seed == 2:
        values *= 20
    expected, got = values.copy(), values.copy()
    as_python(kernel)(n, expected)
    run(kernel, n, got)
    assert got.tolist() == expected.tolist()


def test_the_operand_counter_counts() -> None:
    """The kernel above would prove little if its helper were never reached."""
    x = np.zeros(8, np.int32)
    run(operands_are_evaluated_once_and_in_order, np.int32(3), x)
    assert x[7] == 6


def out_of_bounds(x: Array[f32], n: Array[u32], out: Array[f32]):
    out[0] = x[-1] + 1
    out[1] = x[n[0]] + 2
    x[n[0]] = 9
    x[-1] = 9


def test_indices_are_not_wrapped() -> None:
    x = np.ones(4, np.float32)
    out = np.zeros(2, np.float32)
    run(out_of_bounds, x, np.array([0xFFFFFFFF], np.uint32), out)
    assert x.tolist() == [1] * 4
    assert out.tolist() == [1, 2]
