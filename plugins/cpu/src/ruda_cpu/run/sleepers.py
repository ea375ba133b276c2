"""Threads that are woken with work, and run it without Python's lock.

A thread woken by Python's own means asks for the lock first, which whoever launched holds until it begins to wait: it
is woken twice, and the work begins late. A sleeper reads what to run from words of its own.
"""

from __future__ import annotations

import ctypes
import struct

import numpy as np

from ruda_cpu.run.jobs import Job
from ruda_cpu.run.sleep import native
from ruda_cpu.words import Door, Word

_GIVEN = struct.Struct("<4Q")
"""The words from `Word.CALL` on."""


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
            self._memory, self._bytes = (memory, self._memory), nbytes  # the old one may be in use
            self.address = (memory.ctypes.data + 63) & ~63
        return self.address


class Crew:
    """The helpers that queues' threads may call."""

    __slots__ = ("_words", "address", "most")

    def __init__(self, most: int) -> None:
        self.most = most
        self._words = (ctypes.c_uint64 * (most + 1))()
        self.address = ctypes.addressof(self._words)

    def add(self, helper: Sleeper) -> None:
        """Have a helper called, too."""
        count = self._words[0] + 1
        self._words[count] = helper.address
        self._words[0] = count


class Sleeper:
    """One thread's sleep; only that thread calls `sleep`, the others are for whoever has work for it."""

    __slots__ = ("_crew", "_held", "_native", "_scratch", "_sleep", "_words", "address", "thread_id")

    def __init__(self, crew: Crew | None) -> None:
        """A queue's thread calls helpers of a crew; after a job that a waiter has ended it sleeps on for a while. A
        helper has no crew and sleeps on after each job, unless some may miss helpers."""
        self._native = native()
        self._sleep = self._native.serve if crew else self._native.help
        self._words = (
            ctypes.c_uint64 * (len(Word) + (crew.most if crew else 0))
        )()  # where it notes whom it called
        self.address = ctypes.addressof(self._words)
        self._words[Word.LOCK] = self._native.new_lock()
        self._native.try_acquire(self._words[Word.LOCK], 0)
        self._words[Word.CREW] = crew.address if crew else 0
        self._scratch = Scratch()
        self._crew = crew
        self._held: Job | None = None
        self.thread_id = 0
        """The thread, as the system knows it."""

    def asleep(self) -> bool:
        """True while the thread sleeps, or is about to, and nobody has given it anything."""
        return not self._words[Word.AWAKE]

    def given(self) -> bool:
        """True while there is work that the thread has not begun."""
        return bool(self._words[Word.CALL])

    def reach(self, scratch_bytes: int) -> None:
        """Have scratch memory of at least so many bytes for the next job."""
        self._words[Word.SCRATCH] = self._scratch.of(scratch_bytes)

    def give(self, job: Job, door: Door, stay: bool) -> None:
        """Say what to run when woken; wakes nobody.

        `stay` lets a queue's thread sleep on where a waiter has ended the job.
        """
        self._held = job
        _GIVEN.pack_into(self._words, 8 * Word.CALL, job.call, job.address, door, stay)
        self._words[Word.AWAKE] = 1

    def wake(self) -> None:
        """Wake the thread, or have its next sleep be none."""
        self._native.release(self._words[Word.LOCK])

    def sleep(self) -> None:
        """Until woken without work, or until there is work done that somebody must see to."""
        self._sleep(self.address)

    def drain(self) -> None:
        """Take back the calls of `wake` until now."""
        while self._native.try_acquire(self._words[Word.LOCK], 0):
            pass
