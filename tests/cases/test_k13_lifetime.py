"""Storage that is dropped while queued work still uses it."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import ruda_core as ruda
from ruda_core import Array, f32, i32

N = 256
LONG = 1 << 14
"""Elements of a launch that goes on while the host frees and allocates."""


@ruda.kernel
def roaming_copy(a: Array[f32], b: Array[f32], rounds: i32):
    """Reads all over `a` until its end."""
    i = ruda.ABSOLUTE_POS
    if i < len(b):
        total = a[i]
        for k in range(rounds):
            total = total * 0.5 + a[(i + k) % len(a)] * 0.5
        b[i] = total


@pytest.mark.parametrize("elsewhere", [False, True], ids=["same stream", "another stream"])
def test_dropped_storage_is_not_reused_under_a_queued_kernel(client, elsewhere):
    other = client.fixed_execution_queue()
    if elsewhere:
        other.set_stream(ruda.StreamId.new())
    ones, nines = np.ones(LONG, np.float32), np.full(LONG, 9, np.float32)
    for _ in range(40):
        a = client.tensor(ones)
        b = ruda.RudaTensor.empty(client, LONG, np.float32)
        roaming_copy.launch(client, LONG // 64, 64, a, b, 300)
        del a
        c = other.tensor(nines)
        np.testing.assert_array_equal(b.numpy(), ones)
        del c


def test_many_launches_on_dropped_storage(client):
    """Launch after launch into storage that nobody keeps, with others allocated between them."""
    out = [ruda.RudaTensor.empty(client, N, np.float32) for _ in range(20)]
    for k, target in enumerate(out):
        roaming_copy.launch(client, 4, 64, client.tensor(np.full(N, k, np.float32)), target, 50)
        client.tensor(np.full(N, -1, np.float32))
    gc.collect()
    for k, target in enumerate(out):
        assert (target.numpy() == k).all()


def test_a_view_keeps_its_storage(client):
    view = client.tensor(np.arange(N, dtype=np.float32))[10:20]
    gc.collect()
    client.tensor(np.full(N, -1, np.float32))
    assert view.tolist() == list(range(10, 20))


def test_memory_comes_back(client):
    gc.collect()
    client.sync().result(timeout=60)
    before = client.memory_usage().bytes_in_use
    for _ in range(50):
        a, b = client.tensor(np.ones(N, np.float32)), client.tensor(np.ones(N, np.float32))
        roaming_copy.launch(client, 4, 64, a, b, 1)
    del a, b
    gc.collect()
    client.sync().result(timeout=60)
    assert client.memory_usage().bytes_in_use == before
