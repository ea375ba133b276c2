"""Launches of one stream, recorded as a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable

from cupy_backends.cuda.api import runtime

from ruda_cuda.current import enter
from ruda_cuda.failures import Failure, wrapped
from ruda_cuda.queues import Queue


class Graph:
    """`replay()` enqueues everything again; destroyed with its last reference."""

    __slots__ = ("_executable", "_index", "_queue")

    def __init__(self, queue: Queue, index: int, enqueue: Callable[[], None]) -> None:
        """Record what `enqueue()` launches on the queue; raises what it raises, or CUDA's failure."""
        enter(index)
        runtime.streamBeginCapture(queue.stream, runtime.streamCaptureModeThreadLocal)
        try:
            enqueue()
        finally:
            graph = runtime.streamEndCapture(queue.stream)
        try:
            self._executable: int = runtime.graphInstantiate(graph)
        finally:
            runtime.graphDestroy(graph)
        self._queue, self._index = queue, index

    def replay(self) -> None:
        """Enqueue all launches, with the arguments of then."""
        queue = self._queue
        enter(self._index)
        with wrapped(queue.recent):
            runtime.graphLaunch(self._executable, queue.stream)

    def __del__(self) -> None:
        try:
            runtime.graphExecDestroy(self._executable)
        except (AttributeError, *Failure):
            pass  # it was never made, or the context is gone and the graph with it
