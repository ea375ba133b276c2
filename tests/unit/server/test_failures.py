"""Late failures, futures, faults, loss and fork."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest
from array_driver import ThreadDriver, array, plan_of, scalar

from ruda_core.artifact import Site
from ruda_core.errors import (
    DeviceLost,
    ForkedProcessError,
    KernelFault,
    ServerError,
    ServerUnhealthy,
)
from ruda_core.launcher import build_launcher, prepare_launch
from ruda_core.server import StreamId


class Late(ServerError):
    """What a kernel of these tests fails with."""


def fails(x: Any, **_: Any) -> None:
    raise Late("fails (kernels.py:7) went wrong")


def failing(client: Any) -> Any:
    return build_launcher(client.server, plan_of(fails, array("x"), writes=("x",)))


def sibling(client: Any) -> Any:
    other = client.fixed_execution_queue()
    other.set_stream(StreamId.new())
    return other


DOORS = {
    "read_one": lambda c, h: c.read_one(h),
    "read": lambda c, h: c.read([h]),
    "read_async": lambda c, h: c.read_async([h]).result(timeout=10),
    "sync": lambda c, h: c.sync().result(),
    "await": lambda c, h: asyncio.run(awaited(c)),
}


async def awaited(client: Any) -> None:
    await client.sync()


@pytest.mark.parametrize("door", DOORS)
def test_a_late_failure_surfaces_once_on_its_own_stream(threaded, door):
    launch, x = failing(threaded), threaded.zeros(4, "f32")
    other = sibling(threaded)
    calm = other.create_from_slice(b"calm")
    launch(threaded, 1, x)
    assert bytes(other.read_one(calm)) == b"calm"
    other.sync().result()
    with pytest.raises(Late):
        DOORS[door](threaded, x.handle)
    DOORS[door](threaded, x.handle)


def test_several_failures_are_listed(threaded):
    launch, x = failing(threaded), threaded.zeros(4, "f32")
    launch(threaded, 1, x)
    launch(threaded, 1, x)
    with pytest.raises(ServerUnhealthy) as caught:
        threaded.read_one(x.handle)
    assert len(caught.value.errors) == 2
    threaded.flush()


def test_flush_raises_what_is_known(threaded):
    launch, x = failing(threaded), threaded.zeros(4, "f32")
    assert threaded.flush() is None
    launch(threaded, 1, x)
    threaded.server.wait(threaded.execution_stream())
    with pytest.raises(ServerUnhealthy) as caught:
        threaded.flush()
    assert isinstance(caught.value.errors[0], Late)
    assert threaded.flush() is None


def test_a_dropped_future_gives_its_errors_back(threaded):
    launch, x = failing(threaded), threaded.zeros(4, "f32")
    launch(threaded, 1, x)
    threaded.server.wait(threaded.execution_stream())
    threaded.sync()
    threaded.read_async([x.handle])
    with pytest.raises(Late):
        threaded.sync().result()
    threaded.sync().result()


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_a_future_that_an_interrupt_ends_while_it_is_made_loses_nothing(threaded, monkeypatch):
    failing(threaded)(threaded, 1, threaded.zeros(4, np.float32))
    threaded.server.wait(threaded.execution_stream())

    def interrupted(stream: int) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(threaded.server.failures, "take", interrupted)
        with pytest.raises(KeyboardInterrupt):
            threaded.sync()
        gc.collect()
    with pytest.raises(Late):
        threaded.sync().result()


def test_making_a_future_does_not_wait(make_client):
    client = make_client(ThreadDriver)
    client.server.driver.delay = 0.2

    def nothing(**_: Any) -> None:
        return None

    x = client.zeros(1 << 10, "f32")
    build_launcher(client.server, plan_of(nothing, array("x")))(client, 1, x)
    start = time.perf_counter()
    future = client.sync()
    reading = client.read_async([x.handle])
    assert time.perf_counter() - start < 0.1 and not future.done()
    with pytest.raises(TimeoutError):
        future.result(timeout=0.01)
    assert future.result(timeout=10) is None and future.done() and future.result() is None
    assert reading.result()[0].nbytes == 4 << 10


def test_an_unread_destination_stays_alive(make_client):
    client = make_client(ThreadDriver)
    client.server.driver.delay = 0.1
    x = client.tensor(np.full(1 << 19, 3, np.float32))
    build_launcher(client.server, plan_of(lambda **_: None, array("x")))(client, 1, x)
    client.read_async([x.handle])
    others = [client.staging(2 << 20) for _ in range(4)]
    for other in others:
        other[:] = 0
    client.sync().result()
    assert not any(other.any() for other in others), "the abandoned read wrote elsewhere"


def test_an_event_loop_goes_on_while_awaiting(make_client):
    client = make_client(ThreadDriver)
    client.server.driver.delay = 0.1
    x = client.tensor(np.ones(4, np.float32))
    launch = build_launcher(client.server, plan_of(lambda **_: None, array("x")))

    async def main() -> int:
        launch(client, 1, x)
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.005)
                ticks += 1

        ticking = asyncio.ensure_future(tick())
        future = client.read_async([x.handle, x.handle])
        assert (await asyncio.wait_for(future, 10))[0].view(np.float32).tolist() == [1] * 4
        ticking.cancel()
        return ticks

    assert asyncio.run(main()) >= 5
    made_outside = client.sync()
    assert asyncio.run(_await(made_outside)) is None


async def _await(future: Any) -> Any:
    return await future


# Validate mode --------------------------------------------------------------------------------


def wild(x: Any, where: int, faults: Any, slots: Any, **_: Any) -> None:
    if where < len(x):
        x[where] = 77
        return
    if not faults[0]:
        faults[1:7] = (slots["program_0"], 0, where & 0xFFFFFFFF, where >> 32, len(x), 0)
    faults[0] += 1


def validating(client: Any) -> Any:
    sites = (Site("kernels.py", 9, "x"),)
    params = (array("x", "u32"), scalar("where", "i64"))
    plan = plan_of(wild, *params, writes=("x",), mode="validate", sites=sites)
    return build_launcher(client.server, plan)


@pytest.mark.parametrize("which", ["client", "threaded"])
def test_a_fault_is_not_raised_by_a_copy(request, which):
    """Through the host for the one, whose driver offers none, on the device for the other."""
    client = request.getfixturevalue(which)
    launch, x, source = (
        validating(client),
        client.zeros(4, "u32"),
        client.tensor(np.arange(4, dtype=np.uint32)),
    )
    launch(client, 1, x, 9)
    copy = client.zeros(4, "u32")
    copy.copy_from(source)
    with pytest.raises(KernelFault):
        client.sync().result()
    assert copy.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("which", ["client", "threaded"])
def test_a_fault_is_raised_once_with_its_place(request, which, door):
    client = request.getfixturevalue(which)
    launch, x = validating(client), client.zeros(4, "u32")
    other = sibling(client)
    launch(client, 1, x, 2)
    client.sync().result()
    launch(client, 1, x, (1 << 33) + 5)
    other.sync().result()
    with pytest.raises(KernelFault) as caught:
        DOORS[door](client, x.handle)
    error = caught.value
    assert (error.kernel, error.file, error.line) == ("wild", "kernels.py", 9)
    assert (error.array, error.index, error.length) == ("x", (1 << 33) + 5, 4)
    for word in ("wild", "kernels.py:9", str((1 << 33) + 5), "x", "4 elements"):
        assert word in str(error)
    DOORS[door](client, x.handle)
    assert x.tolist() == [0, 0, 77, 0]


def test_faults_of_two_streams_are_apart(threaded):
    launch, other = validating(threaded), sibling(threaded)
    x, y = threaded.zeros(4, "u32"), other.zeros(6, "u32")
    launch(threaded, 1, x, 9)
    launch(other, 1, y, 8)
    with pytest.raises(KernelFault) as caught:
        other.sync().result()
    assert (caught.value.index, caught.value.length) == (8, 6)
    with pytest.raises(KernelFault) as caught:
        threaded.sync().result()
    assert (caught.value.index, caught.value.length) == (9, 4)


def test_flush_and_dropped_futures_keep_faults(client):
    launch, x = validating(client), client.zeros(4, "u32")
    launch(client, 1, x, 9)
    client.sync()
    with pytest.raises(ServerUnhealthy) as caught:
        client.flush()
    assert isinstance(caught.value.errors[0], KernelFault)
    client.flush()
    prepared = prepare_launch(launch, client, (x, 0))
    prepared(1, x, 7)
    with pytest.raises(KernelFault):
        x.numpy()


def test_many_faults_are_counted(client):
    launch, x = validating(client), client.zeros(4, "u32")
    for where in (9, 10, 11):
        launch(client, 1, x, where)
    with pytest.raises(KernelFault, match="first of 3") as caught:
        client.sync().result()
    assert caught.value.index == 9


# Loss and fork --------------------------------------------------------------------------------


def test_a_lost_device_stays_lost(client):
    launch = build_launcher(client.server, plan_of(lambda **_: None, array("x")))
    x = client.zeros(4, "f32")
    prepared = prepare_launch(launch, client, (x,))
    prepared(1, x)
    client.server.driver.fail_next = DeviceLost("illegal address")
    with pytest.raises(DeviceLost):
        launch(client, 1, x)
    for use in (
        lambda: launch(client, 1, x),
        lambda: prepared(1, x),
        lambda: client.empty(4),
        lambda: client.read_one(x.handle),
        lambda: client.write(x.handle, b"1"),
        lambda: client.sync(),
        lambda: client.memory_usage(),
        lambda: client.memory_cleanup(),
        lambda: sibling(client).empty(4),
    ):
        with pytest.raises(DeviceLost, match="illegal address"):
            use()
    assert client.flush() is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_is_told_at_once(threaded):
    launch = build_launcher(threaded.server, plan_of(lambda **_: None, array("x")))
    x = threaded.zeros(4, "f32")
    prepared = prepare_launch(launch, threaded, (x,))
    future = threaded.sync()
    reading, writing = os.pipe()
    gate, held = threading.Event(), threading.Event()

    def hold() -> None:  # another thread is in the middle of things when the process forks
        with threaded.server.lock, threaded.server.queues[0].lock:
            held.set()
            gate.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    uses = [
        lambda: launch(threaded, 1, x),
        lambda: prepared(1, x),
        lambda: threaded.read_one(x.handle),
        lambda: threaded.empty(4),
        lambda: threaded.sync(),
        lambda: threaded.flush(),
        lambda: threaded.memory_usage(),
        lambda: threaded.exclusive(lambda: None),
        lambda: future.result(timeout=5),
    ]
    child = os.fork()
    if child == 0:
        told = 0
        for use in uses:
            try:
                use()
            except ForkedProcessError:
                told += 1
            except BaseException as error:
                os.write(writing, f"{type(error).__name__} ".encode())
        os.write(writing, str(told).encode())
        os._exit(0)
    os.close(writing)
    gate.set()
    thread.join()
    end = time.monotonic() + 10
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            pytest.fail("the child hangs")
        time.sleep(0.01)
    assert os.read(reading, 1000).decode() == str(len(uses))
    launch(threaded, 1, x)
    assert x.tolist() == [0] * 4


EXIT = """
import sys
sys.path.insert(0, {path!r})
from array_driver import *
from ruda_core.client import ComputeClient
from ruda_core.server import DriverServer
device = Device("arrays")
class Closing(ThreadDriver):
    def close(self): print("closed")
client = ComputeClient(DriverServer(device, Closing(device)))
client.server.driver.delay = 0.2
from ruda_core.launcher import build_launcher
def say(**_): print("ran", flush=True)
build_launcher(client.server, plan_of(say, array("x")))(client, 1, client.zeros(4, "f32"))
"""


def test_exit_waits_for_queued_work():
    import subprocess

    here = os.path.dirname(os.path.dirname(__file__))
    code = EXIT.format(path=here)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["ran", "closed"], done.stderr
