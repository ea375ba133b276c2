"""Copies between host and device, each in order with the work on its storage."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from ruda_core.driver import Pending
from ruda_core.errors import DeviceLost, RudaError, ServerError
from ruda_core.memory import Block, Bytes, Handle
from ruda_core.server.queue import Queue
from ruda_core.server.streams import StreamId

if TYPE_CHECKING:
    from ruda_core.server.driver_server import DriverServer

T = TypeVar("T")


class Transfers:
    """The transfers of one server."""

    def __init__(self, server: DriverServer) -> None:
        self._server = server
        self._driver = server.driver
        self._overtake = server.driver.traits.writes_overtake
        self._in_place_from = server.driver.traits.read_in_place_from

    def write(self, stream: StreamId, handle: Handle, data: memoryview) -> None:
        """Copy `data` to the handle's start. Raises InvalidHandle if it is longer."""
        server = self._server
        server.fits(handle, data.nbytes)
        if server.captures.active:
            server.captures.refuse(stream, "write")
        queue = server.queue_of(stream)
        if not data.nbytes:
            return
        block, offset = handle.block, handle.offset

        def enqueue() -> None:
            if self._overtake and block.stamp == self._driver.batch(queue.native):
                self._driver.flush(queue.native)
            self._driver.write(queue.native, block.storage, offset, data)

        start = time.perf_counter_ns()
        self._ordered(queue, block, True, enqueue)
        if server.recorders:
            stop = time.perf_counter_ns()
            for recorder in server.recorders:
                recorder.transfer("write", data.nbytes, queue.index, start, stop)

    def read(self, stream: StreamId, handles: Sequence[Handle]) -> tuple[list[Bytes], list[Pending]]:
        """Enqueue copies of all handles, and of the stream's fault record if there may be one."""
        return self._read(stream, handles, 1 << 63)

    def read_now(self, stream: StreamId, handles: Sequence[Handle]) -> list[Bytes]:
        """The same, waiting; large ones in place where the device can."""
        values, pendings = self._read(stream, handles, self._in_place_from)
        for pending in pendings:
            try:
                pending.wait()
            except DeviceLost as error:
                self._server.lose(error)
                raise
        return values

    def _read(
        self, stream: StreamId, handles: Sequence[Handle], in_place_from: int
    ) -> tuple[list[Bytes], list[Pending]]:
        server = self._server
        if server.captures.active:
            server.captures.refuse(stream, "read")
        queue = server.queue_of(stream)
        values: list[Bytes] = []
        pendings: list[Pending] = []
        for handle in handles:
            out = server.host.take(handle.size_in_use)
            values.append(out)
            if handle.size_in_use:
                pending = self._read_into(queue, handle, out, handle.size_in_use >= in_place_from)
                if pending is not None:
                    pendings.append(pending)
        server.begin_fault_check(stream)
        return values, pendings

    def _read_into(self, queue: Queue, handle: Handle, out: Bytes, in_place: bool) -> Pending | None:
        server, block, offset = self._server, handle.block, handle.offset
        start = time.perf_counter_ns()
        pending: Pending | None = None
        if in_place:
            self._ordered(
                queue,
                block,
                False,
                lambda: self._driver.read_now(queue.native, block.storage, offset, out.data),
            )
        else:
            pending = self._ordered(
                queue,
                block,
                False,
                lambda: self._driver.read(queue.native, block.storage, offset, out.data),
            )
        if server.recorders:
            stop = time.perf_counter_ns()
            for recorder in server.recorders:
                recorder.transfer("read", out.nbytes, queue.index, start, stop, pending)
        return pending

    def copy(self, stream: StreamId, source: Handle, target: Handle) -> bool:
        """Copy on the device; False where the driver does not offer it."""
        server = self._server
        server.fits(target, source.size_in_use)
        server.captures.refuse(stream, "copy")
        queue = server.queue_of(stream)
        if not source.size_in_use:
            return True
        begin, end = source.block, target.block
        with server.lock:
            server.hazards.order(queue, begin, False)
            server.hazards.order(queue, end, True)
            with queue.lock:
                done = self._driver.copy(
                    queue.native, begin.storage, source.offset, end.storage, target.offset, source.size_in_use
                )
                queue.seq += 1
                if self._overtake:
                    begin.stamp = end.stamp = self._driver.batch(queue.native)
            server.hazards.note(queue, begin, False)
            server.hazards.note(queue, end, True)
        return done

    def _ordered(self, queue: Queue, block: Block, write: bool, enqueue: Callable[[], T]) -> T:
        """Run `enqueue` under the queue's lock, after the uses of `block` that it depends on."""
        if block.queue is queue and block.shared is None:
            with queue.lock:
                if block.shared is None and block.queue is queue:
                    result = self._guarded(enqueue)
                    queue.seq += 1
                    return result
        server = self._server
        with server.lock:
            server.hazards.order(queue, block, write)
            with queue.lock:
                result = self._guarded(enqueue)
                queue.seq += 1
            server.hazards.note(queue, block, write)
            return result

    def _guarded(self, enqueue: Callable[[], T]) -> T:
        """Wrap a driver's own exception once; note a lost device."""
        try:
            return enqueue()
        except DeviceLost as error:
            self._server.lose(error)
            raise
        except RudaError:
            raise
        except Exception as error:
            raise ServerError(
                f"a transfer failed on {self._server.device}: {type(error).__name__}: {error}"
            ) from error
