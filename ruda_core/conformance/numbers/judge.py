"""Right or wrong: to the bit, or within units of the last place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ruda_core.conformance.numbers.values import Operands, Values, bits_dtype, numpy_dtype
from ruda_core.dtypes import BY_NAME, as_dtype

_DIGITS = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}
_LEAST = {"f16": -14, "bf16": -126, "f32": -126, "f64": -1022}
_LARGEST = {"f16": 16, "bf16": 128, "f32": 128, "f64": 1024}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What comparing one operation's results gave."""

    cases: int
    wrong: int
    ulp: float | None
    """Largest error; None where results are compared bit by bit."""
    worst: int | None
    """Position of the first wrong case, or of the largest error."""
    outside: int = 0
    """Cases with subnormals, on a device that does not promise to keep them."""


def subnormal(x: Values) -> Values:
    """Which values of a float array lie below the normal range, zeros excluded."""
    dtype = as_dtype(x.dtype)
    if not dtype.is_float:
        return np.zeros(x.shape, bool)
    with np.errstate(all="ignore"):
        size = np.abs(x.astype(np.float64))
    return (size > 0) & (size < 2.0 ** _LEAST[dtype.name])


def promised(
    operands: Operands, result: Values, flushes: frozenset[str], *, several: bool = False
) -> Values | None:
    """Which cases have no subnormal of a dtype that the device may flush; None: all.

    A result that is the least normal number may have been rounded up to it. `several` operations in a row: only
    operands from 2**-40 to 2**40, zeros, infinities and NaN, of which no step makes a subnormal.
    """
    judged = [x for x in operands if as_dtype(x.dtype).name in flushes]
    if not judged or any(x.shape != result.shape for x in judged):
        return None
    out = [_outside(x, 2.0**-40, 2.0**40) if several else subnormal(x) for x in judged]
    dtype = as_dtype(result.dtype)
    if dtype.is_float:
        out.append(_outside(result, np.nextafter(2.0 ** _LEAST[dtype.name], 1), np.inf))
    return np.asarray(~np.logical_or.reduce(out))


def _outside(x: Values, least: float, most: float) -> Values:
    """Which finite values other than zeros have a magnitude below `least` or above `most`."""
    with np.errstate(all="ignore"):
        size = np.abs(x.astype(np.float64))
    return np.isfinite(size) & (size > 0) & ((size < least) | (size > most))


def exact(got: Values, wanted: tuple[Values, ...], kept: Values | None, *, zero_signs: bool) -> Verdict:
    """Equal to the bit to one of `wanted`; all NaN are equal, and zeros too unless `zero_signs`."""
    same = np.logical_or.reduce([_same(got, w, zero_signs) for w in wanted])
    wrong = ~same if kept is None else ~same & kept
    outside = 0 if kept is None else int((~kept).sum())
    count = int(wrong.sum())
    return Verdict(got.size - outside, count, None, int(np.argmax(wrong)) if count else None, outside)


def _same(got: Values, wanted: Values, zero_signs: bool) -> Values:
    dtype = as_dtype(wanted.dtype)
    if not dtype.is_float:
        return np.asarray(got == wanted)
    word = bits_dtype(dtype.name)
    same = np.asarray(got.view(word) == np.ascontiguousarray(wanted).view(word))
    with np.errstate(all="ignore"):
        same |= np.isnan(got) & np.isnan(wanted)
        return same if zero_signs else same | ((got == 0) & (wanted == 0))


def within(got: Values, wanted: Values, bound: float, kept: Values | None) -> Verdict:
    """Within `bound` units of the last place of the right result, which is in a wider format."""
    error = ulps(got, wanted)
    outside = 0
    if kept is not None:
        error, outside = np.where(kept, error, 0.0), int((~kept).sum())
    wrong = error > bound
    worst = int(np.argmax(error)) if error.size else None
    return Verdict(got.size - outside, int(wrong.sum()), float(error.max(initial=0.0)), worst, outside)


def ulps(got: Values, wanted: Values) -> Values:
    """Errors in units of the last place of the result's format.

    Infinity counts as the number that would follow the largest one. A NaN, or a zero with the wrong sign
    where the result is exactly zero, is infinitely wrong.
    """
    name = as_dtype(got.dtype).name
    top = wanted.dtype.type(2.0) ** _LARGEST[name]
    with np.errstate(all="ignore"):
        have, want = got.astype(wanted.dtype), wanted
        have, limited = (np.clip(v, -top, top) for v in (have, want))
        _, exponent = np.frexp(np.where(np.isfinite(limited), limited, 1))
        exponent = np.where(limited == 0, _LEAST[name], exponent)
        floor = np.maximum(exponent - 1, _LEAST[name]) - _DIGITS[name] + 1
        step = np.ldexp(wanted.dtype.type(1), np.minimum(floor, _LARGEST[name] - _DIGITS[name]))
        error = (np.abs(have - limited) / step).astype(np.float64)
        nan = np.isnan(got) | np.isnan(want)
        error = np.where(nan, np.where(np.isnan(got) & np.isnan(want), 0.0, np.inf), error)
        bad_zero = (want == 0) & (have == 0) & (np.signbit(want) != np.signbit(have))
    return np.where(bad_zero, np.inf, error)


def describe(operands: tuple[Any, ...], got: Any, wanted: Any) -> str:
    """One case in words, floats with their bits."""
    inputs = ", ".join(_shown(v) for v in operands)
    return f"({inputs}) gives {_shown(got)}, not {_shown(wanted)}"


def _shown(value: Any) -> str:
    dtype = getattr(value, "dtype", None)
    if dtype is None or dtype == np.longdouble:
        return str(value)
    name = as_dtype(dtype).name
    if not BY_NAME[name].is_float:
        return str(value.item())
    word = np.asarray(value, numpy_dtype(name)).view(bits_dtype(name)).item()
    return f"{float(value):.9g} (0x{word:0{BY_NAME[name].bits // 4}x})"
