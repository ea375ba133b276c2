"""Opening an adapter: its features, its limits, and what its compiler keeps of floating-point rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import wgpu
from wgpu.backends.wgpu_native import _api

from ruda_core.capabilities import Device, DeviceProperties, Target
from ruda_core.errors import BackendUnavailable
from ruda_wgpu.dialect import target_with
from ruda_wgpu.probe import adapters

_FEATURES = (
    "shader-f16",
    "shader-f64",
    "shader-int64",
    "shader-int64-atomic-all-ops",
    "timestamp-query",
    "timestamp-query-inside-encoders",
)
_LLVMPIPE_LOOP_LIMIT = 65535
"""llvmpipe stops a unit after this many iterations, nested loops together, without an error."""
_OWN_BUFFERS = 1
"""Storage buffers that the runtime may add to a kernel's own: the fault record of validate mode."""


def open_adapter(device: Device) -> tuple[wgpu.GPUAdapter, wgpu.GPUDevice]:
    """The adapter of `device` and a device of it with all its limits; raises BackendUnavailable."""
    found = adapters()
    if device.index >= len(found):
        raise BackendUnavailable(f"{device}: this machine has {len(found)} WebGPU adapters")
    adapter = found[device.index]
    wanted = [feature for feature in _FEATURES if feature in adapter.features]
    if can_map_storage(adapter):
        wanted.append("mappable-primary-buffers")
    # Without required_limits wgpu-py asks for the adapter's own.
    return adapter, adapter.request_device_sync(required_features=wanted)


def can_map_storage(adapter: wgpu.GPUAdapter) -> bool:
    """True where the host reads and writes storage in place: the memory is its own."""
    own = adapter.info["adapter_type"] in ("CPU", "IntegratedGPU")
    return own and "mappable-primary-buffers" in adapter.features


def has_clock(device: wgpu.GPUDevice) -> bool:
    """True when timestamps can be written between launches."""
    return {"timestamp-query", "timestamp-query-inside-encoders"} <= set(device.features)


def is_llvmpipe(adapter: wgpu.GPUAdapter) -> bool:
    """True for Mesa's software device."""
    return "llvmpipe" in adapter.info["device"]


def target_of(
    adapter: wgpu.GPUAdapter, device: wgpu.GPUDevice, floats: Callable[[], dict[str, bool]]
) -> Target:
    """What the device does natively; `floats` tries what no feature tells."""
    features = device.features
    return target_with(
        i64="shader-int64" in features,
        f64={"shader-f64", "shader-int64"} <= set(features),  # a fence of f64 goes through u64
        f16="shader-f16" in features,
        atomics64="shader-int64-atomic-all-ops" in features,
        timestamps=has_clock(device),
        follows_parameters=is_llvmpipe(adapter),
        **floats(),
    )


def properties_of(adapter: wgpu.GPUAdapter, device: wgpu.GPUDevice) -> DeviceProperties:
    """Identity and limits. The largest allocation is what can be bound whole."""
    info, limits = adapter.info, device.limits
    counts = limits["max-compute-workgroups-per-dimension"]
    driver = f"{info['backend_type']}, {info['description']}"
    bound = min(limits["max-storage-buffer-binding-size"], limits["max-buffer-size"])
    buffers = min(limits["max-storage-buffers-per-shader-stage"], limits["max-bindings-per-bind-group"] - 1)
    timed = has_clock(device)
    return DeviceProperties(
        name=info["device"],
        vendor=info["vendor"],
        driver=driver,
        fingerprint=f"wgpu/{wgpu.__version__}/{info['vendor_id']:x}:{info['device_id']:x}/{info['device']}/{driver}",
        max_units_per_workgroup=limits["max-compute-invocations-per-workgroup"],
        max_workgroup_dim=tuple(limits[f"max-compute-workgroup-size-{axis}"] for axis in "xyz"),
        max_workgroup_count=(counts, counts, counts),
        max_shared_memory=limits["max-compute-workgroup-storage-size"],
        max_bindings=buffers - _OWN_BUFFERS,
        max_allocation=bound & ~255,
        max_loop_iterations=_LLVMPIPE_LOOP_LIMIT if is_llvmpipe(adapter) else None,
        timing_method="device" if timed else "host",
        timestamp_period_ns=_period(device) if timed else 1.0,
    )


def _period(device: wgpu.GPUDevice) -> float:
    """Nanoseconds a tick; wgpu-py has no public name for it."""
    queue: Any = device.queue
    return float(_api.libf.wgpuQueueGetTimestampPeriod(queue._internal))
