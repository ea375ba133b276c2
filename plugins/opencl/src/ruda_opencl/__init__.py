"""ruda on OpenCL devices, through PyOpenCL. Importing this module imports nothing of OpenCL's."""

from __future__ import annotations

from ruda_core.plugin import BackendEntry, hookimpl


@hookimpl
def ruda_backends() -> list[BackendEntry]:
    """The one entry of this distribution."""
    return [
        BackendEntry(
            name="opencl",
            api_version=1,
            probe="ruda_opencl.probe:probe",
            driver="ruda_opencl.driver:OpenCLDriver",
            dialect="ruda_opencl.dialect:OpenCLDialect",
            forkable="until probed",  # asking for devices starts PoCL's threads, which children lack
        )
    ]
