"""Threads that share a launch: each takes chunks of workgroups until there are none."""

from __future__ import annotations

import os
import threading
import time
from collections import deque

from ruda_cpu.run.affinity import Apart
from ruda_cpu.run.jobs import Job
from ruda_cpu.run.sleep import native
from ruda_cpu.run.sleepers import Crew, Scratch, Sleeper
from ruda_cpu.words import Door, Entered, JobWord

_FIRST_NAP, _LONGEST_NAP = 2e-5, 1e-3
"""Seconds between two looks whether other threads have ended their last chunks."""
_own = threading.local()


def own_scratch() -> Scratch:
    """The scratch of the thread that asks."""
    try:
        scratch: Scratch = _own.scratch
    except AttributeError:
        scratch = _own.scratch = Scratch()
    return scratch


class Pool:
    """As many helpers as there are other processors; started when first needed."""

    def __init__(self) -> None:
        self.helpers = processors() - 1
        self.crew = Crew(self.helpers)
        self._sleepers: list[Sleeper] = []
        self._scratch_bytes = 0
        self._running: dict[Job, None] = {}
        self._left: deque[Job] = deque()
        """Of jobs that are complete: some helper may still look at it."""
        self._closed = False
        self._apart = Apart(self.helpers + 1)
        self._lock = threading.Lock()

    def reach(self, scratch_bytes: int) -> None:
        """Have helpers, each with at least so much scratch memory."""
        with self._lock:
            if not self._sleepers and not self._closed:
                self._start()
            if scratch_bytes > self._scratch_bytes:
                self._scratch_bytes = scratch_bytes
                for helper in self._sleepers:
                    helper.reach(scratch_bytes)

    def give(self, own: Sleeper, job: Job, *, stay: bool) -> None:
        """Wake a queue's thread with a job; it wakes helpers, and they more of them. `stay` as in `Sleeper.give`.

        Where who waits may come, one helper is kept back until nobody has for a while, or will.
        """
        door = Door.ALONE if job.alone else Door.STAND_IN if job.brief else Door.OPEN
        with self._lock:
            if job.given:
                return
            self._running[job] = None
            own.reach(job.scratch_bytes)
            own.give(job, door, stay)
            job.given = True  # last: a caller may be interrupted anywhere, and the thread then gives the job to itself
        own.wake()

    def run(self, own: Sleeper, job: Job) -> float:
        """Run a job on a queue's thread, which asks, unless it has run it already; returns when all of it is done.

        The seconds that it took, as far as they are known.
        """
        if not job.given:
            self.decline(job)
            self.give(own, job, stay=False)
        if own.given():
            own.sleep()
        nap = _FIRST_NAP
        while not job.complete():
            if job.deserted:
                self._enter(job, 1)
            else:
                time.sleep(nap)
                nap = min(nap * 1.5, _LONGEST_NAP)
        with self._lock:
            self._running.pop(job, None)
            job.held = None
            self._left.append(job)
            while self._left and not self._left[0].word(JobWord.INSIDE):
                self._left.popleft()
        return max(job.word(JobWord.NANOSECONDS) * 1e-9, job.seconds)

    def lend(self, job: Job) -> bool:
        """Run a job on a thread that waits for it; True if that ended it. Interrupts are heard between turns."""
        start = time.perf_counter()
        try:
            came = self._enter(job, 0)
            while came == Entered.ON:
                came = self._enter(job, 1)
        except BaseException:
            job.deserted = True
            raise
        if came != Entered.ENDED:
            return False
        job.seconds = time.perf_counter() - start
        return True

    @staticmethod
    def _enter(job: Job, back: int) -> int:
        return native().enter(job.address, own_scratch().of(job.scratch_bytes), job.call, back)

    def part(self, queue_thread: int) -> None:
        """Keep a queue's thread off the processor of the caller, who is about to wake it."""
        self._apart.from_here(queue_thread, self._sleepers)

    def decline(self, job: Job) -> None:
        """Have a helper stand in at once for who would wait for a job."""
        native().decline(job.address)

    def close(self) -> None:
        """End the helpers once they have nothing to do."""
        self._closed = True
        for helper in self._sleepers:
            helper.wake()

    def _start(self) -> None:
        for k in range(self.helpers):
            helper = Sleeper(None)
            helper.reach(self._scratch_bytes)
            thread = threading.Thread(target=self._help, args=(helper,), name=f"ruda-cpu-{k}", daemon=True)
            thread.start()  # returns once the thread runs, and with it its native identifier is known
            helper.thread_id = thread.native_id or 0
            self._sleepers.append(helper)
            self.crew.add(helper)

    def _help(self, own: Sleeper) -> None:
        while not self._closed:
            own.sleep()
            while (job := self._wanting()) is not None:
                own.give(job, Door.OPEN, stay=False)
                own.wake()
                own.sleep()

    def _wanting(self) -> Job | None:
        """A job that misses a helper."""
        with self._lock:
            native().wanted.value = 0  # first: a job that begins to miss some meanwhile sets it again
            for job in self._running:
                if native().follow(job.address):
                    native().wanted.value = 1
                    return job
        return None


def processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
