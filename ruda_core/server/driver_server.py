"""DriverServer: the stock server, over any Driver."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

from ruda_core.artifact import KernelSource
from ruda_core.capabilities import Device, features_of
from ruda_core.driver import Driver, Pending, Timestamp
from ruda_core.errors import DeviceLost, OutOfDeviceMemory, ServerError, ServerUnhealthy
from ruda_core.memory import Block, Bytes, Handle, HostPool, MemoryUsage, Pool, PoolReport
from ruda_core.profiling import Recorder
from ruda_core.server import lifecycle
from ruda_core.server.captures import Captures
from ruda_core.server.compute_server import ComputeServer, Grid
from ruda_core.server.failures import Failures, raise_all
from ruda_core.server.faults import FaultCheck, FaultRecord, FaultRecords
from ruda_core.server.futures import Future, wait_all
from ruda_core.server.hazards import Hazards
from ruda_core.server.programs import CodeStore, Compiled, Program, ProgramCache
from ruda_core.server.queue import Queue
from ruda_core.server.queues import Queues
from ruda_core.server.streams import StreamId
from ruda_core.server.transfers import Transfers

T = TypeVar("T")


class DriverServer(ComputeServer):
    """Pools, streams, programs, faults and failures of one opened device.

    Locks: `lock` for hazards, growth and first use; each queue's own through every enqueue; the
    server's before a queue's. Nothing waits under either, save `exclusive`'s own function.
    """

    direct = True

    def __init__(
        self,
        device: Device,
        driver: Driver,
        *,
        store: CodeStore | None = None,
        pool_limit: int | None = None,
        compiled: Compiled | None = None,
    ) -> None:
        """`store` keeps compiled code, `pool_limit` bounds the bytes that the pools reserve,
        `compiled(source, seconds)` is called after each run of the target's compiler."""
        self.device = device
        self.driver = driver
        self.properties = driver.properties
        self.target = driver.target
        self.features = features_of(driver.target)
        self.failures = Failures()
        self.host = HostPool(driver.host_memory)
        self.lock: Any = threading.RLock()
        self.queueing = Queues(self)
        self.queues = self.queueing.all
        self.streams = self.queueing.by_stream
        self.hazards = Hazards(driver)
        self.programs = ProgramCache(driver, store, compiled)
        self.faults = FaultRecords(driver, self.fixed, self.lock, self.programs)
        self.captures = Captures(self)
        self.transfers = Transfers(self)
        self.recorders: tuple[Recorder, ...] = ()
        """Those of the open traces; replaced as a whole, under the server's lock."""
        self._refuse: Callable[[], NoReturn] | None = None
        self._void: Any = None
        self.pool = Pool(
            self,
            lock=self.lock,
            allocate=driver.allocate,
            reclaim=self._reclaim,
            settle=self.hazards.settle,
            max_block=min(self.properties.max_allocation, driver.traits.max_page),
            alignment=self.properties.alignment,
            limit=pool_limit,
            memory_bytes=self.properties.memory_bytes,
            oldest_first=driver.traits.writes_overtake,
        )
        lifecycle.watch(self)

    # Streams -----------------------------------------------------------------------------------

    def queue_of(self, stream: int) -> Queue:
        """The queue of a stream id. Raises DeviceLost or ForkedProcessError for a server that is gone."""
        try:
            return self.streams[stream]
        except KeyError:
            self.check()
            with self.lock:
                return self.queueing.assign(stream)

    def report(self, stream: int, error: Exception) -> None:
        """Keep a failure that the driver found late."""
        if isinstance(error, DeviceLost):
            self.lose(error)
        self.failures.report(stream, error)

    # Launches ----------------------------------------------------------------------------------

    def load(self, source: KernelSource) -> Program:
        self.check()
        return self.programs.load(source)

    def launch(
        self,
        stream: StreamId,
        program: Program,
        grid: Grid,
        blocks: Sequence[Block],
        writes: Sequence[bool],
        words: bytes,
    ) -> None:
        queue = self.queue_of(stream)
        record = self.faults.of(stream, queue) if program.source.mode == "validate" else None
        if self.captures.add(stream, program, grid, blocks, writes, words):
            return
        with self.lock:
            storages = [self._storage(block) for block in blocks]
            if record is not None:
                storages.append(record.storage)
            for block, write in zip(blocks, writes, strict=True):
                if block.storage is not None:
                    self.hazards.order(queue, block, write)
            with queue.lock:
                try:
                    queue.live[program](stream, *grid, *storages, words)
                except Exception as error:
                    raise self.launch_failed(program, error)  # noqa: B904  # it has its cause already
                queue.seq += 1
                if self.driver.traits.writes_overtake:
                    batch = self.driver.batch(queue.native)
                    for block in blocks:
                        block.stamp = batch
            for block, write in zip(blocks, writes, strict=True):
                if block.storage is not None:
                    self.hazards.note(queue, block, write)

    def _storage(self, block: Block) -> Any:
        """A block's storage; for one of no size, a piece that nothing is read from or written to."""
        if block.storage is not None:
            return block.storage
        if self._void is None:
            self._void = self.fixed()
        return self._void

    def fixed(self) -> Any:
        """256 bytes outside the pools, for the server's own use. Runs under the server's lock."""
        try:
            return self.driver.allocate(256)
        except MemoryError as error:
            raise OutOfDeviceMemory(f"{self.device} has no 256 bytes left", requested=256) from error

    def fault_record(self, stream: int, queue: Queue) -> FaultRecord:
        """Where a validate launch notes its faults; for generated launchers."""
        return self.faults.of(stream, queue)

    # Execution control -------------------------------------------------------------------------

    def flush(self, stream: StreamId) -> None:
        self._alive(lost_is_fine=True)
        self.captures.refuse(stream, "flush")
        if self._refuse is None:
            queue = self.queue_of(stream)
            self.begin_fault_check(stream)
            with queue.lock:
                self.driver.flush(queue.native)
        errors, checks = self.failures.take(stream)
        for check in checks:
            if not check.pending.done():
                self.failures.expect(stream, check)
                continue
            errors += wait_all(self, [check.pending])
            fault = check.fault()
            if fault is not None:
                errors.append(fault)
        if errors:
            raise ServerUnhealthy(errors)

    def sync(self, stream: StreamId) -> Future[None]:
        self.captures.refuse(stream, "sync")
        pending = self.completion(self.queue_of(stream))
        self.begin_fault_check(stream)
        return Future(self, stream, [pending], None)

    def completion(self, queue: Queue) -> Pending:
        """Submit what is queued; its completion."""
        with queue.lock:
            return self.driver.completion(queue.native)

    def wait(self, stream: StreamId) -> None:
        self.captures.refuse(stream, "wait")
        errors = wait_all(self, [self.completion(self.queue_of(stream))])
        for error in errors:
            self.failures.report(stream, error)

    def begin_fault_check(self, stream: int) -> None:
        """Send for the stream's fault record, if a launch may have written to it."""
        check: FaultCheck | None = self.faults.check(stream, self.host.take)
        if check is not None:
            self.failures.expect(stream, check)

    def collect(self, stream: int) -> list[Exception]:
        """Wait for fault checks under way; what went wrong on the stream until now."""
        errors, checks = self.failures.take(stream)
        if checks:
            errors += wait_all(self, [check.pending for check in checks])
            errors += [fault for check in checks if (fault := check.fault()) is not None]
        return errors

    def exclusive(self, fn: Callable[[], T]) -> T:
        self.check()
        with self.lock:
            held = list(self.queues)
            for queue in held:
                queue.lock.acquire()
            try:
                return fn()
            finally:
                for queue in reversed(held):
                    queue.lock.release()

    def timestamp(self, stream: StreamId) -> Timestamp | None:
        queue = self.queue_of(stream)
        with queue.lock:
            return self.driver.timestamp(queue.native)

    def autotune_fingerprint(self) -> str | None:
        return self.driver.autotune_fingerprint()

    # Memory ------------------------------------------------------------------------------------

    def allocate(self, stream: StreamId, nbytes: int) -> Handle:
        if self.captures.active:
            self.captures.refuse(stream, "allocate")
        queue = self.queue_of(stream)
        if nbytes > 0:
            return Handle(self.pool.take(queue, nbytes), nbytes)
        if nbytes < 0:
            raise ServerError(f"an allocation of {nbytes} bytes: sizes count from 0")
        block = Block(self, None, None, 0, 0, None, _NOWHERE)
        block.views.append(True)
        return Handle(block, 0)

    def write(self, stream: StreamId, handle: Handle, data: memoryview) -> None:
        self.transfers.write(stream, handle, data)

    def read(self, stream: StreamId, handles: Sequence[Handle]) -> list[Bytes]:
        values = self.transfers.read_now(stream, handles)
        errors = self.collect(stream)
        if errors:
            raise_all(errors)
        return values

    def read_async(
        self, stream: StreamId, handles: Sequence[Handle], finish: Callable[[list[Bytes]], Any] | None = None
    ) -> Future[Any]:
        values, pendings = self.transfers.read(stream, handles)
        return Future(self, stream, pendings, values, finish)

    def copy(self, stream: StreamId, source: Handle, target: Handle) -> None:
        if not self.transfers.copy(stream, source, target):
            # A copy is no read: what failed on the stream stays for the next one.
            self.write(stream, target, self.transfers.read_now(stream, [source])[0].data)

    def memory_usage(self) -> MemoryUsage:
        self.check()
        return self.pool.usage()

    def memory_report(self) -> list[PoolReport]:
        self.check()
        return self.pool.report()

    def memory_cleanup(self) -> None:
        self.check()
        self._trim()
        self.host.clear()

    def _reclaim(self) -> None:
        """Find what is unused, wait until the device no longer uses it, give it back."""
        gc.collect()  # a reference cycle may hold handles
        self._trim()

    def _trim(self) -> None:
        pages = self.pool.trim()
        if not pages:
            return
        wait_all(self, [self.completion(queue) for queue in list(self.queues)])
        with self.lock:
            for page in pages:
                self.driver.release(page.storage)

    def native(self, handle: Handle) -> Any:
        if handle.block.storage is None:
            raise ServerError(f"an empty handle on {self.device} has no native object")
        return self.driver.native(handle.block.storage, handle.offset, handle.size_in_use)

    # Traces and captures -----------------------------------------------------------------------

    def trace(self, recorder: Recorder) -> None:
        self.check()
        with self.lock:
            self.recorders = (*self.recorders, recorder)
            self.queueing.retable_all()

    def end_trace(self, recorder: Recorder) -> None:
        self.check()
        with self.lock:
            self.recorders = tuple(other for other in self.recorders if other is not recorder)
            self.queueing.retable_all()

    def capture(self, stream: StreamId, nodes: list[Any] | None) -> None:
        self.queue_of(stream)
        with self.lock:
            self.captures.set(stream, nodes)
            self.queueing.retable_all()

    # End ---------------------------------------------------------------------------------------

    def check(self) -> None:
        if self._refuse is not None:
            self._refuse()

    def _alive(self, *, lost_is_fine: bool) -> None:
        if self._refuse is not None and not (lost_is_fine and self._refuse is not lifecycle.refuse_fork):
            self._refuse()

    def lose(self, error: DeviceLost) -> None:
        if self._refuse is not None:
            return
        text = str(error)

        def refuse() -> NoReturn:
            raise DeviceLost(
                f"{self.device} is lost; restart the process to use it again ({text})"
            ) from error

        self._end(refuse)

    def forked(self) -> None:
        self.lock = lifecycle.ForkedLock()
        self.queueing.forked()
        self._end(lifecycle.refuse_fork)

    def _end(self, refuse: Callable[[], NoReturn]) -> None:
        """Refuse everything from now on."""
        self._refuse = refuse
        self.queueing.end(refuse)

    def close(self, limit: float) -> None:
        if self._refuse is not None:
            return
        end = time.monotonic() + limit
        try:
            for queue in self.queues:
                if queue.lock.acquire(timeout=max(0.0, end - time.monotonic())):
                    try:
                        pending = self.driver.completion(queue.native)
                    finally:
                        queue.lock.release()
                    _wait_until(pending, end)
            self.driver.close()
        except Exception:
            return  # the process is ending: nobody is left to tell


def _wait_until(pending: Pending, end: float) -> None:
    nap = 1e-4
    while not pending.done() and time.monotonic() < end:
        time.sleep(nap)
        nap = min(nap * 2, 1e-2)


class _Nowhere:
    """Where blocks of no size go when they are freed."""

    def append(self, block: Block) -> None:
        return None


_NOWHERE: Any = _Nowhere()
