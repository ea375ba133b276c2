"""Transposed and sliced arrays keep their logical order, from the host and on the device."""

from __future__ import annotations

import numpy as np
import pytest
from support import NUMPY, T, has

import ruda_core as ruda
from ruda_core import Array, Tensor, i32


@ruda.kernel
def flatten(x: Tensor[T], out: Array[T]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        out[i] = x.flat[i]


@ruda.kernel
def copy_matrix(x: Tensor[T], out: Tensor[T]):
    row, col = ruda.ABSOLUTE_POS_Y, ruda.ABSOLUTE_POS_X
    if row < x.shape(0) and col < x.shape(1):
        out[row, col] = x[row, col]


@ruda.kernel
def describe(x: Tensor[i32], out: Array[i32]):
    out[0], out[1], out[2] = x.rank, len(x), 0
    for d in ruda.unroll(range(x.rank)):
        out[3 + 2 * d] = x.shape(d)
        out[4 + 2 * d] = x.stride(d)


def views(x):
    """Views of a 3 x 4 x 5 array that NumPy and device tensors spell alike."""
    return {
        "whole": x,
        "transposed": x.T,
        "stepped": x[::2, 1::2, ::3],
        "one plane": x[1],
        "one column": x[:, 2, 3],
        "inner": x[1:, 1:3, 2:],
        "column pairs": x[:, :, ::4].T,
    }


VIEWS = sorted(views(np.zeros((3, 4, 5))))


def test_transposed_and_sliced_host_arrays(client):
    for x in (
        np.arange(6, dtype=np.int32).reshape(2, 3).T,
        np.arange(20, dtype=np.int32).reshape(4, 5)[::2, ::2],
    ):
        t = client.tensor(x)
        assert t.shape == x.shape and t.tolist() == x.tolist()
        layout = client.create_tensor_from_slice(x, x.shape, 4)
        got = client.read_one_tensor(ruda.CopyDescriptor(layout.handle, x.shape, layout.strides, 4))
        assert got.view(np.int32).reshape(x.shape).tolist() == x.tolist()


@pytest.mark.parametrize("dtype", ["i32", "u8", "f16", "f64", "bool"])
@pytest.mark.parametrize("view", VIEWS)
def test_host_views_of_every_width(client, dtype, view):
    x = views(np.arange(60).reshape(3, 4, 5).astype(NUMPY[dtype]))[view]
    np.testing.assert_array_equal(client.tensor(x).numpy(), x)
    np.testing.assert_array_equal(client.tensor(x[::-1]).numpy(), x[::-1])


def test_a_host_array_in_another_byte_order(client):
    x = np.arange(5, dtype=">i4")
    assert client.tensor(x).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("dtype", ["i32", "u8", "f16"])
@pytest.mark.parametrize("view", VIEWS)
def test_kernels_index_through_the_strides_of_a_view(client, dtype, view):
    if not has(client, dtype):
        pytest.skip(f"no {dtype}")
    x = np.arange(60).reshape(3, 4, 5).astype(NUMPY[dtype])
    host, t = views(x)[view], views(client.tensor(x))[view]
    assert t.shape == host.shape
    np.testing.assert_array_equal(t.numpy(), host)
    out = client.tensor(np.zeros(host.size, host.dtype))
    flatten.launch_over(client, host.size, t, out)
    np.testing.assert_array_equal(out.numpy(), host.ravel())
    packed = t.contiguous()
    assert packed.is_contiguous()
    np.testing.assert_array_equal(packed.numpy(), host)


def test_kernels_write_through_the_strides_of_a_view(client):
    target = client.tensor(np.full((6, 8), -1, np.int32))
    source = np.arange(12, dtype=np.int32).reshape(4, 3)
    copy_matrix.launch(client, 1, (8, 8), client.tensor(source), target[1::2, ::2].T)
    expected = np.full((6, 8), -1, np.int32)
    expected[1::2, ::2].T[...] = source
    np.testing.assert_array_equal(target.numpy(), expected)


def test_shape_stride_rank_and_length(client):
    x = client.tensor(np.zeros((3, 4, 5), np.int32))
    for view in (x, x.T, x[1:, ::2], x[2]):
        out = client.tensor(np.zeros(9, np.int32))
        describe.launch(client, 1, 1, view, out)
        got = out.tolist()
        assert got[:2] == [view.ndim, view.size]
        assert got[3 : 3 + 2 * view.ndim : 2] == list(view.shape)
        assert got[4 : 4 + 2 * view.ndim : 2] == list(view.strides)


def test_an_array_parameter_wants_contiguous_elements(client):
    @ruda.kernel
    def first(x: Array[i32]):
        x[0] = 5

    x = client.tensor(np.zeros((4, 4), np.int32))
    with pytest.raises(ruda.LaunchArgumentError, match="contiguous"):
        first.launch(client, 1, 1, x.T)
    first.launch(client, 1, 1, x[2])
    assert x.numpy()[2, 0] == 5 and x.numpy().sum() == 5
