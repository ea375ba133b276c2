"""The first device of this backend; tests of it are skipped, with the reason, on a machine that has none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ruda_core.errors import BackendUnavailable

sys.path.append(str(Path(__file__).parents[3] / "tests" / "unit" / "codegen"))  # the corpus in `legal`


@pytest.fixture(scope="session")
def driver():
    from ruda_cuda.probe import probe

    try:
        device = probe()[0]
    except BackendUnavailable as error:
        pytest.skip(str(error))
    from ruda_cuda.driver import CudaDriver

    return CudaDriver(device)


@pytest.fixture(scope="session")
def nvrtc():
    """NVRTC, which needs no device."""
    pytest.importorskip("cupy_backends.cuda.libs.nvrtc", reason="CuPy is not installed")
    from ruda_cuda.compiling import library_version

    try:
        library_version()
    except BackendUnavailable as error:
        pytest.skip(str(error))
    from cupy_backends.cuda.libs import nvrtc

    return nvrtc
