"""The device that this thread's calls go to: CUDA keeps one for each thread, for all libraries alike."""

from __future__ import annotations

import threading

from cupy_backends.cuda.api import runtime

from ruda_cuda.failures import wrapped


class _Current(threading.local):
    index = -1
    """What ruda set last in this thread; others may have changed it since."""


current = _Current()


def enter(index: int) -> None:
    """Make a device current in this thread. The first time, this opens the device's primary context."""
    with wrapped():
        runtime.setDevice(index)
    current.index = index
