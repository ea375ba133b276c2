"""In-order queues: short work runs where it is asked for, long work on the queue's own thread."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from ruda_core.driver import COMPLETED, Pending, Report
from ruda_cpu.run.jobs import Job
from ruda_cpu.run.pool import Pool
from ruda_cpu.run.sleepers import Scratch, Sleeper

_BEHIND = 8
"""Tasks that waiters have ended before the thread must see to them."""


class Task(Pending):
    """One piece of queued work, and its completion."""

    __slots__ = ("_callbacks", "_gate", "_queue", "finished", "job", "stream", "work")

    def __init__(self, work: Callable[[], None], stream: int, queue: Queue, job: Job | None) -> None:
        self.work = work
        self.stream = stream
        self._queue = queue
        self.job = job
        """The launch that this is, if it is one."""
        self.finished = False
        self._gate: threading.Lock | None = None
        """Where waiters sleep, once there are any: most launches are ended by who waits."""
        self._callbacks: list[Callable[[], None]] | None = None

    def done(self) -> bool:
        return self.finished

    def wait(self) -> None:
        if not self.finished and not self._queue.hurry(self):
            self._queue.nudge()
            gate = self._shut()
            if gate is not None:
                with gate:
                    pass

    def _shut(self) -> threading.Lock | None:
        """The gate; None where the task is finished."""
        with self._queue.guard:
            if self._gate is None and not self.finished:
                gate = threading.Lock()
                gate.acquire()
                self._gate = gate  # last: an interrupt may strike anywhere
            return self._gate

    def on_done(self, callback: Callable[[], None]) -> bool:
        with self._queue.guard:
            if not self.finished:
                self._callbacks = [*(self._callbacks or ()), callback]
                self._queue.decline(self)
                return True
        callback()
        return True

    def finish(self) -> None:
        """Let go of the work and wake who waits."""
        with self._queue.guard:
            self.finished = True
            self.work, self.job = _nothing, None
            callbacks, self._callbacks = self._callbacks, None
        if self._gate is not None:
            self._gate.release()
        for callback in callbacks or ():
            callback()


def _nothing() -> None:
    """What is left of work that is done."""


class Queue:
    """Work in order. Used under the server's lock for it."""

    def __init__(self, report: Report, pool: Pool) -> None:
        self.report = report
        self._pool = pool
        self.scratch = Scratch()
        self.guard = threading.Lock()
        """Held where a task is finished, or given something to do then."""
        self.last: Task | None = None
        """The newest task handed to the thread."""
        self._pending: deque[Task] = deque()
        """Those not finished, in order; and some that are, and that the thread has not come to yet."""
        self._sleeper: Sleeper | None = None
        """The thread's."""
        self._closed = False

    def idle(self) -> bool:
        """True when everything asked for so far is done."""
        last = self.last
        return last is None or last.finished

    def submit(self, work: Callable[[], None], stream: int = 0, job: Job | None = None) -> Task:
        """Have `work()` done after everything before it; does not wait.

        A job that nothing is in front of is begun at once, by the thread before it comes to `work`.
        """
        ahead = None if self.idle() else self.last
        if ahead is not None:
            self.decline(ahead)
        task = Task(work, stream, self, job)
        self.last = task
        self._pending.append(task)
        sleeper = self._sleeper or self._start()
        if job is not None and ahead is None and sleeper.asleep():
            self._pool.part(sleeper.thread_id)
            self._pool.give(sleeper, job, stay=len(self._pending) < _BEHIND)
        else:
            sleeper.wake()
        return task

    def decline(self, task: Task) -> None:
        """Say that nobody will lend a hand to a task soon."""
        job = task.job
        if job is not None:
            self._pool.decline(job)

    def _start(self) -> Sleeper:
        sleeper = self._sleeper = Sleeper(self._pool.crew)
        thread = threading.Thread(target=self._serve, args=(sleeper,), name="ruda-cpu-queue", daemon=True)
        thread.start()
        sleeper.thread_id = thread.native_id or 0
        return sleeper

    def run(self, job: Job) -> float:
        """Run a job on the queue's thread, which asks; the seconds that it took."""
        assert self._sleeper is not None
        return self._pool.run(self._sleeper, job)

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
        """Lend this thread to the job that is running, in front of a task or its own; True if that finished the task.

        The queue's thread wakes meanwhile: that takes as long as many a launch.
        """
        for first in tuple(self._pending):
            if not first.finished:
                job = first.job
                if job is not None and job.brief and job.given and self._pool.lend(job):
                    first.finished = True
                break
        return task.finished

    def nudge(self) -> None:
        """Have the thread see to what is done, and what is next."""
        if self._sleeper is not None:
            self._sleeper.wake()

    def close(self) -> None:
        """End the thread once it has nothing to do."""
        self._closed = True
        self.nudge()

    def _serve(self, own: Sleeper) -> None:
        while True:
            while self._pending:
                task = self._pending[0]
                try:
                    task.work()
                except Exception as error:  # whatever it is surfaces on the stream, and the next task is done
                    self.report(task.stream, error)
                task.finish()
                self._pending.popleft()
                del task
                if not self._pending:
                    own.drain()
            if self._closed:
                return
            own.sleep()
