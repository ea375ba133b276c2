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


class LaunchTable:
    """A queue's launch functions by program, made when first asked for.

    Everything that changes what a launch does (a trace, a capture, a lost device) swaps a queue's
    table, so that launches pay for none of it.
    """

    __slots__ = ("_make", "made")

    def __init__(self, make: Callable[[Program], LaunchFunction]) -> None:
        """`make` may raise for every program: of a queue that cannot be used, or whose launches go another way."""
        self._make = make
        self.made: dict[Program, LaunchFunction] = {}

    def __getitem__(self, program: Program) -> LaunchFunction:
        function = self.made.get(program)
        if function is None:
            function = self.made[program] = self._make(program)
        return function


class Diverted(Exception):  # noqa: N818  # no error: the launch takes the server's own path instead
    """Raised by the table of a queue that is being captured."""


def _divert(program: Program) -> NoReturn:
    raise Diverted


DIVERTING = LaunchTable(_divert)


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
        "table",
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
        self.table: LaunchTable = base
        """What launches look up: `live`, or a table that raises."""
        self.slots = base.made
        """The functions that this has already: a plain dict, which is the quickest to look into."""
        self.seq = 0
        """Number of enqueues so far."""
        self.event: Any = None
        self.event_seq = -1
        """What `event` covers, in enqueues."""
        self.waited: dict[Queue, int] = {}
        """How far into each other queue this one already waits."""
        self.free: dict[int, deque[Block]] = {}
        """Free blocks whose home this is, by size."""

    def use(self, table: LaunchTable) -> None:
        """From now on launches look into `table`."""
        self.table, self.slots = table, table.made

    def __repr__(self) -> str:
        return f"Queue({self.index})"
