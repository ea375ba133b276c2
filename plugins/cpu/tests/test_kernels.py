"""What the dialect renders, compiled and run by the processor."""

from __future__ import annotations

import numpy as np
import pytest
from legal import CASES, execute, missing
from ruda_cpu.dialect import CpuDialect


@pytest.mark.parametrize("name", CASES)
def test_computes_what_it_says(driver, name):
    legal = CASES[name]()
    lacking = missing(legal, driver.target)
    if any(a.dtype.lanes > 1 for a in legal.function.arrays) and not driver.target.vectors:
        lacking.append("vectors")  # the passes leave none of them
    if lacking:
        pytest.skip(f"the device lacks {', '.join(lacking)}")
    for array, found in execute(driver, CpuDialect(), legal).items():
        expected = legal.after[array]
        np.testing.assert_array_equal(found, expected)
        if expected.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
