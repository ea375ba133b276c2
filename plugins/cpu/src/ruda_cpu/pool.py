"""Threads that help a launch: each takes chunks of workgroups until there are none."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue

import numpy as np

from ruda_cpu.affinity import Apart

Call = Callable[[int, int], None]


class Scratch:
    """Memory of one thread for one group's arrays; grows when a kernel needs more."""

    __slots__ = ("_bytes", "_memory", "address")

    def __init__(self) -> None:
        self._bytes = -1
        self._memory: object = None
        self.address = 0

    def of(self, nbytes: int) -> int:
        """The address of at least `nbytes`, aligned to 64."""
        if nbytes > self._bytes:
            memory = np.empty(nbytes + 64, np.uint8)
            self._memory, self._bytes = memory, nbytes
            self.address = (memory.ctypes.data + 63) & ~63
        return self.address


class Ticket:
    """An invitation to help with one job. Whoever acquires `claim` first decides whether it is taken."""

    __slots__ = ("call", "claim", "done", "job", "scratch_bytes")

    def __init__(self, call: Call, job: int, scratch_bytes: int) -> None:
        self.call = call
        self.job = job
        self.scratch_bytes = scratch_bytes
        self.claim = threading.Lock()
        self.done = threading.Lock()
        self.done.acquire()


class Pool:
    """As many helpers as there are other processors; started when first needed."""

    def __init__(self) -> None:
        self.helpers = processors() - 1
        self._tickets: SimpleQueue[Ticket] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._apart = Apart(self.helpers + 1)
        self._lock = threading.Lock()

    def run(self, call: Call, job: int, scratch_bytes: int, scratch: Scratch, helpers: int) -> None:
        """Run a job on this thread and up to `helpers` others; returns when all of it is done."""
        if not self._threads:
            self._start()
        if helpers:
            self._apart.from_here(thread.native_id or 0 for thread in self._threads)
        tickets = [Ticket(call, job, scratch_bytes) for _ in range(min(helpers, self.helpers))]
        for ticket in tickets:
            self._tickets.put(ticket)
        call(job, scratch.of(scratch_bytes))
        for ticket in tickets:
            if not ticket.claim.acquire(blocking=False):
                ticket.done.acquire()

    def _start(self) -> None:
        with self._lock:
            if self._threads:
                return
            threads = [
                threading.Thread(target=self._help, name=f"ruda-cpu-{k}", daemon=True)
                for k in range(self.helpers)
            ]
            for thread in threads:
                thread.start()  # returns once the thread runs, and with it its native identifier is known
            self._threads = threads

    def _help(self) -> None:
        scratch = Scratch()
        while True:
            ticket = self._tickets.get()
            if ticket.claim.acquire(blocking=False):
                try:
                    ticket.call(ticket.job, scratch.of(ticket.scratch_bytes))
                finally:
                    ticket.done.release()


def processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
