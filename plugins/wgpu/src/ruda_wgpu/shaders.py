"""Shader modules without the checks that kernels do not need."""

from __future__ import annotations

from typing import Any

import wgpu
from wgpu.backends.wgpu_native import _api

_BOUNDS_CHECKS = 1
"""`WGPUShaderRuntimeChecks_BoundsChecks`: kept, so that no index reaches memory outside a binding."""


def shader_module(device: wgpu.GPUDevice, code: str) -> wgpu.GPUShaderModule:
    """A module of WGSL `code`; raises GPUError for code that is not valid.

    wgpu counts the iterations of every loop, so that none is endless. That makes loops up to twice as slow
    on GPUs, and this project promises nothing of endless loops, so the counting is left out. wgpu-py has no
    name for that yet: where the native function is missing, an ordinary module is made.
    """
    create: Any = getattr(_api.libf, "wgpuDeviceCreateShaderModuleTrusted", None)
    if create is None:
        return device.create_shader_module(code=code)
    native: Any = _api
    source = native.new_struct_p("WGPUShaderSourceWGSL *", code=native.to_c_string_view(code))
    source[0].chain.next = native.ffi.NULL
    source[0].chain.sType = native.lib.WGPUSType_ShaderSourceWGSL
    described = native.new_struct_p(
        "WGPUShaderModuleDescriptor *",
        nextInChain=native.ffi.cast("WGPUChainedStruct *", source),
        label=native.to_c_string_view(""),
    )
    made = create(device._internal, described, _BOUNDS_CHECKS)
    return native.GPUShaderModule("", made, device)
