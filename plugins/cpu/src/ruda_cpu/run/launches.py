"""Launches: in the caller when short, else on the queue's thread with helpers."""

from __future__ import annotations

import ctypes
import struct
import time
from typing import Any

from ruda_core.artifact import KernelSource
from ruda_cpu.dialect import scratch_bytes
from ruda_cpu.run.jit import Code
from ruda_cpu.run.jobs import Job
from ruda_cpu.run.pool import Pool
from ruda_cpu.run.queues import Queue
from ruda_cpu.words import JobWord

INLINE = 100e-6
"""Seconds of estimated work up to which a launch runs in the caller."""
_ALONE = 60e-6
"""Seconds of estimated work up to which one thread is enough."""
_BRIEF = 50e-3
"""Seconds of estimated work in a chunk up to which who waits lends a hand, and hears of interrupts after it."""
_CHUNK = 100e-6
"""Seconds of estimated work in a chunk of groups: little beside what a thread that is done looks for the others."""
_CHUNKS = 8, 64
"""The least and the most chunks of groups for each thread, while there are groups: neighbours often share lines of the
caches."""
_NOTHING_YET = (0,) * (len(JobWord) - JobWord.HELPERS - 1)
"""The words of a job after `JobWord.HELPERS`, before it begins."""
_UNIT_SECONDS = 5e-9
"""Estimate for a unit of a kernel that has not run yet."""
_LOST = 20e-3
"""Seconds for which a thread may have lost its processor to another program, several turns of the system's."""
_FADES = 0.98
"""What is left of the longest time after each launch."""
_AGAIN = 64
"""Launches after which a decision about helpers is tried again."""


class Program:
    """A loaded kernel, and what its launches have taught about it."""

    __slots__ = (
        "_alone",
        "_contended",
        "_launches",
        "_together",
        "code",
        "group_seconds",
        "longest",
        "scratch",
        "source",
    )

    def __init__(self, source: KernelSource, code: Code) -> None:
        self.source = source
        self.code = code
        self.scratch = scratch_bytes(source.text)
        """Bytes that each thread needs."""
        units = source.dim[0] * source.dim[1] * source.dim[2]
        self.group_seconds = units * _UNIT_SECONDS
        """Estimated time of one workgroup on one thread."""
        text = source.text
        own = 2 * text.count(
            "atomicrmw add ptr %job,"
        )  # each function hands out groups by one, counts by another
        self._contended = text.count("atomicrmw") > own or "cmpxchg" in text
        self.longest: float | None = None
        """The longest time of one workgroup so far, which fades; None while no launch has taught any."""
        self._alone: float | None = None
        self._together: float | None = None
        self._launches = 0

    def helpers(self, groups: int, available: int) -> int:
        """How many threads should help with a launch.

        Threads that fight over a few atomic counters can be slower than one: where there are atomics,
        both ways are timed and the faster one is taken.
        """
        if groups * self.group_seconds <= _ALONE or not available:
            return 0
        helpers = min(available, groups - 1)
        if not self._contended:
            return helpers
        self._launches += 1
        if self._alone is None:
            return 0
        if self._together is None:
            return helpers
        best = 0 if self._alone <= self._together else helpers
        if self._launches % _AGAIN == 0:
            return helpers - best
        return best

    def brief(self, chunk: int) -> bool:
        """True where a chunk of groups ends soon also if these are as long as the longest so far."""
        return self.longest is not None and chunk * self.longest <= _BRIEF

    def learn(self, groups: int, seconds: float, helpers: int) -> None:
        """Take a launch's time into the estimates; 0 where it is not known."""
        if not seconds:
            return
        each = seconds / groups
        self.longest = max(each * (helpers + 1), (self.longest or 0.0) * _FADES)
        if self._contended and helpers:
            self._together = _best(self._together, each)
            return
        if self._contended and seconds > INLINE:
            self._alone = _best(self._alone, each)
        work, known = each * (helpers + 1), self.group_seconds
        if work < known:
            self.group_seconds = (work + known) / 2
        else:
            # a thread that lost its processor for a while says nothing about the kernel: rise slowly
            self.group_seconds = work if seconds > _LOST else min(work, known * 1.25)


def _best(known: float | None, found: float) -> float:
    """The best time so far; it fades, so that it follows a machine that changes."""
    return found if known is None else min(found, known * 1.02)


class Launcher:
    """Launches of one program on one queue."""

    __slots__ = (
        "_address",
        "_call",
        "_job",
        "_pack",
        "_pool",
        "_program",
        "_queue",
        "_reached",
        "_scratch",
        "_struct",
        "_words",
    )

    def __init__(self, program: Program, queue: Queue, pool: Pool) -> None:
        source = program.source
        words = len(JobWord) + len(source.bindings)
        self._struct = struct.Struct(f"<{words}Q{max(source.layout.nbytes, 1)}s")
        self._pack = self._struct.pack_into
        self._words = ctypes.c_char * self._struct.size
        self._job = self._words()
        self._address = ctypes.addressof(self._job)
        self._program, self._queue, self._pool = program, queue, pool
        self._reached = False
        """Whether helpers have the scratch memory that the kernel needs."""
        self._call, self._scratch = program.code.call, program.scratch

    def launch(self, stream: int, x: int, y: int, z: int, *args: Any) -> None:
        groups = x * y * z
        if not groups:
            return
        program, queue = self._program, self._queue
        estimate = groups * program.group_seconds
        last = queue.last
        pages, words = args[:-1], args[-1]
        if estimate > INLINE or not (last is None or last.finished):
            self._later(stream, (x, y, z), groups, pages, words)
            return
        addresses = [page.address for page in pages]
        self._pack(self._job, 0, 0, groups, groups, x, y, z, 0, 0, *_NOTHING_YET, *addresses, words)
        start = time.perf_counter()
        self._call(self._address, queue.scratch.of(self._scratch))
        seconds = time.perf_counter() - start
        if not estimate * 0.5 < seconds < estimate:
            program.learn(groups, seconds, 0)

    def _later(self, stream: int, count: tuple[int, int, int], groups: int, pages: Any, words: bytes) -> None:
        program = self._program
        helpers = program.helpers(groups, self._pool.helpers)
        if helpers and not self._reached:
            self._pool.reach(self._scratch)
            self._reached = True
        seconds = groups * program.group_seconds / (helpers + 1)
        chunks = min(max(int(seconds / _CHUNK), _CHUNKS[0]), _CHUNKS[1]) * (helpers + 1)
        chunk = max(1, groups // chunks)
        words_of_job = self._words()
        addresses = [page.address for page in pages]
        self._pack(words_of_job, 0, 0, groups, chunk, *count, 0, helpers, *_NOTHING_YET, *addresses, words)
        brief = program.brief(chunk)
        alone = not helpers
        job = Job(program.code, words_of_job, groups, self._scratch, pages, alone=alone, brief=brief)

        def work() -> None:
            program.learn(groups, self._queue.run(job), helpers)

        self._queue.submit(work, stream, job)
