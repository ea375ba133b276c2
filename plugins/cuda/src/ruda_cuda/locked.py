"""Page-locked host memory."""

from __future__ import annotations

from collections import deque

import numpy as np
from cupy_backends.cuda.api import runtime

from ruda_cuda.failures import Failure

ByteArray = np.ndarray[tuple[int], np.dtype[np.uint8]]

PIECE = 4096
"""Bytes of a piece, which small reads go through."""
_PIECES = 64


class _Owner:
    """Exports the memory; frees it when the last array over it is gone."""

    __slots__ = ("__array_interface__", "_pointer")

    def __init__(self, nbytes: int) -> None:
        self._pointer = runtime.hostAlloc(nbytes, runtime.hostAllocPortable)
        self.__array_interface__ = {
            "shape": (nbytes,),
            "typestr": "|u1",
            "data": (self._pointer, False),
            "version": 3,
        }

    def __del__(self) -> None:
        try:
            runtime.freeHost(self._pointer)
        except (AttributeError, *Failure):
            pass  # it was never there, or the context is gone and the memory with it


def locked(nbytes: int) -> ByteArray | None:
    """Page-locked memory for copies of every device, or None where there is no more of it."""
    try:
        return np.asarray(_Owner(nbytes))
    except Failure:
        return None


class Pieces:
    """Page-locked pieces of PIECE bytes."""

    def __init__(self) -> None:
        self.free: deque[ByteArray] = deque()

    def take(self) -> ByteArray | None:
        """One piece, to be appended to `free` after its use; None where no memory can be locked."""
        try:
            return self.free.pop()
        except IndexError:
            whole = locked(PIECE * _PIECES)
        if whole is None:
            return None
        for start in range(PIECE, whole.nbytes, PIECE):
            self.free.append(whole[start : start + PIECE])
        return whole[:PIECE]
