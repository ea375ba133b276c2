"""Shifts follow the sign of their left operand and are defined for every amount."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import pytest
from support import INTEGERS, NUMPY, T, edge_integers, launch, refused_without

import ruda_core as ruda
from ruda_core import Array, Tensor, i32, u32

A = TypeVar("A")


@ruda.kernel
def shift(x: Array[T], amounts: Array[A], out: Tensor[T]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        out[0, i] = x[i] >> amounts[i]
        out[1, i] = x[i] << amounts[i]


def shifted(value, amount, name):
    """Left and right shift by the language's rule."""
    info = np.iinfo(NUMPY[name])
    if not 0 <= amount < info.bits:
        return (-1 if value < 0 else 0), 0
    left = (value << amount) & ((1 << info.bits) - 1)
    return value >> amount, left - (1 << info.bits) if left > info.max else left


def test_right_shift_keeps_the_sign_of_signed_values_only(client):
    x = np.array([-17, -1, -2147483648], np.int32)
    out = np.zeros((2, 3), np.int32)
    got = launch(client, shift, x, np.array([2, 31, 3], np.int32), units=3, out=out)
    assert got[0].tolist() == [-5, -1, -268435456]
    x = np.array([4294967279, 2147483649], np.uint32)
    got = launch(client, shift, x, np.array([2, 3], np.int32), units=2, out=np.zeros((2, 2), np.uint32))
    assert got[0].tolist() == [1073741819, 268435456]


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("amount_name", ["i32", "u8", "u32"])
def test_shifts_by_any_amount(client, name, amount_name):
    bits = np.iinfo(NUMPY[name]).bits
    wanted = [0, 1, 2, 7, bits // 2, bits - 1, bits, bits + 1, 2 * bits, 127]
    wanted += [-1, -bits, -(2**31)] if amount_name == "i32" else []
    wanted += [2**32 - 1, 2**31] if amount_name == "u32" else []
    wanted += [255] if amount_name == "u8" else []
    values = edge_integers(name)
    x = np.repeat(values, len(wanted))
    amounts = np.tile(np.array(wanted, NUMPY[amount_name]), values.size)
    with refused_without(client, name):
        got = launch(client, shift, x, amounts, units=x.size, out=np.zeros((2, x.size), x.dtype))
    expected = [shifted(int(v), int(a), name) for v, a in zip(x, amounts, strict=True)]
    assert got[0].tolist() == [right for right, _ in expected]
    assert got[1].tolist() == [left for _, left in expected]


@ruda.kernel
def constant_shifts(x: Array[T], out: Tensor[T]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        out[0, i] = x[i] >> 3
        out[1, i] = x[i] << 5
        out[2, i] = x[i] >> 64
        out[3, i] = x[i] << 64
        out[4, i] = T(1) << x[i]
        value = x[i]
        value >>= 1
        value <<= 2
        out[5, i] = value


@pytest.mark.parametrize("name", INTEGERS)
def test_shifts_by_constants_and_of_constants(client, name):
    x = edge_integers(name)
    with refused_without(client, name):
        got = launch(client, constant_shifts, x, units=x.size, out=np.zeros((6, x.size), x.dtype))
    values = [int(v) for v in x]
    assert got[0].tolist() == [shifted(v, 3, name)[0] for v in values]
    assert got[1].tolist() == [shifted(v, 5, name)[1] for v in values]
    assert got[2].tolist() == [shifted(v, 64, name)[0] for v in values]
    assert got[3].tolist() == [0] * x.size
    assert got[4].tolist() == [shifted(1, v, name)[1] for v in values]
    assert got[5].tolist() == [shifted(shifted(v, 1, name)[0], 2, name)[1] for v in values]


@ruda.kernel
def bits(x: Array[T], y: Array[T], out: Tensor[T]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        out[0, i] = x[i] & y[i]
        out[1, i] = x[i] | y[i]
        out[2, i] = x[i] ^ y[i]
        out[3, i] = ~x[i]
        out[4, i] = ruda.popcount(x[i])
        out[5, i] = ruda.clz(x[i])
        out[6, i] = ruda.ctz(x[i])


@pytest.mark.parametrize("name", INTEGERS)
def test_bit_operations(client, name):
    x = edge_integers(name)
    y = x[::-1].copy()
    with refused_without(client, name):
        got = launch(client, bits, x, y, units=x.size, out=np.zeros((7, x.size), x.dtype))
    width = np.iinfo(x.dtype).bits
    words = [format(int(v) & ((1 << width) - 1), f"0{width}b") for v in x]
    for row, right in zip(got, (x & y, x | y, x ^ y, ~x), strict=False):
        np.testing.assert_array_equal(row, right)
    assert got[4].tolist() == [w.count("1") for w in words]
    assert got[5].tolist() == [len(w) - len(w.lstrip("0")) for w in words]
    assert got[6].tolist() == [len(w) - len(w.rstrip("0")) for w in words]


@ruda.kernel
def unsigned_bits(x: Array[T], y: Array[T], out: Tensor[T]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        out[0, i] = ruda.reverse_bits(x[i])
        out[1, i] = ruda.mulhi(x[i], y[i])


@pytest.mark.parametrize("name", ["u8", "u16", "u32", "u64"])
def test_reversed_bits_and_high_products(client, name):
    x = edge_integers(name)
    x, y = np.repeat(x, x.size), np.tile(x, x.size)
    with refused_without(client, name):
        got = launch(client, unsigned_bits, x, y, units=x.size, out=np.zeros((2, x.size), x.dtype))
    width = np.iinfo(x.dtype).bits
    assert got[0].tolist() == [int(format(int(v), f"0{width}b")[::-1], 2) for v in x]
    assert got[1].tolist() == [int(a) * int(b) >> width for a, b in zip(x, y, strict=True)]


@ruda.kernel
def signed_reversal(x: Array[i32], out: Array[i32]):
    out[0] = ruda.reverse_bits(x[0])


@ruda.kernel
def float_shift(x: Array[u32], amount: ruda.f32):
    x[0] = x[0] << amount


def test_what_bits_do_not_mean_is_refused_with_advice(client):
    x = client.tensor(np.ones(1, np.int32))
    with pytest.raises(ruda.KernelTypeError, match="u32"):
        signed_reversal.launch(client, 1, 1, x, x)
    with pytest.raises(ruda.KernelTypeError, match="f32"):
        float_shift.launch(client, 1, 1, client.tensor(np.ones(1, np.uint32)), 1.0)
