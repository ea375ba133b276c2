"""Handle: what holds a piece of device memory; Block: the piece itself, as the pools know it.

Every live handle has one entry in its block's `views`: True for the first, False for the slices.
Whoever takes the bottom one out frees the block. Appending to and popping from a list are atomic,
so no lock is taken, which `__del__` could not do: it may run anywhere, under any lock.
"""

from __future__ import annotations

import operator
from collections import deque
from typing import Any, Protocol

from ruda_core.capabilities import Device
from ruda_core.checks import InProcess
from ruda_core.errors import InvalidHandle


class BlockOwner(Protocol):
    """The server, as memory sees it."""

    device: Device


class Block:
    """A range of one storage. `home` is the queue whose free list takes it back; `queue` the one in
    whose order its uses are, unless `shared` says that several queues use it."""

    __slots__ = (
        "freed",
        "home",
        "offset",
        "page",
        "queue",
        "requested",
        "server",
        "shared",
        "size",
        "stamp",
        "storage",
        "views",
    )

    def __init__(
        self,
        server: BlockOwner,
        page: Any,
        storage: Any,
        offset: int,
        size: int,
        home: Any,
        freed: deque[Block],
    ) -> None:
        self.server = server
        self.page = page
        self.storage = storage
        self.offset = offset
        self.size = size
        self.home = home
        self.queue = home
        self.shared: Any = None
        self.stamp = -1
        """Number of the last unsubmitted batch that used it."""
        self.requested = -1
        """Bytes asked for; -1 while free."""
        self.freed = freed
        self.views: list[bool] = []

    def hold(self) -> None:
        """Keep it from being freed until `drop`."""
        self.views.append(False)

    def drop(self) -> None:
        """End one hold, or a handle's life."""
        if self.views.pop():
            self.freed.append(self)


class Handle(InProcess):
    """A range of device memory, in bytes. Dropping the last handle of an allocation frees it, and
    never before queued work that uses it has finished."""

    __slots__ = ("block", "offset", "offset_start", "size", "size_in_use")

    _instead = "send the bytes, client.read_one(handle), and make a handle of them there"

    def __init__(
        self, block: Block, size: int, offset_start: int = 0, size_in_use: int | None = None
    ) -> None:
        """A handle that owns one entry of `block.views`, which the caller has put there."""
        self.block = block
        self.size = size
        self.offset_start = offset_start
        self.size_in_use = size if size_in_use is None else size_in_use
        self.offset = block.offset + offset_start

    @property
    def device(self) -> Device:
        """Where the memory is."""
        return self.block.server.device

    @property
    def offset_end(self) -> int:
        """Bytes of the allocation that this handle leaves out at its end."""
        return self.size - self.offset_start - self.size_in_use

    def slice(self, start: int, stop: int) -> Handle:
        """The bytes from `start` to `stop` of this handle, without a copy.

        Raises InvalidHandle unless 0 <= start <= stop <= size_in_use.
        """
        try:
            start, stop = operator.index(start), operator.index(stop)
        except TypeError:
            raise InvalidHandle(
                f"a slice of a handle is from one byte to another, two ints, not from {start!r} to {stop!r}"
            ) from None
        if not 0 <= start <= stop <= self.size_in_use:
            raise InvalidHandle(
                f"bytes {start} to {stop} are not inside this handle of {self.size_in_use} bytes on {self.device}: "
                f"write 0 <= start <= stop <= {self.size_in_use}"
            )
        self.block.hold()
        return Handle(self.block, self.size, self.offset_start + start, stop - start)

    def __copy__(self) -> Handle:
        return self.slice(0, self.size_in_use)  # with an entry of its own in the block's views

    def __deepcopy__(self, memo: object) -> Handle:
        raise TypeError(
            "a deep copy of a Handle needs a client to copy with: write client.to_client(handle, client)"
        )

    def can_mut(self) -> bool:
        """True when no other handle or graph shares the allocation, so that it may be reused in place."""
        return len(self.block.views) == 1

    def __repr__(self) -> str:
        part = (
            f", bytes {self.offset_start} to {self.offset_start + self.size_in_use}" if self._is_slice else ""
        )
        return f"Handle({self.device}, {self.size} bytes{part})"

    @property
    def _is_slice(self) -> bool:
        return self.size_in_use != self.size

    def __del__(self) -> None:
        try:
            block = self.block
        except AttributeError:  # construction failed half way
            return
        if block.views.pop():
            block.freed.append(block)
