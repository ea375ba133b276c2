"""NumPy memory, and queues that are threads: work is late, as on a real device."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from queue import SimpleQueue
from typing import Any

import numpy as np

from ruda_core.artifact import KernelSource
from ruda_core.capabilities import Device, DeviceProperties
from ruda_core.driver import Driver, DriverTraits, LaunchFunction, Pending, Report
from ruda_core.reference.memory import Page
from ruda_core.reference.program import Program  # stands for the vendor's compiler
from ruda_core.reference.target import ALIGNMENT, TARGET

Work = Callable[[], None]


class Mark(Pending):
    """A place in a queue: passed once everything before it is done."""

    def __init__(self) -> None:
        self._passed = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list[Work] = []
        self._error: Exception | None = None
        self._nanoseconds = 0

    def set(self, error: Exception | None = None) -> None:
        """Called by the queue's thread."""
        with self._lock:
            self._error = error
            self._nanoseconds = time.perf_counter_ns()
            self._passed.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def done(self) -> bool:
        return self._passed.is_set()

    def wait(self) -> None:
        self._passed.wait()
        if self._error is not None:
            raise self._error

    def on_done(self, callback: Work) -> bool:
        with self._lock:
            if not self._passed.is_set():
                self._callbacks.append(callback)
                return True
        callback()
        return True

    def ticks(self) -> int:
        self._passed.wait()
        return self._nanoseconds


class WorkQueue:
    """One thread that does what it is given, in order."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self._work: SimpleQueue[Work | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, daemon=True, name="example queue")
        self._thread.start()

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            work()

    def put(self, work: Work) -> None:
        """Do `work` after everything that was put before."""
        self._work.put(work)

    def mark(self) -> Mark:
        """The completion of everything so far."""
        mark = Mark()
        self.put(mark.set)
        return mark

    def stop(self) -> None:
        """End the thread after what is queued."""
        self._work.put(None)
        self._thread.join()


class ExampleDriver(Driver):
    """One device of two."""

    traits = DriverTraits(queues=4)

    def __init__(self, device: Device) -> None:
        self.target = replace(TARGET, timestamps=True)
        self.properties = DeviceProperties(
            name=device.name,
            vendor="Example",
            fingerprint=f"example {device.index} 0.3.0",
            max_units_per_workgroup=256,
            max_workgroup_dim=(256, 256, 64),
            max_workgroup_count=(65535, 65535, 65535),
            max_shared_memory=16384,
            max_bindings=12,
            max_allocation=1 << 30,
            alignment=ALIGNMENT,
            timing_method="device",
        )
        self._queues: list[WorkQueue] = []

    def allocate(self, nbytes: int) -> Page:
        room = np.empty(nbytes + ALIGNMENT, np.uint8)
        start = -room.ctypes.data % ALIGNMENT
        return Page(room[start : start + nbytes])

    def open_queue(self, report: Report) -> WorkQueue:
        self._queues.append(WorkQueue(report))
        return self._queues[-1]

    def completion(self, queue: WorkQueue) -> Pending:
        return queue.mark()

    def event(self, queue: WorkQueue) -> Mark:
        return queue.mark()

    def wait_event(self, queue: WorkQueue, event: Mark) -> None:
        queue.put(event.wait)

    def timestamp(self, queue: WorkQueue) -> Mark:
        return queue.mark()

    def write(self, queue: WorkQueue, storage: Page, offset: int, data: memoryview) -> None:
        taken = np.frombuffer(bytes(data), np.uint8)

        def work() -> None:
            storage.bytes[offset : offset + taken.size] = taken

        queue.put(work)

    def read(self, queue: WorkQueue, storage: Page, offset: int, out: memoryview) -> Pending:
        def work() -> None:
            np.asarray(out)[...] = storage.bytes[offset : offset + out.nbytes]

        queue.put(work)
        return queue.mark()

    def load(self, source: KernelSource, binary: bytes | None) -> Program:
        return Program(source)

    def launcher(self, program: Program, queue: WorkQueue) -> LaunchFunction:
        run = program.launcher(queue.report)

        def launch(*arguments: Any) -> None:
            queue.put(lambda: run(*arguments))

        return launch

    def native(self, storage: Page, offset: int, nbytes: int) -> Any:
        return storage.bytes[offset : offset + nbytes]

    def close(self) -> None:
        for queue in self._queues:
            queue.stop()
