"""What the probe says on machines that lack something, and what opening a device finds out."""

from __future__ import annotations

from support import printed

PROBE = """
from ruda_core.errors import BackendUnavailable
from ruda_wgpu.probe import probe
try:
    print([str(device) for device in probe()])
except BackendUnavailable as error:
    print(error)
"""


def test_no_adapter_names_the_command_that_mends_it(tmp_path):
    nothing = str(tmp_path / "none.json")
    said = printed(PROBE, VK_ICD_FILENAMES=nothing, VK_DRIVER_FILES=nothing)
    assert "apt-get install mesa-vulkan-drivers" in said


def test_a_missing_library_names_its_package():
    said = printed("import sys; sys.modules['wgpu'] = None\n" + PROBE)
    assert "pip install 'wgpu" in said


def test_importing_the_plugin_imports_no_driver():
    code = "import ruda_wgpu, sys; print('wgpu' in sys.modules, len(ruda_wgpu.ruda_backends()))"
    assert printed(code).strip() == "False 1"


def test_what_the_compiler_keeps_is_found_the_same_twice(driver):
    from ruda_wgpu.floats import tried

    found = tried(driver._device)
    assert found == tried(driver._device)
    assert found["exact_div_sqrt"] == driver.target.exact_div_sqrt
    assert not (found["reassociates"] and found["contract_control"])
