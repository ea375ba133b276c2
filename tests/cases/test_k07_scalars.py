"""Scalars reach the type that the parameter declares, or are refused before the launch."""

from __future__ import annotations

import numpy as np
import pytest
from support import INTEGERS, NUMPY, T, has, launch

import ruda_core as ruda
from ruda_core import Array, bool_, f16, f32, i8, i32, u8, u32


@ruda.kernel
def scale(x: Array[f32], m: f32, out: Array[f32]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        out[i] = x[i] * m


@ruda.kernel
def signed(value: i32, out: Array[i32]):
    out[0] = value


@ruda.kernel
def unsigned(value: u32, out: Array[u32]):
    out[0] = value


@ruda.kernel
def small(a: u8, b: i8, c: bool_, d: f16, e: f32, f: u8, out: Array[f32]):
    out[0] = f32(a)
    out[1] = f32(b)
    out[2] = f32(c)
    out[3] = f32(d)
    out[4] = e
    out[5] = f32(f)


@pytest.mark.parametrize(
    "m", [2.0, np.float64(2.0), np.float32(2.0), 2, np.int64(2), np.float16(2), np.uint8(2)], ids=repr
)
def test_the_declared_type_decides_the_bytes(client, m):
    x = np.array([1, 2, 3], np.float32)
    assert launch(client, scale, x, m, units=3, out=np.zeros_like(x)).tolist() == [2, 4, 6]


def test_a_float_rounds_to_the_declared_dtype(client):
    got = launch(client, scale, np.ones(1, np.float32), 0.1, units=1, out=np.zeros(1, np.float32))
    assert got[0] == np.float32(0.1)
    got = launch(client, scale, np.ones(1, np.float32), np.inf, units=1, out=np.zeros(1, np.float32))
    assert got[0] == np.inf


@pytest.mark.parametrize(
    "value", [2**31, -(2**31) - 1, 1.5, np.float32(0.5), "1", None, np.uint32(2**31), 1j]
)
def test_what_does_not_fit_i32_is_refused(client, value):
    out = client.tensor(np.full(1, 7, np.int32))
    with pytest.raises(ruda.LaunchArgumentError) as caught:
        signed.launch(client, 1, 1, value, out)
    assert "value" in str(caught.value) and "i32" in str(caught.value) and "signed" in str(caught.value)
    assert out.tolist() == [7]


@pytest.mark.parametrize("value", [-1, 2**32, np.int8(-1), -0.5])
def test_what_does_not_fit_u32_is_refused(client, value):
    out = client.tensor(np.full(1, 7, np.uint32))
    with pytest.raises(ruda.LaunchArgumentError):
        unsigned.launch(client, 1, 1, value, out)
    assert out.tolist() == [7]


@pytest.mark.parametrize("value", [1e300, -3.5e38, np.float64(1e39), 10**60], ids=repr)
def test_a_finite_value_does_not_become_infinite(client, value):
    out = client.tensor(np.full(1, 7, np.float32))
    with pytest.raises(ruda.LaunchArgumentError):
        scale.launch(client, 1, 1, out, value, out)
    assert out.tolist() == [7]


@pytest.mark.parametrize("value", [-(2**31), 2**31 - 1, np.int64(-5), np.uint8(200), True])
def test_every_integer_in_range_arrives(client, value):
    assert launch(client, signed, value, units=1, out=np.zeros(1, np.int32)).tolist() == [int(value)]


def test_narrow_scalars_side_by_side(client):
    args = (255, -128, True, 0.1, 1e-3, np.uint8(3))
    got = launch(client, small, *args, units=1, out=np.zeros(6, np.float32))
    assert got.tolist() == [255, -128, 1, float(np.float16(0.1)), float(np.float32(1e-3)), 3]


@ruda.kernel
def generic(value: T, out: Array[T]):
    out[0] = value


@pytest.mark.parametrize("name", INTEGERS)
def test_the_ends_of_every_integer_dtype(client, name):
    if not has(client, name):
        pytest.skip(f"no {name}")
    info = np.iinfo(NUMPY[name])
    for value in (info.min, info.max):
        assert launch(client, generic, value, units=1, out=np.zeros(1, NUMPY[name])).tolist() == [value]
    for value in (info.min - 1, info.max + 1):
        with pytest.raises(ruda.LaunchArgumentError):
            generic.launch(client, 1, 1, value, client.tensor(np.zeros(1, NUMPY[name])))
