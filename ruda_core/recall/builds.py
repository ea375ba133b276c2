"""Which code turns kernels into sources: the compiler as it is installed, and what stands around it.

A look at the sizes and times of the files is enough and takes half a millisecond: whoever changes a file
changes its times, and the time of the last change to a file's entry cannot be set by hand.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import platform
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

_LOADED = time.time()
"""When the compiler's modules began to be imported: a file that changed later is not what this process runs."""
_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_ROOMS = ("frontend", "ir", "passes", "codegen", "recall")
"""Rooms of the package, beside the modules at its top, that a source depends on."""
_ABOVE = "ruda_core.runtime"
"""The module whose Runtime knows how a backend's compiler and dialect are found."""


def surroundings(runtime: Any, target: Any) -> str | None:
    """Digest of all that a source depends on beside the kernel, for a device of this backend.

    None where that is not known for certain: no dialect of its own, a compiler or dialect that is found in
    another way, code that is not in files, or files that have changed since this process began.
    """
    path = runtime.dialect_path
    if not path or not all(_owner(runtime, name) == _ABOVE for name in ("Compiler", "dialect")):
        return None
    files = _files(path.partition(".")[0].partition(":")[0])
    if files is None or any(max(changed[1:]) > _LOADED * 1e9 for _, changed in files):
        return None
    parts = (
        files,
        path,
        runtime.owner,
        _stable(target),
        sys.version,
        sys.flags.optimize,
        np.__version__,
        platform.machine(),
        sys.platform,
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _owner(runtime: Any, name: str) -> str:
    """The module of the class that says what the attribute of a runtime is."""
    return next((c.__module__ for c in runtime.__mro__ if name in vars(c)), "")


File = tuple[str, tuple[int, int, int]]
"""Path, and size in bytes with the times of the last changes in ns."""


def _files(plugin: str) -> list[File] | None:
    """The files of ruda's compiler and of the package or module that a dialect comes from; None without any."""
    found = sys.modules.get(plugin)
    folders = list(getattr(found, "__path__", ()))
    single = getattr(found, "__file__", None)
    if not folders and single is None:
        return None
    try:
        files = [*_in(_HERE, deep=False), *(f for room in _ROOMS for f in _in(os.path.join(_HERE, room)))]
        theirs = [f for folder in folders for f in _in(folder)]
        if not folders:
            theirs = [(str(single), _times(os.stat(str(single))))]
    except OSError:  # not in a directory: in an archive, say
        return None
    return files + theirs if theirs else None


def _in(folder: str, *, deep: bool = True) -> Iterator[File]:
    with os.scandir(folder) as listing:
        items = sorted(listing, key=lambda item: item.name)
    for item in items:
        if item.name.endswith(".py"):
            yield item.path, _times(item.stat())
        elif deep and item.is_dir() and item.name != "__pycache__":
            yield from _in(item.path)


def _times(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _stable(value: Any) -> object:
    """Data of a target, with what has no order put in one."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [(f.name, _stable(getattr(value, f.name))) for f in dataclasses.fields(value)]
    if isinstance(value, Mapping):
        return sorted([(repr(key), _stable(item)) for key, item in value.items()])
    if isinstance(value, frozenset):
        return sorted([repr(item) for item in value])
    return value
