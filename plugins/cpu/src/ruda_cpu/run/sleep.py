"""How a thread sleeps and works without Python's lock: the compiled functions of `Sleeper`.

The locks are the interpreter's own, which its C interface lets any thread take and release.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

from ruda_cpu.run.jit import machine
from ruda_cpu.run.sleep_text import FUNCTIONS, text


class Native:
    """The compiled functions, and the interpreter's for locks."""

    def __init__(self) -> None:
        api = ctypes.pythonapi
        self.wanted = ctypes.c_uint64()
        """Not 0 where jobs may miss helpers."""
        self.new_lock = _typed(api.PyThread_allocate_lock, ctypes.c_void_p)
        self.release = _typed(api.PyThread_release_lock, None, ctypes.c_void_p)
        self.try_acquire = _typed(api.PyThread_acquire_lock, ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
        outside = {
            "acquire": _pointer(_address(api.PyThread_acquire_lock_timed)),
            "release": _pointer(_address(api.PyThread_release_lock)),
            "clock": _clock(),
            "wanted": _pointer(ctypes.addressof(self.wanted)),
        }
        jit = machine()
        self._library = jit.link_all(jit.compile(text(outside), optimise=False), FUNCTIONS)  # 30 ms less
        one = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
        entry = ctypes.CFUNCTYPE(
            ctypes.c_int8, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64
        )
        self.serve: Callable[[int], None] = one(self._library["serve"])
        """The sleep of a queue's thread, by its sleeper's address."""
        self.help: Callable[[int], None] = one(self._library["help"])
        """That of a helper."""
        self.enter: Callable[[int, int, int, int], int] = entry(self._library["enter"])
        """`enter(job, scratch, call, back)` of a waiter gives one of `Entered`; `back` is 1 where it comes back."""
        self.follow: Callable[[int], int] = ctypes.PYFUNCTYPE(ctypes.c_int8, ctypes.c_void_p)(
            self._library["follow"]
        )
        """`follow(job)` of a helper: 1 where it was missing, and is counted in."""
        self.decline: Callable[[int], None] = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(
            self._library["decline"]
        )
        """Say that nobody will wait for a job soon."""


_guard = threading.Lock()


@cache
def _native() -> Native:
    return Native()


def native() -> Native:
    """The one of this process, compiled when first asked for."""
    with _guard:
        return _native()


def _typed(function: Any, result: Any, *arguments: Any) -> Any:
    """An interpreter's function with types of its own: `ctypes.pythonapi` is shared with everyone. Keeps the lock."""
    return ctypes.PYFUNCTYPE(result, *arguments)(_address(function))


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _pointer(address: int) -> str:
    return f"inttoptr (i64 {address} to ptr)"


def _clock() -> str:
    """The system's clock; empty where there is none by its usual name."""
    try:
        return _pointer(_address(ctypes.CDLL(None).clock_gettime))
    except (AttributeError, OSError, TypeError):
        return ""
