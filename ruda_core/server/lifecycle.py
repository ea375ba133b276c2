"""The process's two turning points: a fork, after which a child must not touch devices, and exit."""

from __future__ import annotations

import atexit
import os
import time
import weakref
from typing import Any, NoReturn, Protocol

from ruda_core.errors import ForkedProcessError

EXIT_LIMIT = 10.0
"""Seconds that exit waits for queued work."""


class Living(Protocol):
    """A server, as this module sees it."""

    def forked(self) -> None:
        """Called in a child process: refuse everything from now on."""

    def close(self, limit: float) -> None:
        """Wait at most `limit` seconds for queued work, then give the device back."""


_servers: weakref.WeakSet[Any] = weakref.WeakSet()
_kept_in_child: list[Any] = []


def watch(server: Living) -> None:
    """Have `server` told of fork and exit."""
    _servers.add(server)


def refuse_fork() -> NoReturn:
    """Raise what every use of an inherited client raises."""
    raise ForkedProcessError(
        "this client was made before os.fork() and a device does not survive a fork: "
        "start children with multiprocessing's 'spawn', or make the first client in the child"
    )


class ForkedLock:
    """Stands where a lock was: whoever held it does not exist in the child, so waiting would hang."""

    def acquire(self, *args: object) -> NoReturn:
        refuse_fork()

    def release(self) -> None:
        return None

    def __enter__(self) -> NoReturn:
        refuse_fork()

    def __exit__(self, *failure: object) -> None:
        return None


def _after_fork_in_child() -> None:
    for server in list(_servers):
        _kept_in_child.append(server)  # never destroyed here: that would call the driver
        server.forked()


def _at_exit() -> None:
    end = time.monotonic() + EXIT_LIMIT
    for server in list(_servers):
        server.close(max(0.0, end - time.monotonic()))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
atexit.register(_at_exit)
