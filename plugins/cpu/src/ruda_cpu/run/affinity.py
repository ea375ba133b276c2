"""Keeps helpers off the processor of the thread that they help.

A thread that is woken while every processor is busy is put on the waker's own, where it waits until the work
is done. Elsewhere it shares a processor with others, and the launch has two.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterable
from typing import Protocol

_FEW = 8
"""Processors up to which helpers are told. Among more, the system finds an idle one, and telling takes longer."""


def _current() -> Callable[[], int] | None:
    """The C library's `sched_getcpu`; None where a thread cannot be told where to run."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    try:
        function = ctypes.PyDLL(None).sched_getcpu  # keeps the lock, which others wait for
    except (AttributeError, OSError):
        return None
    function.argtypes, function.restype = (), ctypes.c_int
    return function


class Helper(Protocol):
    """A thread that the system knows."""

    thread_id: int


class Apart:
    """Where a queue's thread and its helpers may run."""

    __slots__ = ("_avoided", "_current")

    def __init__(self, processors: int) -> None:
        self._current = _current() if 1 < processors <= _FEW else None
        self._avoided = -1, -1

    def from_here(self, thread: int, helpers: Iterable[Helper]) -> None:
        """Have a queue's thread (its native identifier) run on any processor but the caller's, and helpers on the
        caller's where that thread has the only other one."""
        if self._current is None:
            return
        here = self._current()
        if (here, thread) == self._avoided:
            return
        allowed = os.sched_getaffinity(0) - {here}
        try:
            os.sched_setaffinity(thread, allowed)
            if len(allowed) == 1:
                for helper in helpers:
                    os.sched_setaffinity(helper.thread_id, {here})
        except OSError:  # none but this is allowed, or the system does not let threads be told
            self._current = None
            return
        self._avoided = here, thread
