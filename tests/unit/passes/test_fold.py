"""Folded constants are what run time gives; nothing else is folded."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from building import E, Kernel, const, fn, select

from ruda_core.dtypes import (
    FLOATS,
    INTEGERS,
    DType,
    VecType,
    bf16,
    bool_,
    f16,
    f32,
    f64,
    i8,
    i32,
    i64,
    u8,
    u32,
    vec,
)
from ruda_core.ir import build as b
from ruda_core.ir import nodes as ir
from ruda_core.ir.text import show, show_expr
from ruda_core.passes import values
from ruda_core.passes.fold import fold, fold_expr


def value(e: E) -> object:
    folded = fold_expr(e.expr)
    assert isinstance(folded, ir.Const), show_expr(folded)
    return folded.value


NUMPY = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "//": np.floor_divide,
    "%": np.remainder,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
}


def numpy_ints(op: str, dtype: DType, x: int, ys: list[int]) -> list[int]:
    """NumPy's answers, with the language's own rule for zero divisors."""
    divisors = np.array(ys, dtype.numpy)
    with np.errstate(all="ignore"):
        out = NUMPY[op](np.full_like(divisors, x), divisors)
    if op in ("//", "%"):
        out = np.where(divisors == 0, 0, out)
    return [int(v) for v in out]


@pytest.mark.parametrize("op", ["+", "-", "*", "//", "%", "&", "|", "^"])
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integer_operators_are_numpys(op: str, dtype: DType) -> None:
    corners = sorted({dtype.min, dtype.min + 1, -7, -1, 0, 1, 2, 3, 7, dtype.max - 1, dtype.max})
    corners = [c for c in corners if dtype.min <= c <= dtype.max]
    for x in corners:
        got = [values.binary(op, dtype, x, y) for y in corners]
        assert got == numpy_ints(op, dtype, x, corners), (x, op)


def test_all_pairs_of_8_bits() -> None:
    for dtype in (i8, u8):
        every = list(range(dtype.min, dtype.max + 1))
        for op, x in itertools.product(["+", "*", "//", "%"], every):
            assert [values.binary(op, dtype, x, y) for y in every] == numpy_ints(op, dtype, x, every)


@pytest.mark.parametrize(
    ("op", "dtype", "x", "amount", "right"),
    [
        ("<<", i32, 1, 31, -(2**31)),
        ("<<", i32, 1, 32, 0),
        ("<<", i32, 5, -1, 0),
        (">>", i32, -17, 2, -5),
        (">>", i32, -17, 99, -1),
        (">>", i32, -17, -1, -1),
        (">>", i32, 17, 32, 0),
        (">>", u32, 4294967279, 2, 1073741819),
        (">>", u32, 2**31, 32, 0),
        ("<<", u8, 255, 4, 240),
        (">>", i64, -(2**63), 63, -1),
        ("div_trunc", i32, -7, 2, -3),
        ("rem_trunc", i32, -7, 2, -1),
        ("div_trunc", i32, 7, 0, 0),
        ("rem_trunc", i32, 7, 0, 0),
        ("div_trunc", i32, -(2**31), -1, -(2**31)),
    ],
)
def test_shifts_and_truncating_division(op: str, dtype: DType, x: int, amount: int, right: int) -> None:
    assert value(const(dtype, x).binary(op, amount if abs(amount) < 128 else const(i32, amount))) == right


@pytest.mark.parametrize("op", ["quo", "rem", "shl", "shr"])
def test_undefined_raw_operations_stay(op: str) -> None:
    e = const(i32, 5).binary(op, const(i32, 0 if op in ("quo", "rem") else 32))
    assert isinstance(fold_expr(e.expr), ir.Binary)


SAMPLES = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    3.0,
    0.1,
    1e-3,
    65504.0,
    1e30,
    -1e38,
    math.inf,
    -math.inf,
    math.nan,
    5.9e-8,
    1e-42,
]


@pytest.mark.parametrize("op", ["+", "-", "*", "/", "//", "%"])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_float_operators_are_numpys(op: str, dtype: DType) -> None:
    numpy_op = {
        "+": np.add,
        "-": np.subtract,
        "*": np.multiply,
        "/": np.divide,
        "//": np.floor_divide,
        "%": np.remainder,
    }[op]
    samples = [values.rounded(dtype, s) for s in SAMPLES]
    for x, y in itertools.product(samples, samples):
        with np.errstate(all="ignore"):
            right = float(numpy_op(dtype.numpy.type(x), dtype.numpy.type(y)))
        if op == "//" and 2.0**22 <= abs(right) < math.inf:
            continue  # NumPy's may miss the whole number by one: see the reference's tests
        got = values.binary(op, dtype, x, y)
        assert np.array(got).tobytes() == np.array(right).tobytes() or (got != got and right != right), (x, y)


def test_random_f32_pairs_round_once() -> None:
    bits = np.random.default_rng(1).integers(0, 2**32, (2, 4000), np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        for op, numpy_op in (("+", np.add), ("*", np.multiply), ("/", np.divide)):
            right = numpy_op(bits[0], bits[1])
            got = np.array([values.binary(op, f32, float(x), float(y)) for x, y in bits.T], np.float32)
            assert np.array_equal(got, right, equal_nan=True)


def test_rounding_to_narrow_floats() -> None:
    assert values.to_bits(bf16, values.rounded(bf16, 3.14)) == 0x4049
    assert values.to_bits(bf16, values.rounded(bf16, 1.00390625)) == 0x3F80
    assert values.to_bits(bf16, values.rounded(bf16, 1.01171875)) == 0x3F82
    # 1 + 2**-8 + 2**-40: through f32 it would round to the tie, and then down
    assert values.rounded(bf16, 1 + 2**-8 + 2**-40) == 1 + 2**-7
    assert values.rounded(f16, 65520.0) == math.inf
    assert values.rounded(f16, 65519.0) == 65504.0
    assert values.rounded(f32, 2**24 + 1) == 2**24
    assert values.rounded(f32, 2**60 + 2**36 + 1) == float(np.float32(2**60 + 2**37))
    assert values.rounded(bf16, 2**63 + 2**55 + 1) == 2.0**63 + 2.0**56


@pytest.mark.parametrize(
    ("source", "x", "to", "right"),
    [
        (f32, -3.7, i32, -3),
        (f32, 3e9, i32, 2**31 - 1),
        (f32, -3e9, i32, -(2**31)),
        (f32, math.nan, i32, 0),
        (f32, -1.0, u32, 0),
        (f32, math.inf, u32, 2**32 - 1),
        (f64, 300.0, u8, 255),
        (i32, -1, u8, 255),
        (i32, 200, i8, -56),
        (f32, math.nan, bool_, True),
        (i32, 2, bool_, True),
        (bool_, True, f16, 1.0),
        (i32, 16777217, f32, 16777216.0),
    ],
)
def test_casts(source: DType, x: float, to: DType, right: object) -> None:
    x = values.rounded(source, x) if source.is_float else x
    got = value(const(source, x).to(to))
    assert got == right and type(got) is type(right)


def test_functions() -> None:
    assert [value(fn("round", const(f32, x))) for x in (0.5, 1.5, 2.5, -1.5, -2.5)] == [0, 2, 2, -2, -2]
    assert math.isnan(value(fn("max", const(f32, math.nan), 1.0)))
    assert value(fn("fmax", const(f32, math.nan), 1.0)) == 1.0
    assert value(fn("clz", const(u32, 0))) == 32
    assert value(fn("ctz", const(u32, 8))) == 3
    assert value(fn("mulhi", const(u32, 0xD2511F53), 0xFFFFFFFF)) == 0xD2511F52
    assert value(fn("reverse_bits", const(u8, 1))) == 128
    assert value(fn("abs", const(i32, -(2**31)))) == -(2**31)
    assert value(fn("pow", const(i32, -1), -3)) == -1
    assert value(fn("pow", const(i32, 3), 21)) == values.wrap(i32, 3**21)
    assert value(fn("pow", const(u32, 0), 0)) == 1


def test_fma_rounds_once() -> None:
    x = 1 + 2**-12
    assert value(fn("fma", const(f32, x), const(f32, x), const(f32, -(1 + 2**-11)))) == 2**-24
    assert math.copysign(1, value(fn("fma", const(f32, -0.0), const(f32, 1.0), const(f32, -0.0)))) == -1  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "e",
    [
        fn("sin", const(f32, 1.0)),
        fn("pow", const(f32, 2.0), 0.5),
        fn("min", const(f32, 0.0), const(f32, -0.0)),
        E(b.bitcast(u32, const(f32, math.nan).expr)),
        E(b.bitcast(f32, const(u32, 0x7F800001).expr)),
        E(ir.Fence(f32, None, const(f32, 1.0).expr)),
    ],
)
def test_what_is_not_defined_to_the_bit_stays(e: E) -> None:
    assert not isinstance(fold_expr(e.expr), ir.Const)


def test_bitcasts() -> None:
    assert value(E(b.bitcast(u32, const(f32, -0.0).expr))) == 0x80000000
    assert value(E(b.bitcast(f32, const(u32, 0x7F800000).expr))) == math.inf


def test_algebra_is_exact_only() -> None:
    n, x = E(ir.Param(i32, None, "n")), E(ir.Param(f32, None, "x"))
    same = [n + 0, n * 1, n // 1, n - 0, n << 0]
    assert all(fold_expr(e.expr) is n.expr for e in same)
    assert show_expr(fold_expr((const(i32, 0) - n).expr)) == show_expr((-n).expr)
    assert value(n * 0) == 0 and value(n % 1) == 0
    for e in (x + 0.0, x * 0.0, x - x, n - n):
        assert isinstance(fold_expr(e.expr), ir.Binary)


def test_logic_and_selects() -> None:
    c = E(ir.Param(bool_, None, "c"))
    assert fold_expr((c & const(bool_, True)).expr) is c.expr
    assert value(c & const(bool_, False)) is False
    assert value(c | const(bool_, True)) is True
    x = E(ir.Param(f32, None, "x"))
    assert fold_expr(select(const(bool_, False), const(f32, 1.0), x).expr) is x.expr


def test_vectors_fold_by_component() -> None:
    v4: VecType = vec(i32, 4)
    v = ir.MakeVector(v4, None, tuple(b.const(i32, k) for k in range(4)))
    doubled = fold_expr(b.binary("*", v, b.like(v, 2)))
    assert show_expr(doubled) == "Vec[i32, 4](0:i32, 2:i32, 4:i32, 6:i32)"
    assert value(E(b.component(doubled, 3))) == 6


def test_symbols_and_branches() -> None:
    k = Kernel()
    out = k.array("out", i32)
    n = k.let(const(i32, 3), "n")
    m = k.let(n, "m")
    with k.if_(m < 4):
        k.store(out, m, n + m)
    with k.else_():
        k.store(out, 0, 9)
    with k.range(5, 2) as i:
        k.store(out, i, 9)
    assert "store out[3:i32] = 6:i32" in show(fold(k.function()))
    assert "9:i32" not in show(fold(k.function()))


def test_a_variable_is_not_seen_through() -> None:
    k = Kernel()
    out = k.array("out", i32)
    v = k.var(const(i32, 3))
    copy = k.let(v)
    k.set(v, 4)
    k.store(out, 0, copy)
    assert "store out[0:i32] = %t.1" in show(fold(k.function()))
