"""Literals, local variables, generic and compile-time parameters, captured values, exact comparisons."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pytest
from support import NUMPY, R, T, has, launch, refused_without, usable

import ruda_core as ruda
from ruda_core import Array, Comptime, Tensor, bf16, bool_, f16, f32, i32, u8, u32

F = TypeVar("F", f16, f32)


@ruda.kernel
def weak(x: Array[T], out: Tensor[T]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        out[0, i] = x[i] * 2
        out[1, i] = 2 + x[i]
        total = 0
        total += x[i]
        total += 1
        out[2, i] = total
        best = 5
        if x[i] > 3:
            best = x[i]
        out[3, i] = best
        count = 0
        count += x[i] > 3
        count += x[i] > 4
        out[4, i] = T(count)
        three = 3
        out[5, i] = x[i] * three - three


@pytest.mark.parametrize("name", ["u8", "i16", "f16", "bf16", "i64", "f64", "f32"])
def test_a_literal_takes_the_dtype_that_it_meets(client, name):
    x = np.array([0, 1, 4, 5, 100]).astype(NUMPY[name])
    with refused_without(client, name):
        got = launch(client, weak, x, units=5, out=np.zeros((6, 5), x.dtype))
    wide = x.astype(np.float64)
    rows = (wide * 2, wide + 2, wide + 1, np.where(wide > 3, wide, 5), 1.0 * (wide > 3) + (wide > 4))
    for row, expected in zip(got, rows, strict=False):
        assert row.astype(float).tolist() == expected.astype(x.dtype).astype(float).tolist()
    np.testing.assert_array_equal(got[5], x * NUMPY[name](3) - NUMPY[name](3))


@ruda.kernel
def defaults(x: Array[f32], out: Array[f32], whole: Array[i32]):
    a = 0
    a += 0.5
    out[0] = a
    b = 7 // 2
    whole[0] = b
    out[1] = 7 / 2
    c = 2**40 // 2**38
    whole[1] = c
    out[2] = math.pi
    out[3] = 1 if x[0] > 0 else 2.5
    d = True
    whole[2] = d + d
    best = -1
    for i in range(3):
        if x[i] > 1:
            best = i
    whole[3] = best
    out[4] = x[0] * (1 / 3)
    whole[4] = round(2.5) + int(3.9)


def test_values_known_at_compile_time(client):
    outs = np.zeros(5, np.float32), np.zeros(5, np.int32)
    out, whole = launch(client, defaults, np.array([1, 2, 3], np.float32), units=1, out=outs)
    np.testing.assert_array_equal(out, np.array([0.5, 3.5, math.pi, 1, np.float32(1 / 3)], np.float32))
    assert whole.tolist() == [3, 4, 2, 2, 5]


@ruda.kernel
def mixes(x: Array[i32], y: Array[f32]):
    y[0] = x[0] + y[0]


@ruda.kernel
def stores(x: Array[i32], y: Array[f32]):
    y[0] = x[0]


@ruda.kernel
def float_to_integer(x: Array[i32], y: Array[f32]):
    x[0] = x[0] + 0.5


@ruda.kernel
def divides(x: Array[i32], y: Array[f32]):
    x[0] = x[0] / 2


@ruda.kernel
def does_not_fit(x: Array[u8], y: Array[f32]):
    x[0] = x[0] + 256


@ruda.kernel
def conflicts(x: Array[i32], y: Array[f32]):
    total = 0
    total += x[0]
    total += y[0]
    x[0] = total


@ruda.kernel
def sometimes_bound(x: Array[i32], y: Array[f32]):
    if x[0] > 0:
        value = x[1]
    x[0] = value


BAD = {
    mixes: ("i32", "f32"), stores: ("i32", "f32"), float_to_integer: ("0.5",), divides: ("//",),
    does_not_fit: ("256", "u8"), conflicts: ("i32", "f32"), sometimes_bound: ("value",),
}  # fmt: skip


@pytest.mark.parametrize("kernel", BAD, ids=lambda k: k.name)
def test_types_that_do_not_mix_are_refused_with_advice(client, kernel):
    dtype = np.uint8 if kernel is does_not_fit else np.int32
    with pytest.raises(ruda.CompileError) as caught:
        kernel.launch(client, 1, 1, client.tensor(np.zeros(2, dtype)), client.tensor(np.zeros(1, np.float32)))
    message = str(caught.value)
    assert all(word in message for word in BAD[kernel]), message
    assert caught.value.file == __file__ and caught.value.line and "^" in message


@ruda.kernel
def compare(a: Array[T], b: Array[R], out: Tensor[bool_]):
    i = ruda.ABSOLUTE_POS
    if i < len(a):
        out[0, i] = a[i] < b[i]
        out[1, i] = a[i] == b[i]
        out[2, i] = a[i] >= b[i]
        out[3, i] = a[i] != b[i]


@pytest.mark.parametrize(
    "first, second",
    [("i32", "u32"), ("u32", "i32"), ("i8", "u8"), ("u16", "i32"), ("i8", "u32"), ("i64", "u64")],
)
def test_integers_of_two_dtypes_compare_by_value(client, first, second):
    columns = []
    for name in (first, second):
        info = np.iinfo(NUMPY[name])
        columns.append(
            np.array([info.min, info.max, 0, 1, 100, info.max - 1, -1 % (info.max + 1)], NUMPY[name])
        )
    a, b = (m.ravel() for m in np.meshgrid(*columns))
    with refused_without(client, first, second):
        got = launch(client, compare, a, b, units=a.size, out=np.zeros((4, a.size), np.bool_))
    exact = [(int(x), int(y)) for x, y in zip(a, b, strict=True)]
    assert got.tolist() == [
        [x < y for x, y in exact], [x == y for x, y in exact], [x >= y for x, y in exact], [x != y for x, y in exact],
    ]  # fmt: skip


@ruda.kernel
def truth(x: Array[T], out: Tensor[i32]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        out[0, i] = 1 if x[i] else 2
        out[1, i] = 1 if not x[i] else 2
        out[2, i] = i32(x[i] and i == 1)
        out[3, i] = i32(x[i] or i == 0)
        while x[i]:
            out[0, i] += 10
            break


@pytest.mark.parametrize("name", ["bool", "u8", "i32", "f32", "f16"])
def test_any_scalar_has_a_truth(client, name):
    x = np.array([0, 1, -1 if name[0] in "if" else 1, 0.5 if name[0] == "f" else 0]).astype(NUMPY[name])
    got = launch(client, truth, x, units=4, out=np.zeros((4, 4), np.int32))
    yes = x.astype(float) != 0
    assert got[0].tolist() == np.where(yes, 11, 2).tolist()
    assert got[1].tolist() == np.where(yes, 2, 1).tolist()
    assert got[2].tolist() == [0, 1, 0, 0] and got[3].tolist() == [1, *yes[1:]]


@ruda.kernel
def by_kind(x: Array[T], out: Array[i32]):
    if T == u8:  # noqa: SIM300  T is a dtype, not a constant
        out[0] = 1
    elif T in (f16, bf16):
        out[0] = 2
    elif ruda.is_float(T):
        out[0] = 3
    else:
        out[0] = 4
    out[1] = i32(T(3) // 2)


@pytest.mark.parametrize(
    "name, expected", [("u8", 1), ("f16", 2), ("bf16", 2), ("f32", 3), ("i32", 4), ("i16", 4)]
)
def test_a_generic_dtype_is_a_compile_time_value(client, name, expected):
    got = launch(client, by_kind, np.zeros(1, NUMPY[name]), units=1, out=np.zeros(2, np.int32))
    assert got.tolist() == [expected, 1]


@ruda.kernel
def constrained(x: Array[F], y: Array[F]):
    y[0] = x[0] * 2


def test_a_generic_dtype_is_one_dtype_among_its_constraints(client):
    for dtype in (np.float16, np.float32):
        assert launch(
            client, constrained, np.full(1, 4, dtype), units=1, out=np.zeros(1, dtype)
        ).tolist() == [8]
    f16s, f32s = client.tensor(np.zeros(1, np.float16)), client.tensor(np.zeros(1, np.float32))
    with pytest.raises(ruda.LaunchArgumentError):
        constrained.launch(client, 1, 1, f16s, f32s)
    with pytest.raises(ruda.LaunchArgumentError):
        constrained.launch(
            client, 1, 1, client.tensor(np.zeros(1, np.int32)), client.tensor(np.zeros(1, np.int32))
        )


class Mode(enum.Enum):
    ADD = 1
    MULTIPLY = 2


@dataclass(frozen=True)
class Shape:
    rows: int
    scale: float


@ruda.kernel
def specialised(
    mode: Comptime[Mode], n: Comptime[int], deep: Comptime[bool], shape: Comptime[Shape], out: Array[f32]
):
    total = f32(n)
    for k in ruda.unroll(range(n)):
        if mode == Mode.ADD:
            total += k
        else:
            total *= 2
    if deep:
        total += undefined_elsewhere  # noqa: F821  the branch not taken is not compiled
    out[0] = total * shape.scale + shape.rows


def test_compile_time_parameters_specialise(client):
    out = np.zeros(1, np.float32)
    shape = Shape(3, 0.5)
    assert launch(client, specialised, Mode.ADD, 4, False, shape, units=1, out=out).tolist() == [8]
    assert launch(client, specialised, Mode.MULTIPLY, 4, False, shape, units=1, out=out).tolist() == [35]
    assert launch(client, specialised, Mode.ADD, 4, False, Shape(1, 1.0), units=1, out=out).tolist() == [11]
    with pytest.raises(ruda.CompileError, match="undefined_elsewhere"):
        launch(client, specialised, Mode.ADD, 4, True, shape, units=1, out=out)


TABLE = (3, 1, 4, 1, 5)
RATIOS = (0.5, 0.25, 2.0)
KIND = f32
CONFIG = Shape(7, 0.125)


def ceil_div(a, b):
    return -(-a // b)


@ruda.kernel
def captured(x: Array[i32], out: Array[f32]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        out[i] = KIND(TABLE[x[i]]) + RATIOS[2] + CONFIG.scale + ceil_div(CONFIG.rows, 2) + len(TABLE)


def test_captured_values_and_constant_arrays(client):
    x = np.array([0, 4, 2, 1], np.int32)
    got = launch(client, captured, x, units=4, out=np.zeros(4, np.float32))
    assert got.tolist() == [v + 2 + 0.125 + 4 + 5 for v in (3, 5, 4, 1)]


def test_a_constant_array_is_bounds_checked(client):
    x = np.array([5, -1, 10**9], np.int32)
    got = launch(client, captured, x, units=3, out=np.zeros(3, np.float32))
    assert got.tolist() == [11.125] * 3


def test_capturing_an_array_says_to_pass_it(client):
    data = np.ones(3, np.float32)

    @ruda.kernel
    def kernel(out: Array[f32]):
        out[0] = data[1]

    with pytest.raises(ruda.CompileError, match="(?i)pass"):
        kernel.launch(client, 1, 1, client.tensor(np.zeros(1, np.float32)))


@ruda.kernel
def index_arithmetic(cols: i32, out: Array[i32], words: Array[u32]):
    i = ruda.ABSOLUTE_POS
    row = i // cols
    place = row * cols + i % cols
    out[i] = place
    k = ruda.index(3)
    out[i] = out[i] + k - 3
    words[i] = u32(place)
    if i - 1 >= 0:
        out[i] = out[i] + 0


def test_index_values_meet_i32(client):
    outs = np.zeros(64, np.int32), np.zeros(64, np.uint32)
    out, words = launch(client, index_arithmetic, 7, units=64, out=outs)
    assert out.tolist() == words.tolist() == list(range(64))


@pytest.mark.parametrize("name", ["u8", "i8", "u16", "u32", "i64", "u64"])
def test_an_index_may_be_any_integer(client, name):
    @ruda.kernel
    def gather(x: Array[f32], at: Array[T], out: Array[f32]):
        i = ruda.ABSOLUTE_POS
        if i < len(out):
            out[i] = x[at[i]]

    if not has(client, name):
        pytest.skip(f"no {name}")
    info = np.iinfo(NUMPY[name])
    at = np.array([2, 0, 99, info.max, info.min, 100], NUMPY[name])
    x = np.arange(100, 200, dtype=np.float32)
    got = launch(client, gather, x, at, units=6, out=np.full(6, 7, np.float32))
    assert got.tolist() == [x[v] if 0 <= v < 100 else 0 for v in at.tolist()]


@ruda.kernel
def vector_or_scalar(x: Array[T], out: Array[T]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        out[i] = x[i] * 2 + T(1)


def test_a_generic_dtype_may_be_a_vector(client):
    x = np.arange(8, dtype=np.float32)
    t, out = client.tensor(x), client.tensor(np.zeros_like(x))
    vector_or_scalar.launch(client, 1, 4, t.vectorized(4), out.vectorized(4))
    assert out.tolist() == (2 * x + 1).tolist()
    vector_or_scalar.launch(client, 1, 8, t, out)
    assert out.tolist() == (2 * x + 1).tolist()


def test_every_usable_dtype_round_trips(client):
    for name in usable(client, NUMPY):
        x = np.array([0, 1, 1, 0]).astype(NUMPY[name])
        assert client.tensor(x).numpy().astype(int).tolist() == [0, 1, 1, 0]
