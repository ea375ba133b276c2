"""Host memory: `Bytes`, what a read gives, and the pool that its large blocks return to."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from ruda_core.checks import checked_int
from ruda_core.errors import LaunchArgumentError, ServerError

ByteArray = np.ndarray[Any, np.dtype[np.uint8]]


class Bytes(np.ndarray[Any, np.dtype[Any]]):
    """A one-dimensional contiguous uint8 array: `bytes(b)`, `len(b)`, `b.view(np.float32)` work."""

    def __bytes__(self) -> bytes:
        return self.tobytes()


class _Lease:
    """Exports memory of the pool; when the last array over it is gone, the memory goes back.

    An attribute of the array would not do: NumPy shortens chains of bases, and views outlive it.
    """

    __slots__ = ("__array_interface__", "_pool", "_raw")

    def __init__(self, raw: ByteArray, pool: deque[ByteArray]) -> None:
        self._raw = raw
        self._pool = pool
        self.__array_interface__ = raw.__array_interface__

    def __del__(self) -> None:
        self._pool.append(self._raw)  # the deque's bound drops the oldest one


_ORDINARY_FROM = 1 << 20
_LOCKED_FROM = 1 << 12
_KEPT_BYTES = 512 << 20


def _host_class(nbytes: int) -> int:
    """Sizes in eighths of a power of two: at most 12.5% over what was asked."""
    step = max(1 << max(0, nbytes.bit_length() - 4), 4096)
    return -(-nbytes // step) * step


class HostPool:
    """Destinations of reads. Fresh large memory costs as much as the copy into it: it is recycled."""

    def __init__(self, locked: Callable[[int], ByteArray | None] = lambda nbytes: None) -> None:
        """`locked(nbytes)` gives page-locked memory, or None where ordinary memory is as good."""
        self._locked = locked
        self._free: dict[int, deque[ByteArray]] = {}
        self._is_locked: bool | None = None

    def take(self, nbytes: int) -> Bytes:
        """`nbytes` of host memory, contents undefined."""
        if nbytes < _LOCKED_FROM or (self._is_locked is False and nbytes < _ORDINARY_FROM):
            return np.empty(nbytes, np.uint8).view(Bytes)
        size = _host_class(nbytes)
        free = self._free.get(size)
        if free is None:
            free = self._free.setdefault(size, deque(maxlen=max(1, min(8, _KEPT_BYTES // size))))
        try:
            raw = free.pop()
        except IndexError:
            raw = self._fresh(size)
        return np.asarray(_Lease(raw, free))[:nbytes].view(Bytes)

    def _fresh(self, size: int) -> ByteArray:
        raw = None if self._is_locked is False else self._locked(size)
        self._is_locked = raw is not None
        return np.empty(size, np.uint8) if raw is None else raw

    def clear(self) -> None:
        """Forget idle memory."""
        for free in self._free.values():
            free.clear()


def whole_bytes(nbytes: Any) -> int:
    """A number of bytes as an int; raises ServerError for what is none."""
    return checked_int(nbytes, "a size in bytes")


def host_view(data: Any) -> memoryview:
    """The bytes of a buffer or array in C order and native byte order, as a flat memoryview of format B.

    A copy only where the layout or the byte order asks for one.
    """
    if isinstance(data, bytes | bytearray):
        return memoryview(data)
    array = np.asarray(data) if not isinstance(data, np.ndarray) else data
    if array.dtype.kind == "U":
        raise ServerError("text has no bytes of its own: give text.encode()")
    if array.dtype.hasobject:
        raise ServerError(f"Python objects ({array.dtype}) have no bytes to copy: give an array of numbers")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(np.uint8).data if flat.size else memoryview(b"")


def host_array(array: Any) -> np.ndarray[Any, Any]:
    """The elements on the host. Raises LaunchArgumentError for what cannot be brought there."""
    if isinstance(array, np.ndarray | np.generic) or not hasattr(array, "__dlpack__"):
        if hasattr(array, "__cuda_array_interface__"):
            raise LaunchArgumentError(
                f"{type(array).__name__} is in CUDA memory and does not speak DLPack: copy it to the host first"
            )
        return np.asarray(array)
    try:
        return np.from_dlpack(array, device="cpu")
    except TypeError:  # a producer from before DLPack could be asked for a device
        return np.from_dlpack(array)
    except (BufferError, ValueError, RuntimeError) as error:
        raise LaunchArgumentError(
            f"{type(array).__name__} does not hand its data to the host ({error}): give a NumPy array"
        ) from error
