"""The one device of the reference backend."""

from __future__ import annotations

from ruda_core.capabilities import Device


def probe() -> list[Device]:
    """Always one device: NumPy is a dependency of ruda."""
    return [Device("reference", 0, name="NumPy reference", kind="other")]
