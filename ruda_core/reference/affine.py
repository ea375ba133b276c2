"""Integers that are linear in the lane: what positions are, and most indices made from them.

Keeping them symbolic lets a memory access become a strided view instead of a gather, and a bounds
check become a comparison of two ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ruda_core.dtypes import as_dtype

Ends = tuple[int, tuple[int, ...]]


class Affine(NDArrayOperatorsMixin):
    """`start + sum(steps[k] * position on lane axis k)`, every value inside `dtype`'s range.

    It stands for an array whose extent is 1 on each axis with a step of zero. Additions,
    multiplications by a scalar and comparisons keep to this form where they can; any other ufunc gets
    the array.
    """

    __slots__ = ("_array", "dtype", "high", "low", "shape", "start", "steps")

    def __init__(
        self, start: int, steps: tuple[int, ...], shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> None:
        self.start = start
        self.steps = steps
        self.shape = shape
        """Extents of the lanes, also where the step is zero."""
        self.dtype = dtype
        self.low, self.high = ends(start, steps, shape)
        self._array: np.ndarray[Any, Any] | None = None

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def extent(self) -> tuple[int, ...]:
        """Shape of the array that this stands for."""
        return tuple(n if step else 1 for n, step in zip(self.shape, self.steps, strict=True))

    def array(self) -> np.ndarray[Any, Any]:
        """The values, computed once; nobody may write to them."""
        if self._array is None:
            self._array = self._compute()
        return self._array

    def _compute(self) -> np.ndarray[Any, Any]:
        axes = [(n, step) for n, step in zip(self.shape, self.steps, strict=True) if step]
        step = axes[-1][1]
        total, chained = 1, True
        for n, s in reversed(axes):
            chained = chained and s == step * total
            total *= n
        if chained and abs(self.start) < 1 << 61:
            values = np.arange(self.start, self.start + step * total, step, dtype=self.dtype)
            return values.reshape(self.extent)
        result: Any = self.dtype.type(self.start)
        for axis, (n, s) in enumerate(zip(self.shape, self.steps, strict=True)):
            if s:
                along = [1] * self.ndim
                along[axis] = n
                ramp = np.arange(n, dtype=np.int64) * np.int64(s)
                result = result + ramp.astype(self.dtype).reshape(along)
        return np.asarray(result)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = self.array()
        return array if dtype is None else array.astype(dtype)

    def astype(self, dtype: np.dtype[Any]) -> Any:
        """As an array's `astype`; still linear where all values fit."""
        if dtype == self.dtype:
            return self
        if dtype.kind in "iu":
            limits = as_dtype(dtype)
            if limits.min <= self.low and self.high <= limits.max:
                return Affine(self.start, self.steps, self.shape, dtype)
        return self.array().astype(dtype)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__" and not kwargs:
            rule = _RULES.get(ufunc)
            if rule is not None:
                result = rule(*inputs)
                if result is not None:
                    return result
        arrays = [x.array() if isinstance(x, Affine) else x for x in inputs]
        return getattr(ufunc, method)(*arrays, **kwargs)


def ends(start: int, steps: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, int]:
    """The least and the greatest value."""
    low = high = start
    for n, step in zip(shape, steps, strict=True):
        if step < 0:
            low += step * (n - 1)
        else:
            high += step * (n - 1)
    return low, high


def affine(start: int, steps: tuple[int, ...], shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """An Affine; a NumPy scalar when all lanes have one value. The values must fit `dtype`."""
    steps = tuple(step if n > 1 else 0 for n, step in zip(shape, steps, strict=True))
    return Affine(start, steps, shape, dtype) if any(steps) else dtype.type(start)


def _parts(value: Any, shape: tuple[int, ...]) -> Ends | None:
    """Start and steps of a linear value over these lanes, or None."""
    if isinstance(value, Affine):
        return (value.start, value.steps) if value.shape == shape else None
    if isinstance(value, np.integer):
        return int(value), (0,) * len(shape)
    return None


def _both(a: Any, b: Any) -> tuple[Ends, Ends, Affine] | None:
    one: Affine = a if isinstance(a, Affine) else b
    left, right = _parts(a, one.shape), _parts(b, one.shape)
    return None if left is None or right is None else (left, right, one)


def _within(start: int, steps: tuple[int, ...], like: Affine) -> Any:
    """The linear value in `like`'s dtype; None when some value does not fit."""
    low, high = ends(start, steps, like.shape)
    limits = as_dtype(like.dtype)
    return affine(start, steps, like.shape, like.dtype) if limits.min <= low and high <= limits.max else None


def _sum(sign: int) -> Callable[[Any, Any], Any]:
    def rule(a: Any, b: Any) -> Any:
        parts = _both(a, b)
        if parts is None or a.dtype != b.dtype:
            return None
        (start, steps), (other, more), like = parts
        return _within(
            start + sign * other, tuple(s + sign * t for s, t in zip(steps, more, strict=True)), like
        )

    return rule


def _product(a: Any, b: Any) -> Any:
    if isinstance(b, Affine):
        a, b = b, a
    if not isinstance(b, np.integer) or a.dtype != b.dtype:
        return None
    factor = int(b)
    return _within(a.start * factor, tuple(s * factor for s in a.steps), a)


def _comparison(always: Callable[[int, int], bool], never: Callable[[int, int], bool]) -> Callable[..., Any]:
    """`always`, `never`: of the least and the greatest difference of the two sides."""

    def rule(a: Any, b: Any) -> Any:
        parts = _both(a, b)
        if parts is None:
            return None
        (start, steps), (other, more), like = parts
        low, high = ends(start - other, tuple(s - t for s, t in zip(steps, more, strict=True)), like.shape)
        if always(low, high):
            return np.True_
        return np.False_ if never(low, high) else None

    return rule


_RULES: dict[Any, Callable[..., Any]] = {
    np.add: _sum(1),
    np.subtract: _sum(-1),
    np.multiply: _product,
    np.less: _comparison(lambda low, high: high < 0, lambda low, high: low >= 0),
    np.less_equal: _comparison(lambda low, high: high <= 0, lambda low, high: low > 0),
    np.greater: _comparison(lambda low, high: low > 0, lambda low, high: high <= 0),
    np.greater_equal: _comparison(lambda low, high: low >= 0, lambda low, high: high < 0),
    np.equal: _comparison(lambda low, high: low == high == 0, lambda low, high: low > 0 or high < 0),
    np.not_equal: _comparison(lambda low, high: low > 0 or high < 0, lambda low, high: low == high == 0),
}
