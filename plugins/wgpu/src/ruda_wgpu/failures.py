"""wgpu-py's exceptions, turned into ours once, with their cause."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import wgpu

from ruda_core.errors import DeviceLost, ServerError


def translated(error: Exception, what: str = "") -> ServerError:
    """Our exception for wgpu-py's; `what` names the launch or the transfer."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = f"{what or 'WebGPU'}: {lines[-1] if lines else type(error).__name__}"
    if "lost" in str(error).lower():
        return DeviceLost(f"{text}: the device is gone, start the process again")
    return ServerError(text)


def is_out_of_memory(error: Exception) -> bool:
    """True when the device had no memory for what was asked."""
    return isinstance(error, wgpu.GPUOutOfMemoryError) or "out of memory" in str(error).lower()


@contextmanager
def wrapped(what: str = "") -> Iterator[None]:
    """Raise ours for wgpu-py's."""
    try:
        yield
    except (wgpu.GPUError, RuntimeError) as error:
        raise translated(error, what) from error
