"""The registry over runtimes whose servers are made by the test."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from ruda_core.capabilities import Device
from ruda_core.errors import (
    BackendLoadError,
    BackendUnavailable,
    ServerAlreadyRegistered,
    ServerNotRegistered,
)
from ruda_core.registry import Registry
from ruda_core.runtime import Runtime, make_runtime

ONE, TWO = Device("fake", 0), Device("fake", 1)


class Server:
    def __init__(self, device: Device) -> None:
        self.device = device


class Other(Server):
    pass


class Source:
    def devices(self) -> tuple[Device, ...]:
        return (ONE, TWO)

    def opening(self) -> None:
        return None


def runtime_that(start: Any) -> type[Runtime]:
    made = make_runtime(
        "fake", Source(), driver=None, dialect=None, server=f"{__name__}:Server", owner="fake 1.0"
    )
    made._made_Server = Server  # type: ignore[attr-defined]  # this test module cannot be imported by name
    made.start = staticmethod(start)  # type: ignore[method-assign]
    return made


def test_many_threads_at_first_use_get_one_server() -> None:
    made: list[Server] = []
    told: list[Device] = []

    def start(device: Device) -> Server:
        time.sleep(0.05)
        made.append(Server(device))
        return made[-1]

    registry = Registry(lambda device, server: told.append(device))
    runtime, gate, got = runtime_that(start), threading.Barrier(16), []

    def first() -> None:
        gate.wait()
        got.append(registry.obtain(runtime, ONE))

    threads = [threading.Thread(target=first) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1 and all(server is made[0] for server in got) and len(got) == 16
    assert told == [ONE]


def test_a_slow_start_keeps_only_its_own_device_waiting() -> None:
    slow_started, release = threading.Event(), threading.Event()

    def start(device: Device) -> Server:
        if device == ONE:
            slow_started.set()
            assert release.wait(30)
        return Server(device)

    registry, runtime = Registry(lambda device, server: None), runtime_that(start)
    thread = threading.Thread(target=registry.obtain, args=(runtime, ONE))
    thread.start()
    assert slow_started.wait(30)
    assert registry.obtain(runtime, TWO).device == TWO
    with pytest.raises(ServerNotRegistered):
        registry.find(ONE, Server)
    release.set()
    thread.join()
    assert registry.find(ONE, Server).device == ONE


def test_a_failed_start_is_reported_as_itself_and_can_be_tried_again() -> None:
    attempts: list[int] = []

    def start(device: Device) -> Server:
        attempts.append(1)
        if len(attempts) == 1:
            raise OSError("device is busy")
        if len(attempts) == 2:
            raise BackendUnavailable("typed already")
        return Server(device)

    registry, runtime = Registry(lambda device, server: None), runtime_that(start)
    with pytest.raises(BackendLoadError, match="fake:0.*fake 1.0.*device is busy") as caught:
        registry.obtain(runtime, ONE)
    assert isinstance(caught.value.__cause__, OSError)
    with pytest.raises(BackendUnavailable, match="typed already"):
        registry.obtain(runtime, ONE)
    assert registry.obtain(runtime, ONE) is registry.obtain(runtime, ONE)


def test_one_server_of_a_type_for_a_device() -> None:
    told: list[Any] = []
    registry = Registry(lambda device, server: told.append(server))
    first, other = Server(ONE), Other(ONE)
    registry.add(ONE, first)  # type: ignore[arg-type]
    with pytest.raises(ServerAlreadyRegistered, match="fake:0"):
        registry.add(ONE, Server.__new__(Server))  # type: ignore[arg-type]
    registry.add(ONE, other)  # type: ignore[arg-type]
    assert registry.find(ONE, Server) is first and registry.find(ONE, Other) is other
    with pytest.raises(ServerNotRegistered, match="fake:1"):
        registry.find(TWO, Server)
    assert told == [first, other]
    assert registry.obtain(runtime_that(None), ONE) is first, "what init registered is the runtime's server"


def test_a_hook_may_use_the_registry() -> None:
    registry: Registry

    def told(device: Device, server: Any) -> None:
        assert registry.find(device, Server) is server

    registry = Registry(told)
    registry.obtain(runtime_that(Server), ONE)
