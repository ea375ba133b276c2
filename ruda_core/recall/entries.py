"""Sources and parameters as JSON: data only, so that reading an entry runs nothing.

A dataclass is a list of its name and its fields' values in order; a tuple is a list that begins with null.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from ruda_core.artifact import (
    ArrayParam,
    BindingSpec,
    KernelSource,
    ParameterLayout,
    ScalarParam,
    Site,
    Slot,
)

_LEFT_OUT = "program"
"""The field of a source that is no data: what `.ir` shows, which compiling gives."""


class Unreadable(Exception):
    """Bytes that are no entry of this format."""


def _names(cls: Any) -> tuple[str, ...]:
    return tuple(f.name for f in dataclasses.fields(cls) if f.name != _LEFT_OUT)


_CLASSES: dict[str, tuple[Any, tuple[str, ...]]] = {
    cls.__name__: (cls, _names(cls))
    for cls in (ArrayParam, BindingSpec, KernelSource, ParameterLayout, ScalarParam, Site, Slot)
}


def packed(value: Any) -> bytes:
    """The bytes of an entry. Raises TypeError for what is no such data."""
    return json.dumps(_plain(value), separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def _plain(value: Any) -> Any:
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is tuple:
        return [None, *map(_plain, value)]
    cls, names = _CLASSES.get(type(value).__name__, (None, ()))
    if type(value) is not cls:
        raise TypeError(f"{value!r} is no data of a source")
    return [cls.__name__, *(_plain(getattr(value, name)) for name in names)]


def unpacked(data: bytes) -> Any:
    """The value of an entry. Raises Unreadable."""
    try:
        return _made(json.loads(data))
    except (ValueError, TypeError, KeyError, IndexError, RecursionError) as error:
        raise Unreadable(str(error)) from error


def _made(value: Any) -> Any:
    if not isinstance(value, list):
        if value is None or isinstance(value, (bool, int, str)):
            return value
        raise TypeError(f"{value!r} is no data of a source")
    head, *rest = value
    items = [_made(item) for item in rest]
    if head is None:
        return tuple(items)
    cls, names = _CLASSES[head]
    return cls(**dict(zip(names, items, strict=True)))
