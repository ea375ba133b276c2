"""Collects a trace: a tuple for each launch and transfer now, events at the end."""

from __future__ import annotations

import queue as queues
import threading
import time
from typing import NamedTuple, Protocol

from ruda_core.profiling.events import Event, Timeline


class Completion(Protocol):
    """Something that will be complete; the driver's Pending is one."""

    def wait(self) -> None: ...


class Clock(Protocol):
    """A reading of the device's clock; the driver's Timestamp is one."""

    def ticks(self) -> int: ...


class _Launch(NamedTuple):
    name: str
    queue: int
    start: int
    stop: int
    begin: Clock | None
    end: Clock | None
    done: _Stamp | None


class _Transfer(NamedTuple):
    name: str
    nbytes: int
    queue: int
    start: int
    stop: int
    done: _Stamp | None


class _Stamp:
    """The host's time at which a completion was seen."""

    __slots__ = ("at",)

    def __init__(self) -> None:
        self.at: int | None = None


class Recorder:
    """One trace of one device. Its methods only append, so that they may be called under a queue's lock."""

    def __init__(self, device: str, *, period_ns: float = 1.0, valid_bits: int = 64) -> None:
        self._device = device
        self._period_ns = period_ns
        self._mask = (1 << valid_bits) - 1
        self._anchor: tuple[int, int] | None = None
        self._launches: list[_Launch] = []
        self._transfers: list[_Transfer] = []
        self._waiting: queues.SimpleQueue[tuple[Completion, _Stamp] | None] = queues.SimpleQueue()
        self._watcher: threading.Thread | None = None
        self._watcher_lock = threading.Lock()

    def anchor(self, host_ns: int, ticks: int) -> None:
        """State that the device's clock showed `ticks` at `host_ns` of the host's."""
        self._anchor = host_ns, ticks

    def launch(
        self,
        name: str,
        queue: int,
        start: int,
        stop: int,
        begin: Clock | None,
        end: Clock | None,
        pending: Completion | None,
    ) -> None:
        """One launch: the host's times around its enqueue, and the device's clock or a completion."""
        self._launches.append(_Launch(name, queue, start, stop, begin, end, self._watch(pending)))

    def transfer(
        self, name: str, nbytes: int, queue: int, start: int, stop: int, pending: Completion | None = None
    ) -> None:
        """One copy between host and device."""
        self._transfers.append(_Transfer(name, nbytes, queue, start, stop, self._watch(pending)))

    def _watch(self, pending: Completion | None) -> _Stamp | None:
        if pending is None:
            return None
        stamp = _Stamp()
        self._waiting.put((pending, stamp))
        if self._watcher is None:
            with self._watcher_lock:
                if self._watcher is None:
                    self._watcher = threading.Thread(target=self._see, name="ruda-trace", daemon=True)
                    self._watcher.start()
        return stamp

    def _see(self) -> None:
        while (item := self._waiting.get()) is not None:
            pending, stamp = item
            try:
                pending.wait()
            except Exception:  # noqa: S110  # who reads the stream is told; a trace only needs the time
                pass
            stamp.at = time.perf_counter_ns()

    def finish(self) -> Timeline:
        """Wait for what is still running; all events by start."""
        if self._watcher is not None:
            self._waiting.put(None)
            self._watcher.join()
        events: list[Event] = []
        free_at: dict[int, int] = {}
        for item in self._launches:
            events.append(Event("submission", item.name, item.queue, item.start, item.stop))
            begin, end = self._execution(item, free_at.get(item.queue, 0))
            free_at[item.queue] = max(end, begin)
            events.append(Event("execution", item.name, item.queue, begin, max(end, begin)))
        for t in self._transfers:
            stop = t.stop if t.done is None or t.done.at is None else t.done.at
            events.append(Event("transfer", t.name, t.queue, t.start, max(stop, t.start), t.nbytes))
        return Timeline(self._device, tuple(sorted(events, key=lambda event: event.start)))

    def _execution(self, item: _Launch, free_at: int) -> tuple[int, int]:
        """Begin and end in the host's nanoseconds. Without a device clock: from when the queue was free."""
        if item.begin is not None and item.end is not None and self._anchor is not None:
            begin = self._host_ns(item.begin.ticks())
            ticks = (item.end.ticks() - item.begin.ticks()) & self._mask
            return begin, begin + int(ticks * self._period_ns)
        end = item.stop if item.done is None or item.done.at is None else item.done.at
        return max(item.start, free_at), end

    def _host_ns(self, ticks: int) -> int:
        if self._anchor is None:
            return 0
        host_ns, zero = self._anchor
        return host_ns + int(((ticks - zero) & self._mask) * self._period_ns)
