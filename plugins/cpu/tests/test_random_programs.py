"""Random programs, against the reference interpreter: masks, exits, regions and every layout of units."""

from __future__ import annotations

import random

import numpy as np
import pytest
from programs import CpuKernel, program
from reference_harness import Kernel

GROUPS = 3


def outcome(kernel, units: int, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.integers(-50, 50, units * GROUPS - 5).astype(np.int32)
    out = np.full(units * GROUPS * 4 - 7, -1, np.int32)
    sums = np.zeros(8, np.int32)
    kernel(GROUPS, x=x, out=out, sums=sums, n=2)
    return [out, sums]


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_give_what_the_reference_gives(driver, seed):
    body, arrays, dim = program(random.Random(seed))
    units = dim[0] * dim[1] * dim[2]
    expected = outcome(Kernel(body, arrays, dim, [("n", arrays[0].dtype)]), units, seed)
    found = outcome(CpuKernel(driver, body, arrays, dim, [("n", arrays[0].dtype)]), units, seed)
    for e, f in zip(expected, found, strict=True):
        np.testing.assert_array_equal(f, e)
