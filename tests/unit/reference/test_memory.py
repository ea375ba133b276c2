"""Loads and stores: spaces, layouts, bounds, vectors, aliases."""

from __future__ import annotations

import numpy as np
import pytest
from reference_harness import POS, Body, Kernel, Tensor, array, below, length, num

from ruda_core.dtypes import ALL, DType, bool_, f32, i32, i64, u8, u64, vec
from ruda_core.ir import build
from ruda_core.ir import nodes as ir

X, Y = array("x", i32), array("y", i32)
UNIT = ir.Builtin(i32, None, "unit_pos")
GROUP = ir.Builtin(i32, None, "workgroup_pos")


def axis(name: str, k: int) -> ir.Expr:
    return ir.Builtin(i32, None, name, k)


def times(a: ir.Expr, k: int) -> ir.Expr:
    return build.binary("*", a, num(k))


def plus(a: ir.Expr, b: ir.Expr | int) -> ir.Expr:
    return build.binary("+", a, num(b) if isinstance(b, int) else b)


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_copies_of_every_dtype(dtype: DType) -> None:
    x, y = array("x", dtype), array("y", dtype)
    b = Body()
    b.store(y, POS, b.load(x, POS, check=below(POS, length(x))), check=below(POS, length(y)))
    data = (np.arange(300) % 120).astype(dtype.numpy)
    out = np.zeros(300, dtype.numpy)
    Kernel(b, [x, y])(5, x=data, y=out)
    assert out.tolist() == data.tolist()


@pytest.mark.parametrize(
    "index",
    [
        plus(POS, -3),
        plus(POS, 5),
        times(POS, 2),
        build.binary("-", num(40), POS),
        build.binary("//", POS, num(3)),
        build.binary("*", POS, POS),
        build.cast(u8, POS),
        build.cast(i64, times(POS, 1 << 30)),
    ],
)
def test_checked_reads_give_zero_and_checked_writes_are_dropped(index: ir.Expr) -> None:
    b = Body()
    limit = build.cast(i64, length(X))
    index64 = build.cast(i64, index)
    read = b.load(X, index, check=below(index64, limit))
    out = array("out", i32)
    b.store(out, POS, read)
    b.store(Y, index, plus(POS, 1), check=below(index64, build.cast(i64, length(Y))))
    data = np.arange(100, 141, dtype=np.int32)
    y, result = np.zeros(41, np.int32), np.zeros(64, np.int32)
    Kernel(b, [X, Y, out])(1, x=data, y=y, out=result)
    places = [_index(index, unit) for unit in range(64)]
    assert result.tolist() == [int(data[p]) if 0 <= p < 41 else 0 for p in places]
    wanted = np.zeros(41, np.int32)
    for unit, p in enumerate(places):
        if 0 <= p < 41:
            wanted[p] = unit + 1
    if getattr(index, "op", "") != "//":  # there several units write one element
        assert y.tolist() == wanted.tolist()


def _index(e: ir.Expr, unit: int) -> int:
    match e:
        case ir.Const():
            return int(e.value)
        case ir.Builtin():
            return unit
        case ir.Cast():
            value = _index(e.a, unit)
            return value % 256 if e.type is u8 else value
    a, b = _index(e.a, unit), _index(e.b, unit)
    value = {"+": a + b, "-": a - b, "*": a * b, "//": a // b if b else 0}[e.op]
    return (value + 2**31) % 2**32 - 2**31


def test_unchecked_accesses_stay_inside_their_arrays() -> None:
    b = Body()
    b.store(Y, plus(times(POS, 5), -8), b.load(X, times(POS, 7)))
    shared = ir.Array("s", i32, "shared", (4,))
    b.store(shared, plus(UNIT, -2), num(9))
    b.store(X, plus(POS, 1 << 20), b.load(shared, times(UNIT, 9)))
    x, y = np.arange(10, dtype=np.int32), np.zeros(12, np.int32)
    Kernel(b, [X, Y, shared], mode="unchecked")(2, x=x, y=Tensor(y, length=6, offset=3))
    assert x.tolist() == list(range(10))
    assert y[:3].tolist() == [0, 0, 0]
    assert y[9:].tolist() == [0, 0, 0]


def test_unsigned_and_wide_indices() -> None:
    for dtype in (u8, u64, i64):
        b = Body()
        at = build.cast(dtype, build.binary("%", times(POS, 7), num(64)))
        b.store(Y, POS, b.load(X, at))
        x, y = np.arange(64, dtype=np.int32) * 3, np.zeros(64, np.int32)
        Kernel(b, [X, Y])(1, x=x, y=y)
        assert y.tolist() == [x[7 * i % 64] for i in range(64)]


def test_empty_arrays() -> None:
    b = Body()
    b.store(Y, POS, b.load(X, POS, check=below(POS, length(X))), check=below(POS, length(Y)))
    zip_ = array("z", i32)
    b.store(zip_, POS, b.load(X, times(POS, 3), check=below(POS, length(X))), check=below(POS, length(zip_)))
    z = np.full(5, 7, np.int32)
    Kernel(b, [X, Y, zip_])(1, x=np.zeros(0, np.int32), y=np.zeros(0, np.int32), z=z)
    assert z.tolist() == [0] * 5


@pytest.mark.parametrize("dim", [(8, 4), (3, 5), (1, 16)])
@pytest.mark.parametrize("layout", ["rows", "columns", "reversed", "gaps", "broadcast"])
def test_tensors_are_indexed_through_their_strides(layout: str, dim: tuple[int, int]) -> None:
    rows, columns = 37, 29
    base = np.arange(4000, dtype=np.float32)
    strides, offset = {
        "rows": ((columns, 1), 3),
        "columns": ((1, rows), 0),
        "reversed": ((-columns, -1), 2000),
        "gaps": ((50, 2), 11),
        "broadcast": ((0, 1), 6),
    }[layout]
    t, out = array("t", f32, rank=2), array("out", f32, rank=2)
    x, y = axis("absolute_pos", 0), axis("absolute_pos", 1)
    b, inside = Body(), below(x, num(columns))
    inside = build.both(below(y, ir.Shape(i32, None, t, 0)), below(x, ir.Shape(i32, None, t, 1)))
    value = b.load(t, y, x, check=inside)
    b.store(out, (y, x), value, check=inside)
    result = np.zeros((rows, columns), np.float32)
    count = (-(-columns // dim[0]), -(-rows // dim[1]))
    given = Tensor(base, (rows, columns), strides, offset)
    Kernel(b, [t, out], dim)(count, t=given, out=Tensor(result, (rows, columns)))
    i, j = np.indices((rows, columns))
    assert (result == base[offset + i * strides[0] + j * strides[1]]).all()


def test_flat_indices_of_tensors() -> None:
    t, dense = array("t", i32, rank=3), array("d", i32, rank=3)
    b = Body()
    b.store(dense, POS, b.load(t, POS, flat=True), flat=True)
    base = np.arange(1000, dtype=np.int32)
    out = np.zeros((3, 4, 5), np.int32)
    given = Tensor(base, (3, 4, 5), (7, -40, 2), 500)
    Kernel(b, [t, dense], 60)(1, t=given, d=Tensor(out, (3, 4, 5)))
    i, j, k = np.indices((3, 4, 5))
    assert (out == 500 + 7 * i - 40 * j + 2 * k).all()


@pytest.mark.parametrize("lanes", [2, 3, 4, 16])
def test_vector_elements(lanes: int) -> None:
    element = vec(f32, lanes)
    v, w = array("v", element), array("w", element)
    b = Body()
    value = b.load(v, plus(POS, -1), check=below(plus(POS, -1), length(v)))
    b.store(w, build.binary("-", num(9), POS), value, check=below(build.binary("-", num(9), POS), length(w)))
    data = np.arange(12 * lanes, dtype=np.float32)
    out = np.full((10, lanes), -1, np.float32)
    offset = 2 * lanes if lanes == 3 else 2  # vectors of three are placed by their components
    Kernel(b, [v, w], 16)(1, v=Tensor(data, offset=offset, length=10), w=out)
    rows = data.reshape(12, lanes)
    assert (out == [rows[10 - k] if k < 9 else np.zeros(lanes) for k in range(10)]).all()


def test_shared_memory_is_per_workgroup_and_zeroed() -> None:
    shared = ir.Array("s", i32, "shared", (4, 8))
    b = Body()
    row, column = build.binary("//", UNIT, num(8)), build.binary("%", UNIT, num(8))
    before = b.load(shared, row, column)
    b.store(shared, (row, column), plus(times(GROUP, 100), UNIT))
    b.add(ir.Barrier(None))
    b.store(X, POS, plus(before, b.load(shared, build.binary("-", num(3), row), column)))
    x = np.zeros(32 * 5000, np.int32)
    Kernel(b, [X, shared], 32)(5000, x=x)
    unit = np.arange(32)
    wanted = np.arange(5000)[:, None] * 100 + (3 - unit // 8) * 8 + unit % 8
    assert (x.reshape(5000, 32) == wanted).all()


def test_local_memory_is_per_unit() -> None:
    local = ir.Array("l", f32, "local", (3, 2))
    b = Body()
    f = build.cast(f32, POS)
    b.store(local, (num(2), num(1)), f)
    odd = build.binary("%", POS, num(2))
    b.store(local, (odd, num(0)), build.binary("*", f, num(10.0, f32)))
    b.add(
        ir.If(
            None, build.compare("<", POS, num(20)), (ir.Store(None, local, (num(1), num(1)), num(5.0, f32)),)
        )
    )
    total: ir.Expr = num(0.0, f32)
    for i in range(3):
        for j in range(2):
            total = build.binary(
                "+", total, build.binary("*", b.load(local, num(i), num(j)), num(float(1 + i), f32))
            )
    out = array("out", f32)
    b.store(out, POS, total)
    got = np.zeros(64, np.float32)
    Kernel(b, [out, local], 32)(2, out=got)
    assert got.tolist() == [3 * i + 10 * i * (1 + i % 2) + 10 * (i < 20) for i in range(64)]


def test_constant_arrays() -> None:
    table = ir.Array("table", f32, "constant", (4,), values=(1.5, 2.5, -3.5, 4.5))
    flags = ir.Array("flags", bool_, "constant", (2,), values=(True, False))
    b = Body()
    value = b.load(
        table,
        build.binary("%", POS, num(6)),
        check=build.compare("<", build.binary("%", POS, num(6)), num(4)),
    )
    flag = b.load(flags, build.binary("%", POS, num(2)))
    out = array("out", f32)
    b.store(out, POS, build.select(flag, value, num(-1.0, f32)))
    got = np.zeros(64, np.float32)
    Kernel(b, [out, table, flags])(1, out=got)
    values = [1.5, 2.5, -3.5, 4.5, 0, 0]
    assert got.tolist() == [values[i % 6] if i % 2 == 0 else -1 for i in range(64)]


def test_a_value_that_was_loaded_does_not_change_when_its_memory_does() -> None:
    b = Body()
    old = b.load(X, POS)
    b.store(X, POS, num(0))
    b.store(Y, POS, old)
    x, y = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    Kernel(b, [X, Y])(1, x=x, y=y)
    assert y.tolist() == list(range(64))
    assert not x.any()


def test_arrays_that_share_memory() -> None:
    """Two parameters over one storage, at different offsets: what is loaded is a copy."""
    b = Body()
    old = b.load(X, POS)
    b.store(Y, POS, num(-1))
    b.store(Y, POS, plus(old, 100), check=build.compare("<", POS, num(32)))
    data = np.arange(128, dtype=np.int32)
    x, y = Tensor(data, offset=0, length=64), Tensor(data, offset=64, length=64)
    Kernel(b, [X, Y], groups=(("x", "y"),))(1, x=x, y=y)
    assert data.tolist() == [*range(64), *range(100, 132), *[-1] * 32]


def test_uniform_loads_are_the_first_units() -> None:
    shared = ir.Array("s", i32, "shared", (32,))
    b = Body()
    b.store(shared, UNIT, plus(times(POS, 2), 1))
    symbol = ir.Symbol("u", i32)
    b.add(ir.UniformLoad(None, symbol, shared, (plus(UNIT, 3),)))
    other = ir.Symbol("w", i32)
    b.add(ir.UniformLoad(None, other, X, (GROUP,), below(GROUP, length(X))))
    b.store(Y, POS, plus(build.ref(symbol), build.ref(other)))
    y = np.zeros(96, np.int32)
    Kernel(b, [X, Y, shared], 32)(3, x=np.array([1000, 2000], np.int32), y=y)
    assert y.tolist() == [(g * 32 + 3) * 2 + 1 + (1000, 2000, 0)[g] for g in range(3) for _ in range(32)]


def test_narrow_scalar_parameters() -> None:
    from ruda_core.dtypes import bf16, f16, i8

    out = array("out", f32)
    b = Body()
    names = {"a": f16, "b": bf16, "c": i8, "d": bool_}
    for k, (name, dtype) in enumerate(names.items()):
        b.store(out, num(k), build.cast(f32, ir.Param(dtype, None, name)))
    got = np.zeros(4, np.float32)
    Kernel(b, [out], 1, scalars=list(names.items()))(1, out=got, a=0.5, b=3.0, c=-5, d=1)
    assert got.tolist() == [0.5, 3.0, -5.0, 1.0]
