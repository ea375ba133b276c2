"""Casts between dtypes and other views of the same bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ruda_core.dtypes import DType, bf16

Convert = Callable[[Any], Any]

_F32 = np.dtype(np.float32)
_F64 = np.dtype(np.float64)
_I64 = np.dtype(np.int64)


def _odd_float64(value: Any) -> Any:
    """64-bit integers to f64, the last bit set where bits were lost: rounding again then rounds once."""
    if value.dtype.itemsize < 8:
        return value.astype(_F64)
    value = np.asarray(value)
    magnitude = np.abs(value).astype(np.uint64) if value.dtype.kind == "i" else value
    short = magnitude >> np.uint64(11) | (magnitude & np.uint64(0x7FF) != 0).astype(np.uint64)
    wide = short.astype(_F64) * 2048.0
    exact = magnitude.astype(_F64)
    size = np.where(magnitude < np.uint64(1 << 53), exact, wide)
    return np.where(value < 0, -size, size)


def _odd_float32(value: Any) -> Any:
    """f64 to f32, rounded to odd: a later rounding to 8 bits is as good as rounding once."""
    near = np.asarray(value.astype(_F32))
    back = near.astype(_F64)
    bits = near.view(np.int32)
    lost = (back != value) & np.isfinite(value)
    towards_zero = bits - (np.abs(back) > np.abs(value))
    return np.where(lost, towards_zero | 1, bits).astype(np.int32).view(_F32)


def to_bf16(value: Any) -> Any:
    """Any dtype but bf16 to bf16, rounded once to nearest even."""
    dtype = value.dtype
    if dtype.kind in "iu" and dtype.itemsize >= 4:
        value = _odd_float64(value)
    elif dtype != _F64:
        return value.astype(_F32).astype(bf16.numpy)
    return _odd_float32(value).astype(bf16.numpy)[()]


def _saturating(to: DType) -> Convert:
    """Float to integer: truncated, saturated, NaN to 0."""
    target = to.numpy
    least, greatest = target.type(to.min), target.type(to.max)
    low, high = _F64.type(to.min), _F64.type(float(to.max + 1))

    def convert(value: Any) -> Any:
        whole = np.trunc(value.astype(_F64))
        under, over = whole < low, whole >= high
        inside = np.where(under | over | np.isnan(whole), 0.0, whole).astype(target)
        return np.where(over, greatest, np.where(under, least, inside))[()]

    return convert


def conversion(source: DType, to: DType) -> Convert:
    """The function that converts values of `source` to `to`."""
    target, zero = to.numpy, source.numpy.type(0)
    if source is to:
        return lambda value: value
    if to.kind == "bool":
        return lambda value: value != zero
    if source is bf16:
        widen = conversion(DType("f32", "float", 32), to)
        return lambda value: widen(value.astype(_F32))
    if to is bf16:
        return to_bf16
    if source.is_float and to.is_integer:
        return _saturating(to)
    return lambda value: value.astype(target)


def bitcast(source: Any, to: Any) -> Convert:
    """The function that reads the bits of a value of type `source` as `to`, equally wide."""
    target = to.numpy
    fewer, more = source.lanes > 1, to.lanes > 1
    if source.lanes == to.lanes:
        return lambda value: np.asarray(value).view(target)[()]

    def convert(value: Any) -> Any:
        value = np.asarray(value)
        flat = np.ascontiguousarray(value if fewer else value[..., None]).view(target)
        return flat if more else flat[..., 0]

    return convert
