"""Streams and hazards, over queues that are threads: what is not ordered really overtakes."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import numpy as np
import pytest
from array_driver import ThreadDriver, array, plan_of, scalar

from ruda_core.driver import DriverTraits
from ruda_core.launcher import build_launcher, prepare_launch
from ruda_core.server import StreamId, stream


def add(n: float, x: Any, **_: Any) -> None:
    x += np.float32(n)


def copy(x: Any, y: Any, **_: Any) -> None:
    y[:] = x


@pytest.fixture
def slow(threaded):
    """Launches wait 5 ms before they run: any missing wait shows."""
    threaded.server.driver.delay = 0.005
    return threaded


def adder(client: Any) -> Any:
    return build_launcher(client.server, plan_of(add, scalar("n"), array("x"), writes=("x",)))


def copier(client: Any) -> Any:
    return build_launcher(client.server, plan_of(copy, array("x"), array("y"), writes=("y",)))


def sibling(client: Any) -> Any:
    other = client.fixed_execution_queue()
    other.set_stream(StreamId.new())
    return other


def test_one_stream_is_in_order(slow):
    launch, t = adder(slow), slow.zeros(64, "f32")
    for _ in range(10):
        launch(slow, 1, 1.0, t)
    assert t.tolist() == [10] * 64


def test_a_handle_of_one_stream_used_on_another(slow):
    """Read after write, write after read and write after write, both ways."""
    a, b = slow, sibling(slow)
    add_one, copy_to = adder(slow), copier(slow)
    x = a.zeros(64, "f32")
    for round_ in range(5):
        add_one(a, 1, 1.0, x)
        seen = b.zeros(64, "f32")
        copy_to(b, 1, x, seen)
        add_one(a, 1, 1.0, x)
        assert b.read_one(seen.handle).view(np.float32).tolist() == [2 * round_ + 1] * 64
        add_one(b, 1, 2.0, x)
        add_one(b, 1, -2.0, x)
    assert a.read_one(x.handle).view(np.float32).tolist() == [10] * 64


def test_writes_and_reads_of_another_stream_wait(slow):
    b = sibling(slow)
    launch, x = adder(slow), slow.zeros(8, "f32")
    launch(slow, 1, 1.0, x)
    assert b.read_one(x.handle).view(np.float32).tolist() == [1] * 8
    launch(slow, 1, 1.0, x)
    b.write(x.handle, np.full(8, 7, np.float32))
    launch(slow, 1, 1.0, x)
    assert x.tolist() == [8] * 8


def test_prepared_launches_and_device_copies_are_ordered_too(slow):
    b = sibling(slow)
    x, y = slow.zeros(8, "f32"), b.zeros(8, "f32")
    prepared = prepare_launch(adder(slow), slow, (1.0, x))
    for k in range(4):
        prepared(1, 1.0, x)
        b.copy(x.handle, y.handle)
        prepared(1, 1.0, x)
        assert b.read_one(y.handle).view(np.float32).tolist() == [2 * k + 1] * 8


def test_dropped_storage_outlives_work_of_another_stream(slow):
    b = sibling(slow)
    copy_to = copier(slow)
    for k in range(20):
        source = slow.tensor(np.full(256, k, np.float32))
        out = b.zeros(256, "f32")
        copy_to(b, 1, source, out)
        del source
        slow.create_from_slice(np.full(256, -1, np.float32))
        assert b.read_one(out.handle).view(np.float32).tolist() == [k] * 256
    assert slow.memory_usage().bytes_reserved <= 2 << 20


def test_merged_chunks_keep_the_order_of_their_parts(slow):
    b = sibling(slow)
    copy_to = copier(slow)
    out = b.zeros(512 * 1024, "f32")
    parts = [slow.tensor(np.full(512 * 1024, k, np.float32)) for k in range(16)]
    copy_to(b, 1, parts[5], out)
    del parts
    slow.create_from_slice(np.full(4 << 20, -1, np.float32))
    assert b.read_one(out.handle).view(np.float32)[::1000].tolist() == [5] * 525


def test_waits_are_made_once(slow):
    """Reading shared data again and again enqueues no further barriers."""
    b = sibling(slow)
    waits: list[Any] = []
    driver = slow.server.driver
    original = driver.wait_event
    driver.wait_event = lambda queue, event: (waits.append(event), original(queue, event))
    x, out = slow.zeros(64, "f32"), b.zeros(64, "f32")
    copy_to = copier(slow)
    for _ in range(20):
        copy_to(b, 1, x, out)
    assert len(waits) == 1


def test_ownership_follows_a_write(slow):
    b = sibling(slow)
    x, launch = slow.zeros(64, "f32"), adder(slow)
    launch(b, 1, 1.0, x)
    assert x._block.queue is slow.server.queue_of(b.execution_stream()) and x._block.shared is None


def test_many_streams_share_few_queues(make_client):
    client = make_client(ThreadDriver, traits=DriverTraits(queues=2))
    launch, x = adder(client), client.zeros(8, "f32")
    for _ in range(5000):
        client.server.queue_of(StreamId.new())
    assert len(client.server.queues) == 2 and len(client.server.streams) <= 4097
    for _ in range(10):
        launch(sibling(client), 1, 1.0, x)
    assert x.tolist() == [10] * 8


def test_threads_on_streams_of_their_own(threaded):
    launch = adder(threaded)
    wrong: list[int] = []

    def work(k: int) -> None:
        mine = sibling(threaded)
        t = mine.tensor(np.full(128, k, np.float32))
        for _ in range(50):
            launch(mine, 1, 1.0, t)
        if t.tolist() != [k + 50] * 128:
            wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong


def test_racing_writers_neither_deadlock_nor_lose_an_update(threaded):
    launch, x = adder(threaded), threaded.zeros(64, "f32")

    def work() -> None:
        mine = sibling(threaded)
        for _ in range(40):
            launch(mine, 1, 1.0, x)

    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    [t.join(60) for t in threads]
    assert x.tolist() == [160] * 64


def test_the_current_stream():
    mine = StreamId.new()
    before = StreamId.current()
    with stream(mine) as entered:
        assert entered == mine == StreamId.current()
        with stream(before):
            assert StreamId.current() == before
        assert StreamId.current() == mine
        seen: list[Any] = []
        thread = threading.Thread(target=lambda: seen.append(StreamId.current()))
        thread.start()
        thread.join()
        assert seen[0] not in (mine, before)

        async def task() -> list[Any]:
            return [StreamId.current(), await asyncio.to_thread(StreamId.current)]

        assert asyncio.run(task()) == [mine, mine]
    assert StreamId.current() == before
    assert "StreamId" in repr(mine)


def test_exclusive_keeps_others_out(threaded):
    launch, x = adder(threaded), threaded.zeros(8, "f32")
    other = sibling(threaded)
    y = other.zeros(8, "f32")
    started, seen = threading.Event(), []

    def work() -> None:
        started.set()
        launch(other, 1, 1.0, y)
        seen.append("launched")

    def alone() -> Any:
        thread = threading.Thread(target=work)
        thread.start()
        started.wait()
        launch(threaded, 1, 1.0, x)
        thread.join(0.05)
        seen.append("alone")
        return x.tolist(), thread

    values, thread = threaded.exclusive(alone)
    thread.join(10)
    assert values == [1] * 8 and seen == ["alone", "launched"]
