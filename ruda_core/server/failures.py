"""Failures that were found after their call had returned, kept for the stream that caused them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import Any, NoReturn

from ruda_core.driver import Pending
from ruda_core.errors import ServerUnhealthy
from ruda_core.server.faults import FaultCheck


def raise_all(errors: Sequence[Exception]) -> NoReturn:
    """Raise the only error itself, several as ServerUnhealthy."""
    raise errors[0] if len(errors) == 1 else ServerUnhealthy(errors)


class Failures:
    """Errors and unread fault checks by stream; each surfaces once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._errors: dict[int, list[Exception]] = {}
        self._checks: dict[int, list[FaultCheck]] = {}
        self._returned: deque[tuple[int, list[Exception], list[FaultCheck]]] = deque()
        self._abandoned: deque[tuple[list[Pending], Any]] = deque()

    def report(self, stream: int, error: Exception) -> None:
        """Keep an error for the next read, sync or flush of `stream`."""
        with self._lock:
            self._errors.setdefault(stream, []).append(error)

    def expect(self, stream: int, check: FaultCheck) -> None:
        """Keep a fault check that is under way."""
        with self._lock:
            self._checks.setdefault(stream, []).append(check)

    def give_back(self, stream: int, errors: list[Exception], checks: list[FaultCheck]) -> None:
        """Return what a future took and nobody read. Takes no lock: `__del__` calls it."""
        if errors or checks:
            self._returned.append((stream, errors, checks))

    def abandon(self, pendings: list[Pending], value: Any) -> None:
        """Keep the destination of a transfer alive that nobody waits for. Takes no lock."""
        self._abandoned.append((pendings, value))

    def holds(self, stream: int) -> bool:
        """True when something waits to surface on `stream`."""
        return stream in self._errors or stream in self._checks or bool(self._returned)

    def take(self, stream: int) -> tuple[list[Exception], list[FaultCheck]]:
        """What is known of `stream`; it belongs to the caller from now on."""
        if self._abandoned:
            self._sweep()
        if not self.holds(stream):
            return [], []
        with self._lock:
            while self._returned:
                origin, errors, checks = self._returned.popleft()
                if errors:
                    self._errors.setdefault(origin, [])[:0] = errors
                if checks:
                    self._checks.setdefault(origin, [])[:0] = checks
            return self._errors.pop(stream, []), self._checks.pop(stream, [])

    def _sweep(self) -> None:
        for _ in range(len(self._abandoned)):
            try:
                pendings, value = self._abandoned.popleft()
            except IndexError:
                return
            if not all(p.done() for p in pendings):
                self._abandoned.append((pendings, value))
