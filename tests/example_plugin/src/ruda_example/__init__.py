"""A third party's backend. Importing this module is cheap: the driver is only named."""

from __future__ import annotations

from ruda_core.plugin import BackendEntry, hookimpl


@hookimpl
def ruda_backends() -> list[BackendEntry]:
    """The one entry of this distribution."""
    return [
        BackendEntry(
            name="example",
            api_version=1,
            probe="ruda_example.probe:probe",
            driver="ruda_example.driver:ExampleDriver",
        )
    ]
