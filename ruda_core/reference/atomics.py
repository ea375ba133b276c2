"""Atomics: the units of a chunk take turns in lane order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ruda_core.reference.masks import Mask
from ruda_core.reference.memory import Memory

_COMBINE: dict[str, np.ufunc] = {
    "add": np.add,
    "sub": np.subtract,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
OPS = frozenset(_COMBINE) | {"exchange", "compare_exchange", "load", "store"}


def atomic(
    memory: Memory, op: str, index: Any, args: tuple[Any, ...], mask: Mask, shape: tuple[int, ...], old: bool
) -> Any:
    """Do `op` for the units of `mask` among lanes of `shape`; with `old`, give the values before it.

    Units outside the mask get zero. Indices of units in the mask are within bounds.
    """
    if mask is False:
        return np.zeros(shape, memory.dtype)[()] if old else None
    active = None if mask is True else np.broadcast_to(mask, shape)
    where, *values = (_lanes(x, shape, active) for x in (np.asarray(index), *args))
    before = _run(memory.data, op, where.astype(np.int64), values, old)
    if not old:
        return None
    if active is None:
        return before.reshape(shape)
    result = np.zeros(shape, memory.dtype)
    result[active] = before
    return result


def _lanes(value: Any, shape: tuple[int, ...], active: Any) -> np.ndarray[Any, Any]:
    full = np.broadcast_to(value, shape)
    return full.reshape(-1) if active is None else full[active]


def _run(data: Any, op: str, where: Any, values: list[Any], old: bool) -> Any:
    if op == "load":
        return data[where]
    if op == "store" or (op == "exchange" and not old):
        data[where] = values[0]  # NumPy assigns in order: the last unit's value stays
        return None
    combine = _COMBINE.get(op)
    if combine is not None and not old:
        combine.at(data, where, values[0])
        return None
    return _in_turn(data, op, where, values)


def _in_turn(data: Any, op: str, where: Any, values: list[Any]) -> Any:
    """Old values, one turn after another for units that meet at one element."""
    order = np.argsort(where, kind="stable")
    places = where[order]
    begins = np.flatnonzero(np.r_[True, places[1:] != places[:-1]])
    lengths = np.diff(np.r_[begins, len(places)])
    before = np.empty(len(where), data.dtype)
    combine = _COMBINE.get(op)
    if combine is not None and len(begins) < int(lengths.max(initial=0)):
        for begin, length in zip(begins.tolist(), lengths.tolist(), strict=True):
            units = order[begin : begin + length]
            line = np.concatenate([data[places[begin], None], values[0][units]])
            results = combine.accumulate(line, dtype=data.dtype)
            before[units], data[places[begin]] = results[:-1], results[-1]
        return before
    step = _STEPS.get(op) or _combining(_COMBINE[op])
    for turn in range(int(lengths.max(initial=0))):
        units = order[begins[lengths > turn] + turn]
        at = where[units]
        before[units] = data[at]
        data[at] = step(before[units], *(v[units] for v in values))
    return before


def _combining(combine: np.ufunc) -> Callable[..., Any]:
    return lambda old, value: combine(old, value)


def _compare_exchange(old: Any, expected: Any, desired: Any) -> Any:
    word = f"u{old.dtype.itemsize}"
    return np.where(old.view(word) == expected.view(word), desired, old)


_STEPS: dict[str, Callable[..., Any]] = {
    "exchange": lambda old, value: value,
    "compare_exchange": _compare_exchange,
}
