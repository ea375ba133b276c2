"""Validate mode: one small record a stream, in which the device notes its first fault.

Words of the record (u32): the number of faults, then of the first one the program, the site, the
index (low, high) and the length (low, high).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ruda_core.driver import Driver, Pending
from ruda_core.errors import KernelFault
from ruda_core.memory import Bytes
from ruda_core.server.programs import Program, ProgramCache
from ruda_core.server.queue import Queue

RECORD_WORDS = 16
RECORD_BYTES = RECORD_WORDS * 4
_ZEROS = memoryview(bytes(RECORD_BYTES))


class FaultRecord:
    """The device's record of one stream. `dirty`: a launch that may fault has not been checked."""

    __slots__ = ("dirty", "queue", "storage")

    def __init__(self, queue: Queue, storage: Any) -> None:
        self.queue = queue
        self.storage = storage
        self.dirty = False


@dataclass(frozen=True, slots=True)
class FaultCheck:
    """A copy of a record that is on its way to the host; the record itself is already reset."""

    pending: Pending
    words: Bytes
    programs: ProgramCache

    def fault(self) -> KernelFault | None:
        """What the record says; only once `pending` is complete."""
        words = [int(w) for w in self.words.view(np.uint32)]
        return _fault_of(words, self.programs.numbered(words[1])) if words[0] else None


def _signed(low: int, high: int) -> int:
    value = high << 32 | low
    return value - (1 << 64) if value >> 63 else value


def _fault_of(words: list[int], program: Program | None) -> KernelFault:
    count, site_index = words[0], words[2]
    index, length = _signed(words[3], words[4]), _signed(words[5], words[6])
    more = f" (the first of {count} faults)" if count > 1 else ""
    if program is None or site_index >= len(program.source.sites):
        return KernelFault(
            f"a kernel reported a fault at an unknown place{more}",
            kernel="<unknown>",
            file="<unknown>",
            line=0,
        )
    source = program.source
    site = source.sites[site_index]
    where = f"{source.name} ({site.file}:{site.line})"
    if site.array is None:
        text = f"{where}: assertion failed" + (f": {site.message}" if site.message else "") + more
        return KernelFault(text, kernel=source.name, file=site.file, line=site.line)
    text = f"{where}: index {index} is out of bounds for {site.array}, which has {length} elements{more}"
    return KernelFault(
        text, kernel=source.name, file=site.file, line=site.line, array=site.array, index=index, length=length
    )


class FaultRecords:
    """The records of one server, by stream."""

    def __init__(
        self, driver: Driver, allocate: Callable[[], Any], server_lock: Any, programs: ProgramCache
    ) -> None:
        """`allocate()` gives the storage of one record."""
        self._driver = driver
        self._allocate = allocate
        self._server_lock = server_lock
        self._programs = programs
        self._records: dict[int, FaultRecord] = {}

    def of(self, stream: int, queue: Queue) -> FaultRecord:
        """The record that a launch on `stream` writes to, now dirty. Call it with no queue's lock held."""
        record = self._records.get(stream)
        if record is None:
            record = self._make(stream, queue)
        record.dirty = True
        return record

    def _make(self, stream: int, queue: Queue) -> FaultRecord:
        with self._server_lock:
            record = self._records.get(stream)
            if record is None:
                record = FaultRecord(queue, self._allocate())
                with queue.lock:
                    self._driver.write(queue.native, record.storage, 0, _ZEROS)
                    queue.seq += 1
                self._records[stream] = record
            return record

    def check(self, stream: int, take: Callable[[int], Bytes]) -> FaultCheck | None:
        """Read and reset the record, in order with the stream's work; None when nothing can be in it.

        `take(nbytes)` gives memory for the words. Enqueues; does not wait.
        """
        record = self._records.get(stream)
        if record is None or not record.dirty:
            return None
        host = take(RECORD_BYTES)
        queue = record.queue
        with queue.lock:
            record.dirty = False
            pending = self._driver.read(queue.native, record.storage, 0, host.data)
            if self._driver.traits.writes_overtake:
                self._driver.flush(queue.native)
            self._driver.write(queue.native, record.storage, 0, _ZEROS)
            queue.seq += 2
        return FaultCheck(pending, host, self._programs)
