"""The first device of this backend; tests of it are skipped, with the reason, on a machine that has none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ruda_core.errors import BackendUnavailable

STRICT = "-Werror=all-warnings"

TESTS = Path(__file__).parents[3] / "tests"
sys.path += [str(TESTS), str(TESTS / "unit" / "codegen")]  # `support`, and the corpus in `legal`


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
    """The compiler, which needs no device."""
    from ruda_cuda import nvrtc

    try:
        nvrtc.version()
    except BackendUnavailable as error:
        pytest.skip(str(error))
    return nvrtc


@pytest.fixture(scope="session")
def strict(nvrtc):
    """The options that make errors of warnings; older versions of NVRTC have none."""
    try:
        nvrtc.compile_text("", "nothing.cu", (STRICT,), machine_code=False)
    except nvrtc.NvrtcError:
        return ()
    return (STRICT,)


@pytest.fixture(scope="session")
def binding():
    """CuPy's binding, which is imported without a device."""
    return pytest.importorskip("cupy_backends.cuda.api.driver", reason="CuPy is not installed")
