"""Disk caches of what lies below us: they decide nothing."""

from __future__ import annotations

import pytest
from support import printed

KERNEL = """
import warnings
import pyopencl as cl
from ruda_opencl.launching import new_kernel
from ruda_opencl.probe import discover

warnings.simplefilter("ignore", cl.CompilerWarning)  # what the compiler says is no matter here
context = cl.Context([discover().usable[0][1]])
program = cl.Program(context, "kernel void nothing(global int *a) { a[0] = 1; }").build(cache_dir=False)
print([new_kernel(program, "nothing").function_name for _ in range(2)], cl._PYOPENCL_NO_CACHE)
try:
    new_kernel(program, "nonesuch")
except cl.Error as error:
    print("refused")
"""
PROBE = """
from ruda_core.errors import BackendUnavailable
from ruda_opencl.probe import probe
try:
    print(probe())
except BackendUnavailable as error:
    print(error)
"""


@pytest.fixture
def nowhere(tmp_path, driver):
    """A home that nobody can have, root neither: below a plain file."""
    (tmp_path / "file").write_text("not a directory")
    return dict.fromkeys(("HOME", "XDG_CACHE_HOME"), str(tmp_path / "file" / "home"))


def test_kernels_are_made_where_pyopencl_can_keep_nothing(nowhere, tmp_path):
    said = printed(KERNEL, quiet=True, **nowhere, POCL_CACHE_DIR=str(tmp_path / "pocl"))
    assert said.splitlines() == ["['nothing', 'nothing'] True", "refused"]


@pytest.mark.parametrize("harm", ["damaged", "a directory"])
def test_kernels_are_made_over_a_database_of_no_use(harm, driver, tmp_path):
    where = {"XDG_CACHE_HOME": str(tmp_path), "POCL_CACHE_DIR": str(tmp_path / "pocl")}
    assert printed(KERNEL, quiet=True, **where).splitlines() == ["['nothing', 'nothing'] False", "refused"]
    databases = list((tmp_path / "pytools").iterdir())
    assert databases
    for database in databases:
        database.unlink()
        if harm == "damaged":
            database.write_bytes(b"no database" * 1000)
        else:
            database.mkdir()
    assert printed(KERNEL, quiet=True, **where).splitlines() == ["['nothing', 'nothing'] True", "refused"]


def test_a_platform_without_devices_is_not_called_absent(nowhere, driver):
    if "PoCL" not in driver.properties.driver:
        pytest.skip("only PoCL is known to give no devices for want of a cache directory")
    said = printed(PROBE, quiet=True, **nowhere, POCL_CACHE_DIR=nowhere["HOME"])
    assert "is installed but gives no devices" in said and "POCL_CACHE_DIR" in said
    assert "apt-get install" not in said
