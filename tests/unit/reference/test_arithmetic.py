"""Operators, casts and comparisons: every dtype, against exact scalar arithmetic."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from reference_harness import elementwise
from reference_values import corners, pairs, python, same

from ruda_core.dtypes import (
    ALL,
    FLOATS,
    INTEGERS,
    DType,
    bf16,
    bool_,
    f16,
    f32,
    f64,
    i8,
    i32,
    i64,
    u8,
    u64,
    vec,
)
from ruda_core.ir import build
from ruda_core.ir import nodes as ir
from ruda_core.passes import values

INTEGER_OPS = ("+", "-", "*", "//", "%", "div_trunc", "rem_trunc", "&", "|", "^")
SHIFTS = ("<<", ">>")


@pytest.mark.parametrize("op", INTEGER_OPS)
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integer_operators(dtype: DType, op: str) -> None:
    a, b = pairs(dtype)
    got = elementwise(dtype, lambda x, y: build.binary(op, x, y), dtype, dtype)(a, b)
    same(dtype, got, [values.binary(op, dtype, x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)])


@pytest.mark.parametrize("op", [*INTEGER_OPS, *SHIFTS])
@pytest.mark.parametrize("dtype", [i8, u8], ids=str)
def test_all_pairs_of_bytes(dtype: DType, op: str) -> None:
    every = np.arange(dtype.min, dtype.max + 1).astype(dtype.numpy)
    a, b = np.repeat(every, 256), np.tile(every, 256)
    got = elementwise(dtype, lambda x, y: build.binary(op, x, y), dtype, dtype)(a, b)
    same(dtype, got, [values.binary(op, dtype, x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)])


@pytest.mark.parametrize("op", SHIFTS)
@pytest.mark.parametrize(
    ("dtype", "amount"), list(itertools.product(INTEGERS, (i8, u8, i32, i64, u64))), ids=str
)
def test_shifts_by_any_integer(dtype: DType, amount: DType, op: str) -> None:
    a, b = pairs(dtype, amount)
    got = elementwise(dtype, lambda x, y: ir.Binary(dtype, None, op, x, y), dtype, amount)(a, b)
    same(dtype, got, [values.binary(op, dtype, x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)])


@pytest.mark.parametrize("op", ["+", "-", "*", "/"])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_float_operators_round_once(dtype: DType, op: str) -> None:
    a, b = pairs(dtype)
    got = elementwise(dtype, lambda x, y: build.binary(op, x, y), dtype, dtype)(a, b)
    left, right = python(dtype, a), python(dtype, b)
    same(dtype, got, [values.binary(op, dtype, x, y) for x, y in zip(left, right, strict=True)])


@pytest.mark.parametrize("dtype", [f16, f32, f64], ids=str)
def test_the_remainder_of_floats_is_numpys(dtype: DType) -> None:
    a, b = pairs(dtype)
    got = elementwise(dtype, lambda x, y: build.binary("%", x, y), dtype, dtype)(a, b)
    with np.errstate(all="ignore"):
        same(dtype, got, np.remainder(a, b).tolist())


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_floor_division_of_floats_is_the_floor_of_the_exact_quotient(dtype: DType) -> None:
    """NumPy's is not, from 2**22 on: 5.397307 // 6.475169e-07 is 8335391, not 8335390."""
    a, b = (np.concatenate(part) for part in zip(pairs(dtype), _quotients(dtype), strict=True))
    got = elementwise(dtype, lambda x, y: build.binary("//", x, y), dtype, dtype)(a, b)
    left, right = python(dtype, a), python(dtype, b)
    expected = [_floor(dtype, x, y) for x, y in zip(left, right, strict=True)]
    same(dtype, got, expected)
    same(dtype, got, [values.binary("//", dtype, x, y) for x, y in zip(left, right, strict=True)])


def _quotients(dtype: DType) -> tuple[np.ndarray, np.ndarray]:
    """Operands whose quotients are of every size; many are close to whole numbers."""
    random = np.random.default_rng(7)
    size = np.exp2(random.uniform(-3, 8 if dtype is f16 else 62 if dtype is f64 else 30, 4000))
    b = random.uniform(0.5, 1, 4000) * random.choice([-1, 1], 4000)
    b = (b / size if dtype is not f16 else b).astype(dtype.numpy)
    a = np.where(random.random(4000) < 0.5, np.trunc(size) * b.astype(float), random.uniform(0.5, 1, 4000))
    return a.astype(dtype.numpy), b


def _floor(dtype: DType, x: float, y: float) -> float:
    quotient = values.binary("/", f32 if dtype.bits == 16 else dtype, x, y)
    if math.isinf(x) and y != 0:
        return math.nan
    if math.isinf(y) and math.isfinite(x):
        return -1.0 if x * y < 0 else math.copysign(0.0, x) * math.copysign(1.0, y)
    if not abs(quotient) < 2.0 ** (63 if dtype is f64 else 31):
        return values.rounded(dtype, quotient)
    whole = math.floor(Fraction(x) / Fraction(y))
    return values.rounded(dtype, Fraction(whole)) if whole else math.copysign(0.0, quotient)


def test_bf16_floor_division_has_the_divisors_sign() -> None:
    a, b = np.array([7.0, -7.0, 7.0, 1.0], bf16.numpy), np.array([2.0, 2.0, -2.0, np.inf], bf16.numpy)
    floor = elementwise(bf16, lambda x, y: build.binary("//", x, y), bf16, bf16)(a, b)
    rest = elementwise(bf16, lambda x, y: build.binary("%", x, y), bf16, bf16)(a, b)
    assert floor.astype(float).tolist() == [3.0, -4.0, -4.0, 0.0]
    assert rest.astype(float).tolist() == [1.0, 1.0, -1.0, 1.0]


@pytest.mark.parametrize("op", sorted(ir.COMPARISONS))
@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_comparisons(dtype: DType, op: str) -> None:
    a, b = pairs(dtype)
    got = elementwise(bool_, lambda x, y: build.compare(op, x, y), dtype, dtype)(a, b)
    left, right = python(dtype, a), python(dtype, b)
    assert got.tolist() == [values.compare(op, x, y) for x, y in zip(left, right, strict=True)]


@pytest.mark.parametrize(("a", "b"), list(itertools.product((i8, u8, i32, i64, u64), repeat=2)), ids=str)
def test_integers_of_two_dtypes_compare_by_value(a: DType, b: DType) -> None:
    left, right = pairs(a, b)
    for op in ("<", "==", ">="):
        got = elementwise(bool_, lambda x, y, op=op: build.compare(op, x, y), a, b)(left, right)
        wanted = [values.compare(op, x, y) for x, y in zip(left.tolist(), right.tolist(), strict=True)]
        assert got.tolist() == wanted


@pytest.mark.parametrize(("source", "to"), list(itertools.product(ALL, ALL)), ids=str)
def test_casts(source: DType, to: DType) -> None:
    data = corners(source)
    if source.is_integer and source.bits == 64:
        tricky = [
            (1 << 24) + 1,
            (1 << 53) + 1,
            (1 << 62) + 1,
            (1 << 61) + (1 << 53) + 1,
            0x101 << 40,
            (0x101 << 40) + 1,
        ]
        data = np.concatenate([data, np.array(tricky, source.numpy)])
    if source is f64:
        tricky = [
            1 + 2**-8,
            1 + 2**-8 + 2**-40,
            1 + 2**-11 + 2**-40,
            2.0**31,
            -(2.0**31) - 1,
            2.0**63,
            2.0**64,
            1e-42,
        ]
        data = np.concatenate([data, tricky])
    got = elementwise(to, lambda x: build.cast(to, x), source)(data)
    same(to, got, [values.cast(to, source, x) for x in python(source, data)])


@pytest.mark.parametrize(
    ("source", "to"), [(f32, i32), (i32, f32), (u64, f64), (f16, i8), (bf16, u8)], ids=str
)
def test_bitcasts(source: DType, to: DType) -> None:
    if source.bits != to.bits:
        to = vec(to, source.bits // to.bits)
    data = corners(source)
    got = elementwise(to, lambda x: ir.Bitcast(to, None, x), source)(data)
    assert got.tobytes() == data.tobytes()


def test_bitcast_from_a_vector() -> None:
    pair = vec(u8, 2)
    data = np.arange(1, 21, dtype=np.uint8)
    got = elementwise(f16, lambda x: ir.Bitcast(f16, None, x), pair)(data)
    assert got.tobytes() == data.tobytes()


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_unary(dtype: DType) -> None:
    data = corners(dtype)
    for op in ("-", "~"):
        if (op == "~" and dtype.is_float) or (op == "-" and dtype is bool_):
            continue
        got = elementwise(dtype, lambda x, op=op: build.unary(op, x), dtype)(data)
        same(dtype, got, [values.unary(op, dtype, x) for x in python(dtype, data)])


def test_any_byte_but_zero_reads_as_true() -> None:
    got = elementwise(i32, lambda x: build.cast(i32, x), bool_)(
        np.array([0, 1, 2, 128, 255], np.uint8).view(np.bool_)
    )
    assert got.tolist() == [0, 1, 1, 1, 1]


def test_select_and_logic() -> None:
    a, b = pairs(i32)

    def make(x: ir.Expr, y: ir.Expr) -> ir.Expr:
        smaller = build.both(build.compare("<", x, y), build.negate(build.compare("==", x, build.like(x, 3))))
        return build.select(smaller, x, y)

    got = elementwise(i32, make, i32, i32)(a, b)
    assert got.tolist() == np.where((a < b) & (a != 3), a, b).tolist()


def test_vectors_by_component() -> None:
    four = vec(f32, 4)
    a = np.arange(32, dtype=np.float32)
    b = np.linspace(-3, 5, 32, dtype=np.float32)

    def make(x: ir.Expr, y: ir.Expr) -> ir.Expr:
        first = ir.MakeVector(four, None, (build.component(x, 0),))
        turned = ir.MakeVector(four, None, tuple(build.component(y, k) for k in (3, 2, 1, 0)))
        largest = build.math("max", build.binary("+", x, first), turned)
        return build.select(build.compare("<", x, y), largest, build.like(x, 2.0))

    got = elementwise(four, make, four, four)(a, b).reshape(-1, 4)
    x, y = a.reshape(-1, 4), b.reshape(-1, 4)
    wanted = np.where(x < y, np.maximum(x + x[:, :1], y[:, ::-1]), np.float32(2))
    assert (got == wanted).all()


def test_a_scalar_condition_selects_whole_vectors() -> None:
    three = vec(i32, 3)
    data = np.arange(30, dtype=np.int32)

    def make(x: ir.Expr) -> ir.Expr:
        odd = build.compare(
            "==", build.binary("&", build.component(x, 0), build.const(i32, 1)), build.const(i32, 1)
        )
        return ir.Select(three, None, odd, x, build.unary("-", x))

    got = elementwise(three, make, three)(data).reshape(-1, 3)
    rows = data.reshape(-1, 3)
    assert (got == np.where(rows[:, :1] % 2 == 1, rows, -rows)).all()
