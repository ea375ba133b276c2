"""PyOpenCL's exceptions, turned into ours once, with their cause."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pyopencl as cl

from ruda_core.errors import DeviceLost, ServerError

_LOST = frozenset({"DEVICE_NOT_AVAILABLE", "INVALID_COMMAND_QUEUE", "INVALID_CONTEXT"})
_ILLEGAL_ACCESS = -9999
"""NVIDIA's code for an access outside every allocation."""
_NO_MEMORY = frozenset(
    {"MEM_OBJECT_ALLOCATION_FAILURE", "OUT_OF_RESOURCES", "OUT_OF_HOST_MEMORY", "INVALID_BUFFER_SIZE"}
)


def _status(error: cl.Error) -> str:
    code = getattr(error, "code", None)
    return "" if code is None else str(cl.status_code.to_string(code, "%d"))


def is_out_of_memory(error: cl.Error) -> bool:
    """True when the device had no memory for what was asked."""
    return isinstance(error, cl.MemoryError) or _status(error) in _NO_MEMORY


def translated(error: cl.Error, recent: Iterable[str] = ()) -> ServerError:
    """Our exception for a failure of the device; `recent` names the launches that it may come from."""
    launches = ", ".join(dict.fromkeys(recent))
    text = f"OpenCL reported {error}" + (f"; launched before it: {launches}" if launches else "")
    status = _status(error)
    if status in _LOST or str(_ILLEGAL_ACCESS) in (status, str(getattr(error, "code", ""))):
        return DeviceLost(f"{text}: the device's context is gone, start the process again")
    return ServerError(text)


@contextmanager
def wrapped(recent: Iterable[str] = ()) -> Iterator[None]:
    """Raise ours for PyOpenCL's."""
    try:
        yield
    except cl.Error as error:
        raise translated(error, recent) from error
