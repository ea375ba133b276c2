"""Which CUDA devices this machine has. Asking opens none of them."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

from ruda_core.capabilities import Device
from ruda_core.errors import BackendUnavailable

_LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"


def probe() -> list[Device]:
    """The devices; raises BackendUnavailable, with the command that mends it, where there is none."""
    version = driver_version()
    try:
        # The bindings alone: CuPy's own import takes a second.
        from cupy_backends.cuda.api import runtime
    except ImportError as error:
        raise BackendUnavailable(
            f"CuPy's CUDA binding cannot be imported ({error}): {_advice(version)}"
        ) from error
    if version is None:
        raise BackendUnavailable(
            f"no NVIDIA driver on this machine ({_LIBRARY} is not there): install the driver of your GPU"
        )
    try:
        count = runtime.getDeviceCount()
        return [_device(index, runtime.getDeviceProperties(index)) for index in range(count)]
    except runtime.CUDARuntimeError as error:
        raise BackendUnavailable(
            f"{error} (the driver is for CUDA {_spelled(version)}, the installed CuPy for "
            f"{_spelled(runtime.runtimeGetVersion())}): {_advice(version)}, or look at what `nvidia-smi` says"
        ) from error


def driver_version() -> int | None:
    """The newest CUDA that the driver serves, as 1000 * major + 10 * minor; None without a driver."""
    found = ctypes.c_int()
    try:
        library = ctypes.CDLL(_LIBRARY)
        failed = library.cuDriverGetVersion(ctypes.byref(found))
    except (OSError, AttributeError):
        return None
    return None if failed else found.value


def extra(version: int | None) -> str:
    """The extra of this package with the CuPy that fits the driver; the newest where there is none."""
    return "cu13" if version is None or version >= 13000 else "cu12"


def _spelled(version: int) -> str:
    return f"{version // 1000}.{version % 1000 // 10}"


def _advice(version: int | None) -> str:
    """The command that installs what fits the driver."""
    older = " (for drivers older than CUDA 13: 'ruda-cuda[cu12]')" if version is None else ""
    return f"pip install 'ruda-cuda[{extra(version)}]'{older}"


def _device(index: int, properties: dict[str, Any]) -> Device:
    return Device(
        "cuda",
        index,
        name=properties["name"].decode(),
        kind="integrated" if properties.get("integrated") else "discrete",
        uuid=_uuid(properties.get("uuid")),
    )


def _uuid(raw: Any) -> str | None:
    """As `nvidia-smi -L` spells it."""
    if not isinstance(raw, bytes) or len(raw) != 16:
        return None
    digits = raw.hex()
    return f"GPU-{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
