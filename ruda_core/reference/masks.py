"""Which units are active, and values that depend on it.

A mask is True (all units of the chunk), False (none), or a bool array of lanes with some of each.
Values of inactive units are of no account.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Mask = Any


def enter(mask: Mask, condition: Any) -> Mask:
    """The units of `mask` for which `condition` holds."""
    if mask is False:
        return False
    if condition.ndim == 0:
        return mask if condition else False
    if mask is not True:
        condition = condition & mask
    if not condition.any():
        return False
    return True if mask is True and condition.all() else condition


def join(a: Mask, b: Mask) -> Mask:
    """The units of either."""
    if a is False:
        return b
    if b is False:
        return a
    if a is True or b is True:
        return True
    either = a | b
    return True if either.all() else either


def merge(mask: Mask, new: Any, old: Any) -> Any:
    """`new` for the units of `mask`, `old` (None: not bound yet) for the others."""
    if mask is True or old is None:
        return new
    return old if mask is False else np.where(mask, new, old)


def merge_vector(mask: Mask, new: Any, old: Any) -> Any:
    """`merge` for values with a last axis of components."""
    if mask is True or old is None:
        return new
    return old if mask is False else np.where(mask[..., None], new, old)


def select(condition: Any, a: Any, b: Any) -> Any:
    """`a` where `condition` holds, else `b`."""
    if condition.ndim == 0:
        return a if condition else b
    return np.where(condition, a, b)


def select_vector(condition: Any, a: Any, b: Any) -> Any:
    """`select` between vectors by a scalar condition."""
    if condition.ndim == 0:
        return a if condition else b
    return np.where(condition[..., None], a, b)
