"""The device's clock, read between recorded launches."""

from __future__ import annotations

from typing import Any

import numpy as np
import wgpu
from wgpu.backends.wgpu_native import extras

from ruda_wgpu.batch import Queue
from ruda_wgpu.transfers import Mapped

_QUERIES = 4096


class Clock:
    """Queries of one device, used in turn."""

    def __init__(self, device: wgpu.GPUDevice) -> None:
        usage = wgpu.BufferUsage.QUERY_RESOLVE | wgpu.BufferUsage.COPY_SRC
        self._queries = device.create_query_set(type="timestamp", count=_QUERIES)
        self._resolved = device.create_buffer(size=256, usage=usage)
        self._next = 0

    def read(self, queue: Queue) -> Reading:
        """Record a reading behind what is recorded; nothing is submitted."""
        index, self._next = self._next, (self._next + 1) % _QUERIES
        buffer = queue.staging.take(8)

        def action(encoder: Any) -> None:
            extras.write_timestamp(encoder, self._queries, index)
            encoder.resolve_query_set(self._queries, index, 1, self._resolved, 0)
            encoder.copy_buffer_to_buffer(self._resolved, 0, buffer, 0, 8)

        queue.record(action)
        return Reading(queue, queue.number, buffer)


class Reading:
    """One reading on its way to the host."""

    def __init__(self, queue: Queue, number: int, buffer: Any) -> None:
        self._queue, self._number, self._buffer = queue, number, buffer
        self._ticks = np.zeros(1, np.uint64)
        self._pending: Mapped | None = None

    def ticks(self) -> int:
        queue = self._queue
        with queue.lock:
            if queue.number == self._number:
                queue.submit()
            if self._pending is None:
                out = self._ticks.data.cast("B")
                self._pending = Mapped(queue.staging, self._buffer, 8, out, 0)
        self._pending.wait()
        return int(self._ticks[0])
