"""Casts between all dtypes, bool in storage, bit casts, and the casts that int, float and bool stand for."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from support import FLOATS, INTEGERS, NUMPY, R, T, cast_to_each, has, launch, refused_without, usable

import ruda_core as ruda
from ruda_core import Array, Tensor, bool_, f32, i32, u8, u32

DTYPES = ("bool", *INTEGERS, *FLOATS)
SMALL = {
    "bool": [0, 1, 1, 0],
    "i": [-128, -1, 0, 1, 100, 127],
    "u": [0, 1, 100, 127, 255],
    "f": [-100.5, -1, -0.25, 0, 0.75, 1, 100],
}


@pytest.mark.parametrize("source", DTYPES)
def test_every_cast_of_values_that_fit(client, source):
    kind = source if source == "bool" else "f" if source in FLOATS else source[0]
    x = np.array(SMALL[kind]).astype(NUMPY[source])
    if not has(client, source):
        with refused_without(client, source):
            list(cast_to_each(client, x, ["i32"]))
    for target, got in cast_to_each(client, x, usable(client, DTYPES)):
        expected = cast(x, target)
        np.testing.assert_array_equal(got.astype(np.float64), expected.astype(np.float64), err_msg=target)


def cast(x, target):
    """NumPy's cast, floats to integers by the language's rule."""
    if target == "bool":
        return x != 0
    if target in INTEGERS and x.dtype.kind not in "iub":
        info = np.iinfo(NUMPY[target])
        return np.array([min(max(int(v), info.min), info.max) for v in x.astype(float)], NUMPY[target])
    return x.astype(NUMPY[target])


@pytest.mark.parametrize("source", INTEGERS)
def test_integers_narrow_and_widen_by_their_low_bits(client, source):
    if not has(client, source):
        pytest.skip(f"no {source}")
    info = np.iinfo(NUMPY[source])
    x = np.array(
        [info.min, info.max, 0, 1, 200 % (info.max + 1), info.max // 3, info.min // 5], NUMPY[source]
    )
    for target, got in cast_to_each(client, x, usable(client, INTEGERS)):
        np.testing.assert_array_equal(got, x.astype(NUMPY[target]), err_msg=target)


@ruda.kernel
def of_bool(x: Array[bool_], numbers: Array[i32], floats: Array[f32], flipped: Array[bool_]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        numbers[i] = i32(x[i]) + x[i]
        floats[i] = f32(x[i]) * 2.5
        flipped[i] = not x[i]


def test_any_byte_but_zero_is_true(client):
    handle = client.create_from_slice(np.array([0, 1, 2, 255, 128, 0, 7], np.uint8))
    numbers, floats = client.tensor(np.zeros(7, np.int32)), client.tensor(np.zeros(7, np.float32))
    flipped = client.create_from_slice(np.full(7, 9, np.uint8))
    of_bool.launch(client, 1, 8, ruda.ArrayArg(handle, 7), numbers, floats, ruda.ArrayArg(flipped, 7))
    assert numbers.tolist() == [0, 2, 2, 2, 2, 0, 2]
    assert floats.tolist() == [0, 2.5, 2.5, 2.5, 2.5, 0, 2.5]
    assert client.read_one(flipped).tolist() == [1, 0, 0, 0, 0, 1, 0], "stored as 0 or 1"


@ruda.kernel
def reinterpret(x: Array[f32], words: Array[u32], signs: Array[i32], back: Array[f32]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        words[i] = ruda.bitcast(u32, x[i])
        signs[i] = ruda.bitcast(i32, x[i]) >> 31
        back[i] = ruda.bitcast(f32, words[i] ^ 0x80000000)


def test_bit_casts_keep_the_bits(client):
    x = np.array([1.5, -0.0, np.inf, -2, np.nan, 3e-5], np.float32)
    outs = np.zeros(6, np.uint32), np.zeros(6, np.int32), np.zeros(6, np.float32)
    words, signs, back = launch(client, reinterpret, x, units=6, out=outs)
    np.testing.assert_array_equal(words[:4], x[:4].view(np.uint32))
    assert np.isnan(words[4:5].view(np.float32)[0])
    assert signs[:4].tolist() == [0, -1, 0, -1]
    np.testing.assert_array_equal(back[[0, 2, 3, 5]], -x[[0, 2, 3, 5]])


@pytest.mark.parametrize("source, target", [("f16", "u16"), ("bf16", "i16"), ("i8", "u8"), ("f64", "u64")])
def test_bit_casts_of_every_width(client, source, target):
    @ruda.kernel
    def there(x: Array[T], out: Array[R]):
        i = ruda.ABSOLUTE_POS
        if i < len(x):
            out[i] = ruda.bitcast(R, x[i])

    x = np.array([1, -2, 0.5, 100]).astype(NUMPY[source])
    with refused_without(client, source, target):
        got = launch(client, there, x, units=4, out=np.zeros(4, NUMPY[target]))
    np.testing.assert_array_equal(got, x.view(NUMPY[target]))


@ruda.kernel
def builtin_casts(x: Array[f32], n: Array[u8], out: Tensor[f32], kept: Array[u8], flags: Array[bool_]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        out[0, i] = f32(int(x[i]))
        out[1, i] = float(n[i]) / 2
        kept[i] = int(n[i])
        flags[i] = bool(x[i])


def test_int_float_and_bool(client):
    x, n = np.array([-1.5, 2.75, 0, np.nan], np.float32), np.array([0, 255, 7, 1], np.uint8)
    outs = np.zeros((2, 4), np.float32), np.zeros(4, np.uint8), np.zeros(4, np.bool_)
    out, kept, flags = launch(client, builtin_casts, x, n, units=4, out=outs)
    assert out.tolist() == [[-1, 2, 0, 0], [0, 127.5, 3.5, 0.5]]
    assert kept.tolist() == n.tolist() and flags.tolist() == [True, True, False, True]


def test_narrow_floats_through_all_their_values(client):
    for name in ("f16", "bf16"):
        x = np.arange(2**16, dtype=np.uint32).astype(np.uint16).view(NUMPY[name])
        x = x[~np.isnan(x.astype(np.float32))]
        normal = np.abs(x.astype(np.float64)) >= float(ml_dtypes.finfo(NUMPY[name]).smallest_normal)
        if name == "f16" and client.features().f16_subnormals:
            normal[:] = True
        got = next(iter(cast_to_each(client, x, ["f32"])))[1]
        np.testing.assert_array_equal(got[normal], x.astype(np.float32)[normal])
