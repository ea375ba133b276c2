"""Future: work that is enqueued already, and what it gives."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Generator
from typing import Any, Generic, Protocol, TypeVar

from ruda_core.checks import InProcess, checked_number
from ruda_core.driver import Pending
from ruda_core.errors import DeviceLost, ServerUnhealthy
from ruda_core.server.failures import Failures
from ruda_core.server.faults import FaultCheck

T = TypeVar("T")

_FIRST_NAP = 1e-5
_LONGEST_NAP = 2e-3


class FutureOwner(Protocol):
    """The server, as a future sees it."""

    failures: Failures

    def check(self) -> None:
        """Raise DeviceLost or ForkedProcessError if the server is no longer usable."""

    def lose(self, error: DeviceLost) -> None:
        """Note that the device is gone."""


class Future(InProcess, Generic[T]):
    """`await` it in an asyncio loop, or `result()` from any thread; merely making one waits for nothing.

    Its outcome is settled once. A future that is dropped unread gives its errors back to its stream.
    """

    def __init__(
        self,
        server: FutureOwner,
        stream: int,
        pendings: list[Pending],
        value: T,
        finish: Callable[[T], Any] | None = None,
    ) -> None:
        """`value` is complete when all `pendings` are; `finish(value)` then makes the result of it."""
        self._server = server
        self._stream = stream
        self._value: Any = value
        self._finish = finish
        self._error: Exception | None = None
        self._errors: list[Exception] = []
        self._checks: list[FaultCheck] = []
        self._pendings = pendings
        self._lock = threading.Lock()
        self._settled = False  # from here on an interrupted future gives back what it took
        self._errors, self._checks = server.failures.take(stream)
        self._pendings = pendings + [check.pending for check in self._checks]

    def done(self) -> bool:
        """True once `result()` would not wait."""
        return self._settled or all(p.done() for p in self._pendings)

    def wait(self) -> None:
        """Block until done, without settling: a failure stays for whoever asks for the result."""
        _wait_quietly(self._pendings)

    def result(self, timeout: float | None = None) -> T:
        """Wait and give the value, or raise what failed on the stream until now.

        Raises TimeoutError after `timeout` seconds; the work goes on.
        """
        if not self._settled:
            self._server.check()
            if timeout is not None:
                checked_number(timeout, "timeout", least=-math.inf, most=math.inf, error=ValueError)
                self._poll(timeout)
            self._settle()
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[no-any-return]  # `finish` turned it into a T

    def _poll(self, timeout: float) -> None:
        end, nap = time.monotonic() + timeout, _FIRST_NAP
        while not self.done():
            if time.monotonic() >= end:
                raise TimeoutError(f"the work of {self._stream!r} has not finished within {timeout} seconds")
            time.sleep(nap)
            nap = min(nap * 2, _LONGEST_NAP)

    def _settle(self) -> None:
        failed = wait_all(self._server, self._pendings)
        with self._lock:
            if self._settled:
                return
            known, late = self._server.failures.take(self._stream)
            failed += wait_all(self._server, [check.pending for check in late])
            errors = self._errors + known + failed
            errors += [fault for c in self._checks + late if (fault := c.fault()) is not None]
            if errors:
                self._error = errors[0] if len(errors) == 1 else ServerUnhealthy(errors)
            elif self._finish is not None:
                self._value = self._finish(self._value)
            self._errors, self._checks, self._pendings = [], [], []
            self._settled = True

    def __await__(self) -> Generator[Any, None, T]:
        if not self.done():
            yield from self._completion().__await__()
        return self.result()

    def _completion(self) -> Any:
        """Something that this thread's running loop can await until the work is complete."""
        import asyncio  # costs more than the rest of the runtime: only for who awaits

        loop = asyncio.get_running_loop()
        waiter = loop.create_future()

        def wake() -> None:
            if not waiter.done():
                waiter.set_result(None)

        def fire() -> None:
            try:
                loop.call_soon_threadsafe(wake)
            except RuntimeError:  # the loop was closed meanwhile: nobody waits
                pass

        pendings = self._pendings
        if len(pendings) == 1 and pendings[0].on_done(fire):
            return waiter
        return loop.run_in_executor(None, _wait_quietly, pendings)

    def __del__(self) -> None:
        if getattr(self, "_settled", True):
            return
        failures = self._server.failures
        failures.give_back(self._stream, self._errors, self._checks)
        if not self.done():
            failures.abandon(self._pendings, self._value)


def _wait_quietly(pendings: list[Pending]) -> None:
    """Wait for all; errors come out of `result()`."""
    for pending in pendings:
        try:
            pending.wait()
        except Exception:  # noqa: BLE001, PERF203  # raised again by `result()`
            continue


def wait_all(server: FutureOwner, pendings: list[Pending]) -> list[Exception]:
    """Wait for all of them; the errors, in order."""
    errors: list[Exception] = []
    for pending in pendings:
        try:
            pending.wait()
        except DeviceLost as error:  # noqa: PERF203  # each pending may fail on its own
            server.lose(error)
            errors.append(error)
        except Exception as error:  # noqa: BLE001  # whatever the driver reports surfaces on the stream
            errors.append(error)
    return errors
