"""What NumPy, Python's integers or exact fractions give for the corpus's operations."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from ruda_core.conformance.numbers.rounding import converted, floor_of_quotient, fused, nearest
from ruda_core.conformance.numbers.values import Values
from ruda_core.dtypes import as_dtype, unsigned

Oracle = Callable[..., Any]
"""Operand arrays -> the result; or several that are all right, as a tuple."""


def is_float(x: Values) -> bool:
    """bf16 included, which NumPy's `kind` does not know."""
    return as_dtype(x.dtype).is_float


# Integers -----------------------------------------------------------------------------------------


def div_trunc(a: Values, b: Values) -> Values:
    return (a - np.fmod(a, b)) // b


def rem_trunc(a: Values, b: Values) -> Values:
    return np.fmod(a, b)


def _inside(a: Values, amount: Values) -> tuple[Values, Values]:
    fits = (amount >= 0) & (amount < a.dtype.itemsize * 8)
    return fits, np.where(fits, amount, 0).astype(a.dtype)


def shift_left(a: Values, amount: Values) -> Values:
    fits, small = _inside(a, amount)
    return np.where(fits, a << small, a.dtype.type(0))


def shift_right(a: Values, amount: Values) -> Values:
    fits, small = _inside(a, amount)
    return np.where(fits, a >> small, np.where(a < 0, ~a.dtype.type(0), a.dtype.type(0)))


def whole_power(base: Values, exponent: Values) -> Values:
    modulus = 1 << base.dtype.itemsize * 8
    found = []
    for b, e in zip(base.tolist(), exponent.tolist(), strict=True):
        if e >= 0:
            found.append(pow(b, e, modulus))
        else:
            found.append((b if e % 2 else 1) % modulus if b in (1, -1) else 0)
    word = unsigned(as_dtype(base.dtype)).numpy
    return np.array(found, object).astype(word).view(base.dtype)


def _of_bits(rule: Callable[[int, int], int]) -> Oracle:
    def apply(x: Values) -> Values:
        width = x.dtype.itemsize * 8
        mask = (1 << width) - 1
        return np.array([rule(v & mask, width) for v in x.tolist()], object).astype(x.dtype)

    return apply


popcount = _of_bits(lambda v, width: v.bit_count())
clz = _of_bits(lambda v, width: width - v.bit_length())
ctz = _of_bits(lambda v, width: (v & -v).bit_length() - 1 if v else width)
reverse_bits = _of_bits(lambda v, width: int(f"{v:0{width}b}"[::-1], 2))


def mulhi(a: Values, b: Values) -> Values:
    width = a.dtype.itemsize * 8
    return np.array([x * y >> width for x, y in zip(a.tolist(), b.tolist(), strict=True)], object).astype(
        a.dtype
    )


def compared(name: str) -> Oracle:
    """A comparison, exact by value also for integers of two dtypes."""
    compare = getattr(operator, name)

    def apply(a: Values, b: Values) -> Values:
        if a.dtype == b.dtype:
            return np.asarray(compare(a, b))
        return np.array([compare(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)], bool)

    return apply


# Floats -------------------------------------------------------------------------------------------


def float_floor(a: Values, b: Values) -> Values:
    """The floor of the exact quotient, which NumPy misses by one where it is large; the quotient from 2**31 (f64: 2**63)
    on; NumPy's answer where there is none."""
    wide = np.float64 if a.dtype == np.float64 else np.float32
    quotient = a.astype(wide) / b.astype(wide)
    small = np.abs(quotient) < 2.0 ** (8 * quotient.itemsize - 1)
    whole = np.where(small, floor_of_quotient(a, b, as_dtype(a.dtype).name), quotient.astype(a.dtype))
    return np.where(np.isfinite(a) & np.isfinite(b) & (b != 0), whole, a // b)


def clamp(x: Values, y: Values, z: Values) -> Values:
    return np.minimum(np.maximum(x, y), z)


def fma(x: Values, y: Values, z: Values) -> Values:
    return fused(x, y, z)


def cast_to(name: str) -> Oracle:
    """The language's conversion to a dtype."""
    return lambda x: converted(x, name)


# Algebra ------------------------------------------------------------------------------------------


def sign(x: Values) -> Values:
    """NumPy's: 0 for -0, in every dtype."""
    return np.asarray(np.sign(x) + x.dtype.type(0))


def copysign(x: Values, y: Values) -> tuple[Values, ...]:
    """By a NaN either sign is right: a device may lose it as it converts the NaN."""
    given = np.copysign(x, y)
    return given, np.where(np.isnan(y), -given, given)


def not_less(x: Values, y: Values) -> Values:
    return ~np.asarray(x < y)


def sum_in_order(x: Values) -> Values:
    total: Values = x[0]
    for row in x[1:]:
        total = total + row
    return total


def kahan_sum(x: Values) -> Values:
    total: Values = x[0]
    lost = total - total
    for row in x[1:]:
        term = row - lost
        larger = total + term
        lost = (larger - total) - term
        total = larger
    return total


def alternating_sum(x: Values) -> Values:
    total: Values = x[0]
    for before, row in zip(x[:-1], x[1:], strict=True):
        total = (total + row) - before
    return total


def on_host(function: Any) -> Oracle:
    """The host's version of an expression of `algebra`: the same text, unless NumPy spells it otherwise."""
    found = _ON_HOST.get(function.__name__)
    return found or _typed(function.fn)


def _typed(function: FunctionType) -> Oracle:
    """The function with its literals in the dtype of its operands: NumPy's versions differ in what they make of
    a Python number beside a bfloat16."""

    def apply(*operands: Values) -> Values:
        dtype = operands[0].dtype
        if not as_dtype(dtype).is_float:
            return np.asarray(function(*operands))
        code = function.__code__
        literals = tuple(dtype.type(c) if isinstance(c, int | float) else c for c in code.co_consts)
        return np.asarray(FunctionType(code.replace(co_consts=literals), function.__globals__)(*operands))

    return apply


_ON_HOST: dict[str, Oracle] = {f.__name__: f for f in (not_less, sum_in_order, kahan_sum, alternating_sum)}

# Functions in a wider format ----------------------------------------------------------------------

_erf = np.frompyfunc(math.erf, 1, 1)
WIDE: dict[str, Oracle] = {
    **{
        name: getattr(np, name)
        for name in (
            "cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh "
            "arcsinh arccosh arctanh arctan2 hypot"
        ).split()
    },
    "pow": np.power,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sqrt": np.sqrt,
    "erf": lambda x: _erf(x.astype(np.float64)).astype(x.dtype),
}
"""Functions by name over wide floats."""


def wide(name: str) -> Oracle:
    """The function in f64 for narrower floats, and for f64 in NumPy's longdouble, which may be no wider."""

    def apply(*operands: Values) -> Values:
        target = np.longdouble if operands[0].dtype == np.float64 else np.float64
        return np.asarray(WIDE[name](*(x.astype(target) for x in operands)))

    return apply


def rounded_root(x: Values) -> Values:
    """The square root, rounded once."""
    return (
        np.sqrt(x)
        if x.dtype == np.float64
        else nearest(np.sqrt(x.astype(np.float64)), as_dtype(x.dtype).name)
    )
