"""Sizes that are no multiple of four bytes, and no size at all."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from support import NUMPY, T, has, launch

import ruda_core as ruda
from ruda_core import Array, Tensor, f32, u8


@ruda.kernel
def invert(x: Array[u8], out: Array[u8]):
    i = ruda.ABSOLUTE_POS
    if i < len(out):
        out[i] = 255 - x[i]


@ruda.kernel
def add_one(x: Array[T]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        x[i] = x[i] + 1


@ruda.kernel
def lengths(x: Array[f32], t: Tensor[f32], out: Array[ruda.i32]):
    out[0] = len(x)
    out[1] = len(t)
    out[2] = t.shape(0)
    out[3] = t.shape(1)
    n = 0
    for _ in range(len(x)):
        n += 1
    out[4] = n


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 25, 4097])
def test_odd_sizes_come_back_as_they_were(client, size):
    data = (np.arange(size) % 251).astype(np.uint8)
    before, after = client.create_from_slice(b"\xaa" * 13), client.create_from_slice(b"\xbb" * 11)
    handle = client.create_from_slice(data)
    assert handle.size == size
    assert bytes(client.read_one(handle)) == data.tobytes()
    client.write(handle, data[::-1])
    assert bytes(client.read_one(handle)) == data[::-1].tobytes()
    assert bytes(client.read_one(before)) == b"\xaa" * 13
    assert bytes(client.read_one(after)) == b"\xbb" * 11


def test_a_kernel_writes_its_25_bytes_and_no_more(client):
    x = np.arange(25, dtype=np.uint8).reshape(5, 5)
    before, out, after = (client.tensor(np.full(25, k, np.uint8)) for k in (1, 2, 3))
    invert.launch_over(client, 64, client.tensor(x), out)
    np.testing.assert_array_equal(out.numpy(), 255 - x.ravel())
    assert (before.numpy() == 1).all() and (after.numpy() == 3).all()


@pytest.mark.parametrize("start, stop", [(0, 3), (1, 2), (3, 10), (5, 6), (7, 13)])
def test_a_slice_at_any_byte_leaves_its_neighbours(client, start, stop):
    whole = client.tensor(np.arange(16, dtype=np.uint8))
    add_one.launch_over(client, 16, whole[start:stop])
    expected = np.arange(16, dtype=np.uint8)
    expected[start:stop] += 1
    np.testing.assert_array_equal(whole.numpy(), expected)


@pytest.mark.parametrize("name", ["u8", "i16", "f16", "bf16", "u32", "i64"])
@pytest.mark.parametrize("size", [1, 3, 63, 65])
def test_units_write_neighbouring_elements_undisturbed(client, name, size):
    if not has(client, name):
        pytest.skip(f"no {name}")
    x = np.arange(size).astype(NUMPY[name])
    got = launch(client, add_one, units=size, out=x)
    np.testing.assert_array_equal(got.astype(np.float64), np.arange(size) + 1)


def test_empty_storage_is_ordinary(client):
    usage = client.memory_usage().bytes_in_use
    empty, made = client.create_from_slice(b""), client.empty(0)
    assert (empty.size, made.size) == (0, 0)
    assert bytes(client.read_one(empty)) == b"" == bytes(client.read_one(made))
    assert [bytes(b) for b in client.read([empty, made])] == [b"", b""]
    client.write(empty, b"")
    none = client.tensor(np.zeros((0, 3), np.float32))
    assert none.numpy().shape == (0, 3) and none.size == none.nbytes == 0
    assert client.memory_usage().bytes_in_use == usage


@pytest.mark.parametrize("count", [0, (0,), (4, 0), (0, 5, 1)], ids=str)
def test_a_count_of_zero_does_nothing(client, count):
    x = client.tensor(np.zeros(4, np.float32))
    none = client.tensor(np.zeros(0, np.float32))
    gc.collect()  # what other tests have left
    before = client.memory_usage()
    add_one.launch(client, count, 64, x)
    add_one.launch(client, count, 64, none)
    client.flush()
    assert x.tolist() == [0, 0, 0, 0]
    add_one.launch(client, 1, 4, x)
    assert x.tolist() == [1, 1, 1, 1]
    assert client.memory_usage() == before


def test_arrays_without_elements(client):
    none = np.zeros((0, 3), np.float32)
    got = launch(client, lengths, none, none, units=1, out=np.full(5, 9, np.int32))
    assert got.tolist() == [0, 0, 0, 3, 0]
    launch(client, add_one, units=0, out=none)
    launch(client, add_one, units=64, out=none)
