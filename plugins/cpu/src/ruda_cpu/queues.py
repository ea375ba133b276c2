"""In-order queues: short work runs where it is asked for, long work on the queue's own thread."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue

from ruda_core.driver import COMPLETED, Pending, Report
from ruda_cpu.affinity import Apart
from ruda_cpu.pool import Job, Pool, Scratch


class Task(Pending):
    """One piece of queued work, and its completion."""

    __slots__ = ("_callbacks", "_gate", "_guard", "_queue", "finished", "job", "stream", "work")

    def __init__(self, work: Callable[[], None], stream: int, queue: Queue, job: Job | None) -> None:
        self.work = work
        self.stream = stream
        self._queue = queue
        self.job = job
        """The launch that this is, if it is one."""
        self.finished = False
        self._guard = threading.Lock()
        self._gate = threading.Lock()
        self._gate.acquire()
        self._callbacks: list[Callable[[], None]] = []

    def done(self) -> bool:
        return self.finished

    def wait(self) -> None:
        if not self.finished and not self._queue.hurry(self):
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
            self.work, self.job = _nothing, None
            callbacks, self._callbacks = self._callbacks, []
        self._gate.release()
        for callback in callbacks:
            callback()


def _nothing() -> None:
    """What is left of work that is done."""


class Queue:
    """Work in order. Used under the server's lock for it."""

    def __init__(self, report: Report, pool: Pool) -> None:
        self.report = report
        self._pool = pool
        self._apart = Apart(pool.helpers + 1)
        self.scratch = Scratch()
        self.last: Task | None = None
        """The newest task handed to the thread."""
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        self._pending: deque[Task] = deque()
        """Those not finished, in order; and some that are, and that the thread has not come to yet."""
        self._thread: threading.Thread | None = None
        self._native: tuple[int, ...] = ()
        """The thread, as the system knows it."""

    def idle(self) -> bool:
        """True when everything asked for so far is done."""
        last = self.last
        return last is None or last.finished

    def submit(self, work: Callable[[], None], stream: int = 0, job: Job | None = None) -> Task:
        """Have `work()` done after everything before it; does not wait."""

        task = Task(work, stream, self, job)
        self.last = task
        self._pending.append(task)
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="ruda-cpu-queue", daemon=True)
            self._thread.start()
            self._native = (self._thread.native_id or 0,)
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

    def hurry(self, task: Task) -> bool:
        """Lend this thread to what is in front of a task and to the task; True if that finished it.

        The queue's thread wakes meanwhile: that takes as long as many a launch.
        """
        for first in tuple(self._pending):
            if task.finished:
                break
            job = first.job
            if not first.finished:
                if job is None or not job.brief or job.places[0].locked():
                    break
                self._apart.from_here(self._native)
                self._pool.lend(job)
                if not job.complete:
                    break
                first.finished = True
        return task.finished

    def close(self) -> None:
        """End the thread once it has nothing to do."""
        if self._thread is not None:
            self._tasks.put(None)

    def _serve(self) -> None:
        while True:
            task = self._tasks.get()
            if task is None:
                return
            try:
                task.work()
            except Exception as error:
                self.report(task.stream, error)
            task.finish()
            self._pending.popleft()
            del task
