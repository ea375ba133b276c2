"""Memory as the interpreter sees it: flat arrays of elements, read and written for many lanes at once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ruda_core.dtypes import ValueType, bf16
from ruda_core.reference.affine import Affine
from ruda_core.reference.masks import Mask

_I64 = np.dtype(np.int64)
_U8 = np.dtype(np.uint8)
_KEPT = 64


def stored(element: ValueType) -> np.dtype[Any]:
    """The dtype of one scalar in memory: bool is a byte, of which any bit counts."""
    return _U8 if element.kind == "bool" else element.numpy


class Memory:
    """`length` elements: scalars, or vectors of `components` scalars (0: not vectors)."""

    __slots__ = ("components", "data", "dtype", "itemsize", "length", "raw")

    def __init__(self, flat: np.ndarray[Any, Any], raw: np.ndarray[Any, Any], components: int) -> None:
        self.dtype = flat.dtype
        self.components = components
        self.itemsize = flat.itemsize * max(components, 1)
        self.data = flat.reshape(-1, components) if components else flat
        self.raw = raw
        """The same bytes in a dtype that other views can be made of."""
        self.length = len(self.data)

    def view(self, index: Affine) -> np.ndarray[Any, Any] | None:
        """The elements at a linear index without copying; None when some lie outside."""
        if index.low < 0 or index.high >= self.length:
            return None
        size = self.itemsize
        shape, strides = index.extent, tuple(step * size for step in index.steps)
        if self.components:
            shape, strides = (*shape, self.components), (*strides, self.dtype.itemsize)
        return np.ndarray(shape, self.dtype, self.raw, index.start * size, strides)


def fresh(element: ValueType, elements: int) -> Memory:
    """Zeroed memory."""
    flat = np.zeros(elements * element.lanes, stored(element))
    return _memory(flat, element)


def constant(element: ValueType, values: tuple[Any, ...]) -> Memory:
    return _memory(np.array(values, dtype=element.numpy).astype(stored(element)), element)


def _memory(flat: np.ndarray[Any, Any], element: ValueType) -> Memory:
    raw = flat.view(np.uint16) if element.scalar is bf16 else flat
    return Memory(flat, raw, element.lanes if element.lanes > 1 else 0)


class Page:
    """One allocation of the driver: bytes, and the typed parts of it that launches have used."""

    __slots__ = ("_parts", "bytes")

    def __init__(self, data: np.ndarray[Any, Any]) -> None:
        self.bytes = data
        self._parts: dict[tuple[str, int, int], Memory] = {}

    def part(self, element: ValueType, offset: int, length: int) -> Memory:
        """`length` elements from element `offset` (vectors of three: from scalar `offset`, since no
        alignment makes them whole); -1: as many whole ones as there are."""
        key = (element.name, offset, length)  # a name's hash is kept, a dtype's is computed
        found = self._parts.get(key)
        if found is None:
            if len(self._parts) >= _KEPT:
                self._parts.clear()
            found = self._parts[key] = self._part(element, offset, length)
        return found

    def _part(self, element: ValueType, offset: int, length: int) -> Memory:
        size = element.itemsize
        start = offset * (element.scalar.itemsize if element.lanes == 3 else size)
        room = (len(self.bytes) - start) // size
        length = max(room if length < 0 else min(length, room), 0)
        piece = self.bytes[start : start + length * size]
        return _memory(piece.view(stored(element)), element)


# Addresses ---------------------------------------------------------------------------------------


def linear(start: Any, strides: tuple[Any, ...], indices: tuple[Any, ...]) -> Any:
    """`start + sum(index * stride)` in i64; the numbers of elements are NumPy scalars."""
    total = start
    for index, stride in zip(indices, strides, strict=True):
        index = index.astype(_I64)
        total = total + (index if stride == 1 else index * stride)
    return total


def unflatten(start: Any, shape: tuple[Any, ...], strides: tuple[Any, ...], index: Any) -> Any:
    """Where the element of row-major number `index` lies in a tensor."""
    index = index.astype(_I64)
    dense = [math.prod(int(n) for n in shape[k + 1 :]) for k in range(len(shape))]
    if all(int(s) == d or int(n) == 1 for s, d, n in zip(strides, dense, shape, strict=True)):
        return start + index
    total = start
    for k in reversed(range(len(shape))):
        extent = shape[k]
        part = index if k == 0 else np.remainder(index, extent)
        index = np.floor_divide(index, extent)
        total = total + part * strides[k]
    return total


def inside(index: Any, length: int) -> Any:
    """Where an index is within `length` elements."""
    return (index >= np.int64(0)) & (index < np.int64(length))


def of_first_unit(value: Any, unit_axes: int) -> Any:
    """The value that the first unit of each workgroup has."""
    if value.ndim == 0 or not unit_axes:
        return value
    first: tuple[Any, ...] = (..., *(slice(0, 1),) * unit_axes)
    return np.asarray(value)[first]


# Access ------------------------------------------------------------------------------------------


def gather(memory: Memory, index: Any, copy: bool) -> Any:
    """The elements at `index`; an index out of bounds gives some element (zero where there is none).

    `copy`: the result must not change when the memory does.
    """
    if type(index) is Affine:
        view = memory.view(index)
        if view is not None:
            return view.copy() if copy else view
        index = index.array()
    if not memory.length:
        shape = np.shape(index)
        return np.zeros((*shape, memory.components) if memory.components else shape, memory.dtype)[()]
    return memory.data.take(index, axis=0, mode="clip")


def checked(check: Any, value: Any) -> Any:
    """The value, zero where `check` fails."""
    if check.ndim == 0:
        return value if check else np.zeros_like(value)[()]
    return np.where(check, value, value.dtype.type(0))


def checked_vector(check: Any, value: Any) -> Any:
    """`checked` for values with a last axis of components."""
    return checked(check if check.ndim == 0 else check[..., None], value)


def allowed(mask: Mask, check: Any) -> Mask:
    """The units of `mask` whose access is within bounds."""
    if mask is False:
        return False
    if check.ndim == 0:
        return mask if check else False
    return check if mask is True else mask & check


def scatter(memory: Memory, index: Any, value: Any, mask: Mask) -> None:
    """Store for the units of `mask`, whose indices are within bounds; of several at one place the last wins."""
    if mask is False:
        return
    vector = memory.components
    if type(index) is Affine:
        view = memory.view(index)
        if view is not None and _store_view(view, value, mask, vector):
            return
        index = index.array()
    shapes = [np.shape(value)[:-1] if vector else np.shape(value), np.shape(index)]
    if mask is not True:
        shapes.append(mask.shape)
    shape = np.broadcast_shapes(*shapes)
    index = np.broadcast_to(index, shape)
    value = np.broadcast_to(value, (*shape, vector) if vector else shape)
    if mask is not True:
        mask = np.broadcast_to(mask, shape)
        index, value = index[mask], value[mask]
    memory.data[index] = value


def _store_view(view: np.ndarray[Any, Any], value: Any, mask: Mask, vector: int) -> bool:
    """Store through a view that is as large as the value and the mask; False when it is smaller."""
    room = view.shape
    for shape in (value.shape, () if mask is True else (*mask.shape, 1) if vector else mask.shape):
        skipped = len(room) - len(shape)
        if any(n != 1 and n != room[k + skipped] for k, n in enumerate(shape)):
            return False
    if mask is True:
        view[...] = value
    else:
        np.copyto(view, value, where=mask[..., None] if vector else mask, casting="unsafe")
    return True
