"""Shapes and index keys, as NumPy takes them."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

import numpy as np

from ruda_core.errors import ServerError


def shape_of(shape: int | Iterable[int]) -> tuple[int, ...]:
    """Extents from an int or several; raises ServerError for a negative one and for what is none."""
    items = tuple(shape) if isinstance(shape, Iterable) else (shape,)
    try:
        extents = tuple(operator.index(n) for n in items)
    except TypeError:
        raise ServerError(f"a shape is an int or several, not {shape!r}") from None
    if any(n < 0 for n in extents):
        raise ServerError(f"shape {extents} has a negative extent")
    return extents


def flattened(items: Sequence[int | Sequence[int]]) -> tuple[int, ...]:
    """The ints that were given, one by one or in a sequence. Raises TypeError, as NumPy does, for others."""
    given: Any = items[0] if len(items) == 1 else items
    try:
        return tuple(operator.index(item) for item in (given if isinstance(given, Iterable) else (given,)))
    except TypeError:
        raise TypeError(f"ints are needed here, or one tuple of them, not {given!r}") from None


def resolved(shape: Sequence[int | Sequence[int]], size: int) -> tuple[int, ...]:
    extents = flattened(shape)
    known = prod(n for n in extents if n != -1)
    if extents.count(-1) == 1 and known and size % known == 0:
        extents = tuple(size // known if n == -1 else n for n in extents)
    if any(n < 0 for n in extents) or prod(extents) != size:
        raise ValueError(f"{size} elements do not take the shape {extents}")
    return extents


def expanded(keys: tuple[Any, ...], ndim: int) -> list[Any]:
    """One key for each axis, and None for each new one."""
    used = sum(1 for key in keys if key is not None and key is not Ellipsis)
    if used > ndim or sum(1 for key in keys if key is Ellipsis) > 1:
        raise IndexError(f"{len(keys)} indices for a tensor of {ndim} axes")
    fill = [slice(None)] * (ndim - used)
    if not any(key is Ellipsis for key in keys):
        return [*keys, *fill]
    at = next(i for i, key in enumerate(keys) if key is Ellipsis)
    return [*keys[:at], *fill, *keys[at + 1 :]]


def index_of(item: Any, extent: int, axis: int) -> int:
    if isinstance(item, bool | np.bool_) or not isinstance(item, int | np.integer):
        raise IndexError(
            f"a tensor is indexed by integers, slices, ... and None, not by {type(item).__name__}"
        )
    index = int(item)
    if not -extent <= index < extent:
        raise IndexError(f"index {index} is out of bounds for axis {axis} of extent {extent}")
    return index % extent
