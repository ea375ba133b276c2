"""Arguments of array parameters that are not simply a fitting tensor."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ruda_core.artifact import ArrayParam
from ruda_core.dtypes import ValueType
from ruda_core.errors import DeviceMismatch
from ruda_core.launcher.plan import LaunchPlan, described, element_of, refuse
from ruda_core.memory import Block, Handle, span_of
from ruda_core.tensor import ArrayArg, RudaTensor, TensorArg, alignment_of, placed


class Storage:
    """An argument in the shape that generated launchers read tensors in."""

    __slots__ = ("_array", "_at", "_block", "_reach", "dtype", "handle", "shape", "size", "strides")

    def __init__(
        self,
        handle: Handle,
        kind: ValueType,
        size: int,
        high: int,
        shape: Sequence[int],
        strides: Sequence[int],
    ) -> None:
        self.handle = handle
        self.dtype = kind
        self.size = size
        self.shape = shape
        self.strides = strides
        self._array = kind
        self._block = handle.block
        self._at = at = placed(handle.offset, kind)
        self._reach = at + (size if size > high else high)


Resolver = Callable[[Any], Any]


def resolver(plan: LaunchPlan, param: ArrayParam) -> Resolver:
    """A function that gives what the launcher reads from, or raises LaunchArgumentError."""
    kind = element_of(param)
    return _array_resolver(plan, param, kind) if param.rank is None else _tensor_resolver(plan, param, kind)


def _array_resolver(plan: LaunchPlan, param: ArrayParam, kind: ValueType) -> Resolver:
    aligned, item = alignment_of(kind), kind.itemsize

    def resolve(value: Any) -> Any:
        if type(value) is ArrayArg:
            handle, length = value.handle, value.length
            plain = type(handle) is Handle and type(length) is int and not handle.offset % aligned
            if plain and 0 <= length * item <= handle.size_in_use:
                return Storage(handle, kind, length, 0, (length,), (1,))
            return unusual(value)
        if not isinstance(value, RudaTensor) or value._array != kind:
            refuse(plan, param, described(value, kind))
        return value

    def unusual(value: ArrayArg) -> Any:
        """A length of another integer type, or what is wrong."""
        length = value.length
        _check_handle(plan, param, value.handle, kind)
        if isinstance(length, bool) or not isinstance(length, int | np.integer) or length < 0:
            refuse(plan, param, described(value), "a length that counts elements from 0")
        if length * item > value.handle.size_in_use:
            refuse(
                plan,
                param,
                f"{length} elements, {length * item} bytes",
                f"at most the {value.handle.size_in_use} bytes of the handle",
            )
        return Storage(value.handle, kind, int(length), 0, (int(length),), (1,))

    return resolve


def _tensor_resolver(plan: LaunchPlan, param: ArrayParam, kind: ValueType) -> Resolver:
    def resolve(value: Any) -> Any:
        if isinstance(value, RudaTensor):
            if value.dtype != kind or value.ndim != param.rank:
                refuse(plan, param, described(value, kind))
            return value
        try:
            if type(value) is not TensorArg or not len(value.shape) == len(value.strides) == param.rank:
                refuse(plan, param, described(value, kind))
            _check_handle(plan, param, value.handle, kind)
            low, high = span_of(value.shape, value.strides)
            size, high = operator.index(prod(value.shape)), operator.index(high)
        except TypeError:
            refuse(
                plan, param, described(value, kind), "a TensorArg whose shape and strides are tuples of ints"
            )
        if low < 0 or min(value.shape, default=0) < 0 or high * kind.itemsize > value.handle.size_in_use:
            refuse(
                plan,
                param,
                f"shape {value.shape} with strides {value.strides}",
                f"a layout inside the {value.handle.size_in_use} bytes of the handle",
            )
        return Storage(value.handle, kind, size, high, tuple(value.shape), tuple(value.strides))

    return resolve


def _check_handle(plan: LaunchPlan, param: ArrayParam, handle: Any, kind: ValueType) -> None:
    if not isinstance(handle, Handle):
        refuse(plan, param, f"an argument over a {type(handle).__name__}", "an argument over a Handle")
    if handle.offset % alignment_of(kind):
        refuse(
            plan,
            param,
            f"storage at byte {handle.offset_start} of its allocation",
            f"an address that is a multiple of {alignment_of(kind)}",
        )


def check_owner(plan: LaunchPlan, server: Any, blocks: Sequence[Block], names: Sequence[str]) -> None:
    """Raise DeviceMismatch, naming both devices, for storage of another server."""
    for block, name in zip(blocks, names, strict=True):
        owner: Any = block.server
        if owner is not server:
            raise DeviceMismatch(
                f"{plan.location}: parameter {name} is storage of {block.server.device}, the client is one of "
                f"{server.device}: move it with tensor.to(client)"
            )
