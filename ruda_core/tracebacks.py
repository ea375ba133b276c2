"""Errors in what a user wrote show the user's frames, not the dozens of ours that found them.

The compile errors say by themselves where in the kernel they are. `RUDA_TRACEBACK=full` shows every frame.
"""

from __future__ import annotations

from typing import TypeVar

from ruda_core.errors import CompileError, LaunchError
from ruda_core.settings import settings

E = TypeVar("E", bound=Exception)

USERS = (CompileError, LaunchError)
"""Errors in what a user wrote, as a door catches them."""


def shortened(error: E) -> E:
    """`error` without the frames that it has passed. A door of ours raises it so:
    `raise shortened(error) from error.__cause__`, which also leaves out what was being handled meanwhile."""
    return error if settings().traceback == "full" else error.with_traceback(None)
