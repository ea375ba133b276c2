"""Vectors: storage of every width, operators by component, construction, components, functions."""

from __future__ import annotations

import numpy as np
import pytest
from support import NUMPY, R, T

import ruda_core as ruda
from ruda_core import Array, Vec, f16, f32, i32, u8, u32

DTYPES = {"f32": f32, "i32": i32, "u8": u8, "f16": f16, "u32": u32}


@ruda.kernel
def arithmetic(x: Array[T], y: Array[T], out: Array[T]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        out[i] = (x[i] + y[i]) * 2 - y[i]


@pytest.mark.parametrize("lanes", [2, 3, 4, 8, 16])
@pytest.mark.parametrize("name", DTYPES)
def test_operators_work_by_component(client, name, lanes):
    x = (np.arange(5 * lanes) % 50).astype(NUMPY[name])
    tensors = [client.tensor(a) for a in (x, x[::-1].copy(), np.zeros_like(x))]
    arithmetic.launch(client, 1, 8, *(t.vectorized(lanes) for t in tensors))
    np.testing.assert_array_equal(tensors[2].numpy(), (x + x[::-1]) * NUMPY[name](2) - x[::-1])


@ruda.kernel
def generic_saxpy(a: T, x: Array[T], y: Array[T]):
    i = ruda.ABSOLUTE_POS
    if i < len(y):
        y[i] = a * x[i] + y[i]


@pytest.mark.parametrize("lanes", [1, 2, 4])
@pytest.mark.parametrize("name", ["f32", "i32"])
def test_a_generic_scalar_is_for_all_components(client, name, lanes):
    x = np.arange(24).astype(NUMPY[name])
    given, out = client.tensor(x), client.tensor(x[::-1].copy())
    arguments = [t if lanes == 1 else t.vectorized(lanes) for t in (given, out)]
    generic_saxpy.launch(client, 1, 32, 3, *arguments)
    np.testing.assert_array_equal(out.numpy(), 3 * x + x[::-1])


@ruda.kernel
def by_value(a: Vec[f32, 4], x: Array[f32]):
    x[0] = a.x


def test_a_vector_by_value_is_refused(client):
    with pytest.raises(ruda.KernelTypeError, match="not passed by value"):
        by_value.launch(client, 1, 1, 1.0, client.zeros(4, np.float32))


@ruda.kernel
def components(x: Array[Vec[f32, 4]], out: Array[Vec[f32, 4]], sums: Array[f32], count: Array[i32]):
    i = ruda.ABSOLUTE_POS
    if i == 0:
        count[0] = len(x)
    if i < len(x):
        v = x[i]
        w = Vec[f32, 4](v.w, v.z, v.y, v.x)
        total = 0.0
        for k in range(4):
            total += v[k] * f32(k)
        out[i] = w
        sums[4 * i] = v.sum()
        sums[4 * i + 1] = ruda.dot(v, w)
        sums[4 * i + 2] = total
        sums[4 * i + 3] = max(v.x, v[1])


def test_components_dot_and_sum(client):
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    t, out, sums = (client.tensor(a) for a in (x, np.zeros_like(x), np.zeros(12, np.float32)))
    count = client.tensor(np.zeros(1, np.int32))
    components.launch(client, 1, 4, t.vectorized(4), out.vectorized(4), sums, count)
    np.testing.assert_array_equal(out.numpy(), x[:, ::-1])
    expected = [[v.sum(), v @ v[::-1], v @ np.arange(4), max(v[0], v[1])] for v in x]
    np.testing.assert_array_equal(sums.numpy().reshape(3, 4), expected)
    assert count.tolist() == [3]


@ruda.kernel
def functions(x: Array[Vec[f32, 2]], out: Array[Vec[f32, 2]], whole: Array[Vec[i32, 2]]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        v = x[i]
        out[i] = ruda.sqrt(abs(v)) + ruda.floor(v) * 0.5 + ruda.select(v > 0, v, -v)
        whole[i] = Vec[i32, 2](v) // 2 + Vec[i32, 2](1, -1)


def test_functions_work_by_component(client):
    x = np.array([4, -9, 0.25, -0.5, 16, 1], np.float32)
    t, out, whole = (client.tensor(a) for a in (x, np.zeros_like(x), np.zeros(6, np.int32)))
    functions.launch(client, 1, 4, t.vectorized(2), out.vectorized(2), whole.vectorized(2))
    np.testing.assert_array_equal(out.numpy(), np.sqrt(np.abs(x)) + np.floor(x) * 0.5 + np.abs(x))
    assert whole.tolist() == (x.astype(np.int32) // 2 + np.tile([1, -1], 3)).tolist()


@ruda.kernel
def in_shared_memory(x: Array[Vec[f32, 4]], out: Array[Vec[f32, 4]]):
    tile = ruda.shared(Vec[f32, 4], 8)
    mine = ruda.local(Vec[f32, 4], 2)
    unit = ruda.UNIT_POS
    tile[unit] = x[unit]
    ruda.barrier()
    mine[0] = tile[7 - unit]
    mine[1] = tile[unit] * 10
    out[unit] = mine[0] + mine[1]


def test_vectors_in_shared_and_local_memory(client):
    x = np.arange(32, dtype=np.float32).reshape(8, 4)
    t, out = client.tensor(x), client.tensor(np.zeros_like(x))
    in_shared_memory.launch(client, 1, 8, t.vectorized(4), out.vectorized(4))
    np.testing.assert_array_equal(out.numpy(), x[::-1] + 10 * x)


@ruda.kernel
def stray(x: Array[Vec[f32, 4]], where: i32, out: Array[Vec[f32, 4]]):
    out[0] = x[where]
    x[where] = Vec[f32, 4](9.0, 9.0, 9.0, 9.0)


@pytest.mark.parametrize("where", [-1, 2, 2**30])
def test_a_vector_out_of_bounds_is_zero(client, where):
    x, out = client.tensor(np.ones(11, np.float32)), client.tensor(np.full(4, 7, np.float32))
    stray.launch(client, 1, 1, x[:8].vectorized(4), where, out.vectorized(4))
    assert out.tolist() == [0] * 4 and x.tolist() == [1] * 11


@ruda.kernel
def compare(x: Array[T], y: Array[T], out: Array[R]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        out[i] = x[i] < y[i]


def test_comparisons_give_vectors_of_bool(client):
    x, y = np.array([1, 5, 3, 3], np.float32), np.array([2, 4, 3, 4], np.float32)
    out = client.tensor(np.zeros(4, np.bool_))
    compare.launch(
        client, 1, 2, client.tensor(x).vectorized(2), client.tensor(y).vectorized(2), out.vectorized(2)
    )
    assert out.tolist() == (x < y).tolist()


def test_only_whole_aligned_vectors_are_taken(client):
    t = client.tensor(np.zeros(10, np.float32))
    with pytest.raises(ruda.RudaError, match="4"):
        t.vectorized(4)
    with pytest.raises(ruda.RudaError):
        client.tensor(np.zeros((4, 4), np.float32)).T.vectorized(4)


@ruda.kernel(fp_contract=False)
def constants(out: Array[f32], whole: Array[i32]):
    i = ruda.ABSOLUTE_POS
    v = Vec[f32, 3](0.0, 1.0, 3.0e30)
    squares = v * v
    sums = Vec[i32, 2](2147483647, 5) + Vec[i32, 2](1, 1)
    out[2] = squares.z
    whole[i] = sums.x


def test_constant_components_overflow_as_values_do(client):
    out, whole = client.zeros(3, np.float32), client.zeros(3, np.int32)
    constants.launch(client, 1, 1, out, whole)
    np.testing.assert_array_equal(out.numpy(), np.array([0, 0, np.inf], np.float32))
    np.testing.assert_array_equal(whole.numpy(), np.array([-(2**31), 0, 0], np.int32))
