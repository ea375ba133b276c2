"""The driver of this machine's processor, and the shared corpus of legalised functions."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[3] / "tests" / "unit" / "codegen"))  # `legal` and `contract`


@pytest.fixture(scope="session")
def driver():
    from ruda_cpu.driver import CpuDriver
    from ruda_cpu.probe import probe

    return CpuDriver(probe()[0])
