"""The first device of this backend; tests of it are skipped, with the reason, on a machine that has none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ruda_core.errors import BackendUnavailable

TESTS = Path(__file__).parents[3] / "tests"
sys.path += [str(TESTS), str(TESTS / "unit" / "codegen")]  # `support`, and the corpus in `legal`


@pytest.fixture(scope="session")
def driver():
    from ruda_wgpu.probe import probe

    try:
        device = probe()[0]
    except BackendUnavailable as error:
        pytest.skip(str(error))
    from ruda_wgpu.driver import WgpuDriver

    return WgpuDriver(device)
