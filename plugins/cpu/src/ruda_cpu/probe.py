"""The one device of this backend: the processor that Python runs on."""

from __future__ import annotations

import platform
from pathlib import Path

from ruda_core.capabilities import Device
from ruda_core.errors import BackendUnavailable


def probe() -> list[Device]:
    """The processor; raises BackendUnavailable where llvmlite is missing."""
    try:
        import llvmlite  # noqa: F401  # only whether it is there
    except ImportError as error:
        raise BackendUnavailable(
            f"llvmlite cannot be imported ({error}): pip install 'llvmlite>=0.50'"
        ) from error
    return [Device("cpu", 0, name=processor_name(), kind="cpu")]


def processor_name() -> str:
    """The processor as its maker calls it, where the system tells."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name" and value.strip():
                return value.strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
