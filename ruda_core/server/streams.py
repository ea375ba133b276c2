"""Stream ids: which order a piece of work belongs to."""

from __future__ import annotations

import itertools
import threading
from contextvars import ContextVar, Token

from ruda_core.errors import ServerError

_numbers = itertools.count(1)


class StreamId(int):
    """The name of one order of execution. Streams share a device's native queues."""

    __slots__ = ()

    @staticmethod
    def new() -> StreamId:
        """An id that nobody else has."""
        return StreamId(next(_numbers))

    @staticmethod
    def current() -> StreamId:
        """The caller's stream: a new thread starts on its own; an asyncio task or `to_thread` call
        keeps its creator's."""
        return current_stream()

    def __repr__(self) -> str:
        return f"StreamId({int(self)})"

    __str__ = __repr__


_current: ContextVar[StreamId | None] = ContextVar("ruda_stream", default=None)
_thread = threading.local()
current_or_none = _current.get


def current_stream() -> StreamId:
    """`StreamId.current()`.

    The fallback is the thread's id, not a new one: sibling tasks whose creator never asked must agree.
    """
    stream = _current.get()
    if stream is None:
        stream = getattr(_thread, "stream", None)
        if stream is None:
            stream = _thread.stream = StreamId.new()
        _current.set(stream)
    return stream


def checked_stream(value: object) -> StreamId:
    """`value`, if it names a stream; raises ServerError otherwise."""
    if isinstance(value, StreamId) and value > 0:
        return value
    raise ServerError(f"a stream is named by a StreamId, such as StreamId.new(), not by {value!r}")


class stream:  # noqa: N801  # reads as a statement: `with ruda.stream(id):`
    """`with ruda.stream(id):` makes `id` the current stream inside."""

    __slots__ = ("_stream", "_tokens")

    def __init__(self, stream: StreamId) -> None:
        self._stream = checked_stream(stream)
        self._tokens: list[Token[StreamId | None]] = []

    def __enter__(self) -> StreamId:
        self._tokens.append(_current.set(self._stream))
        return self._stream

    def __exit__(self, *failure: object) -> None:
        _current.reset(self._tokens.pop())
