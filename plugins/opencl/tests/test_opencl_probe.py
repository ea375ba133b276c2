"""What the probe says on machines that lack something."""

from __future__ import annotations

from support import printed

PROBE = """
from ruda_core.errors import BackendUnavailable
from ruda_opencl.probe import probe
try:
    print([str(device) for device in probe()])
except BackendUnavailable as error:
    print(error)
"""


def test_no_platform_names_the_command_that_mends_it(tmp_path):
    said = printed(PROBE, OCL_ICD_VENDORS=str(tmp_path), OCL_ICD_FILENAMES="")
    assert "apt-get install pocl-opencl-icd" in said and "pip install" in said


def test_a_missing_library_names_its_package():
    said = printed("import sys; sys.modules['pyopencl'] = None\n" + PROBE)
    assert "pip install 'pyopencl" in said


def test_importing_the_plugin_imports_no_driver():
    code = "import ruda_opencl, sys; print('pyopencl' in sys.modules, len(ruda_opencl.ruda_backends()))"
    assert printed(code).strip() == "False 1"


def test_the_probe_gives_what_the_driver_opens(driver):
    from ruda_opencl.probe import discover, probe

    assert [device.index for device in probe()] == list(range(len(discover().usable)))
    assert driver.properties.name == probe()[0].name
