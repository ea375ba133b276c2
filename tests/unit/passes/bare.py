"""Bare targets, and one scalar operation carried through legalisation and run on many values."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from lanes import BARE, WIDE, run, scalar_function

from ruda_core.capabilities import Target
from ruda_core.dtypes import BY_NAME, DType, bool_
from ruda_core.ir import nodes as ir
from ruda_core.ir.verify import verify
from ruda_core.passes.casts import casts
from ruda_core.passes.floats import floats
from ruda_core.passes.integers import integers
from ruda_core.passes.math import math
from ruda_core.passes.narrow import narrow

NATIVE = frozenset({"sqrt:f32"})
TARGET = Target(storage=BARE - {"bool"}, arithmetic=BARE - {"bool"}, math=NATIVE)
TARGET64 = Target(storage=WIDE - {"bool"}, arithmetic=WIDE - {"bool"}, math=NATIVE)
WORDS = {"i8": "i32", "i16": "i32", "u8": "u32", "u16": "u32", "f16": "f32", "bf16": "f32"}


def target_for(*dtypes: DType) -> Target:
    return TARGET64 if any(d.bits == 64 for d in dtypes) else TARGET


def legalise(function: ir.Function, target: Target) -> ir.Function:
    for step in (math, integers, casts, floats, narrow):
        function = step(function, target)
        verify(function, step.__name__)
    return function


def held(values: np.ndarray, dtype: DType) -> np.ndarray:
    """Values as the wide dtype that a bare target keeps them in."""
    name = WORDS.get(dtype.name, dtype.name)
    return np.ascontiguousarray(values.astype(BY_NAME[name].numpy))


def apply(
    make: Callable[..., ir.Expr],
    dtypes: tuple[DType, ...],
    *values: np.ndarray,
    result: DType | None = None,
    target: Target | None = None,
    device: dict[str, bool] | None = None,
    **options: object,
) -> np.ndarray:
    """`make(*operands)` for each row of `values`, by the legalised IR. The result is in `result`'s dtype.

    `device`: options of `lanes.run`; `options`: of the function.
    """
    function = scalar_function(make, *dtypes, **options)  # type: ignore[arg-type]
    to = result or dtypes[0]
    target = target or target_for(*dtypes, to)
    function = legalise(function, target)
    out = np.zeros(len(values[0]), BY_NAME[WORDS.get(to.name, to.name)].numpy)
    arrays = {f"in{k}": held(v, d) for k, (v, d) in enumerate(zip(values, dtypes, strict=True))}
    allowed = target.arithmetic | {"bool"}
    run(function, {**arrays, "out": out}, len(values[0]), dtypes=allowed, math=NATIVE, **(device or {}))
    return out.astype(bool_.numpy if to is bool_ else to.numpy)


def corners(dtype: DType) -> np.ndarray:
    """All values of an 8-bit dtype, else the ends, powers of two and their neighbours."""
    if dtype.bits <= 8:
        return np.arange(dtype.min, dtype.max + 1).astype(dtype.numpy)
    if dtype.is_float:
        return float_corners(dtype)
    found = {0, 1, 2, 3, 5, 7, 10, 100, 641, dtype.min, dtype.max, dtype.max - 1, dtype.min + 1}
    for k in range(dtype.bits):
        found |= {1 << k, (1 << k) - 1, (1 << k) + 1, -(1 << k), -(1 << k) - 1}
    kept = sorted(v for v in found if dtype.min <= v <= dtype.max)
    return np.array(kept, dtype.numpy)


def float_corners(dtype: DType) -> np.ndarray:
    base = [0.0, 0.25, 0.5, 1.0, 1.5, 2.5, 3.0, 7.0, 8388607.5, 2.0**31, 2.0**32, 2.0**63, 2.0**64]
    base += [
        65504.0,
        65520.0,
        1e-7,
        6e-8,
        3e-8,
        1e-40,
        1e-45,
        3.4e38,
        np.inf,
        0.1,
        127.5,
        128.0,
        255.9,
        256.0,
    ]
    base += [2.0**k for k in range(-30, 30)]
    with np.errstate(all="ignore"):
        values = np.array(base).astype(dtype.numpy).astype(np.float64)
        around = np.concatenate([values, values * (1 + 2.0**-12), values * (1 - 2.0**-23)])
        both = np.concatenate([around, -around, [np.nan]]).astype(dtype.numpy)
    return both


def pairs(a: DType, c: DType) -> tuple[np.ndarray, np.ndarray]:
    x, y = corners(a), corners(c)
    return np.repeat(x, len(y)), np.tile(y, len(x))


def python(values: np.ndarray) -> list[int]:
    return [int(v) for v in values]


__all__ = ["TARGET", "TARGET64", "apply", "corners", "itertools", "legalise", "pairs", "python", "target_for"]
