"""Launch functions, written out for each number of arguments."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import Any

from cupy_backends.cuda.api import driver

from ruda_core.driver import LaunchFunction
from ruda_cuda.current import current, enter
from ruda_cuda.failures import STALE, translated, wrapped

_POINTER, _SIZE, _END = 1, 2, 0
"""CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE, CU_LAUNCH_PARAM_END"""

_made: dict[tuple[int, bool], Callable[..., LaunchFunction]] = {}


class Arguments:
    """The memory that a launch's arguments are packed into: the pointers, then the parameter block."""

    __slots__ = ("_extra", "_size", "block", "buffer", "extra", "pack")

    def __init__(self, pointers: int, block: int) -> None:
        layout = struct.Struct(f"<{pointers}Q")
        self.pack = layout.pack_into
        """`pack(buffer, 0, *pointers)`"""
        size = layout.size + block
        self.buffer = ctypes.create_string_buffer(max(16, size))
        self.block = (ctypes.c_char * block).from_buffer(self.buffer, layout.size)
        """Setting its `raw` is the cheapest way to copy bytes there."""
        self._size = ctypes.c_size_t(size)
        self._extra = (ctypes.c_void_p * 5)(
            _POINTER, ctypes.addressof(self.buffer), _SIZE, ctypes.addressof(self._size), _END
        )
        self.extra = ctypes.addressof(self._extra)
        """Address of what `cuLaunchKernel` takes as `extra`."""


def launch_maker(pointers: int, *, several: bool) -> Callable[..., LaunchFunction]:
    """A maker of launch functions for this many pointers, written out: a loop would cost more.

    With `several` devices each launch sees to it that its own is current in this thread. A lone one is from its
    first launch in a thread on, which fails and enters it.

    The driver copies the arguments before it returns; the queue's lock guards them until then. Pointers that are
    those of the launch before are there already.
    """
    made = _made.get((pointers, several))
    if made is not None:
        return made
    listed = [f"b{i}" for i in range(pointers)]
    names = "".join(f"{n}, " for n in listed)
    last = ", ".join(f"last_{n}" for n in listed)
    pointing = ""
    if listed:
        pointing = f"""
        nonlocal {last}
        if {" or ".join(f"{n} is not last_{n}" for n in listed)}:
            pack(buffer, 0, {names})
            {last} = {", ".join(listed)}"""
    entering = (
        """
        if current.index != index:
            enter(index)"""
        if several
        else ""
    )
    call = "launch_kernel(function, x, y, z, dx, dy, dz, 0, native, 0, extra)"
    text = f"""
def make(function, queue, dim, site, index, arguments):
    native, recent, remember = queue.stream, queue.recent, queue.recent.append
    pack, buffer, block, extra = arguments.pack, arguments.buffer, arguments.block, arguments.extra
    dx, dy, dz = dim
    {"".join(f"last_{n} = " for n in listed)}_ = None
    def launch(stream, x, y, z, {names}words):{pointing}
        block.raw = words{entering}
        try:
            {call}
        except DriverError as error:
            if error.status not in STALE:
                raise translated(error, recent) from error
            enter(index)
            with wrapped(recent):
                {call}
        if queue.last is not site:
            queue.last = site
            remember(site)
    launch.arguments = arguments  # what `extra` points into
    return launch
"""
    scope: dict[str, Any] = {
        "launch_kernel": driver.launchKernel,
        "DriverError": driver.CUDADriverError,
        "STALE": STALE,
        "current": current,
        "enter": enter,
        "translated": translated,
        "wrapped": wrapped,
    }
    exec(text, scope)
    maker: Callable[..., LaunchFunction] = scope["make"]
    _made[pointers, several] = maker
    return maker
