"""Two devices, wherever NumPy is."""

from __future__ import annotations

from ruda_core.plugin import DeviceInfo


def probe() -> list[DeviceInfo]:
    """Both devices."""
    return [DeviceInfo("example", index, name=f"Example {index}", kind="other") for index in range(2)]
