"""64-bit types: exact where the device has them, refused before launch where not; never narrowed."""

from __future__ import annotations

import numpy as np
import pytest
from support import NUMPY, T, has, launch, refused_without

import ruda_core as ruda
from ruda_core import Array, f64, i32, i64, u32, u64


@ruda.kernel
def add_one(x: Array[T]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        x[i] = x[i] + 1


def test_i64_is_exact_or_refused(client):
    x = np.array([4294967301, -1099511627776], np.int64)
    with refused_without(client, "i64"):
        got = launch(client, add_one, units=2, out=x)
    assert got.tolist() == [4294967302, -1099511627775]


@pytest.mark.parametrize("name, value", [("u64", 2**63 + 5), ("i64", -(2**62)), ("f64", 1 / 3)])
def test_wide_values_keep_all_bits(client, name, value):
    x = np.array([value], NUMPY[name])
    with refused_without(client, name):
        got = launch(client, add_one, units=1, out=x)
    np.testing.assert_array_equal(got, x + NUMPY[name](1))


@ruda.kernel
def wide_local(x: Array[i32], out: Array[u32]):
    big = u64(x[0]) * 4294967296 + 7
    out[0] = u32(big >> 32)
    out[1] = u32(big)


@ruda.kernel
def wide_float(x: Array[i32], out: Array[i32]):
    out[0] = i32(f64(x[0]) * 3.5)


@ruda.kernel
def wide_parameter(x: i64, out: Array[i32]):
    out[0] = i32(x >> 8)


def test_wide_types_inside_a_kernel(client):
    with refused_without(client, "u64"):
        got = launch(client, wide_local, np.array([5], np.int32), units=1, out=np.zeros(2, np.uint32))
    assert got.tolist() == [5, 7]


def test_wide_floats_inside_a_kernel(client):
    with refused_without(client, "f64"):
        got = launch(client, wide_float, np.array([16777217], np.int32), units=1, out=np.zeros(1, np.int32))
    assert got.tolist() == [58720259], "58720259.5; in f32 it would be 58720260"


def test_wide_scalar_parameters(client):
    with refused_without(client, "i64"):
        got = launch(client, wide_parameter, -(2**38) - 1, units=1, out=np.zeros(1, np.int32))
    assert got.tolist() == [-(2**30) - 1]


@ruda.kernel
def exponential(x: Array[f64], out: Array[f64]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        out[i] = ruda.exp(x[i])


def test_f64_functions_are_right_or_refused(client):
    x = np.array([0.0, 1.0, -2.5, 10.0])
    with refused_without(client, "f64", functions=True):
        got = launch(client, exponential, x, units=x.size, out=np.zeros_like(x))
    np.testing.assert_allclose(got, np.exp(x), rtol=1e-14)


def test_a_refusal_names_dtype_backend_and_line(client):
    lacking = [name for name in ("i64", "u64", "f64") if not has(client, name)]
    if not lacking:
        pytest.skip("this device has every dtype")
    x = client.tensor(np.ones(1, NUMPY[lacking[0]]))
    with pytest.raises(ruda.UnsupportedFeature) as caught:
        add_one.launch(client, 1, 1, x)
    assert isinstance(caught.value, ruda.CompileError)
    assert lacking[0] in str(caught.value) and client.device.backend in str(caught.value)
    assert caught.value.file == __file__ and caught.value.line
    assert x.numpy()[0] == 1
