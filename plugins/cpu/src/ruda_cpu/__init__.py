"""ruda on this machine's processor, through LLVM. Importing this module does not import LLVM."""

from __future__ import annotations

from ruda_core.plugin import BackendEntry, hookimpl


@hookimpl
def ruda_backends() -> list[BackendEntry]:
    """The one entry of this distribution."""
    return [
        BackendEntry(
            name="cpu",
            api_version=1,
            probe="ruda_cpu.probe:probe",
            driver="ruda_cpu.driver:CpuDriver",
            dialect="ruda_cpu.dialect:CpuDialect",
            standing="processor",
            forkable="always",
        )
    ]
