"""The functions that a `Math` node names, over NumPy values of one dtype.

Exact functions run in their own dtype. The others run in f64 and are rounded once, which keeps f32
within half a unit in the last place of NumPy's f64 answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ruda_core.conversions import to_bf16
from ruda_core.dtypes import DType, bf16, f64, unsigned
from ruda_core.ir.functions import MATH
from ruda_core.reference.fused import fma

Function = Callable[..., Any]

_F32 = np.dtype(np.float32)
_F64 = np.dtype(np.float64)
_erf = np.frompyfunc(math.erf, 1, 1)

_EXACT: dict[str, Function] = {
    "sqrt": np.sqrt,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.rint,
    "copysign": np.copysign,
    "sign": lambda x: np.sign(x) + x.dtype.type(0),  # 0 for -0, which bfloat16's own keeps
    "abs": np.abs,
    "min": np.minimum,
    "max": np.maximum,
    "fmin": np.fmin,
    "fmax": np.fmax,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
}
_ROUNDED: dict[str, Function] = {
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "erf": lambda x: np.asarray(_erf(x), dtype=_F64)[()],
    **{
        name: getattr(np, name)
        for name in (
            "cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh "
            "arcsinh arccosh arctanh arctan2 hypot"
        ).split()
    },
}


def function(fn: str, dtype: DType) -> Function | None:
    """`fn` on operands of `dtype`; None when there is no such function."""
    if fn not in MATH:
        return None
    if fn == "fma":
        return fma(dtype)
    if dtype.is_integer and fn in _INTEGER:
        return _INTEGER[fn](dtype)
    if fn in _EXACT:
        return _through_f32(_EXACT[fn], MATH[fn].gives_bool) if dtype is bf16 else _EXACT[fn]
    if fn == "pow" and dtype.is_float:
        return _through_f64(_float_power, dtype)
    return _through_f64(_ROUNDED[fn], dtype) if dtype.is_float and fn in _ROUNDED else None


def _float_power(base: Any, exponent: Any) -> Any:
    """With an exponent for each base: NumPy takes square roots for one 0.5, which are other for -inf and -0."""
    shape = np.broadcast_shapes(np.shape(base), np.shape(exponent))
    each = np.full(shape or (1,), exponent)
    return np.power(np.broadcast_to(base, each.shape), each).reshape(shape)[()]


def _through_f32(exact: Function, gives_bool: bool) -> Function:
    def apply(*args: Any) -> Any:
        result = exact(*(a.astype(_F32) for a in args))
        return result if gives_bool else to_bf16(result)

    return apply


def _through_f64(wide: Function, dtype: DType) -> Function:
    target = dtype.numpy
    if dtype is f64:
        return lambda *args: wide(*(a.astype(_F64) for a in args))
    if dtype is bf16:
        return lambda *args: to_bf16(wide(*(a.astype(_F64) for a in args)))
    return lambda *args: wide(*(a.astype(_F64) for a in args)).astype(target)


def _bits(dtype: DType) -> tuple[np.dtype[Any], Callable[[int], Any]]:
    word = unsigned(dtype).numpy
    return word, word.type


def _popcount(dtype: DType) -> Function:
    word, _ = _bits(dtype)
    return lambda a: np.bitwise_count(np.asarray(a).astype(word)).astype(dtype.numpy)


def _leading_zeros(dtype: DType) -> Function:
    word, number = _bits(dtype)

    def apply(a: Any) -> Any:
        filled = np.asarray(a).astype(word)
        distance = 1
        while distance < dtype.bits:
            filled = filled | filled >> number(distance)
            distance *= 2
        return np.bitwise_count(~filled).astype(dtype.numpy)

    return apply


def _trailing_zeros(dtype: DType) -> Function:
    word, number = _bits(dtype)

    def apply(a: Any) -> Any:
        value = np.asarray(a).astype(word)
        return np.bitwise_count(~value & (value - number(1))).astype(dtype.numpy)

    return apply


def _reversed_bits(dtype: DType) -> Function:
    word, number = _bits(dtype)

    def apply(a: Any) -> Any:
        value = np.asarray(a).astype(word)
        distance = dtype.bits // 2
        while distance:
            mask = number(sum(1 << k for k in range(dtype.bits) if k & distance == 0))
            value = (value & mask) << number(distance) | (value >> number(distance)) & mask
            distance //= 2
        return value.astype(dtype.numpy)[()]

    return apply


def _high_product(dtype: DType) -> Function:
    if dtype.bits < 64:
        wide = np.dtype(np.uint64) if dtype.bits == 32 else np.dtype(np.uint32)
        bits = wide.type(dtype.bits)
        return lambda a, b: (a.astype(wide) * b.astype(wide) >> bits).astype(dtype.numpy)
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)

    def apply(a: Any, b: Any) -> Any:
        a1, a0, b1, b0 = a >> half, a & low, b >> half, b & low
        middle = a1 * b0 + (a0 * b0 >> half)
        other = a0 * b1 + (middle & low)
        return a1 * b1 + (middle >> half) + (other >> half)

    return apply


def _power(dtype: DType) -> Function:
    """Exact with wrap; 0 for a negative exponent, save for bases 1 and -1."""
    target = dtype.numpy
    one, none = target.type(1), target.type(0)

    def apply(base: Any, exponent: Any) -> Any:
        base, exponent = np.asarray(base), np.asarray(exponent)
        negative = exponent < 0
        left = np.where(negative, 0, exponent).astype(np.uint64)
        result, square = np.broadcast_to(one, base.shape), base
        while left.any():
            odd = (left & np.uint64(1)) != 0
            result = np.where(odd, result * square, result)
            square = square * square
            left = left >> np.uint64(1)
        if not negative.any():
            return np.broadcast_to(result, np.broadcast_shapes(base.shape, exponent.shape))[()]
        odd = (exponent & exponent.dtype.type(1)) != 0
        inverse = np.where((base == one) | ((base == -one) & odd), base, none)
        if dtype.is_signed:
            inverse = np.where((base == -one) & ~odd, one, inverse)
        else:
            inverse = np.where(base == one, one, none)
        return np.where(negative, inverse, result).astype(target)[()]

    return apply


_INTEGER: dict[str, Callable[[DType], Function]] = {
    "popcount": _popcount,
    "clz": _leading_zeros,
    "ctz": _trailing_zeros,
    "reverse_bits": _reversed_bits,
    "mulhi": _high_product,
    "pow": _power,
}
