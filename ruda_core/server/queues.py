"""The queues of one server: which stream uses which, and what launches on them do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from ruda_core.driver import LaunchFunction
from ruda_core.profiling import Recorder
from ruda_core.server import lifecycle
from ruda_core.server.programs import Program
from ruda_core.server.queue import DIVERTING, LaunchTable, Queue
from ruda_core.server.tracing import traced_launch

if TYPE_CHECKING:
    from ruda_core.server.driver_server import DriverServer

REMEMBERED_STREAMS = 4096


class Queues:
    """Opens queues as streams come, at most as many as the driver's traits allow; then ids share them."""

    def __init__(self, server: DriverServer) -> None:
        self._server = server
        self._driver = server.driver
        self.all: list[Queue] = []
        self.by_stream: dict[int, Queue] = {}
        """The queue of each stream id seen; emptied when the server can no longer be used."""

    def assign(self, stream: int) -> Queue:
        """The queue of a stream id that is not in `by_stream`. Runs under the server's lock."""
        queue = self.by_stream.get(stream)
        if queue is not None:
            return queue
        if len(self.all) < self._driver.traits.queues:
            queue = self._open()
        else:
            queue = self.all[stream % len(self.all)]
            if len(self.by_stream) >= REMEMBERED_STREAMS:
                self._forget()
        self.by_stream[stream] = queue
        return queue

    def _open(self) -> Queue:
        native = self._driver.open_queue(self._server.report)
        table = LaunchTable(lambda program: self._driver.launcher(program.native, native))
        queue = Queue(len(self.all), native, table)
        self.all.append(queue)
        self.retable(queue)
        return queue

    def _forget(self) -> None:
        """Drop ids whose queue follows from their number: each thread that ever launched has left one."""
        count = len(self.all)
        for stream, queue in list(self.by_stream.items()):
            if self.all[stream % count] is queue:
                del self.by_stream[stream]

    def retable(self, queue: Queue) -> None:
        """Give a queue the launch table that the server's state asks for."""
        recorders = self._server.recorders
        with queue.lock:
            queue.live = queue.base
            if recorders:
                queue.live = LaunchTable(partial(self._traced, queue, recorders))
            queue.use(DIVERTING if self._server.captures.on(queue) else queue.live)

    def retable_all(self) -> None:
        """The same for all. Runs under the server's lock."""
        for queue in self.all:
            self.retable(queue)

    def _traced(self, queue: Queue, recorders: Sequence[Recorder], program: Program) -> LaunchFunction:
        return traced_launch(self._driver, queue, program, recorders)

    def end(self, refuse: Callable[[], NoReturn]) -> None:
        """From now on launches find no queue and no function: both look-ups end in `refuse`."""
        table = LaunchTable(lambda program: refuse())
        for queue in self.all:
            queue.live = table
            queue.use(table)
        self.by_stream.clear()

    def forked(self) -> None:
        """In a forked child: nobody is left to open the locks."""
        for queue in self.all:
            queue.lock = lifecycle.ForkedLock()
