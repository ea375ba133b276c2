"""Conditions that parameters alone decide, after many steps that each use a value twice."""

from __future__ import annotations

import numpy as np
import pytest

import ruda_core as ruda
from ruda_core import Array, f32, i32


@ruda.kernel
def digits(n: i32, out: Array[i32]):
    v = n
    for _ in range(16):
        v = v // 3
    if v == 1:
        out[ruda.ABSOLUTE_POS] = 1


@ruda.kernel
def root(a: f32, out: Array[f32]):
    x = a
    for _ in range(16):
        x = 0.5 * (x + a / x)
    if x > 1.0:
        out[ruda.ABSOLUTE_POS] = x


@ruda.kernel
def halves(out: Array[i32]):
    v = len(out)
    for _ in range(16):
        v = (v + v // 2) % (v + 5)
    if v > 0:
        out[ruda.ABSOLUTE_POS] = v


def test_whole_numbers(client):
    out = client.zeros(4, np.int32)
    digits.launch(client, 1, 4, 3**16 + 1, out)
    assert out.numpy().tolist() == [1] * 4


def test_floats(client):
    out = client.zeros(4, np.float32)
    root.launch(client, 1, 4, 2.0, out)
    assert out.numpy() == pytest.approx(np.sqrt(2))


def test_lengths(client):
    out = client.zeros(40, np.int32)
    halves.launch(client, 1, 40, out)
    v = 40
    for _ in range(16):
        v = (v + v // 2) % (v + 5)
    assert out.numpy().tolist() == [v] * 40
