"""Execution control."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, Self, TypeVar

from ruda_core.artifact import Mode
from ruda_core.blocks import block
from ruda_core.checks import checked_client, checked_function
from ruda_core.client.base import ClientBase
from ruda_core.errors import LaunchArgumentError
from ruda_core.server import Future, Graph, StreamId, checked_stream

T = TypeVar("T")

_MODES: dict[str, tuple[Mode, ...]] = {
    "launch": ("checked",),
    "launch_unchecked": ("unchecked", "validate", "checked"),
}
"""The modes that each low-level door takes; `launch_unchecked` honours the settings, so any."""


class Launchable(Protocol):
    """A compiled kernel, as the low-level doors see it."""

    mode: Mode

    def enqueue(self, client: Any, count: Any, bindings: Sequence[Any]) -> None:
        """Check the bindings, in parameter order, and launch."""


class ClientExecution(ClientBase):
    """What a client does with streams."""

    __slots__ = ()

    def launch(self, compiled: Launchable, count: Any, bindings: Sequence[Any]) -> None:
        """Launch a kernel that was compiled in checked mode; `bindings` are handles, ArrayArgs,
        TensorArgs, tensors and scalars in parameter order."""
        self._through("launch", compiled, count, bindings)

    def launch_unchecked(self, compiled: Launchable, count: Any, bindings: Sequence[Any]) -> None:
        """Launch a compiled kernel in the mode it was compiled for."""
        self._through("launch_unchecked", compiled, count, bindings)

    def _through(self, door: str, compiled: Launchable, count: Any, bindings: Sequence[Any]) -> None:
        if not hasattr(compiled, "enqueue"):
            raise LaunchArgumentError(
                f"client.{door} takes what kernel.compile(client, dim, ...) gives, not {compiled!r}; "
                f"a kernel itself is launched by kernel.{door}(client, count, dim, ...)"
            )
        if compiled.mode not in _MODES[door]:
            raise LaunchArgumentError(
                f"client.{door} takes kernels compiled in mode {' or '.join(_MODES[door])}; this one is "
                f"{compiled.mode}: compile it with mode={_MODES[door][0]!r}, or use the other door"
            )
        compiled.enqueue(self, count, bindings)

    def flush(self) -> None:
        """Submit what is queued; waits for nothing. Raises ServerUnhealthy with the failures known so far."""
        self.server.flush(self._stream())

    def sync(self) -> Future[None]:
        """The completion of the stream's work so far; making it does not wait, `.result()` or `await` does."""
        future: Future[None] = self.server.sync(self._stream())
        return future

    def execution_stream(self) -> StreamId:
        """The stream that this client's next work goes to."""
        return self._stream()

    def set_stream(self, stream: StreamId) -> None:
        """Pin this client to a stream. Makes no dependency on what was queued elsewhere."""
        self._pin = checked_stream(stream)

    def same_execution_queue(self, other: ClientBase) -> bool:
        """True when the two share device, server and resolved stream; says nothing of completion."""
        checked_client(other, "same_execution_queue")
        return self.server is other.server and self._stream() == other._stream()

    def fixed_execution_queue(self) -> Self:
        """A clone pinned to the stream resolved now; creates and waits for nothing."""
        return type(self)(self.server, self.runtime, self._stream())

    def exclusive(self, fn: Callable[[], T]) -> T:
        """Run `fn` with no other thread's work on the device in between."""
        result: T = self.server.exclusive(checked_function(fn, "exclusive"))
        return result

    @block
    def capture(self) -> Iterator[Graph]:
        """`with client.capture() as graph:` records launches instead of running them; then
        `graph.replay()`. Reading, writing, syncing and allocating inside raise ServerError, and so does replaying
        a graph whose block raised: it may lack launches."""
        stream, nodes = self._stream(), []  # type: ignore[var-annotated]  # the graph's own list
        self.server.capture(stream, nodes)
        graph = Graph(self.server, stream, nodes)
        try:
            yield graph
            graph.close()
        finally:
            self.server.capture(stream, None)
