"""The device's clock. CUDA tells times only as the distance of two events, in 32-bit milliseconds."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass

from cupy_backends.cuda.api import runtime

from ruda_cuda.failures import wrapped
from ruda_cuda.queues import Event, Queue

_EPOCH_NS = 1_000_000_000
"""A base older than this is replaced: within a second, 24 bits still tell tenths of a microsecond."""


@dataclass(frozen=True, slots=True)
class _Epoch:
    """A base that readings are measured from."""

    event: Event
    start: int
    """Nanoseconds since the first base."""
    made: int
    """On the host's clock, in nanoseconds."""


class Clock:
    """The clock of one device; its device is current when it is made and read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queue = Queue()
        self._epoch = _Epoch(self._base(), 0, time.monotonic_ns())

    def _base(self) -> Event:
        """An event of a stream that does nothing else, so that it is past at once."""
        event = Event(self._queue.stream, runtime.eventDefault)
        runtime.eventSynchronize(event.native)
        return event

    def read(self, queue: Queue) -> Mark:
        """A reading behind what is enqueued on `queue`."""
        with self._lock:
            epoch, now = self._epoch, time.monotonic_ns()
            if now - epoch.made > _EPOCH_NS:
                event = self._base()
                epoch = self._epoch = _Epoch(event, epoch.start + _between(epoch.event, event), now)
        return Mark(epoch, Event(queue.stream, runtime.eventDefault), queue.recent)


class Mark:
    """One reading, in nanoseconds since the clock was made."""

    __slots__ = ("_epoch", "_event", "_recent")

    def __init__(self, epoch: _Epoch, event: Event, recent: deque[str]) -> None:
        self._epoch, self._event, self._recent = epoch, event, recent

    def ticks(self) -> int:
        with wrapped(self._recent):
            runtime.eventSynchronize(self._event.native)
            return self._epoch.start + _between(self._epoch.event, self._event)


def _between(first: Event, second: Event) -> int:
    milliseconds: float = runtime.eventElapsedTime(first.native, second.native)
    return round(milliseconds * 1e6)
