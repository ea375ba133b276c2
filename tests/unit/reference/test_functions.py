"""Math functions against exact arithmetic, or against NumPy in f64."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from reference_harness import elementwise
from reference_values import corners, pairs, python, same

from ruda_core.dtypes import ALL, FLOATS, INTEGERS, DType, bf16, bool_, f16, f32, f64, i8, i64, u8, u64
from ruda_core.ir import build
from ruda_core.ir import nodes as ir
from ruda_core.ir.functions import MATH
from ruda_core.passes import values

EXACT_FLOAT = [
    n
    for n, f in MATH.items()
    if f.exact and f.domain in ("float", "number", "any") and n not in ("pow", "fma")
]
ROUNDED = [n for n, f in MATH.items() if not f.exact and n != "pow"]


@pytest.mark.parametrize("fn", EXACT_FLOAT)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_exact_functions_of_floats(dtype: DType, fn: str) -> None:
    entry = MATH[fn]
    result = bool_ if entry.gives_bool else dtype
    data = pairs(dtype)[: entry.arity]
    got = elementwise(result, lambda *a: ir.Math(result, None, fn, a), *[dtype] * entry.arity)(*data)
    rows = zip(*(python(dtype, d) for d in data), strict=True)
    wanted = [values.EXACT[fn](dtype, *row) for row in rows]
    if fn in ("min", "max", "fmin", "fmax", "sign"):  # which zero is not said
        got, wanted = got + dtype.numpy.type(0), [x + 0.0 for x in wanted]
    same(result, got, wanted)


@pytest.mark.parametrize("fn", ["abs", "sign", "min", "max", "fmin", "fmax", "popcount", "clz", "ctz"])
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_functions_of_integers(dtype: DType, fn: str) -> None:
    data = pairs(dtype)[: MATH[fn].arity]
    got = elementwise(dtype, lambda *a: ir.Math(dtype, None, fn, a), *[dtype] * len(data))(*data)
    wanted = [values.EXACT[fn](dtype, *row) for row in zip(*(d.tolist() for d in data), strict=True)]
    same(dtype, got, wanted)


@pytest.mark.parametrize("fn", ["reverse_bits", "mulhi"])
@pytest.mark.parametrize("dtype", [d for d in INTEGERS if d.kind == "uint"], ids=str)
def test_functions_of_unsigned(dtype: DType, fn: str) -> None:
    data = pairs(dtype)[: MATH[fn].arity]
    got = elementwise(dtype, lambda *a: ir.Math(dtype, None, fn, a), *[dtype] * len(data))(*data)
    same(dtype, got, [values.EXACT[fn](dtype, *row) for row in zip(*(d.tolist() for d in data), strict=True)])


@pytest.mark.parametrize("dtype", [*INTEGERS], ids=str)
@pytest.mark.parametrize("exponent", [i8, u8, i64, u64], ids=str)
def test_integer_powers_wrap(dtype: DType, exponent: DType) -> None:
    a, b = pairs(dtype, exponent)
    got = elementwise(dtype, lambda x, y: ir.Math(dtype, None, "pow", (x, y)), dtype, exponent)(a, b)
    same(dtype, got, [values.int_pow(dtype, x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)])


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
def test_float_powers_are_numpys(dtype: DType) -> None:
    a, b = pairs(dtype)
    got = elementwise(dtype, lambda x, y: build.math("pow", x, y), dtype, dtype)(a, b)
    with np.errstate(all="ignore"):
        wanted = np.power(a, b)
    np.testing.assert_allclose(got.astype(float), wanted.astype(float), rtol=1e-6)


@pytest.mark.parametrize("exponent", [0.5, 2.0, -1.0, 0.0])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_a_constant_exponent_is_as_good_as_one_for_each(dtype: DType, exponent: float) -> None:
    """NumPy's power by one 0.5 is a square root, of -inf NaN and of -0 -0."""
    a = np.array([-np.inf, -0.0, 0.0, 4.0, np.inf, -2.0, np.nan], dtype.numpy)
    each = np.full(len(a), exponent, dtype.numpy)
    constant = build.const(dtype, exponent)
    one = elementwise(dtype, lambda x: build.math("pow", x, constant), dtype)(a)
    every = elementwise(dtype, lambda x, y: build.math("pow", x, y), dtype, dtype)(a, each)
    same(dtype, one, every.tolist())
    if exponent == 0.5:
        assert one[0] == np.inf and not np.signbit(one[1])


@pytest.mark.parametrize("fn", ROUNDED)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_rounded_functions(dtype: DType, fn: str) -> None:
    arity = MATH[fn].arity
    data = pairs(dtype)[:arity]
    got = elementwise(dtype, lambda *a: ir.Math(dtype, None, fn, a), *[dtype] * arity)(*data)
    wide = [d.astype(np.float64) for d in data]
    with np.errstate(all="ignore"):
        if fn == "erf":
            exact = np.array([math.erf(x) for x in wide[0]])
        else:
            exact = 1 / np.sqrt(wide[0]) if fn == "rsqrt" else getattr(np, fn)(*wide)
    same(dtype, got, [values.rounded(dtype, float(x)) for x in exact])


def _random(dtype: DType, n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 1 << dtype.bits, n, dtype=np.uint64).astype(f"u{dtype.itemsize}")
    return bits.view(dtype.numpy)


@pytest.mark.parametrize("dtype", [f16, bf16, f32, f64], ids=str)
def test_fma_rounds_once(dtype: DType) -> None:
    n = 600
    a, b, c = (_random(dtype, n, seed) for seed in (1, 2, 3))
    with np.errstate(all="ignore"):
        # Sums that nearly cancel, and ties that only the lost part of the product decides.
        d, e = (_random(dtype, n, s) for s in (4, 5))
        close = (-(d.astype(np.float64) * e.astype(np.float64))).astype(dtype.numpy)
        one = np.ones(n, dtype.numpy)
        small = (one.astype(float) * 2.0 ** -np.random.default_rng(6).integers(1, 60, n)).astype(dtype.numpy)
        a = np.concatenate([a, d, one + small, corners(dtype)])
        b = np.concatenate([b, e, one - small, corners(dtype)[::-1]])
        c = np.concatenate([c, close, one, corners(dtype)])
    got = elementwise(dtype, lambda *args: build.math("fma", *args), dtype, dtype, dtype)(a, b, c)
    rows = zip(*(python(dtype, x) for x in (a, b, c)), strict=True)
    same(dtype, got, [_fused(dtype, *row) for row in rows])


def _fused(dtype: DType, a: float, b: float, c: float) -> float:
    if math.isfinite(a) and math.isfinite(b) and not math.isfinite(c):
        return c
    if not all(map(math.isfinite, (a, b, c))) or a == 0 or b == 0:
        with np.errstate(all="ignore"):
            return float(np.float64(a) * np.float64(b) + np.float64(c))
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if abs(exact) >= 2**1024 - 2**970:
        return math.inf if exact > 0 else -math.inf
    return values.rounded(dtype, exact)


def test_there_is_a_function_for_every_name() -> None:
    from ruda_core.reference.functions import function

    for name, entry in MATH.items():
        domain = {"float": FLOATS, "integer": INTEGERS, "unsigned": [u8, u64]}.get(entry.domain)
        for dtype in domain or [d for d in ALL if d is not bool_]:
            assert function(name, dtype) is not None, (name, dtype)
    assert function("no_such", f32) is None
