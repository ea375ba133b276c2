"""Launches that are recorded instead of run, and run again as often as asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ruda_core.checks import InProcess
from ruda_core.errors import ServerError
from ruda_core.memory import Block
from ruda_core.server.programs import Program
from ruda_core.server.queue import Queue
from ruda_core.server.streams import StreamId

if TYPE_CHECKING:
    from ruda_core.server.driver_server import DriverServer


class Node:
    """One recorded launch. It holds its blocks, so that replaying is right after their handles are gone."""

    __slots__ = ("blocks", "grid", "program", "words", "writes")

    def __init__(
        self,
        program: Program,
        grid: tuple[int, int, int],
        blocks: Sequence[Block],
        writes: Sequence[bool],
        words: bytes,
    ) -> None:
        for block in blocks:
            block.hold()
        self.program = program
        self.grid = grid
        self.blocks = tuple(blocks)
        self.writes = tuple(writes)
        self.words = words

    def __del__(self) -> None:
        for block in getattr(self, "blocks", ()):
            block.drop()


class Captures:
    """The streams of one server that are being captured. Launches pay nothing while there are none:
    the tables of captured queues send them to the server's own path, which asks here."""

    def __init__(self, server: DriverServer) -> None:
        self._server = server
        self._nodes: dict[int, list[Any]] = {}
        self.active = False

    def set(self, stream: StreamId, nodes: list[Any] | None) -> None:
        """Begin, or with None end, the capture of a stream. Runs under the server's lock."""
        if nodes is None:
            self._nodes.pop(stream, None)
        elif stream in self._nodes:
            raise ServerError(
                f"{stream!r} of {self._server.device} is being captured already: leave that block first, or record on "
                f"another stream, inside `with ruda.stream(StreamId.new()):`"
            )
        else:
            self._nodes[stream] = nodes
        self.active = bool(self._nodes)

    def on(self, queue: Queue) -> bool:
        """True when a captured stream lives on this queue."""
        return any(self._server.streams.get(stream) is queue for stream in self._nodes)

    def refuse(self, stream: int, what: str) -> None:
        """Raise if the stream is being captured: only launches can be recorded."""
        if stream in self._nodes:
            raise ServerError(
                f"{what} inside client.capture() on {self._server.device}: "
                f"only launches can be captured; move it before or after"
            )

    def add(
        self,
        stream: int,
        program: Program,
        grid: tuple[int, int, int],
        blocks: Sequence[Block],
        writes: Sequence[bool],
        words: bytes,
    ) -> bool:
        """Record a launch if its stream is being captured."""
        nodes = self._nodes.get(stream)
        if nodes is None:
            return False
        nodes.append(Node(program, grid, blocks, writes, words))
        return True


class Graph(InProcess):
    """What `client.capture()` recorded. `replay()` enqueues all of it again, on the captured stream."""

    def __init__(self, server: DriverServer, stream: StreamId, nodes: list[Node]) -> None:
        self._server = server
        self._stream = stream
        self._nodes = nodes
        self._blocks: list[Block] = []
        self._closed = self._simple = False
        self._native: Callable[[], None] | None = None
        self._recorded = False

    def close(self) -> None:
        """End the recording; without it the block raised, and the graph is not whole."""
        self._closed = True
        nodes, server = self._nodes, self._server
        self._blocks = list({id(block): block for node in nodes for block in node.blocks}.values())
        self._simple = not server.driver.traits.writes_overtake and not any(
            node.program.source.mode == "validate" or block.storage is None
            for node in nodes
            for block in node.blocks
        )
        """True when enqueuing is all there is to do once the blocks are in the queue's order."""

    def __len__(self) -> int:
        return len(self._nodes)

    def replay(self) -> None:
        """Enqueue every recorded launch, in order, with the arguments of then."""
        server, stream = self._server, self._stream
        if server.captures.active:
            server.captures.refuse(stream, "replay")
        if not self._closed:
            raise ServerError(
                f"this graph of {len(self)} launches on {server.device} is not whole, its block raised: record it again"
            )
        queue = server.queue_of(stream)
        if self._simple and queue.table is queue.base and self._at_home(queue):
            return
        for node in self._nodes:
            server.launch(stream, node.program, node.grid, node.blocks, node.writes, node.words)

    def _at_home(self, queue: Queue) -> bool:
        """Replay without a look at each launch when every block is in the queue's own order."""
        with queue.lock:
            if any(block.queue is not queue or block.shared is not None for block in self._blocks):
                return False
            if not self._recorded:
                self._recorded = True
                self._native = self._server.driver.graph(queue.native, lambda: self._enqueue(queue))
            if self._native is not None:
                self._native()
            else:
                self._enqueue(queue)
            queue.seq += len(self._nodes)
            return True

    def _enqueue(self, queue: Queue) -> None:
        for node in self._nodes:
            storages = [block.storage for block in node.blocks]
            queue.base[node.program](self._stream, *node.grid, *storages, node.words)
