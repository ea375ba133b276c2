"""The device's pools: slabs up to 1 MiB, chunks that split and merge above, large blocks alone.

A hit takes no lock: free lists are deques, one for each queue and size. Growing, splitting and
trimming run under `lock`, which is the server's. Nothing here waits: `trim` hands idle-looking
pages to its caller, who waits for the queues before giving them to the driver.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from ruda_core.errors import BufferTooBig, OutOfDeviceMemory, PoolCapacityExceeded, ServerError
from ruda_core.memory.handle import Block, BlockOwner
from ruda_core.memory.usage import MemoryUsage, PoolReport

SLAB_LIMIT = 1 << 20
"""Largest block that shares a page with others of its size."""
CHUNK_LIMIT = 16 << 20
"""Largest block that is cut from a page of chunks."""
CHUNK_PAGE = 32 << 20
_CHUNK_STEP = 1 << 18
_SINGLE_STEP = 2 << 20


class Home(Protocol):
    """A queue, as memory sees it: the owner of free lists, by block size."""

    free: dict[int, deque[Block]]


class Page:
    """One storage of the driver. `size` is that of its blocks, 0 where they differ."""

    __slots__ = ("blocks", "carved", "home", "kind", "nbytes", "size", "storage")

    def __init__(self, storage: Any, nbytes: int, kind: str, size: int, home: Any) -> None:
        self.storage = storage
        self.nbytes = nbytes
        self.kind = kind
        self.size = size
        self.home = home
        self.carved = 0
        self.blocks: list[Block] = []


class _OverLimit(Exception):  # noqa: N818  # becomes PoolCapacityExceeded with what was asked for
    """No page of the sizes wanted fits under the pool limit."""


class Pool:
    """All device memory of one server."""

    def __init__(
        self,
        server: BlockOwner,
        *,
        lock: AbstractContextManager[Any],
        allocate: Callable[[int], Any],
        reclaim: Callable[[], None],
        settle: Callable[[Block], None],
        max_block: int,
        alignment: int = 256,
        limit: int | None = None,
        memory_bytes: int | None = None,
        oldest_first: bool = False,
    ) -> None:
        """`allocate(nbytes)` raises MemoryError when the device is full; `reclaim()`, called with no
        lock held, trims and waits; `settle(block)` puts a block's uses by other queues before its
        home's later work; `limit` bounds the bytes reserved; `oldest_first` takes the block that
        was freed first (the least likely to be in an open batch)."""
        self._server = server
        self._lock = lock
        self._allocate = allocate
        self._reclaim = reclaim
        self._settle = settle
        self._max_block = max_block
        self._smallest = max(256, alignment)
        self._limit = limit
        self._memory_bytes = memory_bytes
        self._oldest_first = oldest_first
        self._slabs: dict[tuple[Any, int], Page] = {}
        self.pages: list[Page] = []
        self.reserved = 0
        self.freed: deque[Block] = deque()
        """Blocks whose last handle is gone; taken in by the next allocation."""

    # Taking ------------------------------------------------------------------------------------

    def take(self, home: Home, nbytes: int) -> Block:
        """A block of at least `nbytes` (at least 1) with one entry in `views`, for the caller's handle.

        Raises BufferTooBig, PoolCapacityExceeded or OutOfDeviceMemory; the pool stays usable.
        """
        if self.freed:
            self.drain()
        size = self._class_of(nbytes)
        try:
            free = home.free[size]
            block = free.popleft() if self._oldest_first else free.pop()
        except (KeyError, IndexError):
            block = self._miss(home, size, nbytes)
        block.requested = nbytes
        block.views.append(True)
        return block

    def drain(self) -> None:
        """Put freed blocks back on their free lists."""
        pop = self.freed.popleft
        try:
            while True:
                block = pop()
                block.requested = -1
                free = block.home.free
                try:
                    free[block.size].append(block)
                except KeyError:
                    free.setdefault(block.size, deque()).append(block)
        except IndexError:
            return

    def _class_of(self, nbytes: int) -> int:
        if nbytes <= SLAB_LIMIT:
            size: int = 1 << (nbytes - 1).bit_length()
            return size if size > self._smallest else self._smallest
        step = _CHUNK_STEP if nbytes <= CHUNK_LIMIT else _SINGLE_STEP
        rounded = -(-nbytes // step) * step
        return rounded if rounded <= self._max_block else -(-nbytes // 256) * 256

    def _miss(self, home: Home, size: int, nbytes: int) -> Block:
        if nbytes > self._max_block:
            raise BufferTooBig(
                f"{nbytes} bytes in one allocation; {self._server.device} takes at most {self._max_block}: "
                f"split the data",
                requested=nbytes,
                in_use=self.usage().bytes_in_use,
                limit=self._max_block,
            )
        try:
            return self._find_or_grow(home, size, nbytes)
        except (MemoryError, PoolCapacityExceeded):
            self._reclaim()
        try:
            return self._find_or_grow(home, size, nbytes)
        except MemoryError as error:
            usage = self.usage()
            raise OutOfDeviceMemory(
                f"{self._server.device} has no memory left for {nbytes} bytes; ruda holds {usage}: "
                f"drop handles, or call client.memory_cleanup()",
                requested=nbytes,
                in_use=usage.bytes_in_use,
                limit=self._memory_bytes,
            ) from error

    def _find_or_grow(self, home: Home, size: int, nbytes: int) -> Block:
        with self._lock:
            self.drain()
            found = self._reuse(home, size)
            if found is not None:
                return found
            try:
                return self._grow(home, size)
            except _OverLimit as reason:
                raise self._over_limit(nbytes) from reason

    def _reuse(self, home: Home, size: int) -> Block | None:
        free = home.free.get(size)
        if free:
            try:
                return free.pop()
            except IndexError:  # another thread was faster
                pass
        if size <= SLAB_LIMIT:
            page = self._slabs.get((home, size))
            return self._carve(page) if page is not None and page.carved < page.nbytes else None
        if size > CHUNK_LIMIT:
            return self._near_fit(home, size)
        return self._split(home, size) or (self._split(home, size) if self._merge(home) else None)

    def _carve(self, page: Page) -> Block:
        block = Block(self._server, page, page.storage, page.carved, page.size, page.home, self.freed)
        page.carved += page.size
        page.blocks.append(block)
        return block

    def _near_fit(self, home: Home, size: int) -> Block | None:
        """A free block that stands alone and wastes at most a quarter."""
        fits = [n for n, free in list(home.free.items()) if size <= n <= size + size // 4 and free]
        for n in sorted(fits):
            try:
                return home.free[n].pop()
            except IndexError:
                continue
        return None

    # Chunks ------------------------------------------------------------------------------------

    def _chunk_pages(self, home: Home) -> list[Page]:
        return [page for page in self.pages if page.kind == "chunks" and page.home is home]

    def _split(self, home: Home, size: int) -> Block | None:
        """The smallest free chunk that fits, cut to size."""
        fits = [b for p in self._chunk_pages(home) for b in p.blocks if b.requested < 0 and b.size >= size]
        for block in sorted(fits, key=lambda b: (b.size, b.offset)):
            if self._claim(block):
                rest = block.size - size
                if rest >= _CHUNK_STEP:
                    self._cut(block, size)
                return block
        return None

    def _cut(self, block: Block, size: int) -> None:
        page = block.page
        rest = Block(
            self._server, page, block.storage, block.offset + size, block.size - size, block.home, self.freed
        )
        rest.queue, rest.shared, rest.stamp = block.queue, block.shared, block.stamp
        block.size = size
        page.blocks.insert(page.blocks.index(block) + 1, rest)
        block.home.free.setdefault(rest.size, deque()).append(rest)

    def _merge(self, home: Home) -> bool:
        """Join free neighbours; True when any were."""
        merged = False
        for page in self._chunk_pages(home):
            kept: list[Block] = []
            for block in page.blocks:
                last = kept[-1] if kept else None
                if last is None or last.requested >= 0 or block.requested >= 0 or not self._claim(block):
                    kept.append(block)
                    continue
                if not self._claim(last):
                    home.free.setdefault(block.size, deque()).append(block)
                    kept.append(block)
                    continue
                self._settle(last)
                self._settle(block)
                last.size += block.size
                last.stamp = max(last.stamp, block.stamp)
                home.free.setdefault(last.size, deque()).append(last)
                merged = True
            page.blocks = kept
        return merged

    def _claim(self, block: Block) -> bool:
        """Take a free block off its list; False when another thread was faster."""
        free = block.home.free.get(block.size)
        while free:
            try:
                free.remove(block)
                return True
            except ValueError:
                return False
            except IndexError:  # the deque changed meanwhile: look again
                continue
        return False

    # Growing and trimming ----------------------------------------------------------------------

    def _grow(self, home: Home, size: int) -> Block:
        if size <= SLAB_LIMIT:
            page = self._new_page(home, "slab", size, (max(SLAB_LIMIT, 4 * size), size))
            self._slabs[home, size] = page
            return self._carve(page)
        if size > CHUNK_LIMIT:
            return self._carve(self._new_page(home, "single", size, (size,)))
        page = self._new_page(home, "chunks", 0, (CHUNK_PAGE, size))
        page.size = page.nbytes
        block = self._carve(page)
        page.size = 0
        if block.size - size >= _CHUNK_STEP:
            self._cut(block, size)
        return block

    def _new_page(self, home: Home, kind: str, size: int, wanted: tuple[int, ...]) -> Page:
        """A page of the first size that the limits and the device allow."""
        for nbytes in wanted:
            last = nbytes == wanted[-1]
            if nbytes > self._max_block and not last:
                continue
            if self._limit is not None and self.reserved + nbytes > self._limit:
                if last:
                    raise _OverLimit
                continue
            try:
                storage = self._allocate(nbytes)
            except MemoryError:
                if last:
                    raise
                continue
            page = Page(storage, nbytes, kind, size, home)
            self.pages.append(page)
            self.reserved += nbytes
            return page
        raise ServerError("a pool was asked for a page of no size")  # unreachable: `wanted` is never empty

    def _over_limit(self, nbytes: int) -> PoolCapacityExceeded:
        usage = self.usage()
        return PoolCapacityExceeded(
            f"{nbytes} bytes more on {self._server.device} would pass the pool limit of {self._limit}; "
            f"it holds {usage}: drop handles, or raise pool_limit",
            requested=nbytes,
            in_use=usage.bytes_in_use,
            limit=self._limit,
        )

    def trim(self) -> list[Page]:
        """Take pages without a live block out of the pool; the caller waits, then releases their storage."""
        with self._lock:
            self.drain()
            idle = [page for page in self.pages if self._empty(page)]
            for page in idle:
                self.pages.remove(page)
                self.reserved -= page.nbytes
                if self._slabs.get((page.home, page.size)) is page:
                    del self._slabs[page.home, page.size]
            return idle

    def _empty(self, page: Page) -> bool:
        """Claim every block of a page that has no live one."""
        if any(block.requested >= 0 for block in page.blocks):
            return False
        for at, block in enumerate(page.blocks):
            if not self._claim(block):
                for claimed in page.blocks[:at]:
                    page.home.free.setdefault(claimed.size, deque()).append(claimed)
                return False
        return True

    # Figures -----------------------------------------------------------------------------------

    def usage(self) -> MemoryUsage:
        """Figures over all queues, at this moment."""
        with self._lock:
            self.drain()
            live = [b for page in self.pages for b in page.blocks if b.requested >= 0]
            used = sum(b.requested for b in live)
            return MemoryUsage(len(live), used, sum(b.size for b in live) - used, self.reserved)

    def report(self) -> list[PoolReport]:
        """Figures for each kind and block size, smallest first."""
        with self._lock:
            self.drain()
            groups: dict[tuple[str, int], list[Page]] = {}
            for page in self.pages:
                groups.setdefault((page.kind, page.size), []).append(page)
            return [
                _report(kind, size, pages) for (kind, size), pages in sorted(groups.items(), key=_by_size)
            ]


def _by_size(item: tuple[tuple[str, int], list[Page]]) -> tuple[int, int]:
    (kind, size), _ = item
    return ("slab", "chunks", "single").index(kind), size


def _report(kind: str, size: int, pages: list[Page]) -> PoolReport:
    blocks = [block for page in pages for block in page.blocks]
    live = [block for block in blocks if block.requested >= 0]
    return PoolReport(
        kind=kind,
        block_size=size,
        pages=len(pages),
        blocks_in_use=len(live),
        blocks_free=len(blocks) - len(live),
        bytes_in_use=sum(block.requested for block in live),
        bytes_reserved=sum(page.nbytes for page in pages),
    )
