"""Many launches, many allocations: what they cost in memory does not grow."""

from __future__ import annotations

import gc
import resource

import numpy as np
import pytest

import ruda_core as ruda
from ruda_core import Array, i32

GROWTH = 24 << 20
"""Bytes by which a process may grow over all of it: allocators and drivers keep some of their own."""


@ruda.kernel
def count(x: Array[i32], by: i32):
    if ruda.ABSOLUTE_POS == 0:
        x[0] = x[0] + by


def resident() -> int:
    """The most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.fixture
def many(client):
    """How many launches: a million where the device works beside the host."""
    return 1_000_000 if client.device.kind == "discrete" else 100_000


def test_launches_leave_nothing_behind(client, many):
    x = client.zeros(4, np.int32)

    def some(number: int) -> None:
        for k in range(number):
            count.launch(client, 1, 32, x, 1)
            if k % 5000 == 4999:
                client.sync().result()
        client.sync().result()

    some(many // 20)
    gc.collect()
    before, used = resident(), client.memory_usage()
    some(many)
    assert x[0].item() == many + many // 20
    assert client.memory_usage() == used
    assert resident() - before < GROWTH


def test_allocations_leave_nothing_behind(client):
    sizes = np.random.default_rng(1).integers(1, 1 << 16, 1000).tolist()

    def some(rounds: int) -> None:
        for _ in range(rounds):
            kept = [client.empty(size) for size in sizes[:50]]
            for size in sizes:
                kept[size % 50] = client.empty(size)
        client.sync().result()

    some(5)
    gc.collect()
    before, used = resident(), client.memory_usage()
    some(100)
    gc.collect()
    after = client.memory_usage()
    assert (after.bytes_in_use, after.bytes_reserved) == (used.bytes_in_use, used.bytes_reserved)
    assert resident() - before < GROWTH
