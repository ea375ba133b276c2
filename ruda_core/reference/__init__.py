"""The reference backend: kernels interpreted with NumPy, always there, the living definition of the language."""

from __future__ import annotations

from ruda_core.plugin import BackendEntry, hookimpl


@hookimpl
def ruda_backends() -> list[BackendEntry]:
    """The backend `reference`, chosen by itself only where there is no other."""
    return [
        BackendEntry(
            name="reference",
            api_version=1,
            probe="ruda_core.reference.probe:probe",
            driver="ruda_core.reference.driver:ReferenceDriver",
            standing="last",
            forkable="always",
        )
    ]
