"""Keeps helpers off the processor of the thread that they help.

A thread that is woken while every processor is busy is put on the waker's own, where it waits until the work
is done. Elsewhere it shares a processor with others, and the launch has two.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterable

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


class Apart:
    """Where the helpers of one pool may run."""

    __slots__ = ("_avoided", "_current")

    def __init__(self, processors: int) -> None:
        self._current = _current() if 1 < processors <= _FEW else None
        self._avoided = -1

    def from_here(self, threads: Iterable[int]) -> None:
        """Have the threads (their native identifiers) run on any processor but the caller's."""
        if self._current is None:
            return
        here = self._current()
        if here == self._avoided:
            return
        allowed = os.sched_getaffinity(0) - {here}
        try:
            for thread in threads:
                os.sched_setaffinity(thread, allowed)
        except OSError:  # none but this is allowed, or the system does not let threads be told
            self._current = None
            return
        self._avoided = here
