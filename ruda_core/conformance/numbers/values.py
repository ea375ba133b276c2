"""Operands: every value of narrow dtypes, corners and random bits of wide ones.

All functions give read-only arrays, the same ones every time.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ruda_core.dtypes import BY_NAME, as_dtype, unsigned

Values = np.ndarray[Any, Any]
Operands = tuple[Values, ...]

SEED = 20_24
RANDOM_PAIRS = 24_000
"""Random pairs beside those of corners."""

_CORNER_PAIRS = 6_000
_FLOATS = (
    0.0, 1.0, 0.5, 1.5, 2.0, 2.5, 3.0, 3.5, 0.1, 0.3, 7.0, 10.0, 100.0, 255.0, 256.0, 65504.0, 65519.0, 65520.0,
    65536.0, 2.0**23, 2.0**24 - 1, 2.0**24 + 2, 2.0**31, 2.0**32, 2.0**53, 2.0**63, 2.0**64, 1e-8, 6.1e-5,
    5.96e-8, 1e10, 1e30, 3.4e38, 3.141592653589793, 88.7, 709.7,
)  # fmt: skip


def numpy_dtype(name: str) -> np.dtype[Any]:
    """NumPy's dtype by ruda's name."""
    return BY_NAME[name].numpy


def bits_dtype(name: str) -> np.dtype[Any]:
    """The unsigned integer as wide as an element."""
    return unsigned(BY_NAME[name]).numpy


def frozen(values: Any) -> Values:
    """Read-only, so that what is kept stays as it is."""
    array: Values = np.ascontiguousarray(values)
    array.flags.writeable = False
    return array


@cache
def corners(name: str) -> Values:
    """Values at which arithmetic of a dtype goes wrong first."""
    if name == "bool":
        return frozen(np.array([False, True]))
    made = _float_corners(name) if BY_NAME[name].is_float else _integer_corners(name)
    return frozen(made)


def _integer_corners(name: str) -> Values:
    low, high = BY_NAME[name].min, BY_NAME[name].max
    powers = [1 << k for k in range(BY_NAME[name].bits)]
    near = [p + d for p in powers for d in (-1, 0, 1)]
    wanted = {0, 2, 3, 5, 7, 10, 100, low, low + 1, high, high - 1, high // 3, high // 3 * 2, low // 3}
    wanted |= {*near, *(-v for v in near)}
    return np.array(sorted(v for v in wanted if low <= v <= high), numpy_dtype(name))


def _float_corners(name: str) -> Values:
    dtype, word = numpy_dtype(name), bits_dtype(name)
    with np.errstate(all="ignore"):
        plain = np.array(_FLOATS, np.float64).astype(dtype)
    infinity = np.array([np.inf], np.float64).astype(dtype).view(word)[0]
    quiet = infinity | infinity >> 1
    top = word.type(1) << word.type(word.itemsize * 8 - 1)
    one = np.array([1.0], np.float64).astype(dtype).view(word)[0]
    least_normal = np.array([_least_normal(name)], np.float64).astype(dtype).view(word)[0]
    edges = [
        1,
        2,
        least_normal - 1,
        least_normal,
        least_normal + 1,
        infinity - 1,
        infinity,
        infinity + 1,
        quiet,
    ]
    edges += [quiet + 5, top - 1, one - 1, one + 1]
    positive = np.unique(np.concatenate([plain.view(word), np.array(edges, word)]))
    return np.concatenate([positive, positive | top]).view(dtype)


def _least_normal(name: str) -> float:
    return {"f16": 2.0**-14, "bf16": 2.0**-126, "f32": 2.0**-126, "f64": 2.0**-1022}[name]


@cache
def random(name: str, count: int, salt: int = 0) -> Values:
    """Random values: half of random bits; of floats, half of moderate size."""
    rng = np.random.default_rng((SEED, salt, *name.encode()))
    if name == "bool":
        return frozen(rng.integers(0, 2, count).astype(bool))
    dtype, word = numpy_dtype(name), bits_dtype(name)
    made = rng.integers(0, np.iinfo(word).max, count, word, endpoint=True).view(dtype)
    if BY_NAME[name].is_float:
        moderate = (rng.standard_normal(count) * 10.0 ** rng.integers(-3, 4, count)).astype(dtype)
        return frozen(np.where(rng.random(count) < 0.5, made, moderate).astype(dtype))
    small = (rng.integers(0, 41, count) - (20 if BY_NAME[name].kind == "int" else 0)).astype(dtype)
    return frozen(np.where(rng.random(count) < 0.75, made, small).astype(dtype))


@cache
def singles(name: str, count: int = 24_000) -> Operands:
    """One operand: all values of 8 and 16 bits, else corners and random values."""
    if name == "bool":
        return (corners(name),)
    word = bits_dtype(name)
    if word.itemsize <= 2:
        every = np.arange(1 << 8 * word.itemsize, dtype=np.uint32).astype(word)
        return (frozen(every.view(numpy_dtype(name))),)
    return (frozen(np.concatenate([corners(name), random(name, count)])),)


@cache
def pairs(name: str, second: str | None = None) -> Operands:
    """Two operands, the second perhaps of another dtype: all pairs of 8 bits, else corners and random ones."""
    other = second or name
    if name == other and BY_NAME[name].bits == 8:
        word = bits_dtype(name)
        every = np.arange(1 << 16, dtype=np.uint32)
        dtype = numpy_dtype(name)
        return frozen((every >> 8).astype(word).view(dtype)), frozen(every.astype(word).view(dtype))
    a, b = grid(corners(name), corners(other))
    return (
        frozen(np.concatenate([a, random(name, RANDOM_PAIRS, 1)])),
        frozen(np.concatenate([b, random(other, RANDOM_PAIRS, 2)])),
    )


def grid(first: Values, second: Values) -> Operands:
    """Every value with every value; some thousands of the pairs, chosen at random, when there are more."""
    a, b = (m.ravel() for m in np.meshgrid(first, second, indexing="ij"))
    if a.size > _CORNER_PAIRS:
        chosen = np.random.default_rng(SEED).permutation(a.size)[:_CORNER_PAIRS]
        a, b = a[chosen], b[chosen]
    return a, b


@cache
def triples(name: str, count: int = 16_000) -> Operands:
    """Three operands: corners drawn at random, random values, and products that almost cancel."""
    rng = np.random.default_rng((SEED, *name.encode()))
    edge = [rng.choice(corners(name), count // 2) for _ in range(3)]
    free = [random(name, count // 2, salt) for salt in (3, 4, 5)]
    made = [np.concatenate([e, f]) for e, f in zip(edge, free, strict=True)]
    if BY_NAME[name].is_float:
        with np.errstate(all="ignore"):
            made[2][::3] = -(made[0] * made[1])[::3]
    return tuple(frozen(m) for m in made)


@cache
def shifts(name: str, amounts: str) -> Operands:
    """Values, and amounts of another dtype from below zero to far over the width."""
    wanted = (
        *range(-3, 71),
        -(1 << 31),
        -128,
        100,
        127,
        128,
        255,
        256,
        (1 << 31) - 1,
        1 << 32,
        (1 << 32) + 1,
    )
    info = BY_NAME[amounts]
    fitting = np.array([v for v in wanted if info.min <= v <= info.max], info.numpy)
    few = np.concatenate([corners(name)[::3], corners(name)[-2:], random(name, 40, 6)])
    a, b = (m.ravel() for m in np.meshgrid(few, fitting, indexing="ij"))
    return frozen(a), frozen(b)


@cache
def powers(name: str, exponents: str) -> Operands:
    """Integer bases, and exponents with negative and large ones."""
    wanted = (*range(-4, 20), 31, 32, 33, 63, 64, 65, 100, 127, 255, 1 << 20, (1 << 31) - 1, -(1 << 31), -127)
    info = BY_NAME[exponents]
    fitting = np.array([v for v in wanted if info.min <= v <= info.max], info.numpy)
    few = np.concatenate([corners(name)[::4], random(name, 60, 7)])
    a, b = (m.ravel() for m in np.meshgrid(few, fitting, indexing="ij"))
    return frozen(a), frozen(b)


@cache
def matrix(name: str, rows: int = 40, columns: int = 512) -> Operands:
    """Columns of terms of very different sizes, for sums. `x[row, column]`."""
    rng = np.random.default_rng((SEED, 8, *name.encode()))
    spread = 3 if name in ("f16", "bf16") else 8
    terms = rng.standard_normal((rows, columns)) * 10.0 ** rng.integers(
        -spread, spread // 2 + 1, (rows, columns)
    )
    return (frozen(terms.astype(numpy_dtype(name))),)


def quiet(x: Values) -> Values:
    """Signalling NaN made quiet: host libraries differ in what functions give for them."""
    word = bits_dtype(as_dtype(x.dtype).name)
    with np.errstate(all="ignore"):
        bit = np.array([np.inf], np.float64).astype(x.dtype).view(word) >> word.type(1)
        return np.where(np.isnan(x), x.view(word) | bit, x.view(word)).view(x.dtype)


@cache
def function_arguments(name: str) -> Operands:
    """Arguments of a function of floats: all of 16 bits; else each exponent, near 0, near 1, large ones."""
    (base,) = singles(name, 30_000)
    if numpy_dtype(name).itemsize == 2:
        return (frozen(quiet(base)),)
    rng = np.random.default_rng((SEED, 9))
    more: list[Values] = [
        rng.uniform(-100, 100, 8_000),
        rng.uniform(-1, 1, 8_000),
        1 + rng.uniform(-1e-3, 1e-3, 4_000),
    ]
    more += [rng.integers(-400, 400, 2_000) * (np.pi / 2), rng.uniform(1e5, 1e9, 2_000)]
    return (frozen(quiet(np.concatenate([base, np.concatenate(more).astype(base.dtype)]))),)


@cache
def function_pairs(name: str) -> Operands:
    """Two arguments of a function: `pairs`, and pairs whose power is neither 0 nor infinite."""
    a, b = pairs(name)
    rng = np.random.default_rng((SEED, 10))
    base = np.exp(rng.uniform(-8, 8, 8_000)) * rng.choice([1, 1, 1, -1], 8_000)
    exponent = np.where(rng.random(8_000) < 0.3, rng.integers(-9, 10, 8_000), rng.uniform(-9, 9, 8_000))
    return (
        frozen(quiet(np.concatenate([a, base.astype(a.dtype)]))),
        frozen(quiet(np.concatenate([b, exponent.astype(b.dtype)]))),
    )
