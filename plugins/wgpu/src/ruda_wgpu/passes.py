"""The calls that every launch makes on a compute pass, without wgpu-py's own work around each.

wgpu-py catches errors around every single call, which costs several times the call. What is wrong with a pass
comes out when its encoder is finished, and that still goes through wgpu-py, which raises it. The names are
private to wgpu-py, whose series this package pins.
"""

from __future__ import annotations

from typing import Any

from wgpu.backends.wgpu_native._ffi import ffi, lib

set_pipeline = lib.wgpuComputePassEncoderSetPipeline
"""`(pass, pipeline)`: the pipeline of the dispatches that follow."""
set_bind_group = lib.wgpuComputePassEncoderSetBindGroup
"""`(pass, index, group, count, offsets)`: a bind group with `count` dynamic offsets."""
dispatch = lib.wgpuComputePassEncoderDispatchWorkgroups
"""`(pass, x, y, z)`: run so many workgroups."""


def dynamic_offsets(step: int, stop: int) -> dict[int, Any]:
    """For each multiple of `step` below `stop`, in bytes, an array of it alone, as `set_bind_group` takes it."""
    return {offset: ffi.new("uint32_t[1]", [offset]) for offset in range(0, stop, step)}


def native(wrapper: Any) -> Any:
    """The object of wgpu-native behind one of wgpu-py, which must be kept alive as long."""
    return wrapper._internal
