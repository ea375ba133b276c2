"""Chained comparisons, short circuit and conditional expressions mean what they mean in Python."""

from __future__ import annotations

import numpy as np
import pytest
from support import launch

import ruda_core as ruda
from ruda_core import Array, Tensor, bool_, i32, u32


@ruda.kernel
def between(x: Array[i32], out: Array[bool_]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        out[i] = 1 <= x[i] < 3


@ruda.kernel
def chains(x: Array[i32], y: Array[i32], out: Tensor[bool_]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        a, b = x[i], y[i]
        out[0, i] = 0 < a < b
        out[1, i] = a < b > 2
        out[2, i] = a == b == 1
        out[3, i] = 3 > a >= b != 0
        out[4, i] = not a < b <= 3
        out[5, i] = 5 > 3 > 1
        out[6, i] = 5 > 3 > 4
        out[7, i] = 0 <= a <= b <= 3


def test_a_chain_is_a_conjunction(client):
    x = np.arange(5, dtype=np.int32)
    assert launch(client, between, x, units=5, out=np.zeros(5, np.bool_)).tolist() == [0, 1, 1, 0, 0]


def test_chains_of_every_operator(client):
    x, y = (m.ravel().astype(np.int32) for m in np.meshgrid(np.arange(-1, 5), np.arange(-1, 5)))
    got = launch(client, chains, x, y, units=x.size, out=np.zeros((8, x.size), np.bool_))
    for k, (a, b) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        expected = [
            0 < a < b, a < b > 2, a == b == 1, 3 > a >= b != 0, not a < b <= 3, True, False, 0 <= a <= b <= 3,
        ]  # fmt: skip
        assert got[:, k].tolist() == expected, (a, b)


@ruda.func
def counted(counts: Array[i32], k: i32, value: i32):
    ruda.atomic_add(counts, k, 1)
    return value


@ruda.kernel
def evaluations(x: Array[i32], counts: Array[i32], out: Array[i32]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        v = x[i]
        hit = 0 <= counted(counts, 0, v) < 3
        both = v > 100 and counted(counts, 1, 1) > 0
        either = v >= 0 or counted(counts, 2, 1) > 0
        taken = counted(counts, 3, 1) if v > 2 else 0
        late = 5 < v < counted(counts, 4, 9)
        if v < 0 and counted(counts, 5, 1) == 1:
            taken += 100
        elif not (v >= 0 or counted(counts, 6, 1) == 1):
            taken += 200
        out[i] = i32(hit) + 2 * i32(both) + 4 * i32(either) + 8 * taken + 16 * i32(late)


def test_operands_are_evaluated_once_or_not_at_all(client):
    x, counts = np.arange(8, dtype=np.int32), np.zeros(7, np.int32)
    counts, out = launch(client, evaluations, x, units=8, out=(counts, np.zeros(8, np.int32)))
    assert counts.tolist() == [8, 0, 0, 5, 2, 0, 0]
    expected = [(0 <= v < 3) + 4 + 8 * (v > 2) + 16 * (5 < v < 9) for v in range(8)]
    assert out.tolist() == expected


@ruda.kernel
def guarded(a: Array[i32], out: Array[i32]):
    i = u32(ruda.ABSOLUTE_POS)
    if i < u32(len(a)):
        out[i] = 1 if i > 0 and a[i - 1] == 4 else 0


@ruda.kernel
def guards(a: Array[i32], out: Array[i32]):
    i = ruda.ABSOLUTE_POS
    if i < len(a):
        n = 0
        while i + n < len(a) and a[i + n] < 5:
            n += 1
        if i == 0 or a[i - 1] == 0:
            n += 100
        n += a[i + 3] if i + 3 < len(a) else 1000
        out[i] = n


def test_a_guard_keeps_the_load_from_happening(client):
    a = np.arange(8, dtype=np.int32)
    tensors = client.tensor(a), client.tensor(np.full(8, 9, np.int32))
    guarded.prepare(client, 8, *tensors, mode="validate")(1, *tensors)
    client.sync().result(timeout=60)
    assert tensors[1].tolist() == [0, 0, 0, 0, 0, 1, 0, 0]


def test_guards_in_loops_and_conditional_expressions(client):
    a = np.arange(8, dtype=np.int32)
    tensors = client.tensor(a), client.tensor(np.zeros(8, np.int32))
    guards.prepare(client, 8, *tensors, mode="validate")(1, *tensors)
    client.sync().result(timeout=60)
    expected = [max(5 - i, 0) + 100 * (i <= 1) + (i + 3 if i < 5 else 1000) for i in range(8)]
    assert tensors[1].tolist() == expected


@ruda.kernel
def unguarded(a: Array[i32], out: Array[i32]):
    i = ruda.ABSOLUTE_POS
    out[i] = ruda.select(i > 0, a[i - 1], 5)


def test_select_evaluates_both_sides(client):
    tensors = client.tensor(np.arange(4, dtype=np.int32)), client.tensor(np.zeros(4, np.int32))
    unguarded.prepare(client, 4, *tensors, mode="validate")(1, *tensors)
    with pytest.raises(ruda.KernelFault) as caught:
        client.sync().result(timeout=60)
    assert (caught.value.array, caught.value.index, caught.value.length) == ("a", -1, 4)
    assert tensors[1].tolist() == [5, 0, 1, 2]
