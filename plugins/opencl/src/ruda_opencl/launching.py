"""Kernel objects, and launch functions that are written out for each number of arguments."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import platformdirs
import pyopencl as cl

from ruda_core.driver import LaunchFunction

_set_bytes = getattr(cl.Kernel, "_set_arg_buf", None) or cl.Kernel.set_arg
"""`_set_arg_buf` takes bytes as they are; `set_arg` finds that out each time, at forty times the cost."""

_made: dict[tuple[int, bool], Callable[..., LaunchFunction]] = {}


def new_kernel(program: cl.Program, entry: str) -> cl.Kernel:
    """The kernel of this name, whether or not PyOpenCL can keep anything on disk.

    Every kernel object has PyOpenCL look into a database, which it opens in the user's cache directory, for
    the code of a call that ruda never makes. Where that fails, PyOpenCL's own switch turns it off for good.
    """
    if "pyopencl.invoker" not in sys.modules and not _has_cache_folder():
        cl._PYOPENCL_NO_CACHE = True
    try:
        return cl.Kernel(program, entry)
    except cl.Error:
        raise
    except (
        Exception
    ):  # of SQLite, pickle or the system, for a database of no use; any other comes again below
        cl._PYOPENCL_NO_CACHE = True
        return cl.Kernel(program, entry)


def _has_cache_folder() -> bool:
    """Whether the directory of PyOpenCL's database is there or can be made.

    Asked beforehand, for a failure while PyOpenCL makes it leaves an object whose end writes to stderr.
    """
    try:
        os.makedirs(platformdirs.user_cache_dir("pytools", "pytools"), exist_ok=True)
    except (OSError, ValueError):
        return False
    return True


def launch_maker(buffers: int, has_parameters: bool) -> Callable[..., LaunchFunction]:
    """A maker of launch functions for this many buffers, written out: a loop would cost more than the launch.

    An argument that is the one of the launch before is not set again; the queue's lock guards the kernel.
    """
    made = _made.get((buffers, has_parameters))
    if made is not None:
        return made
    names = [f"b{i}" for i in range(buffers)]
    sets = [f"if {n} is not last_{n}: set_arg({i}, {n}); last_{n} = {n}" for i, n in enumerate(names)]
    if has_parameters:
        sets.append(f"if words != last_words: set_bytes(kernel, {buffers}, words); last_words = words")
    keep = [f"last_{n}" for n in (*names, "words")]
    newline = "\n            "
    text = f"""
def make(kernel, queue, dim, site, translated):
    set_arg, native, remember = kernel.set_arg, queue.native, queue.recent.append
    dx, dy, dz = dim
    {" = ".join(keep)} = None
    def launch(stream, x, y, z, {"".join(f"{n}, " for n in names)}words):
        nonlocal {", ".join(keep)}
        try:
            {newline.join(sets) or "pass"}
            enqueue(native, kernel, (x * dx, y * dy, z * dz), dim)
        except Error as error:
            {" = ".join(keep)} = None
            raise translated(error) from error
        remember(site)
    return launch
"""
    scope: dict[str, Any] = {
        "enqueue": cl.enqueue_nd_range_kernel,
        "set_bytes": _set_bytes,
        "Error": cl.Error,
    }
    exec(text, scope)
    _made[buffers, has_parameters] = scope["make"]
    return _made[buffers, has_parameters]
