"""Launches of a kernel that has been launched before: the fast ways in must mean what the first one meant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ruda_core as ruda
from ruda_core import Array, f32, i32


def fresh() -> Any:
    @ruda.kernel
    def add(x: Array[f32], y: Array[f32], n: i32):
        i = ruda.ABSOLUTE_POS
        if i < n:
            y[i] = x[i] + y[i]

    return add


@pytest.fixture
def client() -> Any:
    return ruda.client("reference")


def launched(kernel: Any, client: Any, *args: Any, **named: Any) -> list[float]:
    x, y = client.tensor(np.ones(8, np.float32)), client.zeros(8, np.float32)
    kernel.launch(client, *args, x, y, **named)
    return list(y.numpy())


def test_every_way_of_giving_arguments_after_the_first(client: Any) -> None:
    kernel = fresh()
    for _ in range(3):
        assert launched(kernel, client, 2, 4, n=8) == [1] * 8
        x, y = client.tensor(np.ones(8, np.float32)), client.zeros(8, np.float32)
        kernel.launch(client, 2, 4, x, y, 3)
        assert list(y.numpy()) == [1] * 3 + [0] * 5
        kernel.launch(client, 2, 4, x=x, n=8, y=y)
        assert list(y.numpy()) == [2] * 3 + [1] * 5


def test_other_dims_clients_facts_and_streams(client: Any) -> None:
    kernel = fresh()
    other = ruda.client("reference")
    other.set_stream(ruda.StreamId.new())
    x, y = client.tensor(np.ones(8, np.float32)), client.zeros(8, np.float32)
    kernel.launch(client, 2, 4, x, y, 8)
    for dim, count in ((4, 2), (8, 1), ((2, 1, 1), 4), (ruda.RudaDim(2, 1, 1), (4, 1, 1)), (4, 2)):
        kernel.launch(client, count, dim, x, y, 8)
    assert list(y.numpy()) == [6] * 8
    kernel.launch(client, 2, 4, y, y, 8)  # the same storage twice
    short = client.tensor(np.ones(4, np.float32))
    kernel.launch(client, 2, 4, short, y, 8)  # another length: out of bounds reads as zero
    assert list(y.numpy()) == [13] * 4 + [12] * 4
    client.sync().result()
    kernel.launch(other, 2, 4, x, y, 8)
    other.sync().result()
    assert list(y.numpy()) == [14] * 4 + [13] * 4


@pytest.mark.parametrize(
    "wrong",
    [
        lambda k, c, x: k.launch(None, 2, 4, x, x, 8),
        lambda k, c, x: k.launch(c, 2, "4", x, x, 8),
        lambda k, c, x: k.launch(c, 2, 4, x, x),
        lambda k, c, x: k.launch(c, 2, 4, x, x, 8, 9),
        lambda k, c, x: k.launch(c, 2, 4, x, x, 8, n=8),
        lambda k, c, x: k.launch(c, 2, 4, x, x, m=8),
        lambda k, c, x: k.launch(c, 2, 4, x, x, 8.5),
        lambda k, c, x: k.launch(c, 2, 4, x, np.ones(8, np.float32), 8),
        lambda k, c, x: k.launch(c, -1, 4, x, x, 8),
    ],
)
def test_wrong_calls_are_refused_the_same_after_the_first(client: Any, wrong: Any) -> None:
    kernel = fresh()
    x, y = client.zeros(8, np.float32), client.zeros(8, np.float32)
    said = []
    for _ in range(3):
        with pytest.raises(ruda.LaunchError) as caught:
            wrong(kernel, client, x)
        said.append(str(caught.value))
        kernel.launch(client, 2, 4, x, y, 8)
    assert said[0] == said[1] == said[2]


def test_a_captured_value_that_changes_is_seen_after_the_first(client: Any) -> None:
    factor = 2.0

    @ruda.kernel
    def scaled(x: Array[f32]):
        x[ruda.ABSOLUTE_POS] = factor

    x = client.zeros(4, np.float32)
    for factor in (2.0, 3.0, 2.0, 4.0):  # noqa: B007  # the kernel reads it
        scaled.launch(client, 1, 4, x)
        assert list(x.numpy()) == [factor] * 4


def test_parameters_may_have_any_names(client: Any) -> None:
    @ruda.kernel
    def odd(table: Array[f32], find: Array[f32], client: f32, r_named: i32):
        table[ruda.ABSOLUTE_POS] = find[ruda.ABSOLUTE_POS] * client + f32(r_named)

    x, y = client.zeros(4, np.float32), client.tensor(np.ones(4, np.float32))
    for _ in range(3):
        odd.launch(client, 1, 4, x, y, 2.0, 3)
        odd.launch(client, 1, 4, x, y, client=2.0, r_named=3)
    assert list(x.numpy()) == [5] * 4
