"""Shared arrays: on the stack while there is room, in memory of the thread beyond, and the same in both."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ruda_core as ruda
from ruda_core import Array, Comptime, i32

UNITS = 256
GROUPS = 5
SIZE = UNITS * GROUPS - 100
"""The last group crosses the arrays' end."""


@ruda.kernel
def turned(size: Comptime[int], x: Array[i32], y: Array[i32]):
    """Backwards within each group, read from places that no loop's bounds show, one of them past the end."""
    values = ruda.shared(i32, size)
    unit = ruda.UNIT_POS
    values[unit] = x[ruda.ABSOLUTE_POS]
    ruda.barrier()
    y[ruda.ABSOLUTE_POS] = values[UNITS - 1 - unit] + values[unit + size]


@ruda.kernel
def unwritten(y: Array[i32]):
    """What nobody wrote decides about a branch and an index: any value may be found, and nothing else happen."""
    values = ruda.shared(i32, UNITS)
    unit = ruda.UNIT_POS
    if unit < 16:
        values[unit] = 1
    ruda.barrier()
    found = values[unit]
    y[ruda.ABSOLUTE_POS] = 7
    if found == 1234567:
        y[found] = found


@ruda.kernel
def prefix_sums(x: Array[i32], y: Array[i32]):
    """By doubling, between two rows; the last region is a short loop whose length only the launch knows."""
    sums = ruda.shared(i32, (2, 128))
    unit, i = ruda.UNIT_POS, ruda.ABSOLUTE_POS
    sums[0, unit] = x[i]
    ruda.barrier()
    source, distance = 0, 1
    while distance < 128:
        value = sums[source, unit]
        if unit >= distance:
            value += sums[source, unit - distance]
        sums[1 - source, unit] = value
        source = 1 - source
        distance *= 2
        ruda.barrier()
    if i < len(y):
        y[i] = sums[source, unit]


def add_up():
    """Compiles where nothing is kept yet."""
    client = ruda.client("cpu:0")
    x, y = client.tensor(np.ones(100, np.int32)), client.zeros(100, np.int32)
    prefix_sums.launch(client, 1, 128, x, y)
    assert (y.numpy() == np.arange(1, 101)).all()


@pytest.fixture
def client():
    return ruda.client("cpu:0")


@pytest.mark.parametrize("size", [UNITS, 8 * UNITS, 64 * UNITS])
def test_small_and_large_arrays_do_the_same(client, size):
    x = np.arange(1, SIZE + 1, dtype=np.int32)
    y = client.zeros(SIZE, np.int32)
    turned.launch(client, GROUPS, UNITS, size, client.tensor(x), y)
    padded = np.pad(x, (0, UNITS * GROUPS - SIZE)).reshape(GROUPS, UNITS)
    assert (y.numpy() == padded[:, ::-1].ravel()[:SIZE]).all()


def test_what_nobody_wrote_harms_nothing(client):
    y = client.zeros(SIZE, np.int32)
    unwritten.launch(client, GROUPS, UNITS, y)
    assert (y.numpy() == 7).all()


def test_the_compiler_says_nothing_to_the_user(tmp_path):
    environment = {**os.environ, "RUDA_CACHE_DIR": str(tmp_path)}
    program = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import {Path(__file__).stem} as t; t.add_up()"
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")
