"""Philox 4x32-10: random numbers that are a function of a counter and a key.

Shows 32-bit arithmetic that wraps, the high half of a product (no 64-bit type needed), a loop unrolled at
compile time, and an exact step from integers to floats in [0, 1).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _common import chosen_client, report

import ruda_core as ruda
from ruda_core import Array, f32, u32

ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)


@ruda.func
def philox(c0: u32, c1: u32, c2: u32, c3: u32, k0: u32, k1: u32):
    """Four random words."""
    for _ in ruda.unroll(range(ROUNDS)):
        high0, low0 = ruda.mulhi(c0, MULTIPLIERS[0]), c0 * MULTIPLIERS[0]
        high1, low1 = ruda.mulhi(c2, MULTIPLIERS[1]), c2 * MULTIPLIERS[1]
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = k0 + WEYL[0], k1 + WEYL[1]
    return c0, c1, c2, c3


@ruda.kernel
def words_kernel(counters: Array[u32], k0: u32, k1: u32, out: Array[u32]):
    i = 4 * ruda.ABSOLUTE_POS
    if i < len(counters):
        a, b, c, d = philox(counters[i], counters[i + 1], counters[i + 2], counters[i + 3], k0, k1)
        out[i], out[i + 1], out[i + 2], out[i + 3] = a, b, c, d


@ruda.kernel
def uniform_kernel(seed: u32, out: Array[f32]):
    unit = ruda.ABSOLUTE_POS
    a, b, c, d = philox(u32(unit), 0, 0, 0, seed, 0)
    i = 4 * unit
    # The checks drop what the last unit has too much.
    out[i], out[i + 1] = f32(a >> 8) * 2.0**-24, f32(b >> 8) * 2.0**-24
    out[i + 2], out[i + 3] = f32(c >> 8) * 2.0**-24, f32(d >> 8) * 2.0**-24


def words(client: ruda.ComputeClient, counters: Any, key: tuple[int, int]) -> Any:
    """Four random words for each row of four counters; u32."""
    out = client.tensor(np.zeros_like(counters))
    words_kernel.launch_over(client, len(counters), client.tensor(counters), *key, out)
    return out.numpy()


def uniform(client: ruda.ComputeClient, count: int, seed: int) -> Any:
    """`count` f32 numbers in [0, 1)."""
    out = client.tensor(np.zeros(count, np.float32))
    uniform_kernel.launch_over(client, -(-count // 4), seed, out)
    return out.numpy()


def main() -> None:
    client = chosen_client(__doc__)
    zeros = words(client, np.zeros((1, 4), np.uint32), (0, 0))
    report(client, "Philox of zeros", zeros, [[0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]])
    report(client, "mean of 10,001 numbers", uniform(client, 10_001, seed=7).mean(), 0.5, tolerance=0.01)


if __name__ == "__main__":
    main()
