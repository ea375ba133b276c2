"""Queues, completions and the device's clock."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import pyopencl as cl

from ruda_core.driver import Pending
from ruda_opencl.failures import wrapped

WORD = bytes(4)


class Queue:
    """One in-order queue, what it still has to read from the host, and its last launches' names."""

    __slots__ = ("native", "recent", "staged")

    def __init__(self, native: cl.CommandQueue) -> None:
        self.native = native
        self.recent: deque[str] = deque(maxlen=8)
        self.staged: deque[tuple[cl.Event, bytes]] = deque()


class Finished(Pending):
    """The completion that one event marks; keeps the host memory of a read alive."""

    __slots__ = ("_event", "_keep", "_recent")

    def __init__(self, event: cl.Event, recent: deque[str], keep: object = None) -> None:
        self._event, self._recent, self._keep = event, recent, keep

    def done(self) -> bool:
        return bool(self._event.command_execution_status <= cl.command_execution_status.COMPLETE)

    def wait(self) -> None:
        with wrapped(self._recent):
            self._event.wait()
        self._keep = None

    def on_done(self, callback: Callable[[], None]) -> bool:
        self._event.set_callback(cl.command_execution_status.COMPLETE, lambda status: callback())
        return True


class Clock:
    """Reads the device's clock on a queue of its own: a queue that keeps times costs each launch some microseconds.

    The command that is timed is a real one, because NVIDIA's driver gives no times for markers that wait for
    other queues.
    """

    def __init__(self, context: cl.Context) -> None:
        profiling = cl.command_queue_properties.PROFILING_ENABLE
        self._queue = cl.CommandQueue(context, properties=profiling)
        self._word = cl.Buffer(context, cl.mem_flags.READ_WRITE, 256)

    def read(self, queue: Queue) -> Mark:
        """A reading behind what is enqueued on `queue`; what comes later on it waits for the reading."""
        done = cl.enqueue_marker(queue.native)
        queue.native.flush()
        event = cl.enqueue_fill(self._queue, self._word, WORD, 4, wait_for=[done])
        self._queue.flush()
        cl.enqueue_barrier(queue.native, wait_for=[event])
        return Mark(event, queue.recent)


class Mark:
    """One reading of the clock."""

    __slots__ = ("_event", "_recent")

    def __init__(self, event: cl.Event, recent: deque[str]) -> None:
        self._event, self._recent = event, recent

    def ticks(self) -> int:
        with wrapped(self._recent):
            self._event.wait()
            return int(self._event.profile.start)
