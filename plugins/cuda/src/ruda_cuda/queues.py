"""Streams, events and completions."""

from __future__ import annotations

import threading
from collections import deque

import numpy as np
from cupy_backends.cuda.api import runtime

from ruda_core.driver import Pending
from ruda_cuda.failures import NOT_READY, Failure, wrapped


class Queue:
    """One stream, and its last launches' names. Streams live as long as the process."""

    __slots__ = ("last", "recent", "stream")

    def __init__(self) -> None:
        self.stream: int = runtime.streamCreateWithFlags(runtime.streamNonBlocking)
        self.recent: deque[str] = deque(maxlen=8)
        self.last: str | None = None
        """The last of them, which a launch of the same kernel need not add again."""


class Event:
    """A recorded event, destroyed with its last reference."""

    __slots__ = ("native",)

    def __init__(self, stream: int, flags: int = runtime.eventDisableTiming) -> None:
        self.native: int = runtime.eventCreateWithFlags(flags)
        runtime.eventRecord(self.native, stream)

    def __del__(self) -> None:
        try:
            runtime.eventDestroy(self.native)
        except (AttributeError, *Failure):
            pass  # it was never made, or the context is gone and the event with it


class Finished(Pending):
    """The completion that an event marks; keeps the host memory of a read alive."""

    __slots__ = ("_event", "_keep", "_recent")

    def __init__(self, queue: Queue, keep: object = None) -> None:
        self._event = Event(queue.stream)
        self._recent, self._keep = queue.recent, keep

    def done(self) -> bool:
        return bool(runtime.eventQuery(self._event.native) != NOT_READY)

    def wait(self) -> None:
        with wrapped(self._recent):
            runtime.eventSynchronize(self._event.native)
        self._keep = None


class SmallRead(Finished):
    """A read by way of a page-locked piece: copies into ordinary memory would wait under the queue's lock."""

    __slots__ = ("_lock", "_out", "_piece", "_pieces")

    def __init__(
        self,
        queue: Queue,
        piece: np.ndarray[tuple[int], np.dtype[np.uint8]],
        pieces: deque[np.ndarray[tuple[int], np.dtype[np.uint8]]],
        out: memoryview,
    ) -> None:
        """`piece` receives the bytes of `out` and goes back to `pieces` after that."""
        super().__init__(queue)
        self._lock = threading.Lock()
        self._piece: np.ndarray[tuple[int], np.dtype[np.uint8]] | None = piece
        self._pieces, self._out = pieces, out

    def done(self) -> bool:
        if not super().done():
            return False
        self._finish()
        return True

    def wait(self) -> None:
        super().wait()
        self._finish()

    def _finish(self) -> None:
        with self._lock:
            piece, self._piece = self._piece, None
            if piece is not None:
                self._out[:] = piece[: self._out.nbytes].data
                self._pieces.append(piece)
