"""Which OpenCL devices this machine has that can run a kernel."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from ruda_core.capabilities import Device, DeviceKind
from ruda_core.errors import BackendUnavailable

_SOFTWARE = "software devices with `apt-get install pocl-opencl-icd` or `pip install 'ruda-opencl[pocl]'`"
_NO_PLATFORM = f"no OpenCL platform on this machine: install your GPU's driver, or {_SOFTWARE}"
_NO_HARDWARE = f"it finds no hardware of its own; install {_SOFTWARE}"
_POCL = "Portable Computing Language"
_NO_CACHE = (
    "probably it cannot write its cache directory; set POCL_CACHE_DIR to a directory of your own "
    "(without it, that is below XDG_CACHE_HOME or HOME)"
)
_TRIVIAL = "__kernel void nothing(__global int *a) { a[get_global_id(0)] = 1; }"
_ORDER: tuple[DeviceKind, ...] = ("discrete", "integrated", "other", "cpu")


@dataclass(frozen=True, slots=True)
class Found:
    """All devices of all platforms, judged."""

    usable: tuple[tuple[Device, Any], ...]
    """Ours and PyOpenCL's object, best first; the position is `Device.index`."""
    dead: tuple[str, ...]
    """Why each of the others is left out."""


_lock = threading.Lock()
_found: Found | None = None


def probe() -> list[Device]:
    """The usable devices; raises BackendUnavailable, with the command that mends it, where there is none."""
    found = discover()
    if not found.usable:
        raise BackendUnavailable("; ".join(found.dead) if found.dead else _NO_PLATFORM)
    return [device for device, _ in found.usable]


def discover() -> Found:
    """All devices, looked at once a process."""
    global _found
    with _lock:
        if _found is None:
            _found = _discover()
        return _found


def _discover() -> Found:
    try:
        import pyopencl as cl
    except ImportError as error:
        raise BackendUnavailable(
            f"PyOpenCL cannot be imported ({error}): pip install 'pyopencl>=2026.1'"
        ) from error
    try:
        platforms = cl.get_platforms()
    except cl.Error as error:
        raise BackendUnavailable(f"{_NO_PLATFORM} ({error})") from error
    usable: list[tuple[DeviceKind, Any]] = []
    dead: list[str] = []
    for platform in platforms:
        try:
            natives = platform.get_devices()
        except cl.Error as error:
            dead.append(f"{platform.name} ({platform.version.strip()}) gives no devices: {error}")
            continue
        if not natives:
            why = _NO_CACHE if platform.name.strip() == _POCL else _NO_HARDWARE
            dead.append(
                f"{platform.name} ({platform.version.strip()}) is installed but gives no devices: {why}"
            )
        for native in natives:
            kind = _kind(cl, native)
            reason = _why_dead(cl, native, software=kind == "cpu")
            if reason is None:
                usable.append((kind, native))
            else:
                dead.append(f"{platform.name} ({platform.version.strip()}), {native.name.strip()}: {reason}")
    usable.sort(key=lambda item: _ORDER.index(item[0]))
    named = [
        (Device("opencl", index, name=native.name.strip(), kind=kind), native)
        for index, (kind, native) in enumerate(usable)
    ]
    return Found(tuple(named), tuple(dead))


def _kind(cl: Any, native: Any) -> DeviceKind:
    if native.type & cl.device_type.CPU:
        return "cpu"
    if native.type & cl.device_type.GPU:
        return "integrated" if native.host_unified_memory else "discrete"
    return "other"


def _why_dead(cl: Any, native: Any, *, software: bool) -> str | None:
    """None for a device that can run kernels.

    A software device's compiler must know this machine's processor, and some do not: only a build
    tells. The context for it lives no longer than that. A GPU's compiler comes with its driver.
    """
    if not (native.available and native.compiler_available):
        return "the device or its compiler is not available"
    if not software:
        return None
    try:
        cl.Program(cl.Context([native]), _TRIVIAL).build(cache_dir=False)
    except cl.Error as error:
        first = next(
            (line.strip() for line in str(error).splitlines() if "error" in line.lower()), str(error)
        )
        return (
            f"its compiler cannot build any kernel for this processor ({first[:160]}); another build of it may: "
            "`apt-get install pocl-opencl-icd`"
        )
    return None
