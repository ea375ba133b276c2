"""Integer arithmetic: division floors, and every operation wraps at the width of its dtype."""

from __future__ import annotations

import numpy as np
import pytest
from support import INTEGERS, NUMPY, SIGNED, T, edge_integers, launch, pairs, refused_without, usable

import ruda_core as ruda
from ruda_core import Array, Tensor, i32, u32


@ruda.kernel
def divide(a: Array[T], b: Array[T], out: Tensor[T]):
    i = ruda.ABSOLUTE_POS
    if i < len(a):
        out[0, i] = a[i] // b[i]
        out[1, i] = a[i] % b[i]
        out[2, i] = ruda.div_trunc(a[i], b[i])
        out[3, i] = ruda.rem_trunc(a[i], b[i])


@ruda.kernel
def divide_by_constants(a: Array[T], out: Tensor[T]):
    i = ruda.ABSOLUTE_POS
    if i < len(a):
        out[0, i] = a[i] // 3
        out[1, i] = a[i] % 3
        out[2, i] = a[i] // 8
        out[3, i] = a[i] % 8
        out[4, i] = 100 // a[i]
        out[5, i] = 100 % a[i]


@ruda.kernel
def divide_by_negatives(a: Array[T], out: Tensor[T]):
    i = ruda.ABSOLUTE_POS
    if i < len(a):
        out[0, i] = a[i] // -3
        out[1, i] = a[i] % -3
        out[2, i] = a[i] // -1
        out[3, i] = a[i] % -1


def floor_division(a, b):
    with np.errstate(all="ignore"):
        return a // b, a % b


def truncating_division(a, b):
    quotients = [
        0 if y == 0 else abs(int(x)) // abs(int(y)) * (-1 if (x < 0) != (y < 0) else 1)
        for x, y in zip(a, b, strict=True)
    ]
    rests = [0 if y == 0 else int(x) - q * int(y) for x, y, q in zip(a, b, quotients, strict=True)]
    return [
        np.array([v & mask_of(a) for v in values], object).astype(unsigned_of(a)).view(a.dtype)
        for values in (quotients, rests)
    ]


def unsigned_of(a):
    return np.dtype(f"u{a.dtype.itemsize}")


def mask_of(a):
    return (1 << 8 * a.dtype.itemsize) - 1


def test_division_of_run_time_values_floors(client):
    a = np.array([-7, 7, -7, -1, -8], np.int32)
    b = np.array([3, -3, -3, 768, 4], np.int32)
    got = launch(client, divide, a, b, units=5, out=np.zeros((4, 5), np.int32))
    assert got[0].tolist() == [-3, -3, 2, -1, -2]
    assert got[1].tolist() == [2, -2, -1, 767, 0]
    assert (got[0] * b + got[1] == a).all()


@pytest.mark.parametrize("name", INTEGERS)
def test_division_at_the_edges(client, name):
    a, b = pairs(edge_integers(name))
    with refused_without(client, name):
        got = launch(client, divide, a, b, units=a.size, out=np.zeros((4, a.size), a.dtype))
    expected = (*floor_division(a, b), *truncating_division(a, b))
    for row, right, what in zip(got, expected, ("//", "%", "div_trunc", "rem_trunc"), strict=True):
        np.testing.assert_array_equal(row, right, err_msg=what)


@pytest.mark.parametrize("name", INTEGERS)
def test_division_by_and_of_constants(client, name):
    a = edge_integers(name)
    with refused_without(client, name):
        got = launch(client, divide_by_constants, a, units=a.size, out=np.zeros((6, a.size), a.dtype))
    kind = a.dtype.type
    with np.errstate(all="ignore"):
        expected = (a // kind(3), a % kind(3), a // kind(8), a % kind(8), kind(100) // a, kind(100) % a)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("name", SIGNED)
def test_division_by_negative_constants(client, name):
    a = edge_integers(name)
    with refused_without(client, name):
        got = launch(client, divide_by_negatives, a, units=a.size, out=np.zeros((4, a.size), a.dtype))
    kind = a.dtype.type
    with np.errstate(all="ignore"):
        expected = (a // kind(-3), a % kind(-3), a // kind(-1), a % kind(-1))
    np.testing.assert_array_equal(got, expected)


@ruda.kernel
def divide_floats(a: Array[T], b: Array[T], out: Tensor[T]):
    i = ruda.ABSOLUTE_POS
    if i < len(a):
        out[0, i] = a[i] // b[i]
        out[1, i] = a[i] % b[i]


@pytest.mark.parametrize("name", ["f16", "f32", "f64"])
def test_division_of_floats_floors_the_exact_quotient(client, name):
    a, b = pairs(np.array([7, -7, 0.5, -0.5, 1e-3, 5.25, 100.0, -0.75, 1000.0], NUMPY[name]))
    with refused_without(client, name):
        got = launch(client, divide_floats, a, b, units=a.size, out=np.zeros((2, a.size), a.dtype))
    np.testing.assert_array_equal(got[0], a // b)
    np.testing.assert_array_equal(got[1], a % b)


@ruda.kernel
def wrap(a: Array[T], b: Array[T], out: Tensor[T]):
    i = ruda.ABSOLUTE_POS
    if i < len(a):
        out[0, i] = a[i] + b[i]
        out[1, i] = a[i] - b[i]
        out[2, i] = a[i] * b[i]
        out[3, i] = -a[i]
        out[4, i] = abs(a[i])
        out[5, i] = a[i] + 1
        out[6, i] = a[i] * 101
        total = a[i]
        total *= b[i]
        total -= 100
        out[7, i] = total


@pytest.mark.parametrize("name", INTEGERS)
def test_arithmetic_wraps_at_the_width(client, name):
    a, b = pairs(edge_integers(name))
    with refused_without(client, name):
        got = launch(client, wrap, a, b, units=a.size, out=np.zeros((8, a.size), a.dtype))
    kind = a.dtype.type
    with np.errstate(all="ignore"):
        expected = (a + b, a - b, a * b, -a, np.abs(a), a + kind(1), a * kind(101), a * b - kind(100))
    for k, right in enumerate(expected):
        np.testing.assert_array_equal(got[k], right, err_msg=f"row {k}")


@ruda.kernel
def products(a: Array[i32], b: Array[i32], u: Array[u32], v: Array[u32], out: Array[i32], hashes: Array[u32]):
    out[0] = a[0] * b[0]
    out[1] = a[1] + b[1]
    hashes[0] = u[0] - v[0]
    hashes[1] = u[1] * v[1]
    hashes[2] = 2654435761 * v[1]


def test_hashes_keep_their_low_bits(client):
    a, b = np.array([50000, 2147483647], np.int32), np.array([50000, 1], np.int32)
    u, v = np.array([3, 2654435761], np.uint32), np.array([5, 40503], np.uint32)
    out = np.zeros(2, np.int32), np.zeros(3, np.uint32)
    got, hashes = launch(client, products, a, b, u, v, units=1, out=out)
    assert got.tolist() == [-1794967296, -2147483648]
    assert hashes.tolist() == [4294967294, 990274311, 990274311]


@ruda.kernel
def mix(a: Array[i32], b: Array[u32]):
    a[0] = a[0] * b[0]


def test_signed_and_unsigned_do_not_mix_unasked(client):
    a, b = client.tensor(np.ones(1, np.int32)), client.tensor(np.ones(1, np.uint32))
    with pytest.raises(ruda.KernelTypeError, match=r"(?s)i32.*u32"):
        mix.launch(client, 1, 1, a, b)


@ruda.kernel
def powers(a: Array[T], b: Array[i32], out: Array[T]):
    i = ruda.ABSOLUTE_POS
    if i < len(out):
        out[i] = a[i] ** b[i]


def test_integer_powers_are_exact_and_wrap(client):
    for name in usable(client, INTEGERS):
        bases = edge_integers(name)
        a, b = (m.ravel() for m in np.meshgrid(bases, np.array([0, 1, 2, 3, 7, 31, -1, -2, -3], np.int32)))
        got = launch(client, powers, a.copy(), b.copy(), units=a.size, out=np.zeros(a.size, a.dtype))
        expected = [power(int(x), int(y)) & mask_of(a) for x, y in zip(a, b, strict=True)]
        right = np.array(expected, object).astype(unsigned_of(a)).view(a.dtype)
        np.testing.assert_array_equal(got, right, err_msg=name)


def power(base, exponent):
    if exponent >= 0:
        return base**exponent
    return {1: 1, -1: 1 if exponent % 2 == 0 else -1}.get(base, 0)
