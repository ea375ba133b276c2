"""Queue: one native in-order queue and all that the server keeps with it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from ruda_core.driver import LaunchFunction
from ruda_core.memory import Block

if TYPE_CHECKING:
    from ruda_core.server.programs import Program


class LaunchTable(dict["Program", LaunchFunction]):
    """A queue's launch functions by program, made when first asked for.

    Everything that changes what a launch does (a trace, a capture, a lost device) swaps a queue's
    table, so that launches pay for none of it.
    """

    __slots__ = ("_make",)

    def __init__(self, make: Callable[[Program], LaunchFunction]) -> None:
        self._make = make

    def __missing__(self, program: Program) -> LaunchFunction:
        function = self[program] = self._make(program)
        return function


class RaisingTable(LaunchTable):
    """A table whose every look-up raises: of a queue that cannot be used, or whose launches go another way."""

    __slots__ = ("_refuse",)

    def __init__(self, refuse: Callable[[], NoReturn]) -> None:
        self._refuse = refuse

    def __missing__(self, program: Program) -> LaunchFunction:
        self._refuse()


class Diverted(Exception):  # noqa: N818  # no error: the launch takes the server's own path instead
    """Raised by the table of a queue that is being captured."""


def _divert() -> NoReturn:
    raise Diverted


DIVERTING = RaisingTable(_divert)


class Queue:
    """One native queue; many stream ids may share it. `lock` is held through every enqueue."""

    __slots__ = (
        "base",
        "event",
        "event_seq",
        "free",
        "index",
        "live",
        "lock",
        "native",
        "seq",
        "slots",
        "waited",
    )

    def __init__(self, index: int, native: Any, base: LaunchTable) -> None:
        self.index = index
        self.native = native
        self.lock: Any = threading.RLock()
        self.base = base
        """The driver's own functions."""
        self.live: LaunchTable = base
        """These, or what a trace made of them."""
        self.slots: LaunchTable = base
        """What launches look up: `live`, or a table that raises."""
        self.seq = 0
        """Number of enqueues so far."""
        self.event: Any = None
        self.event_seq = -1
        """What `event` covers, in enqueues."""
        self.waited: dict[Queue, int] = {}
        """How far into each other queue this one already waits."""
        self.free: dict[int, deque[Block]] = {}
        """Free blocks whose home this is, by size."""

    def __repr__(self) -> str:
        return f"Queue({self.index})"
