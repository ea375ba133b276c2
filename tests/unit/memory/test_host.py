"""Host memory: Bytes, and the pool that large destinations return to."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from ruda_core.errors import ServerError
from ruda_core.memory import Bytes, HostPool, host_view


def test_bytes_are_an_array_and_a_buffer():
    data = HostPool().take(8)
    assert isinstance(data, Bytes) and isinstance(data, np.ndarray)
    data[:] = range(8)
    assert bytes(data) == bytes(range(8)) == bytes(memoryview(data)) and len(data) == 8
    assert data.view(np.uint32).shape == (2,)


def test_large_destinations_come_back_when_the_last_view_dies():
    pool = HostPool()
    first = pool.take(3 << 20)
    address = first.ctypes.data
    view = first.view(np.float32)[10:].view(np.ndarray)
    del first
    gc.collect()
    other = pool.take(3 << 20)
    assert other.ctypes.data != address, "a view still uses it"
    del view
    again = pool.take(3 << 20)
    assert again.ctypes.data == address
    assert pool.take((3 << 20) - 1).size == (3 << 20) - 1


def test_page_locked_memory_is_asked_for_and_kept():
    made = []

    def locked(n):
        made.append(n)
        return np.empty(n, np.uint8)

    pool = HostPool(locked)
    for _ in range(5):
        pool.take(100_000)
    assert len(made) == 1 and made[0] >= 100_000
    pool.clear()
    pool.take(100_000)
    assert len(made) == 2


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8", "?", "c8"])
def test_data_is_taken_in_c_order(dtype):
    x = np.arange(24).reshape(4, 6).astype(dtype)
    for view in (x, x.T, x[::2, 1::2], x[::-1], x[:0]):
        assert bytes(host_view(view)) == view.tobytes(order="C")
    assert bytes(host_view(memoryview(x)[::2])) == x[::2].tobytes()


def test_bytes_of_another_order_become_native():
    assert bytes(host_view(np.array([1, 2], ">u4"))) == np.array([1, 2], "=u4").tobytes()


def test_objects_have_no_bytes():
    with pytest.raises(ServerError):
        host_view(np.array([object()]))
