"""Faults on purpose: a device that is lost, memory that runs out, at a chosen moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import ruda_core as ruda
from ruda_core.blocks import block
from ruda_core.checks import checked_client, checked_int
from ruda_core.server import DriverServer


class _Countdown:
    """Calls until something happens; further calls keep happening when it `stays`."""

    def __init__(self, at: int | None) -> None:
        self.left = at

    def due(self) -> bool:
        """Count a call: whether it is the one."""
        if self.left is None:
            return False
        self.left -= 1
        return self.left == 0


@block
def faults(
    client: ruda.ComputeClient, *, lose_device_at: int | None = None, out_of_memory_at: int | None = None
) -> Iterator[None]:
    """Within the block, the `lose_device_at`-th operation (a launch, or the transfer of a write or a read)
    finds the device lost, and the `out_of_memory_at`-th allocation finds no memory. Both count from 1.

    A server that has lost its device stays so: use one of `Runtime.create_server`, or a process of its own.
    Raises ConfigError for a server that is not the stock one, or a number below 1.
    """
    server = checked_client(client, "faults", error=ruda.ConfigError).server
    if not isinstance(server, DriverServer):
        raise ruda.ConfigError(
            f"faults are put between the stock server and its driver; {client.device} has a "
            f"{type(server).__name__}"
        )
    for name, at in (("lose_device_at", lose_device_at), ("out_of_memory_at", out_of_memory_at)):
        if at is not None:
            checked_int(at, f"{name} (the first operation is number 1)", least=1, error=ruda.ConfigError)
    replaced = [_losing(server, _Countdown(lose_device_at)), _starving(server, _Countdown(out_of_memory_at))]
    _make_launchers_again(server)
    try:
        yield
    finally:
        for owner, names in replaced:
            for name in names:
                delattr(owner, name)
        _make_launchers_again(server)


def _make_launchers_again(server: DriverServer) -> None:
    """Drop the launch functions that are kept, which go straight to the driver."""
    with server.lock:
        for queue in server.queues:
            queue.base.made.clear()
        if not _lost(server):
            server.queueing.retable_all()


def _lost(server: DriverServer) -> bool:
    try:
        server.check()
    except ruda.DeviceLost:
        return True
    return False


def _losing(server: DriverServer, countdown: _Countdown) -> tuple[Any, tuple[str, ...]]:
    driver: Any = server.driver
    names = ("write", "read", "read_now", "launcher")
    original = {name: getattr(driver, name) for name in names}

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            if countdown.due():
                raise ruda.DeviceLost("an injected fault: the device is gone")
            return function(*args)

        return call

    for name in ("write", "read", "read_now"):
        setattr(driver, name, counted(original[name]))
    driver.launcher = lambda *args: counted(original["launcher"](*args))
    return driver, names


def _starving(server: DriverServer, countdown: _Countdown) -> tuple[Any, tuple[str, ...]]:
    pool: Any = server.pool
    take = pool.take

    def counted(home: Any, nbytes: int) -> Any:
        if not countdown.due():
            return take(home, nbytes)
        server.memory_cleanup()  # what the pools do before they give up
        usage = server.memory_usage()
        raise ruda.OutOfDeviceMemory(
            f"an injected fault: {server.device} has no memory left for {nbytes} bytes",
            requested=nbytes,
            in_use=usage.bytes_in_use,
            limit=server.properties.memory_bytes,
        )

    pool.take = counted
    return pool, ("take",)
