"""Order between queues that use one allocation.

An allocation belongs to one queue, in whose order its uses are; then there is nothing to do. The
first use by another one starts a record of its last writer and its readers. A foreign write waits
for all of them and moves ownership, so that what is handed over once costs once. Everything here
runs under the server's lock; a queue's lock is taken inside it, never the other way round.
"""

from __future__ import annotations

from ruda_core.driver import Driver
from ruda_core.memory import Block
from ruda_core.server.queue import Queue


class Shared:
    """Uses of an allocation by more than one queue, each with the count of its enqueues then."""

    __slots__ = ("readers", "writer", "written")

    def __init__(self, writer: Queue, written: int) -> None:
        self.writer = writer
        self.written = written
        self.readers: dict[Queue, int] = {}


class Hazards:
    """Makes queues wait for each other on the device, as rarely as it may."""

    __slots__ = ("_driver",)

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def order(self, queue: Queue, block: Block, write: bool) -> None:
        """Put the next work of `queue`, which uses `block`, after the uses that it depends on."""
        shared: Shared | None = block.shared
        if shared is None:
            owner: Queue = block.queue
            if owner is queue:
                return
            with owner.lock:  # a launch of the owner that is under way is counted, or sees `shared`
                shared = block.shared = Shared(owner, owner.seq)
        self._after(queue, shared.writer, shared.written)
        if write:
            for reader, seq in shared.readers.items():
                self._after(queue, reader, seq)

    def note(self, queue: Queue, block: Block, write: bool) -> None:
        """Record the use that `order` prepared, in the same critical section."""
        shared: Shared | None = block.shared
        if shared is None:
            return
        if write:  # all earlier uses come before this one: they need no record any more
            block.queue = queue
            block.shared = None
        else:
            shared.readers[queue] = queue.seq

    def settle(self, block: Block) -> None:
        """Put a free block's uses by others before its home's later work."""
        home: Queue = block.home
        self.order(home, block, write=True)
        block.queue = home
        block.shared = None

    def _after(self, queue: Queue, other: Queue, seq: int) -> None:
        if other is queue or queue.waited.get(other, -1) >= seq:
            return
        if other.event_seq < seq:
            with other.lock:
                covered = other.seq
                other.event = self._driver.event(other.native)
                other.event_seq = covered
        with queue.lock:
            self._driver.wait_event(queue.native, other.event)
        queue.waited[other] = other.event_seq
