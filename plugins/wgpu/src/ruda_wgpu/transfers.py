"""Staging memory and completions: every wait is for a buffer that becomes readable on the host."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import wgpu

from ruda_core.driver import Pending
from ruda_wgpu.failures import wrapped

_KEPT = 1 << 28
"""Bytes of idle staging memory that are kept."""


class Staging:
    """Buffers that the host can map for reading, kept by size."""

    def __init__(self, device: wgpu.GPUDevice) -> None:
        self._device = device
        self._lock = threading.Lock()
        self._idle: dict[int, list[Any]] = {}
        self._bytes = 0

    def take(self, nbytes: int) -> Any:
        """A buffer of at least `nbytes`: the next power of two up to a page, then the next 64 KiB."""
        size = max(8, 1 << (nbytes - 1).bit_length()) if nbytes <= 4096 else -(-nbytes // 65536) * 65536
        with self._lock:
            idle = self._idle.get(size)
            if idle:
                self._bytes -= size
                return idle.pop()
        usage = wgpu.BufferUsage.COPY_DST | wgpu.BufferUsage.MAP_READ
        with wrapped("staging memory"):
            return self._device.create_buffer(size=size, usage=usage)

    def give(self, buffer: Any) -> None:
        with self._lock:
            if self._bytes + buffer.size <= _KEPT:
                self._bytes += buffer.size
                self._idle.setdefault(buffer.size, []).append(buffer)
                return
        buffer.destroy()


class Mapped(Pending):
    """A staging buffer on its way to the host; whoever waits first copies it out.

    wgpu-py's own thread polls the device until it is there.
    """

    def __init__(self, staging: Staging, buffer: Any, nbytes: int, out: memoryview | None, skip: int) -> None:
        self._staging, self._buffer, self._out, self._skip = staging, buffer, out, skip
        self._lock = threading.Lock()
        self._error: Exception | None = None
        self._promise = buffer.map_async("READ_NOSYNC", 0, (nbytes + 3) & ~3)
        # wgpu-py would call into the event loop of whoever made the promise, and that may be closed by then.
        self._promise._call_soon_threadsafe = None

    def done(self) -> bool:
        return self._buffer is None or bool(self._promise._thread_event.is_set())

    def wait(self) -> None:
        with self._lock:
            buffer = self._buffer
            if buffer is not None:
                self._finish(buffer)
        if self._error is not None:
            raise self._error

    def _finish(self, buffer: Any) -> None:
        self._buffer = None
        try:
            with wrapped("waiting for the device"):
                self._promise.sync_wait()
                if self._out is not None:
                    found = np.frombuffer(buffer.read_mapped(copy=False), np.uint8)
                    np.frombuffer(self._out, np.uint8)[:] = found[self._skip : self._skip + self._out.nbytes]
                buffer.unmap()
        except Exception as error:
            self._error = error
            return
        finally:
            self._out = None
        self._staging.give(buffer)

    def on_done(self, callback: Callable[[], None]) -> bool:
        # wgpu-py offers callbacks only together with an event loop; this is the call that it makes when done.
        promise = self._promise
        with promise._lock:
            if promise._state == "pending":
                promise._call_soon_threadsafe = lambda function, *args: callback()
                return True
        callback()
        return True
