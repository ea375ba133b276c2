"""Threads that share a launch: each takes chunks of workgroups until there are none."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import numpy as np

from ruda_cpu.affinity import Apart

Call = Callable[[int, int], int]


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


_own = threading.local()


def own_scratch() -> Scratch:
    """The scratch of the thread that asks."""
    try:
        scratch: Scratch = _own.scratch
    except AttributeError:
        scratch = _own.scratch = Scratch()
    return scratch


class Job:
    """A launch that several threads may run: the queue's own, helpers, and whoever waits for it.

    Each enters by a place of its own and takes chunks of workgroups until there are none. A place is a lock that is
    held inside by `with`, which no interrupt parts from its release; to enter twice, or late, does no harm.
    """

    __slots__ = ("_address", "_call", "_held", "_scratch_bytes", "brief", "complete", "ended", "entered", "invited",
                 "places", "started")  # fmt: skip

    def __init__(
        self, call: Call, job: ctypes.Array[Any], scratch_bytes: int, held: Any, places: int, *, brief: bool
    ) -> None:
        """`held` is what `job` points to."""
        self._call = call
        self._address = ctypes.addressof(job)
        self._scratch_bytes = scratch_bytes
        self._held = (job, held)
        self.places = [threading.Lock() for _ in range(places)]
        """The first is for who waits."""
        self.brief = brief
        """True where who waits may lend a hand: compiled code cannot be interrupted."""
        self.invited = False
        self.complete = False
        self.started = self.ended = 0.0
        """When the first thread entered, and when the last found that all is done."""
        self.entered = 0

    def join(self, place: int) -> None:
        """Take chunks until there are none; `complete` says whether others still run theirs."""
        with self.places[place]:
            if self.complete:
                return
            self.started = self.started or time.perf_counter()
            self.entered += 1
            if self._call(self._address, own_scratch().of(self._scratch_bytes)):
                self.ended = time.perf_counter()
                self.complete = True

    def leave(self) -> None:
        """Wait until nobody is inside."""
        for place in self.places:
            with place:
                pass


class Pool:
    """As many helpers as there are other processors; started when first needed."""

    def __init__(self) -> None:
        self.helpers = processors() - 1
        self._invitations: SimpleQueue[tuple[Job, int]] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._apart = Apart(self.helpers + 1)
        self._lock = threading.Lock()

    def invite(self, job: Job, first: int) -> None:
        """Have helpers enter a job by the places from `first` on, once."""
        if job.invited or len(job.places) <= first:
            return
        job.invited = True
        if not self._threads:
            self._start()
        self._apart.from_here(thread.native_id or 0 for thread in self._threads)
        for place in range(first, len(job.places)):
            self._invitations.put((job, place))

    def run(self, job: Job) -> None:
        """Run a job on the queue's thread, and on others; returns when all of it is done and nobody is inside."""
        mine = 1 if len(job.places) > 1 and job.places[0].locked() else 0
        self.invite(job, mine + 1)
        job.join(mine)
        job.leave()

    def lend(self, job: Job) -> None:
        """Run a job on a thread that waits for it, while the queue's own is on its way; others may go on when
        this returns."""
        self.invite(job, 2)
        job.join(0)

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
        while True:
            job, place = self._invitations.get()
            job.join(place)
            del job


def processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
