"""Workgroups whose units go different ways: what their tests share."""

from __future__ import annotations

from typing import Any

import numpy as np

import ruda_core as ruda
from ruda_core import Array, f32, i32

UNITS = 32
GROUPS = 4


@ruda.func
def turned(x: Array[f32]):
    """What another unit of the workgroup reads, so that each has gone through a barrier."""
    tile = ruda.shared(f32, UNITS)
    tile[ruda.UNIT_POS] = x[ruda.ABSOLUTE_POS]
    ruda.barrier()
    return tile[(ruda.UNIT_POS + 12) % UNITS]


@ruda.func
def halved(v: f32, n: i32):
    """A loop that no compiler takes for anything shorter."""
    for _ in range(n):
        v = v * 0.5 + 1.0
    return v


@ruda.func
def waits(v: f32):
    """A barrier behind a store."""
    tile = ruda.shared(f32, UNITS)
    tile[ruda.UNIT_POS] = v
    ruda.barrier()


def values() -> np.ndarray[Any, Any]:
    """f32 of both signs, one for each unit of GROUPS workgroups."""
    return np.random.default_rng(0).standard_normal(GROUPS * UNITS).astype(np.float32) * 3


def assert_agrees(client: ruda.ComputeClient, kernel: Any, x: np.ndarray[Any, Any], n: int) -> None:
    """`kernel(x, n, out)` gives on this device what the reference gives."""

    def run(where: ruda.ComputeClient) -> np.ndarray[Any, Any]:
        out = where.zeros(GROUPS * UNITS, np.float32)
        kernel.launch(where, GROUPS, UNITS, where.tensor(x), n, out)
        return out.numpy()

    np.testing.assert_allclose(run(client), run(ruda.client("reference")), rtol=1e-6)
