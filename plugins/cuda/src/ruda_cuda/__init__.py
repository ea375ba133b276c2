"""ruda on NVIDIA GPUs, through CuPy's binding. Importing this module imports nothing of CUDA's."""

from __future__ import annotations

from ruda_core.plugin import BackendEntry, hookimpl


@hookimpl
def ruda_backends() -> list[BackendEntry]:
    """The one entry of this distribution."""
    return [
        BackendEntry(
            name="cuda",
            api_version=1,
            probe="ruda_cuda.probe:probe",
            driver="ruda_cuda.driver:CudaDriver",
            dialect="ruda_cuda.dialect:CudaDialect",
            priority=10,  # the same GPU may be there through OpenCL and Vulkan, at a higher cost a launch
            forkable="until probed",  # counting devices initialises CUDA, which children cannot use
        )
    ]
