"""Counts of byte values: one histogram a workgroup in shared memory, then all of them merged.

Shows shared and global atomics, u8 elements as indices, and the same bytes unpacked from 32-bit words by
shift and mask.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _common import chosen_client, report

import ruda_core as ruda
from ruda_core import Array, u8, u32

BINS = 256
DIM = 64
GROUPS = 8


@ruda.func
def clear(bins: Array[u32]):
    for k in range(ruda.UNIT_POS, BINS, DIM):
        bins[k] = 0
    ruda.barrier()


@ruda.func
def merge(bins: Array[u32], into: Array[u32]):
    ruda.barrier()
    for k in range(ruda.UNIT_POS, BINS, DIM):
        ruda.atomic_add(into, k, bins[k])


@ruda.kernel
def count_bytes(pixels: Array[u8], out: Array[u32]):
    bins = ruda.shared(u32, BINS)
    clear(bins)
    for i in range(ruda.ABSOLUTE_POS, len(pixels), DIM * ruda.WORKGROUP_COUNT):
        ruda.atomic_add(bins, pixels[i], 1)
    merge(bins, out)


@ruda.kernel
def count_words(words: Array[u32], out: Array[u32]):
    bins = ruda.shared(u32, BINS)
    clear(bins)
    for i in range(ruda.ABSOLUTE_POS, len(words), DIM * ruda.WORKGROUP_COUNT):
        for k in ruda.unroll(range(4)):
            ruda.atomic_add(bins, (words[i] >> 8 * k) & 0xFF, 1)
    merge(bins, out)


def histogram(client: ruda.ComputeClient, data: Any) -> Any:
    """How often each byte value occurs in a u8 vector, or in the words of a u32 vector: 256 counts."""
    out = client.tensor(np.zeros(BINS, np.uint32))
    kernel = count_bytes if data.dtype == np.uint8 else count_words
    kernel.launch(client, GROUPS, DIM, client.tensor(data), out)
    return out.numpy()


def main() -> None:
    client = chosen_client(__doc__)
    pixels = (np.random.default_rng(1).normal(128, 40, 50_000) % 256).astype(np.uint8)
    expected = np.bincount(pixels, minlength=BINS)
    report(client, "histogram of bytes", histogram(client, pixels), expected)
    report(client, "histogram of packed words", histogram(client, pixels.view(np.uint32)), expected)


if __name__ == "__main__":
    main()
