"""Which WebGPU adapters this machine has."""

from __future__ import annotations

import threading
from typing import Any

from ruda_core.capabilities import Device, DeviceKind
from ruda_core.errors import BackendUnavailable

_NO_ADAPTER = (
    "no Vulkan, Metal or D3D12 adapter on this machine: install your GPU's driver, or a software one with "
    "`apt-get install mesa-vulkan-drivers libvulkan1`"
)
_APIS = ("Vulkan", "Metal", "D3D12")
"""OpenGL adapters are the same devices again, with less."""
_KINDS: dict[str, DeviceKind] = {
    "DiscreteGPU": "discrete",
    "IntegratedGPU": "integrated",
    "VirtualGPU": "virtual",
    "CPU": "cpu",
}
_ORDER: tuple[DeviceKind, ...] = ("discrete", "integrated", "virtual", "other", "cpu")

_lock = threading.Lock()
_adapters: list[Any] | None = None


def probe() -> list[Device]:
    """The adapters, best first; raises BackendUnavailable, with the command that mends it, for none."""
    found = adapters()
    if not found:
        raise BackendUnavailable(_NO_ADAPTER)
    return [
        Device("wgpu", index, name=adapter.info["device"], kind=_kind(adapter))
        for index, adapter in enumerate(found)
    ]


def adapters() -> list[Any]:
    """wgpu-py's adapters, by `Device.index`; looked for once a process."""
    global _adapters
    with _lock:
        if _adapters is None:
            try:
                import wgpu
            except (ImportError, OSError) as error:
                raise BackendUnavailable(
                    f"wgpu-py cannot be imported ({error}): pip install 'wgpu==0.32.*'"
                ) from error
            found = [a for a in wgpu.gpu.enumerate_adapters_sync() if a.info["backend_type"] in _APIS]
            _adapters = sorted(found, key=lambda adapter: _ORDER.index(_kind(adapter)))
        return _adapters


def _kind(adapter: Any) -> DeviceKind:
    return _KINDS.get(adapter.info["adapter_type"], "other")
