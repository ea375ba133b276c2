"""CUDA's statuses as ruda's exceptions, once, with their cause."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from cupy_backends.cuda.api.driver import CUDADriverError
from cupy_backends.cuda.api.runtime import CUDARuntimeError

from ruda_core.errors import DeviceLost, ServerError

Failure = (CUDARuntimeError, CUDADriverError)

NO_MEMORY = 2
NOT_READY = 600
STALE = frozenset({201, 400})
"""No context is current in this thread, or another device's: someone else has changed it."""
_LOST = frozenset(
    {
        214,  # uncorrectable memory error
        220,  # uncorrectable NVLink error
        700,  # illegal address
        702,  # launch timeout
        709,  # context destroyed
        710,  # device-side assert
        714,  # hardware stack error
        715,  # illegal instruction
        716,  # misaligned address
        717,  # invalid address space
        718,  # invalid program counter
        719,  # launch failure
        999,  # unknown
    }
)
"""Statuses after which every call of this process fails; the driver's and the runtime's agree on them."""


def translated(error: Exception, recent: Iterable[str] = ()) -> ServerError:
    """Our exception for a failure of the device; `recent` names the launches that it may come from."""
    launches = ", ".join(dict.fromkeys(recent))
    text = f"CUDA reported {error}" + (f"; launched before it: {launches}" if launches else "")
    if getattr(error, "status", None) in _LOST:
        return DeviceLost(f"{text}: the device's context is gone, start the process again")
    return ServerError(text)


@contextmanager
def wrapped(recent: Iterable[str] = ()) -> Iterator[None]:
    """Raise ours for CUDA's."""
    try:
        yield
    except Failure as error:
        raise translated(error, recent) from error
