"""Bitonic sort: a fixed network of compare-and-swap steps.

Shows nested loops with a barrier for each stage, partners found by xor, swaps by tuple assignment, and
stages that outgrow a workgroup as launches of their own, told apart by scalar arguments.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _common import chosen_client, report

import ruda_core as ruda
from ruda_core import Array, i32, u32

DIM = 128


@ruda.func
def must_swap(low: u32, high: u32, i: ruda.index, size: i32):
    """Whether two keys stand the wrong way round: runs of `size` alternate between up and down."""
    rising = (i & size) == 0
    return (low > high) == rising and low != high


@ruda.kernel
def sort_blocks(keys: Array[u32]):
    block = ruda.shared(u32, DIM)
    unit, i = ruda.UNIT_POS, ruda.ABSOLUTE_POS
    block[unit] = keys[i]
    size = 2
    while size <= DIM:
        stride = size >> 1
        while stride > 0:
            ruda.barrier()
            partner = unit ^ stride
            if partner > unit and must_swap(block[unit], block[partner], i, size):
                block[unit], block[partner] = block[partner], block[unit]
            stride >>= 1
        size <<= 1
    ruda.barrier()
    keys[i] = block[unit]


@ruda.kernel
def stage(keys: Array[u32], size: i32, stride: i32):
    i = ruda.ABSOLUTE_POS
    partner = i ^ stride
    if i < partner < len(keys) and must_swap(keys[i], keys[partner], i, size):
        keys[i], keys[partner] = keys[partner], keys[i]


def sort(client: ruda.ComputeClient, keys: Any) -> Any:
    """The u32 keys in rising order; any number of them."""
    padded = max(DIM, 1 << (len(keys) - 1).bit_length())
    data = client.tensor(np.pad(keys, (0, padded - len(keys)), constant_values=0xFFFFFFFF))
    sort_blocks.launch(client, padded // DIM, DIM, data)
    size = 2 * DIM
    while size <= padded:
        stride = size // 2
        while stride > 0:
            stage.launch_over(client, padded, data, size, stride)
            stride //= 2
        size *= 2
    return data[: len(keys)].numpy()


def main() -> None:
    client = chosen_client(__doc__)
    keys = np.random.default_rng(1).integers(0, 1000, 4096).astype(np.uint32)
    report(client, "bitonic sort of 4096 keys", sort(client, keys), np.sort(keys))


if __name__ == "__main__":
    main()
