"""A failure is raised where it belongs, once, and harms no other work."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import ruda_core as ruda
from ruda_core import Array, f32, i32

WAIT = 60


@ruda.kernel
def add_one(x: Array[f32]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        x[i] = x[i] + 1


@ruda.kernel
def stray(x: Array[f32], where: i32):
    x[where] = 9.0


@ruda.kernel
def stray_read(x: Array[f32], where: i32, out: Array[f32]):
    out[0] = x[where]


@ruda.kernel
def claims(x: Array[f32]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        assert x[i] < 100, "values stay small"
        x[i] = x[i] + 1


def validated(client, kernel, *args):
    kernel.prepare(client, 1, *args, mode="validate")(1, *args)


def test_an_impossible_group_is_refused_at_its_launch(client):
    x = client.tensor(np.zeros(4, np.float32))
    limit = client.properties().max_units_per_workgroup
    with pytest.raises(ruda.LaunchLimitError) as caught:
        stray.launch(client, 1, limit + 1, x, 0)
    assert "stray" in str(caught.value)
    assert (caught.value.requested, caught.value.limit) == (limit + 1, limit)
    add_one.launch(client, 1, 4, x)
    assert x.tolist() == [1, 1, 1, 1]
    assert ruda.client(client.device).tensor(np.ones(2, np.float32)).tolist() == [1, 1]


@pytest.mark.parametrize("dim", [0, -1, (4, 0), (1, 2, 3, 4), "64", 1.5], ids=repr)
def test_a_dim_that_means_nothing_is_refused(client, dim):
    with pytest.raises(ruda.LaunchError):
        add_one.launch(client, 1, dim, client.tensor(np.zeros(4, np.float32)))


def test_shared_memory_over_the_limit_is_refused_with_both_numbers(client):
    limit = client.properties().max_shared_memory
    words = limit // 4 + 1

    @ruda.kernel
    def greedy(x: Array[f32]):
        tile = ruda.shared(f32, words)
        tile[ruda.UNIT_POS] = x[0]
        ruda.barrier()
        x[ruda.UNIT_POS] = tile[0]

    with pytest.raises(ruda.LaunchLimitError) as caught:
        greedy.launch(client, 1, 4, client.tensor(np.zeros(4, np.float32)))
    assert (caught.value.requested, caught.value.limit) == (4 * words, limit)


@pytest.mark.parametrize("where", [4, 5, 1 << 20, 2**31 - 1, -1, -(2**31)])
def test_a_stray_store_is_dropped(client, where):
    beside = client.tensor(np.ones(4, np.float32))
    x = client.tensor(np.zeros(4, np.float32))
    stray.launch(client, 1, 1, x, where)
    add_one.launch(client, 1, 4, beside)
    assert x.tolist() == [0] * 4 and beside.tolist() == [2] * 4
    client.flush()


@pytest.mark.parametrize("where", [4, -1, 2**31 - 1])
def test_a_stray_read_gives_zero(client, where):
    x, out = client.tensor(np.ones(4, np.float32)), client.tensor(np.full(1, 7, np.float32))
    stray_read.launch(client, 1, 1, x, where, out)
    assert out.tolist() == [0]


def test_validate_reports_the_access_once_with_its_place(client):
    x, beside = client.tensor(np.zeros(4, np.float32)), client.tensor(np.zeros(4, np.float32))
    validated(client, stray, x, 5)
    add_one.launch(client, 1, 4, beside)
    with pytest.raises(ruda.KernelFault) as caught:
        client.sync().result(timeout=WAIT)
    fault = caught.value
    lines, start = inspect.getsourcelines(stray.fn)
    assert (fault.kernel, fault.array, fault.index, fault.length) == ("stray", "x", 5, 4)
    assert fault.file == __file__ and fault.line == start + 2
    assert all(word in str(fault) for word in ("stray", "x", "5", "4"))
    assert x.tolist() == [0] * 4 and beside.tolist() == [1] * 4
    client.sync().result(timeout=WAIT)


def test_a_read_raises_the_fault_too(client):
    x, out = client.tensor(np.ones(4, np.float32)), client.tensor(np.full(1, 7, np.float32))
    validated(client, stray_read, x, -1, out)
    with pytest.raises(ruda.KernelFault):
        out.numpy()
    assert out.tolist() == [0], "raised once; the read gave zero"


def test_several_faults_surface_together(client):
    x = client.tensor(np.zeros(4, np.float32))
    for where in (7, 8):
        validated(client, stray, x, where)
    with pytest.raises((ruda.KernelFault, ruda.ServerUnhealthy)) as caught:
        client.sync().result(timeout=WAIT)
    first, *others = getattr(caught.value, "errors", (caught.value,))
    assert first.index == 7
    assert [e.index for e in others] == [8] or "2 faults" in str(first)
    client.sync().result(timeout=WAIT)


def test_a_fault_stays_on_its_stream(client):
    other = client.fixed_execution_queue()
    other.set_stream(ruda.StreamId.new())
    x, mine = client.tensor(np.zeros(4, np.float32)), other.tensor(np.zeros(4, np.float32))
    validated(client, stray, x, 4)
    add_one.launch(other, 1, 4, mine)
    assert mine.tolist() == [1] * 4
    other.sync().result(timeout=WAIT)
    with pytest.raises(ruda.KernelFault):
        client.sync().result(timeout=WAIT)


def test_merely_making_a_future_raises_nothing(client):
    x = client.tensor(np.zeros(4, np.float32))
    validated(client, stray, x, 4)
    future = client.sync()
    with pytest.raises(ruda.KernelFault):
        future.result(timeout=WAIT)
    client.sync().result(timeout=WAIT)


def test_a_failed_claim_is_reported_in_validate_mode_only(client):
    x = client.tensor(np.array([1, 200], np.float32))
    claims.launch(client, 1, 2, x)
    assert x.tolist() == [2, 201]
    claims.prepare(client, 2, x, mode="validate")(1, x)
    with pytest.raises(ruda.KernelFault, match="values stay small"):
        client.sync().result(timeout=WAIT)


def test_wrong_arguments_are_refused_before_anything_is_queued(client):
    x = client.tensor(np.zeros(4, np.float32))
    bad = [(), (x, x), (np.zeros(4, np.float32),), (client.tensor(np.zeros(4, np.int32)),), (1.0,), (None,)]
    for args in bad:
        with pytest.raises(ruda.LaunchArgumentError) as caught:
            add_one.launch(client, 1, 4, *args)
        assert "add_one" in str(caught.value)
    with pytest.raises(ruda.LaunchArgumentError):
        add_one.launch(client, 1, 4, y=x)
    add_one.launch(client, 1, 4, x=x)
    assert x.tolist() == [1] * 4
