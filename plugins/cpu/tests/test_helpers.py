"""How many threads a launch gets: all of them, unless its kernel's own atomics may make them fight."""

from __future__ import annotations

import numpy as np
import pytest
from ruda_cpu.driver import CpuDriver

import ruda_core as ruda
from ruda_core import Array, Tensor, i32, u32

GROUPS, OTHERS = 1000, 3


@ruda.kernel
def of_arrays(y: Array[i32]):
    y[ruda.ABSOLUTE_POS] = 1


@ruda.kernel
def of_tensors(y: Tensor[i32]):
    y[0, ruda.ABSOLUTE_POS] = 1


@ruda.kernel
def counting_in_arrays(y: Array[u32]):
    ruda.atomic_add(y, 0, 1)


@ruda.kernel
def counting_beside_tensors(x: Tensor[i32], y: Array[u32]):
    ruda.atomic_add(y, 0, u32(x[0, ruda.ABSOLUTE_POS]))


@pytest.mark.parametrize(
    ("kernel", "dtypes", "timed"),
    [
        (of_arrays, (np.int32,), False),
        (of_tensors, (np.int32,), False),
        (counting_in_arrays, (np.uint32,), True),
        (counting_beside_tensors, (np.int32, np.uint32), True),
    ],
)
def test_only_kernels_with_atomics_are_timed_alone_first(kernel, dtypes, timed, monkeypatch):
    loaded = []
    load = CpuDriver.load

    def recorded(*args):
        loaded.append(load(*args))
        return loaded[-1]

    monkeypatch.setattr(CpuDriver, "load", recorded)
    client = ruda.client("cpu:0")
    kernel.launch(client, 1, 64, *(client.zeros((1, 64), dtype) for dtype in dtypes))
    client.sync().result()
    (program,) = loaded
    program.group_seconds = 1.0
    program._alone = program._together = None  # that launch has taught it, where other programs made it long
    assert program.helpers(GROUPS, OTHERS) == (0 if timed else OTHERS)
