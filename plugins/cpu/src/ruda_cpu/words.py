"""Where compiled code and Python meet: the words of jobs and of threads that sleep."""

from __future__ import annotations

import enum


class JobWord(enum.IntEnum):
    """The 64-bit words of a job before its bindings."""

    NEXT = 0
    """The next workgroup that nobody has taken."""
    GROUPS = 1
    CHUNK = 2
    X = 3
    Y = 4
    Z = 5
    DONE = 6
    """How many workgroups are done."""
    HELPERS = 7
    """How many threads should run it beside the first."""
    MISSING = 8
    """How many of them were busy when it began, and have not come yet."""
    INSIDE = 9
    """How many helpers may still look at the job."""
    NANOSECONDS = 10
    """How long the queue's thread took; 0 where it did nothing, or no clock tells."""
    CAME = 11
    """Who came first: one of `Came`, or 0 while nobody has."""


class Came(enum.IntEnum):
    """Who is a job's first thread beside those that were woken for it."""

    WAITER = 1
    STAND_IN = 2


class Entered(enum.IntEnum):
    """What came of a waiter that lent a hand."""

    OTHERS = 0
    """There is no work left, and others are not done with theirs."""
    ENDED = 1
    """All is done."""
    LATE = 2
    """Somebody else has its place."""
    ON = 3
    """There is work left: it returned to hear of interrupts."""


class Word(enum.IntEnum):
    """The 64-bit words of a sleeper."""

    LOCK = 0
    AWAKE = 1
    """0 while the thread sleeps and nobody has work for it."""
    CALL = 2
    """What it is given, 0 once it has begun, and the job for it."""
    JOB = 3
    DOOR = 4
    STAY = 5
    """Not 0: a queue's thread sleeps on where a waiter has ended the job."""
    SCRATCH = 6
    CREW = 7
    """Of a queue's thread: the helpers, their number and then where they are."""
    STAND_IN = 8
    """The helper that is kept for a waiter's place."""
    FIRST = 9
    """The next helpers to wake."""
    SECOND = 10


class Door(enum.IntEnum):
    """Whether who waits for a job may run it, too."""

    OPEN = 0
    ALONE = 1
    """One thread runs the job: whichever is first."""
    STAND_IN = 2
    """A helper is woken in place of a waiter that does not come."""
