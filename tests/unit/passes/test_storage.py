"""Packed memory: every dtype in u32 words, neighbours undisturbed, vectors, shared allocations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from bare import TARGET, TARGET64, legalise
from lanes import BARE, WIDE, run

from ruda_core.capabilities import Target
from ruda_core.dtypes import ALL, DType, bf16, bool_, f16, f32, i8, i32, i64, u8, u32, vec
from ruda_core.ir import build as b
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import walk
from ruda_core.ir.verify import verify
from ruda_core.passes.narrow import narrow
from ruda_core.passes.storage import storage
from ruda_core.passes.vectors import vectors

UNIT = ir.Builtin(i32, None, "absolute_pos")


def function(body: tuple[ir.Stmt, ...], *arrays: ir.Array, words: bool = True) -> ir.Function:
    bindings = tuple(
        ir.Binding(a.name, u32 if words else a.dtype.scalar, (a,)) for a in arrays if a.space == "global"
    )
    return ir.Function("f", (), arrays, body, (64, 1, 1), i32, bindings=bindings)


def lower(f: ir.Function, target: Target) -> ir.Function:
    by_name = {bound.name: bound for bound in f.bindings}
    f = vectors(f, target)
    verify(f, "vectors")
    arrays = {a.name: a for a in f.arrays}  # bindings are made after vectors are split
    rebound = [replace(k, arrays=tuple(arrays[a.name] for a in k.arrays)) for k in by_name.values()]
    f = storage(replace(f, bindings=tuple(rebound)), target)
    verify(f, "storage")
    return legalise(f, target)


def copy_kernel(element: object, *, check: bool = False) -> ir.Function:
    """dst[2 * i] = src[i], under a check that is false for the last unit."""
    src, dst = ir.Array("src", element, "global"), ir.Array("dst", element, "global")  # type: ignore[arg-type]
    x = ir.Symbol("x", element)  # type: ignore[arg-type]
    index = b.binary("*", UNIT, b.const(i32, 2))
    inside = b.compare("<", UNIT, b.const(i32, 5)) if check else None
    body = (ir.Load(None, x, src, (UNIT,), inside), ir.Store(None, dst, (index,), b.ref(x), inside))
    return function(body, src, dst)


def memory(dtype: DType, count: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    raw = rng.integers(0, 256, count * dtype.itemsize + 8 - count * dtype.itemsize % 8, dtype=np.uint8)
    if dtype is bool_:
        raw &= 3
    if dtype.is_float:  # no NaN: payloads may change
        raw[dtype.itemsize - 1 :: dtype.itemsize] &= 0xBF
    return raw


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("lanes", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_copies_leave_the_neighbours_alone(dtype: DType, lanes: int, check: bool) -> None:
    element = dtype if lanes == 1 else vec(dtype, lanes)
    wide = dtype.bits == 64
    f = lower(copy_kernel(element, check=check), TARGET64 if wide else TARGET)
    src, dst = memory(dtype, 6 * lanes, 1), memory(dtype, 12 * lanes, 2)
    size = dtype.itemsize * lanes
    want = dst.copy()
    for i in range(5 if check else 6):
        piece = src[i * size : (i + 1) * size]
        want[2 * i * size : (2 * i + 1) * size] = (piece != 0) if dtype is bool_ else piece
    run(
        f,
        {"src": src.view(np.uint32), "dst": dst.view(np.uint32)},
        6,
        dtypes=WIDE if wide else BARE,
    )
    assert (dst == want).all()


@pytest.mark.parametrize(
    ("dtype", "lanes"), [(u8, 4), (u8, 8), (f16, 2), (bf16, 4), (i64, 1), (bool_, 4), (f32, 4)]
)
def test_whole_words_are_stored_plainly(dtype: DType, lanes: int) -> None:
    f = lower(copy_kernel(dtype if lanes == 1 else vec(dtype, lanes)), TARGET64)
    assert not any(isinstance(s, ir.MaskedStore) for s in walk(f.body))
    assert not any(bound.atomic for bound in f.bindings)


def test_narrow_stores_mark_their_binding_atomic() -> None:
    f = lower(copy_kernel(u8), TARGET)
    assert [bound.atomic for bound in f.bindings] == [False, True]


def test_arrays_of_two_dtypes_share_an_allocation() -> None:
    """Bytes written into words that floats are read from."""
    floats, small = ir.Array("floats", f32, "global"), ir.Array("small", u8, "global")
    x = ir.Symbol("x", f32)
    at = b.binary("+", UNIT, b.const(i32, 16))
    value = b.cast(u8, b.binary("*", b.ref(x), b.const(f32, 2.0)))
    f = function((ir.Load(None, x, floats, (UNIT,)), ir.Store(None, small, (at,), value)), floats, small)
    f = replace(f, bindings=(ir.Binding("both", u32, (floats, small)),))
    data = np.zeros(8, np.uint32)
    data.view(np.float32)[:4] = [1, 2, 3, 4]
    run(lower(f, TARGET), {"both": data}, 4)
    assert list(data.view(np.uint8)[16:20]) == [2, 4, 6, 8]
    assert list(data.view(np.float32)[:4]) == [1, 2, 3, 4]


def test_bool_is_a_byte_where_bytes_are_stored() -> None:
    target = replace(TARGET, storage=TARGET.storage | {"u8"}, arithmetic=TARGET.arithmetic | {"u8"})
    f = copy_kernel(bool_)
    f = replace(f, bindings=tuple(replace(bound, dtype=u8) for bound in f.bindings))
    src, dst = np.array([0, 1, 7, 255], np.uint8), np.full(8, 9, np.uint8)
    run(lower(f, target), {"src": src, "dst": dst}, 4, dtypes=BARE | {"u8"})
    assert list(dst[::2]) == [0, 1, 1, 1]


def test_a_stored_dtype_without_arithmetic_keeps_its_array() -> None:
    """f16 that the dialect converts as it loads and stores: values are f32, on f16's grid."""
    target = replace(TARGET, storage=TARGET.storage | {"f16"})
    a, x = ir.Array("a", f16, "global"), ir.Symbol("x", f16)
    body = (ir.Load(None, x, a, (UNIT,)), ir.Store(None, a, (UNIT,), b.binary("*", b.ref(x), b.ref(x))))
    f = lower(function(body, a, words=False), target)
    data = np.array([1.5, 300.0, 0.1, 1e-3], np.float16)
    want = (data.astype(np.float64) ** 2).astype(np.float16)
    run(f, {"a": data}, 4)
    assert (data == want).all()
    assert f.arrays[0].dtype is f16


@pytest.mark.parametrize("native", [False, True])
def test_native_vectors_are_moved_whole(native: bool) -> None:
    target = replace(TARGET, vectors=frozenset({4}) if native else frozenset())
    element = vec(f32, 4)
    a, x = ir.Array("a", element, "global"), ir.Symbol("x", element)
    total = b.binary("+", b.ref(x), b.like(b.ref(x), 1.0))
    body = (ir.Load(None, x, a, (UNIT,)), ir.Store(None, a, (UNIT,), total))
    f = lower(function(body, a, words=False), target)
    loads = [s for s in walk(f.body) if isinstance(s, ir.Load)]
    assert len(loads) == (1 if native else 4)
    if not native:
        data = np.arange(8, dtype=np.float32)
        run(f, {"a": data}, 2)
        assert (data == np.arange(8) + 1).all()


def test_shared_bytes_are_packed_and_local_ones_widened() -> None:
    shared, local = ir.Array("s", i8, "shared", (8,)), ir.Array("l", i8, "local", (8,))
    out = ir.Array("out", i32, "global")
    x = ir.Symbol("x", i8)
    body = (
        ir.Store(None, shared, (UNIT,), b.cast(i8, b.unary("-", UNIT))),
        ir.Load(None, x, shared, (UNIT,)),
        ir.Store(None, out, (UNIT,), b.cast(i32, b.ref(x))),
    )
    f = lower(function(body, out, shared, local), TARGET)
    by_name = {a.name: a for a in f.arrays}
    assert by_name["s"].dtype is u32
    assert by_name["s"].shape == (2,)
    assert by_name["l"].dtype is i32
    assert by_name["l"].shape == (8,)
    data = np.zeros(8, np.uint32)
    run(f, {"out": data}, 8)
    assert list(data.view(np.int32)) == [0, -1, -2, -3, -4, -5, -6, -7]


def test_64_bit_dtypes_are_refused_where_the_target_has_none() -> None:
    from ruda_core.errors import UnsupportedFeature

    with pytest.raises(UnsupportedFeature, match="i64"):
        narrow(storage(copy_kernel(i64), TARGET), TARGET)
