"""In-order queues: short work runs where it is asked for, long work on the queue's own thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

from ruda_core.driver import COMPLETED, Pending, Report
from ruda_cpu.pool import Scratch


class Task(Pending):
    """One piece of queued work, and its completion."""

    __slots__ = ("_callbacks", "_gate", "_guard", "finished", "work")

    def __init__(self, work: Callable[[], None]) -> None:
        self.work: Callable[[], None] | None = work
        self.finished = False
        self._guard = threading.Lock()
        self._gate = threading.Lock()
        self._gate.acquire()
        self._callbacks: list[Callable[[], None]] = []

    def done(self) -> bool:
        return self.finished

    def wait(self) -> None:
        if not self.finished:
            with self._gate:
                pass

    def on_done(self, callback: Callable[[], None]) -> bool:
        with self._guard:
            if not self.finished:
                self._callbacks.append(callback)
                return True
        callback()
        return True

    def finish(self) -> None:
        """Let go of the work and wake who waits."""
        with self._guard:
            self.finished = True
            self.work = None
            callbacks, self._callbacks = self._callbacks, []
        self._gate.release()
        for callback in callbacks:
            callback()


class Queue:
    """Work in order. Used under the server's lock for it."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.scratch = Scratch()
        self.last: Task | None = None
        """The newest task handed to the thread."""
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def idle(self) -> bool:
        """True when everything asked for so far is done."""
        last = self.last
        return last is None or last.finished

    def submit(self, work: Callable[[], None], stream: int = 0) -> Task:
        """Have `work()` done after everything before it; does not wait."""

        def guarded() -> None:
            try:
                work()
            except Exception as error:
                self.report(stream, error)

        task = Task(guarded)
        self.last = task
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="ruda-cpu-queue", daemon=True)
            self._thread.start()
        self._tasks.put(task)
        return task

    def now_or_later(self, work: Callable[[], None]) -> Pending:
        """Do `work()` at once where nothing is queued, else in its turn."""
        if self.idle():
            work()
            return COMPLETED
        return self.submit(work)

    def completion(self) -> Pending:
        """Of everything so far."""
        last = self.last
        return COMPLETED if last is None or last.finished else last

    def close(self) -> None:
        """End the thread once it has nothing to do."""
        if self._thread is not None:
            self._tasks.put(None)

    def _serve(self) -> None:
        while True:
            task = self._tasks.get()
            if task is None:
                return
            work = task.work
            if work is not None:
                work()
            task.finish()
            del task, work
