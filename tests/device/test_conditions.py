"""Conditions that what a launch gives decides alone, after many steps that each use a value twice."""

from __future__ import annotations

import numpy as np
import pytest

import ruda_core as ruda
from ruda_core import Array, Tensor, f32, i32


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


@ruda.func
def mixed(n: i32):
    v = n
    for _ in range(16):
        v = (v + v // 2) % (v + 5)
    return v


@ruda.kernel
def lengths(out: Array[i32]):
    if mixed(len(out)) > 0:
        out[ruda.ABSOLUTE_POS] = mixed(len(out))


@ruda.kernel
def shapes(out: Tensor[i32]):
    if mixed(out.shape(1)) + mixed(out.stride(0)) > 0:
        out[0, ruda.ABSOLUTE_POS] = mixed(out.shape(1))


@ruda.kernel
def counts(out: Array[i32]):
    if mixed(ruda.WORKGROUP_COUNT) > 0:
        out[ruda.ABSOLUTE_POS] = mixed(ruda.WORKGROUP_COUNT)


def test_whole_numbers(client):
    out = client.zeros(4, np.int32)
    digits.launch(client, 1, 4, 3**16 + 1, out)
    assert out.numpy().tolist() == [1] * 4


def test_floats(client):
    out = client.zeros(4, np.float32)
    root.launch(client, 1, 4, 2.0, out)
    assert out.numpy() == pytest.approx(np.sqrt(2))


@pytest.mark.parametrize("kernel", [lengths, shapes, counts], ids=lambda kernel: kernel.name)
def test_what_a_launch_gives(client, kernel):
    """40 elements in rows of 40, by 40 workgroups."""
    out = client.zeros((1, 40) if kernel is shapes else 40, np.int32)
    kernel.launch(client, 40, 1, out)
    v = 40
    for _ in range(16):
        v = (v + v // 2) % (v + 5)
    assert (out.numpy() == v).all()
