"""ruda on WebGPU devices, through wgpu-py. Importing this module imports nothing of wgpu's."""

from __future__ import annotations

from ruda_core.plugin import BackendEntry, hookimpl


@hookimpl
def ruda_backends() -> list[BackendEntry]:
    """The one entry of this distribution."""
    return [
        BackendEntry(
            name="wgpu",
            api_version=1,
            probe="ruda_wgpu.probe:probe",
            driver="ruda_wgpu.driver:WgpuDriver",
            dialect="ruda_wgpu.dialect:WGSLDialect",
            forkable="until probed",  # NVIDIA's Vulkan driver, once asked for adapters, opens no device in children
        )
    ]
