"""Clients: transfers, layouts, the low-level doors and captured launches."""

from __future__ import annotations

import asyncio
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from array_driver import ArrayDriver, ThreadDriver, array, plan_of, scalar

from ruda_core.driver import DriverTraits
from ruda_core.errors import (
    DeviceMismatch,
    InvalidHandle,
    LaunchArgumentError,
    ServerError,
    UnsupportedStrides,
)
from ruda_core.launcher import build_launcher, enqueue_bindings
from ruda_core.memory import Bytes
from ruda_core.tensor import CopyDescriptor


def test_handles_of_another_device(client, make_client):
    other = make_client()
    handle = client.create_from_slice(np.arange(4, dtype=np.float32))
    for use in (
        lambda: other.read_one(handle),
        lambda: other.read_async([handle]),
        lambda: other.write(handle, b"1"),
        lambda: other.resource(handle),
        lambda: other.copy(handle, other.empty(16)),
    ):
        with pytest.raises(DeviceMismatch) as caught:
            use()
        assert str(client.device) in str(caught.value) and str(other.device) in str(caught.value)
    moved = client.to_client(handle, other)
    assert moved.device == other.device
    assert other.read_one(moved).view(np.float32).tolist() == [0, 1, 2, 3]
    copied = client.to_client(handle, client)
    client.write(handle, bytes(16))
    assert client.read_one(copied).view(np.float32).tolist() == [0, 1, 2, 3]
    with pytest.raises(InvalidHandle, match=r"tensor\.handle"):
        client.read_one(client.zeros(3, "f32"))


def test_reads_agree(client):
    hosts = [np.arange(k, dtype=np.uint8) for k in (0, 1, 7, 300)]
    handles = [client.create_from_slice(h) for h in hosts]
    ways = [client.read(handles), client.read_async(handles).result(), [client.read_one(h) for h in handles]]
    ways.append([client.read_one_unchecked(h) for h in handles])
    for got in ways:
        assert all(isinstance(b, Bytes) for b in got)
        assert [bytes(b) for b in got] == [h.tobytes() for h in hosts]
    assert client.read([]) == [] and asyncio.run(_awaited(client, [])) == []


async def _awaited(client: Any, handles: list[Any]) -> Any:
    return await client.read_async(handles)


def test_several_tensors_in_one_allocation(client):
    data = [(np.arange(6, dtype=np.float32), (2, 3), 4), (b"abc", (3,), 1), (b"", (0, 2), 4)]
    layouts = client.create_tensors_from_slices(data)
    assert client.memory_usage().number_allocs == 1
    assert [bytes(client.read_one(x.handle)) for x in layouts] == [data[0][0].tobytes(), b"abc", b""]
    assert layouts[0].strides == (3, 1) and all(x.handle.offset % 256 == 0 for x in layouts)
    with pytest.raises(ServerError):
        client.create_tensor_from_slice(b"abc", (2, 2), 1)
    assert client.empty_tensor((2, 3), 4).handle.size == 24


@pytest.mark.parametrize(
    "shape, strides", [((4, 6), (6, 1)), ((2, 6), (12, 1)), ((2, 2, 5), (12, 6, 1)), ((3, 0), (9, 1))]
)
def test_strided_reads_are_packed(client, shape, strides):
    x = np.arange(24, dtype=np.float32)
    expected = np.lib.stride_tricks.as_strided(x, shape, [4 * s for s in strides]).tobytes()
    descriptor = CopyDescriptor(client.create_from_slice(x), shape, strides, 4)
    assert bytes(client.read_one_tensor(descriptor)) == expected
    assert bytes(client.read_tensor_async([descriptor]).result()[0]) == expected


def test_strided_reads_that_are_refused(client):
    handle = client.create_from_slice(np.arange(24, dtype=np.float32))
    for shape, strides in (((6, 4), (1, 6)), ((4, 4), (0, 1)), ((4,), (-1,))):
        with pytest.raises(UnsupportedStrides):
            client.read_tensor([CopyDescriptor(handle, shape, strides, 4)])
    with pytest.raises(InvalidHandle):
        client.read_tensor([CopyDescriptor(handle, (5, 6), (6, 1), 4)])


def test_batches_are_flushed_before_a_write_that_would_overtake(make_client):
    """A driver whose host writes run before what is recorded, as WebGPU's do."""

    class Batching(ArrayDriver):
        def open_queue(self, report: Any) -> Any:
            self.open: list[Any] = []
            self.number = 0
            return self

        def batch(self, queue: Any) -> int:
            return self.number

        def flush(self, queue: Any) -> None:
            jobs, self.open = self.open, []
            self.number += bool(jobs)
            for job in jobs:
                job()

        def completion(self, queue: Any) -> Any:
            self.flush(queue)
            return super().completion(queue)

        def read(self, queue: Any, *arguments: Any) -> Any:
            self.flush(queue)
            return super().read(queue, *arguments)

        def launcher(self, program: Any, queue: Any) -> Any:
            launch = super().launcher(program, queue)
            return lambda *arguments: self.open.append(lambda: launch(*arguments))

    client = make_client(Batching, traits=DriverTraits(queues=1, writes_overtake=True))

    def copy(x: Any, y: Any, **_: Any) -> None:
        y[:] = x

    launch = build_launcher(client.server, plan_of(copy, array("x"), array("y"), writes="y"))
    x, y, unrelated = (client.zeros(4, "f32") for _ in range(3))
    for k in range(3):
        client.write(x.handle, np.full(4, k, np.float32))
        launch(client, 1, x, y)
        client.write(unrelated.handle, np.zeros(4, np.float32))
        assert len(client.server.driver.open) == 1, "a write elsewhere submits nothing"
        client.write(x.handle, np.full(4, -1, np.float32))
        assert y.tolist() == [k] * 4
    for k in range(5):
        source = client.tensor(np.full(4, k, np.float32))
        launch(client, 1, source, y)
        del source
        client.create_from_slice(np.full(4, -1, np.float32))
        assert y.tolist() == [k] * 4


class Compiled:
    """A compiled kernel, as the low-level doors see it."""

    def __init__(self, client: Any, mode: str) -> None:
        def add(n: float, x: Any, **_: Any) -> None:
            x += np.float32(n)

        self.mode = mode
        self.plan = plan_of(add, scalar("n"), array("x"), writes="x", mode=mode)
        self.launcher = build_launcher(client.server, self.plan)

    def enqueue(self, client: Any, count: Any, bindings: Any) -> None:
        enqueue_bindings(self.launcher, client, count, bindings)


def test_the_low_level_doors(client):
    x = client.zeros(4, "f32")
    assert client.launch(Compiled(client, "checked"), 1, [1.0, x.handle]) is None
    assert client.launch_unchecked(Compiled(client, "unchecked"), 1, [1.0, x]) is None
    assert x.tolist() == [2] * 4
    with pytest.raises(LaunchArgumentError, match="mode"):
        client.launch(Compiled(client, "unchecked"), 1, [1.0, x.handle])


@pytest.mark.parametrize("driver", [ArrayDriver, ThreadDriver])
def test_captured_launches_run_on_replay(make_client, driver):
    client = make_client(driver)
    launcher = Compiled(client, "checked").launcher
    other = client.fixed_execution_queue()
    other.set_stream(type(client.execution_stream()).new())
    x, y = client.zeros(4, "f32"), client.zeros(4, "f32")
    with client.capture() as graph:
        launcher(client, 1, 1.0, x)
        launcher(client, 1, 2.0, y)
        launcher(client, 1, 1.0, x)
        launcher(other, 1, 0.0, other_x := other.zeros(4, "f32"))
        for use in (
            lambda: x.numpy(),
            lambda: client.empty(4),
            lambda: client.sync(),
            lambda: client.flush(),
            lambda: client.write(x.handle, b"1"),
        ):
            with pytest.raises(ServerError, match="capture"):
                use()
    assert other_x.tolist() == [0] * 4
    assert len(graph) == 3 and x.tolist() == [0] * 4
    graph.replay()
    graph.replay()
    assert (x.tolist(), y.tolist()) == ([4] * 4, [4] * 4)
    launcher(other, 1, 1.0, x)
    graph.replay()
    assert x.tolist() == [7] * 4
    del y
    for _ in range(10):
        client.create_from_slice(np.full(4, -1, np.float32))
    graph.replay()
    before = client.memory_usage().number_allocs
    del graph
    assert client.memory_usage().number_allocs == before - 1


def test_graphs_of_the_driver_are_used(make_client):
    class Graphs(ArrayDriver):
        replays = 0

        def graph(self, queue: Any, enqueue: Any) -> Any:
            def again() -> None:
                self.replays += 1
                enqueue()

            return again

    client = make_client(Graphs)
    launcher, x = Compiled(client, "checked").launcher, client.zeros(4, "f32")
    with client.capture() as graph:
        launcher(client, 1, 1.0, x)
        launcher(client, 1, 1.0, x)
    for _ in range(3):
        graph.replay()
    assert x.tolist() == [6] * 4 and client.server.driver.replays == 3


def test_a_client_is_pinned_or_follows_its_caller(client):
    from ruda_core.server import StreamId, stream

    follower = type(client)(client.server, None)
    mine = StreamId.new()
    with stream(mine):
        assert follower.execution_stream() == mine != client.execution_stream()
        fixed = follower.fixed_execution_queue()
    assert fixed.execution_stream() == mine != follower.execution_stream()
    assert not fixed.same_execution_queue(follower)
    follower.set_stream(mine)
    assert fixed.same_execution_queue(follower)


@pytest.mark.parametrize(
    "value", [3, [[1.5, 2.5]], np.float32(2), np.arange(6).reshape(2, 3).T, np.zeros((0, 3))]
)
def test_tensors_of_what_numpy_takes(client, value):
    t, host = client.tensor(value), np.asarray(value)
    assert t.shape == host.shape and t.numpy().dtype == host.dtype
    np.testing.assert_array_equal(t.numpy(), host)


def test_tensors_of_other_libraries_and_dtypes(client):
    class Producer:
        def __init__(self, array: Any) -> None:
            self.array = array

        def __dlpack__(self, **kwargs: Any) -> Any:
            return self.array.__dlpack__(**kwargs)

        def __dlpack_device__(self) -> Any:
            return self.array.__dlpack_device__()

    host = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(client.tensor(Producer(host)).numpy(), host)
    b = np.array([1.5, -2], ml_dtypes.bfloat16)
    assert client.tensor(b).dtype.name == "bf16" and client.tensor(b).tolist() == [1.5, -2]
    for bad in (np.array(["a"]), np.array([1j])):
        with pytest.raises(LaunchArgumentError, match="astype|dtype"):
            client.tensor(bad)


def test_resource_and_facts(client):
    handle = client.create_from_slice(b"abcd")
    assert client.resource(handle) is handle.block.storage
    assert client.device_id() == client.device and client.properties_fingerprint() == "arrays-1"
    assert client.features().dtypes["f32"].arithmetic
    staging = client.staging(10)
    staging[:] = 5
    assert bytes(client.read_one(client.create(staging))) == bytes([5] * 10)
