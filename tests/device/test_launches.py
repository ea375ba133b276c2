"""Forms of counts, dims and arguments; indirect counts; what a launch refuses for the sake of barriers."""

from __future__ import annotations

import numpy as np
import pytest

import ruda_core as ruda
from ruda_core import Array, Tensor, f32, i32, u32

WAIT = 60


@ruda.kernel
def census(out: Array[u32]):
    """How many units there are, and the largest positions."""
    ruda.atomic_add(out, 0, 1)
    ruda.atomic_max(out, 1, u32(ruda.ABSOLUTE_POS_X))
    ruda.atomic_max(out, 2, u32(ruda.ABSOLUTE_POS_Y))
    ruda.atomic_max(out, 3, u32(ruda.ABSOLUTE_POS_Z))
    ruda.atomic_max(out, 4, u32(ruda.ABSOLUTE_POS))


FORMS = [
    (3, 4, (12, 11, 0, 0)),
    ((3,), (4,), (12, 11, 0, 0)),
    (np.int64(3), 4, (12, 11, 0, 0)),
    ((3, 2), (4, 5), (120, 11, 9, 0)),
    ((1, 2, 3), (2, 2, 2), (48, 1, 3, 5)),
    (ruda.RudaCount(2, 3, 1), ruda.RudaDim(4, 1, 2), (48, 7, 2, 1)),
    (ruda.RudaCount.cover(10, 4), 4, (12, 11, 0, 0)),
    (ruda.RudaCount.cover((5, 3), (4, 2)), (4, 2), (32, 7, 3, 0)),
]


@pytest.mark.parametrize("count, dim, expected", FORMS, ids=str)
def test_counts_and_dims(client, count, dim, expected):
    out = client.tensor(np.zeros(5, np.uint32))
    census.launch(client, count, dim, out)
    assert out.tolist() == [*expected, expected[0] - 1]


@pytest.mark.parametrize("units", [1, 1000, (7,), (33, 5), (9, 4, 3)], ids=str)
def test_a_launch_over_units_covers_them(client, units):
    out = client.tensor(np.zeros(5, np.uint32))
    census.launch_over(client, units, out)
    total, *last = out.tolist()
    axes = units if isinstance(units, tuple) else (units,)
    assert total >= np.prod(axes)
    assert all(position >= extent - 1 for position, extent in zip(last, axes, strict=False))
    assert last[3] == total - 1


@pytest.mark.parametrize("count", [-1, (1, -2), (1, 2, 3, 4), 1.5, "3", None], ids=repr)
def test_a_count_that_means_nothing_is_refused(client, count):
    with pytest.raises(ruda.LaunchError):
        census.launch(client, count, 4, client.tensor(np.zeros(5, np.uint32)))


@ruda.kernel
def axpy(a: f32, x: Array[f32], y: Array[f32]):
    i = ruda.ABSOLUTE_POS
    if i < len(y):
        y[i] = a * x[i] + y[i]


def test_arguments_by_keyword_and_by_handle(client):
    x, y = client.tensor(np.arange(6, dtype=np.float32)), client.create_from_slice(np.ones(6, np.float32))
    axpy.launch(client, 1, 8, y=ruda.ArrayArg(y, 6), a=2, x=x)
    axpy.launch(client, 1, 8, 1, ruda.ArrayArg(y.slice(8, 24), 4), y=ruda.ArrayArg(y.slice(0, 8), 2))
    assert client.read_one(y).view(np.float32).tolist() == [6, 10, 5, 7, 9, 11]
    for bad in (ruda.ArrayArg(y, 7), ruda.ArrayArg(y.slice(0, 8), 3)):
        with pytest.raises(ruda.LaunchArgumentError):
            axpy.launch(client, 1, 8, 1, x, bad)


@ruda.kernel
def transpose(m: Tensor[f32], out: Tensor[f32]):
    row, col = ruda.ABSOLUTE_POS_Y, ruda.ABSOLUTE_POS_X
    if row < m.shape(0) and col < m.shape(1):
        out[col, row] = m[row, col]


def test_tensors_by_handle_with_strides(client):
    x = np.arange(12, dtype=np.float32)
    source, target = client.create_from_slice(x), client.empty(48)
    args = ruda.TensorArg(source, (3, 4), (4, 1)), ruda.TensorArg(target, (4, 3), (3, 1))
    transpose.launch(client, 1, (4, 3), *args)
    assert client.read_one(target).view(np.float32).tolist() == x.reshape(3, 4).T.ravel().tolist()
    transpose.launch(client, 1, (4, 3), args[0], ruda.TensorArg(target, (4, 3), (1, 4)))
    assert client.read_one(target).view(np.float32).tolist() == x.tolist()


def test_a_prepared_launch_takes_new_arguments(client):
    x, y = (client.tensor(np.full(4, k, np.float32)) for k in (1, 2))
    ready = axpy.prepare(client, 4, 1.0, x, y)
    for a in (1.0, 10.0):
        ready(1, a, x, y)
    assert y.tolist() == [13] * 4
    other = client.tensor(np.zeros(4, np.float32))
    ready(1, 3.0, y, other)
    assert other.tolist() == [39] * 4


def test_indirect_counts(client):
    out = client.tensor(np.zeros(5, np.uint32))
    counts = client.tensor(np.array([3, 2, 1], np.int32))
    if not client.features().indirect:
        with pytest.raises(ruda.UnsupportedFeature, match="indirect"):
            census.launch(client, counts, 4, out)
        return
    census.launch(client, counts, 4, out)
    assert out.tolist() == [24, 11, 1, 0, 23]
    census.launch(client, client.tensor(np.array([0, 2, 1], np.int32)), 4, out)
    assert out.tolist()[0] == 24


@ruda.kernel
def guided(steps: Array[i32], out: Array[i32]):
    for _ in range(steps[0]):
        ruda.barrier()
    out[ruda.UNIT_POS] = steps[0]


def test_a_barrier_that_hangs_on_a_shared_array_is_refused_at_launch(client):
    steps, out = client.tensor(np.array([3, 0, 0, 0], np.int32)), client.tensor(np.zeros(4, np.int32))
    guided.launch(client, 1, 4, steps, out)
    assert out.tolist() == [3] * 4
    with pytest.raises(ruda.RudaError):
        guided.launch(client, 1, 4, steps, steps)
    assert steps.tolist() == [3, 0, 0, 0]


def test_two_streams_and_a_handle_between_them(client):
    other = client.fixed_execution_queue()
    other.set_stream(ruda.StreamId.new())
    x, y = client.tensor(np.ones(1000, np.float32)), client.tensor(np.zeros(1000, np.float32))
    for _ in range(5):
        axpy.launch_over(client, 1000, 1, x, y)
        axpy.launch_over(other, 1000, 1, y, x)
    a, b = 1.0, 0.0
    for _ in range(5):
        b = a + b
        a = b + a
    assert (x.numpy() == a).all() and (y.numpy() == b).all()


def test_a_first_launch_warns_of_nothing(device, script):
    program = """
    import sys
    import ruda_core as ruda
    from ruda_core import Array, f32

    @ruda.kernel
    def double(x: Array[f32]):
        i = ruda.ABSOLUTE_POS
        if i < len(x):
            x[i] = x[i] * 2

    client = ruda.client(sys.argv[1])
    x = client.tensor([1.0, 2.0], dtype=f32)
    double.launch_over(client, 2, x)
    print(x.tolist())
    """
    assert script(program, device, env={"PYTHONWARNINGS": "error::UserWarning"}) == [2, 4]
