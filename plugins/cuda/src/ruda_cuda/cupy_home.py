"""A folder for CuPy's own compiled kernels, where it can have none at home.

The first call of CuPy's driver binding imports all of CuPy, which makes that folder and fails where it cannot: a
read-only home would be called a missing driver.
"""

from __future__ import annotations

import os
import tempfile

_made: list[tempfile.TemporaryDirectory[str]] = []
"""Removed when the process ends."""


def ensure() -> None:
    """Give CuPy a folder of this process alone if it cannot have the one that it would take."""
    home = os.path.join(os.path.expanduser("~"), ".cupy", "kernel_cache")
    try:
        os.makedirs(os.environ.get("CUPY_CACHE_DIR", home), exist_ok=True)
    except OSError:
        _made.append(tempfile.TemporaryDirectory(prefix="cupy-"))
        os.environ["CUPY_CACHE_DIR"] = _made[-1].name
