"""What the probe says on machines that lack something."""

from __future__ import annotations

import pytest
from support import printed

PROBE = """
from ruda_core.errors import BackendUnavailable
from ruda_cuda.probe import probe
try:
    print([str(device) for device in probe()])
except BackendUnavailable as error:
    print(error)
print("cupy" in sys.modules)
"""


@pytest.mark.parametrize(("version", "extra"), [("None", "cu13"), ("13000", "cu13"), ("12080", "cu12")])
def test_a_missing_binding_names_the_extra_that_fits_the_driver(version, extra):
    missing = "sys.modules['cupy_backends'] = None\nimport ruda_cuda.probe as p\n"
    said = printed("import sys\n" + missing + f"p.driver_version = lambda: {version}\n" + PROBE)
    assert f"pip install 'ruda-cuda[{extra}]'" in said


def test_no_driver_is_said_plainly(binding):
    said = printed("import sys\nimport ruda_cuda.probe as p\np.driver_version = lambda: None\n" + PROBE)
    assert "no NVIDIA driver on this machine" in said and "install the driver" in said


def test_the_probe_leaves_cupy_alone(binding):
    assert printed("import sys\n" + PROBE).splitlines()[-1] == "False"


def test_an_old_driver_names_the_extra_for_it(binding):
    from ruda_cuda.probe import driver_version

    if driver_version() is not None:
        pytest.skip("this machine's driver serves the installed CuPy")
    said = printed("import sys\nimport ruda_cuda.probe as p\np.driver_version = lambda: 12040\n" + PROBE)
    assert "the driver is for CUDA 12.4" in said and "ruda-cuda[cu12]" in said


def test_importing_the_plugin_imports_no_driver():
    code = "import ruda_cuda\nprint('cupy_backends' in sys.modules, len(ruda_cuda.ruda_backends()))"
    assert printed("import sys\n" + code).strip() == "False 1"


def test_the_probe_gives_what_the_driver_opens(driver):
    from ruda_cuda.probe import probe

    devices = probe()
    assert [device.index for device in devices] == list(range(len(devices)))
    assert driver.properties.name == devices[0].name
    assert devices[0].uuid is None or devices[0].uuid.startswith("GPU-")


def test_opening_a_device_leaves_cupy_alone(driver):
    opened = "from ruda_cuda.driver import CudaDriver\nCudaDriver(probe()[0])\nprint('cupy' in sys.modules)"
    assert printed("import sys\n" + PROBE + opened).splitlines()[-1] == "False"
