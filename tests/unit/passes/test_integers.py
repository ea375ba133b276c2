"""Integer rules on a target with plain 32-bit (or 64-bit) operations only, against Python's integers."""

from __future__ import annotations

import numpy as np
import pytest
from bare import TARGET, apply, corners, legalise, pairs, python
from lanes import run, scalar_function

from ruda_core.dtypes import BY_NAME, INTEGERS, DType, bool_, i8, i32, i64, u8, u32
from ruda_core.ir import build as b
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import expressions, walk
from ruda_core.passes import values

OPERATORS = ["+", "-", "*", "//", "%", "div_trunc", "rem_trunc", "&", "|", "^"]
FUNCTIONS = ["popcount", "clz", "ctz", "abs", "sign"]


def same(got: np.ndarray, wanted: list[int], *operands: np.ndarray) -> None:
    want = np.array(wanted, got.dtype)
    bad = np.flatnonzero(got != want)
    shown = [([o[k] for o in operands], got[k], want[k]) for k in bad[:5]]
    assert not len(bad), f"{len(bad)} differ, first (operands, got, wanted): {shown}"


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_operators(op: str, dtype: DType) -> None:
    x, y = pairs(dtype, dtype)
    got = apply(lambda p, q: b.binary(op, p, q), (dtype, dtype), x, y)
    same(got, [values.binary(op, dtype, p, q) for p, q in zip(python(x), python(y), strict=True)], x, y)


@pytest.mark.parametrize("op", ["//", "%", "div_trunc", "rem_trunc"])
@pytest.mark.parametrize(
    ("dtype", "divisor"),
    [(t, d) for t in (i8, u8, i32, u32, i64) for d in (-7, -1, 0, 1, 3, 8, 64) if d >= t.min],
)
def test_known_divisors(op: str, divisor: int, dtype: DType) -> None:
    x = corners(dtype)
    got = apply(lambda p: b.binary(op, p, b.const(dtype, divisor)), (dtype,), x)
    same(got, [values.binary(op, dtype, p, divisor) for p in python(x)], x)


@pytest.mark.parametrize("op", ["<<", ">>"])
@pytest.mark.parametrize("amount", INTEGERS, ids=str)
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_shifts(op: str, amount: DType, dtype: DType) -> None:
    x, n = pairs(dtype, amount)
    got = apply(lambda p, q: ir.Binary(dtype, None, op, p, q), (dtype, amount), x, n)
    same(got, [values.binary(op, dtype, p, q) for p, q in zip(python(x), python(n), strict=True)], x, n)


@pytest.mark.parametrize("op", ["<<", ">>"])
@pytest.mark.parametrize("amount", [-1, 0, 3, 31, 32, 200])
def test_known_amounts(op: str, amount: int) -> None:
    x = corners(i32)
    got = apply(lambda p: ir.Binary(i32, None, op, p, b.const(i32, amount)), (i32,), x)
    same(got, [values.binary(op, i32, p, amount) for p in python(x)], x)


@pytest.mark.parametrize("op", sorted(ir.COMPARISONS))
@pytest.mark.parametrize("left", INTEGERS, ids=str)
@pytest.mark.parametrize("right", INTEGERS, ids=str)
def test_comparisons_are_by_value(op: str, left: DType, right: DType) -> None:
    x, y = pairs(left, right)
    got = apply(lambda p, q: b.compare(op, p, q), (left, right), x, y, result=bool_)
    same(got, [values.compare(op, p, q) for p, q in zip(python(x), python(y), strict=True)], x, y)


@pytest.mark.parametrize("fn", ["min", "max", "fmin", "fmax"])
@pytest.mark.parametrize("dtype", [i8, u32, i64], ids=str)
def test_min_max(fn: str, dtype: DType) -> None:
    x, y = pairs(dtype, dtype)
    got = apply(lambda p, q: b.math(fn, p, q), (dtype, dtype), x, y)
    same(got, [(min if "min" in fn else max)(p, q) for p, q in zip(python(x), python(y), strict=True)], x, y)


@pytest.mark.parametrize("fn", FUNCTIONS)
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_functions(fn: str, dtype: DType) -> None:
    x = corners(dtype)
    got = apply(lambda p: b.math(fn, p), (dtype,), x)
    same(got, [values.EXACT[fn](dtype, p) for p in python(x)], x)


@pytest.mark.parametrize("dtype", [d for d in INTEGERS if d.kind == "uint"], ids=str)
def test_unsigned_functions(dtype: DType) -> None:
    x, y = pairs(dtype, dtype)
    got = apply(lambda p, q: b.math("mulhi", p, q), (dtype, dtype), x, y)
    same(got, [(p * q) >> dtype.bits for p, q in zip(python(x), python(y), strict=True)], x, y)
    x = corners(dtype)
    got = apply(lambda p: b.math("reverse_bits", p), (dtype,), x)
    same(got, [values.EXACT["reverse_bits"](dtype, p) for p in python(x)], x)


@pytest.mark.parametrize("exponent", ["i8", "u8", "i32", "u32", "i64", "u64"])
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_power(exponent: str, dtype: DType) -> None:
    x, n = pairs(dtype, BY_NAME[exponent])
    got = apply(lambda p, q: ir.Math(dtype, None, "pow", (p, q)), (dtype, BY_NAME[exponent]), x, n)
    same(got, [values.int_pow(dtype, p, q) for p, q in zip(python(x), python(n), strict=True)], x, n)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 10, 31])
def test_known_exponents(exponent: int) -> None:
    x = corners(i32)
    got = apply(lambda p: b.math("pow", p, b.const(i32, exponent)), (i32,), x)
    same(got, [values.int_pow(i32, p, exponent) for p in python(x)], x)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_negation_and_complement_wrap(dtype: DType) -> None:
    x = corners(dtype)
    for op in ("-", "~"):
        got = apply(lambda p, op=op: b.unary(op, p), (dtype,), x)
        same(got, [values.unary(op, dtype, p) for p in python(x)], x)


@pytest.mark.parametrize("op", ["//", "%"])
def test_known_ranges_leave_no_guards(op: str) -> None:
    """A position divided by a workgroup's size, as index arithmetic does it."""
    unit = ir.Builtin(i32, None, "absolute_pos")
    f = legalise(scalar_function(lambda p: b.binary(op, unit, b.const(i32, 12)), i32), TARGET)
    nodes = [e for s in walk(f.body) for e in expressions(s)]
    assert not any(isinstance(e, (ir.Select, ir.Compare)) for e in nodes)
    out = np.zeros(40, np.int32)
    run(f, {"in0": out, "out": out}, 40)
    assert list(out) == [values.binary(op, i32, k, 12) for k in range(40)]


@pytest.mark.parametrize("low", [0, 1])
@pytest.mark.parametrize("op", ["//", "%", "div_trunc", "rem_trunc", "<<", ">>"])
def test_partly_known_ranges(op: str, low: int) -> None:
    """Operands that are cut to a range first: what is left out must not have been needed."""
    x, y = pairs(i8, i8)

    def make(p: ir.Expr, q: ir.Expr) -> ir.Expr:
        positive = b.math("max", q, b.const(i8, low))
        return ir.Binary(i8, None, op, b.math("max", p, b.const(i8, -low)), positive)

    got = apply(make, (i8, i8), x, y)
    rows = zip(python(x), python(y), strict=True)
    same(got, [values.binary(op, i8, max(p, -low), max(q, low)) for p, q in rows], x, y)
