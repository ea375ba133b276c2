"""Atomics whose old value nobody takes."""

from __future__ import annotations

import numpy as np
import pytest
from support import NUMPY, T

import ruda_core as ruda
from ruda_core import Array


@ruda.kernel
def swap(x: Array[T]):
    tile = ruda.shared(T, 2)
    tile[0] = 5
    ruda.barrier()
    ruda.atomic_compare_exchange(tile, 0, 5, 7)
    ruda.atomic_compare_exchange(x, 0, 1, 9)
    ruda.atomic_compare_exchange(x, 1, 1, 9)
    ruda.barrier()
    ruda.atomic_exchange(x, 2, tile[0])


@pytest.mark.parametrize("name", ["i32", "u32", "i64", "u64"])
def test_a_compare_exchange_stands_alone(client, name):
    if "compare_exchange" not in client.features().atomics.get(name, ()):
        pytest.skip(f"no atomics of {name}")
    x = client.tensor(np.array([1, 2, 3], NUMPY[name]))
    swap.launch(client, 1, 1, x)
    assert x.tolist() == [9, 2, 7]
