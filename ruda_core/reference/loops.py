"""`range` over lanes: each may have a start, a stop and a step of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ruda_core.reference.masks import Mask

_U64 = np.dtype(np.uint64)
_I64 = np.dtype(np.int64)
_ONE = np.uint64(1)
_AT_ONCE = 1 << 12


def counted(start: Any, stop: Any, step: Any) -> Iterator[tuple[Any, Mask]]:
    """The loop variable of each trip, and the lanes that make this trip (never more than before)."""
    if start.ndim == stop.ndim == step.ndim == 0:
        yield from _uniform(int(start), int(stop), int(step), start.dtype)
        return
    trips = _trips(start, stop, step)
    value = start
    if trips.ndim == 0 or (trips.size and trips.min() == trips.max()):
        for _ in range(int(trips.max())):
            yield value, np.True_
            value = value + step
        return
    most = int(trips.max()) if trips.size else 0
    for turn in range(most):
        yield value, trips > np.uint64(turn)
        value = value + step


def _uniform(start: int, stop: int, step: int, dtype: np.dtype[Any]) -> Iterator[tuple[Any, Mask]]:
    if not step:
        return
    rest = range(start, stop, step)
    while len(rest):
        part, rest = rest[:_AT_ONCE], rest[_AT_ONCE:]
        for value in part:
            yield dtype.type(value), np.True_


def _trips(start: Any, stop: Any, step: Any) -> Any:
    """The exact number of trips, u64."""
    if start.dtype.itemsize < 8:
        # Linear starts and stops often differ by one number: then all lanes make the same trips.
        span = stop.astype(_I64) - start.astype(_I64)
        stride = step.astype(_I64)
        up, down = span > 0, span < 0
    else:
        up, down = stop > start, stop < start
        span, stride = np.asarray(stop) - np.asarray(start), step
    span, stride = np.asarray(span).astype(_U64), np.asarray(stride)
    forwards, backwards = stride > 0, stride < 0
    size = np.where(backwards, -stride, stride).astype(_U64)  # -MIN wraps to its own size
    size = np.where(size == 0, _ONE, size)
    ahead = (span - _ONE) // size + _ONE
    behind = (np.uint64(0) - span - _ONE) // size + _ONE
    none = np.uint64(0)
    return np.where(forwards & up, ahead, np.where(backwards & down, behind, none))
