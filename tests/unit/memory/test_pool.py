"""The pools, through a server over a driver that counts what it gives out."""

from __future__ import annotations

import random
import threading

import numpy as np
import pytest

from ruda_core.errors import (
    BufferTooBig,
    InvalidHandle,
    OutOfDeviceMemory,
    OutOfMemory,
    PoolCapacityExceeded,
    ServerError,
)

MIB = 1 << 20


def test_figures_count_what_is_live(client):
    before = client.memory_usage()
    assert (before.number_allocs, before.bytes_in_use, before.bytes_reserved) == (0, 0, 0)
    kept = [client.empty(n) for n in (1, 256, 257, MIB, MIB + 1, 20 * MIB)]
    usage = client.memory_usage()
    assert usage.number_allocs == 6 and usage.bytes_in_use == sum(h.size for h in kept)
    assert usage.bytes_padding == 255 + 0 + 255 + 0 + (1 << 18) - 1 + 0
    assert usage.bytes_reserved == sum(client.server.driver.sizes)
    del kept
    after = client.memory_usage()
    assert (after.number_allocs, after.bytes_in_use, after.bytes_padding) == (0, 0, 0)
    assert after.bytes_reserved == usage.bytes_reserved
    client.memory_cleanup()
    assert client.memory_usage().bytes_reserved == 0 and client.server.driver.held == 0


def test_empty_handles_take_nothing(client):
    handles = [client.empty(0), client.create_from_slice(b"")]
    assert client.memory_usage().number_allocs == 0 and not client.server.driver.sizes
    assert all(h.size == 0 and bytes(client.read_one(h)) == b"" for h in handles)
    client.write(handles[0], b"")
    assert handles[0].slice(0, 0).size_in_use == 0
    with pytest.raises(ServerError):
        client.empty(-1)


def test_a_loop_of_allocations_needs_no_more_memory(client):
    for n in (100, 5000, MIB, 3 * MIB, 40 * MIB):
        for _ in range(300):
            client.empty(n)
    assert client.server.driver.held <= (1 + 1 + 4 + 32 + 40) * MIB


def test_live_blocks_never_overlap_and_are_aligned(client):
    rng = random.Random(3)
    live = []
    for _ in range(1500):
        if live and rng.random() < 0.5:
            live.pop(rng.randrange(len(live)))
        else:
            live.append(client.empty(int(2 ** rng.uniform(0, 24))))
        if rng.random() < 0.01:
            client.memory_cleanup()
    ranges: dict[int, list[tuple[int, int]]] = {}
    for h in live:
        assert h.offset % 256 == 0 and h.offset + h.size <= h.block.storage.nbytes
        ranges.setdefault(id(h.block.storage), []).append((h.offset, h.offset + h.size))
    for spans in ranges.values():
        spans.sort()
        assert all(a[1] <= b[0] for a, b in zip(spans, spans[1:], strict=False))
    usage = client.memory_usage()
    assert usage.number_allocs == len(live) and usage.bytes_in_use == sum(h.size for h in live)
    del h
    live.clear()
    client.memory_cleanup()
    assert client.server.driver.held == 0


def test_chunks_are_split_and_merged(client):
    parts = [client.empty(8 * MIB) for _ in range(4)]
    assert client.server.driver.sizes == [32 * MIB]
    del parts
    whole = [client.empty(16 * MIB), client.empty(16 * MIB)]
    assert client.server.driver.sizes == [32 * MIB]
    (report,) = client.memory_report()
    assert (report.kind, report.pages, report.blocks_in_use, report.bytes_reserved) == (
        "chunks",
        1,
        2,
        32 * MIB,
    )
    del whole


def test_a_large_block_is_reused_for_a_little_less(client):
    client.empty(40 * MIB)
    client.empty(36 * MIB)
    assert client.server.driver.sizes == [40 * MIB]


def test_one_allocation_over_the_devices_limit(make_client):
    client = make_client(max_allocation=4 * MIB)
    with pytest.raises(BufferTooBig) as caught:
        client.empty(4 * MIB + 1)
    assert (caught.value.requested, caught.value.limit) == (4 * MIB + 1, 4 * MIB)
    assert isinstance(caught.value, OutOfMemory) and client.empty(4 * MIB).size == 4 * MIB


def test_the_pool_limit(make_client):
    client = make_client(pool_limit=2 * MIB)
    kept = client.empty(MIB)
    with pytest.raises(PoolCapacityExceeded) as caught:
        client.empty(MIB + 1)
    error = caught.value
    assert (error.requested, error.in_use, error.limit) == (MIB + 1, MIB, 2 * MIB)
    assert bytes(client.read_one(client.create_from_slice(b"usable"))) == b"usable"
    del kept
    assert client.empty(2 * MIB).size == 2 * MIB, "what is unused is given back first"
    assert client.memory_usage().bytes_reserved <= 2 * MIB


def test_a_full_device(make_client):
    client = make_client(capacity=3 * MIB, memory_bytes=3 * MIB)
    kept = client.empty(MIB)
    client.empty(MIB + 5)
    with pytest.raises(OutOfDeviceMemory) as caught:
        client.empty(3 * MIB)
    error = caught.value
    assert (error.requested, error.in_use, error.limit) == (3 * MIB, MIB, 3 * MIB)
    assert isinstance(error.__cause__, MemoryError) and str(client.device) in str(error)
    assert client.empty(100).size == 100
    del kept, caught, error
    assert client.empty(3 * MIB).size == 3 * MIB, "unused pages are given back and it is tried again"


def test_slices(client):
    handle = client.create_from_slice(bytes(range(16)))
    view = handle.slice(3, 9)
    assert (view.size, view.size_in_use, view.offset_start, view.offset_end) == (16, 6, 3, 7)
    assert bytes(client.read_one(view.slice(1, 6))) == bytes(range(4, 9))
    for bounds in ((0, 17), (9, 3), (-1, 4), (0, -1)):
        with pytest.raises(InvalidHandle):
            handle.slice(*bounds)
    with pytest.raises(InvalidHandle):
        view.slice(0, 7)
    with pytest.raises(InvalidHandle):
        client.write(view, bytes(7))
    client.write(view, bytes(6))
    assert bytes(client.read_one(handle)) == bytes([0, 1, 2]) + bytes(6) + bytes(range(9, 16))


def test_slices_keep_the_allocation(client):
    handle = client.create_from_slice(bytes(range(16)))
    assert handle.can_mut()
    view = handle.slice(4, 8)
    assert not handle.can_mut() and not view.can_mut()
    del handle
    assert view.can_mut()
    client.create_from_slice(bytes(16))
    assert bytes(client.read_one(view)) == bytes(range(4, 8))
    assert client.memory_usage().number_allocs == 1
    del view
    assert client.memory_usage().number_allocs == 0


def test_threads_that_allocate_and_free(client):
    failures = []

    def work(seed: int) -> None:
        rng = random.Random(seed)
        mine = client.fixed_execution_queue()
        mine.set_stream(type(mine.execution_stream()).new())
        for _ in range(150):
            n = int(2 ** rng.uniform(2, 21))
            data = np.full(n, seed, np.uint8)
            handle = mine.create_from_slice(data)
            other = mine.empty(n)
            if mine.read_one(handle).tobytes() != data.tobytes():
                failures.append(seed)
            del handle, other

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not failures and client.memory_usage().number_allocs == 0
    client.memory_cleanup()
    assert client.server.driver.held == 0
