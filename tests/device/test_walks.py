"""Positions in shared memory that turn back at a power of two."""

from __future__ import annotations

import numpy as np
import pytest

import ruda_core as ruda
from ruda_core import Array, Comptime, f32, i32, u32


@ruda.kernel
def signed(x: Array[f32], n: Comptime[int], step: Comptime[int], out: Array[i32]):
    tile = ruda.shared(f32, n)
    tile[ruda.UNIT_POS] = x[ruda.ABSOLUTE_POS]
    ruda.barrier()
    out[ruda.ABSOLUTE_POS] = i32(ruda.trunc(tile[(ruda.UNIT_POS * step) % n]))


@ruda.kernel
def unsigned(x: Array[f32], n: Comptime[int], step: Comptime[int], out: Array[i32]):
    tile = ruda.shared(f32, n)
    tile[ruda.UNIT_POS] = x[ruda.ABSOLUTE_POS]
    ruda.barrier()
    place = u32(ruda.UNIT_POS) * u32(step) % u32(n)
    out[ruda.ABSOLUTE_POS] = i32(-tile[i32(place)])


@pytest.mark.parametrize(("kernel", "sign"), [(signed, 1), (unsigned, -1)], ids=["signed", "unsigned"])
@pytest.mark.parametrize("n", [16, 32, 64, 256])
@pytest.mark.parametrize("step", [3, 5, 7])
def test_walk_turns_back(client, kernel, sign, n, step):
    x = np.random.default_rng(n).standard_normal(4 * n).astype(np.float32) * 100
    out = client.zeros(4 * n, np.int32)
    kernel.launch(client, 4, n, client.tensor(x), n, step, out)
    walked = x.reshape(4, n)[:, np.arange(n) * step % n].ravel()
    np.testing.assert_array_equal(out.numpy(), np.trunc(walked * sign).astype(np.int32))
