"""Zeros keep their sign where a choice is made between them and another constant."""

from __future__ import annotations

import numpy as np

import ruda_core as ruda
from ruda_core import Array, Vec, f32, i32


@ruda.kernel
def negated_choices(x: Array[i32], out: Array[f32]):
    i = ruda.ABSOLUTE_POS
    v = x[i]
    out[6 * i] = -f32(v > 3)
    out[6 * i + 1] = f32(v > 3) * -1.0
    out[6 * i + 2] = ruda.select(v > 3, -1.0, -0.0)
    w = 0.0
    if v > 3:
        w = 1.0
    out[6 * i + 3] = -w
    pair = Vec[f32, 2](0.0, 0.0)
    if v > 3:
        pair = Vec[f32, 2](1.0, 1.0)
    out[6 * i + 4] = (-pair).y
    kept = ruda.local(f32, 2)
    kept[0] = 0.0
    if v > 3:
        kept[0] = 1.0
    out[6 * i + 5] = -kept[0]


def test_minus_one_or_minus_zero(client):
    x = np.arange(64, dtype=np.int32) % 8
    out = client.zeros((64, 6), np.float32)
    negated_choices.launch(client, 1, 64, client.tensor(x), out)
    right = np.where(x > 3, np.float32(-1), np.float32(-0.0))
    np.testing.assert_array_equal(
        out.numpy().view(np.int32), np.repeat(right.view(np.int32), 6).reshape(64, 6)
    )
