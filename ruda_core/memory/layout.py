"""Strided layouts, counted in elements."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """C-order strides in elements: `(2, 3, 4)` gives `(12, 4, 1)`."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def is_contiguous(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """True when the elements lie one after the other in C order; axes of extent 1 do not matter."""
    step = 1
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent == 0:
            return True
        if extent != 1 and stride != step:
            return prod(shape) == 0
        step *= extent
    return True


def span_of(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, int]:
    """`(low, high)`: the elements that a layout touches lie in `first + low` to `first + high`, high excluded."""
    low = high = 0
    for extent, stride in zip(shape, strides, strict=True):
        if extent == 0:
            return 0, 0
        reach = (extent - 1) * stride
        low, high = low + min(reach, 0), high + max(reach, 0)
    return low, high + 1


def can_read(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """True for rows that lie whole, one beyond the other, with or without a gap between them.

    The last axis has stride 1 and every other axis steps at least over all that is inside it, so
    that no element is named twice. Transposed, broadcast and reversed layouts are refused.
    """
    if len(shape) != len(strides) or any(extent < 0 for extent in shape):
        return False
    if 0 in shape:
        return True
    reach, innermost = 1, True
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1:
            fits = stride == 1 if innermost else stride >= reach
            if not fits:
                return False
            reach = (extent - 1) * stride + reach
        innermost = False
    return True
