"""The driver of this machine's processor, and the shared corpus of legalised functions."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

for _shared in ("codegen", "reference"):
    sys.path.append(
        str(Path(__file__).parents[3] / "tests" / "unit" / _shared)
    )  # `legal`, `contract`, `reference_harness`
sys.path.append(str(Path(__file__).parent))  # `programs`


@pytest.fixture(scope="session")
def driver():
    from ruda_cpu.driver import CpuDriver
    from ruda_cpu.probe import probe

    return CpuDriver(probe()[0])
