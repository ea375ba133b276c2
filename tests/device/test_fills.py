"""Filling memory: the host writes a piece of it, the device copies that."""

from __future__ import annotations

import numpy as np
import pytest

import ruda_core as ruda

LARGE = 20 << 20
"""Bytes beyond what is copied at once."""


@pytest.mark.parametrize("elements", [0, 1, 3, 1000, 16383, 16384, 16385, 65536 + 7, LARGE // 4 + 1])
def test_every_element_of_a_fill_and_none_beside_it(client, elements):
    host = np.arange(elements + 10, dtype=np.float32)
    whole = client.tensor(host)
    whole[5 : 5 + elements].fill(1.5)
    host[5 : 5 + elements] = 1.5
    np.testing.assert_array_equal(whole.numpy(), host)


@pytest.mark.parametrize("start", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("nbytes", [1, 5, 65535, 65537, 200_003])
def test_bytes_begin_and_end_anywhere(client, start, nbytes):
    host = np.zeros(nbytes + 9, np.uint8)
    whole = client.tensor(host)
    whole[start : start + nbytes].fill(200)
    host[start : start + nbytes] = 200
    np.testing.assert_array_equal(whole.numpy(), host)


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint16, np.float16, np.int64, np.float64])
def test_the_pattern_is_an_element(client, dtype):
    whole = client.zeros(300_001, dtype)
    assert not whole.numpy().any()
    whole.fill(1)
    np.testing.assert_array_equal(whole.numpy(), np.ones(300_001, dtype))


def test_zeros_are_zeros_where_something_else_was(client):
    for _ in range(2):
        client.tensor(np.full(LARGE // 4, 7, np.float32))
        assert not client.zeros(LARGE // 4 + 3, np.float32).numpy().any()


def test_the_host_writes_a_small_part(client, monkeypatch):
    """What is large would else travel whole, and need as much memory on the host."""
    written = []
    write = client.server.write
    monkeypatch.setattr(
        client.server, "write", lambda s, h, data: (written.append(data.nbytes), write(s, h, data))[1]
    )
    x = client.zeros(LARGE, np.uint8)
    x.fill(9)
    monkeypatch.undo()
    assert sum(written) < LARGE / 20
    np.testing.assert_array_equal(x.numpy(), np.full(LARGE, 9, np.uint8))


def test_a_fill_is_in_order_with_launches_and_copies(client):
    x, y = client.zeros(1 << 18, np.int32), client.zeros(1 << 18, np.int32)
    for value in range(20):
        x.fill(value)
        y.copy_from(x)
        x.fill(-1)
        assert (y.numpy() == value).all()


def test_bytes_are_repeated_and_cut(client):
    handle = client.empty(100_003)
    client.fill(handle, b"abc")
    assert bytes(client.read_one(handle)) == (b"abc" * 40_000)[:100_003]
    for bad in (b"", 0, None, "abc"):
        with pytest.raises(ruda.ServerError, match="bytes"):
            client.fill(handle, bad)
