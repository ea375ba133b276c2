"""Which code turns kernels into sources: the compiler as it is installed, and what stands around it.

A look at the sizes and times of the files is enough and takes half a millisecond: whoever changes a file
changes its times, and the time of the last change to a file's entry cannot be set by hand. Ruda's own files are
looked at when this module is imported, before what it compiles with is, and again before anything is kept.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
import os
import platform
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

_LOADED: float = sys.modules["ruda_core"].__dict__.get("_loaded", 0.0)
"""When this process began to import ruda."""
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
    path = getattr(runtime, "dialect_path", None)
    if not path or not all(_owner(runtime, name) == _ABOVE for name in ("Compiler", "dialect")):
        return None
    files = _of_plugin(_package(path))
    if files is None or _AT_START is None:
        return None
    parts = (
        getattr(sys.modules["ruda_core"], "__version__", ""),
        _AT_START,
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


def surroundings_after_compiling(runtime: Any, target: Any) -> str | None:
    """The same, now that the compiler is imported and the dialect at hand.

    None also where ruda's files have changed, and for a dialect built upon another plugin's, whose files were not
    looked at.
    """
    dialect = runtime.dialect
    classes = [*type(dialect).__mro__, *getattr(getattr(dialect, "renderer", None), "__mro__", ())]
    looked_at = {_package(runtime.dialect_path), "ruda_core", "builtins", "abc"}
    if not looked_at.issuperset(_package(c.__module__) for c in classes):
        return None
    return surroundings(runtime, target) if installed() == _AT_START else None


def _package(path: str) -> str:
    """The package or module at the top of "package.module:object"."""
    return path.partition(":")[0].partition(".")[0]


def _owner(runtime: Any, name: str) -> str:
    """The module of the class that says what the attribute of a runtime is."""
    return next((c.__module__ for c in runtime.__mro__ if name in vars(c)), "")


File = tuple[str, int, int, int]
"""Name, size in bytes, and the times of the last changes in ns."""


def installed() -> list[File] | None:
    """The files of ruda's compiler; None where they are not in directories, or newer than this process."""
    try:
        return _old(_in([_HERE], deep=False) + _in([os.path.join(_HERE, room) for room in _ROOMS]))
    except OSError:
        return None


def _of_plugin(name: str) -> list[File] | None:
    """The same of the package or module that a dialect comes from."""
    found = sys.modules.get(name)
    folders = list(getattr(found, "__path__", ()))
    try:
        return _old(_in(folders) if folders else [_file(str(found.__file__))])  # type: ignore[union-attr]  # caught
    except (OSError, AttributeError):
        return None


def _old(files: list[File]) -> list[File] | None:
    newest = max((max(modified, changed) for _, _, modified, changed in files), default=math.inf)
    return files if newest <= _LOADED * 1e9 else None


def _in(folders: list[str], *, deep: bool = True) -> list[File]:
    """The modules in folders, in a loop of its own: it is a good part of a first launch."""
    files, left = [], list(folders)
    while left:
        with os.scandir(left.pop()) as listing:
            for item in listing:
                name = item.name
                if name.endswith(".py"):
                    status = item.stat()
                    files.append((name, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
                elif deep and name != "__pycache__" and item.is_dir():
                    left.append(item.path)
    return sorted(files)


def _file(path: str) -> File:
    status = os.stat(path)
    return path, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def changed_since(status: os.stat_result) -> bool:
    """Whether a file has changed since this process began, so that what it runs may be another text."""
    return max(status.st_mtime, status.st_ctime) > _LOADED


_AT_START = installed()


def _stable(value: Any) -> object:
    """Data of a target, with what has no order put in one."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [(f.name, _stable(getattr(value, f.name))) for f in dataclasses.fields(value)]
    if isinstance(value, Mapping):
        return sorted([(repr(key), _stable(item)) for key, item in value.items()])
    if isinstance(value, frozenset):
        return sorted([repr(item) for item in value])
    return value
