"""What the device's compiler keeps of IEEE arithmetic: no feature tells, so a small kernel is tried once."""

from __future__ import annotations

from typing import Any

import numpy as np
import wgpu

_COUNT = 4096
_TESTS = 8
_KERNEL = """
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> r: array<f32>;
@compute @workgroup_size(64)
fn entry(@builtin(global_invocation_id) unit: vec3<u32>) {
  let i = unit.x;
  let a = x[i]; let b = x[i ^ 1u]; let c = x[i ^ 2u];
  r[i] = a / b;
  r[i + 4096u] = sqrt(a);
  r[i + 8192u] = (a + b) - b;
  r[i + 12288u] = a * b + c * a;
  r[i + 16384u] = fma(a, b, c);
  r[i + 20480u] = a * b;
  r[i + 24576u] = x[i + 4096u] * x[i + 8192u];
  r[i + 28672u] = x[i + 4096u] - x[(i ^ 1u) + 4096u];
}
"""


def tried(device: wgpu.GPUDevice) -> dict[str, bool]:
    """The keywords of `dialect.target_with` about f32, by comparing with what NumPy computes."""
    random = np.random.default_rng(2)
    a = np.exp2(random.uniform(-20, 20, _COUNT)).astype(np.float32) * random.choice([1, -1], _COUNT).astype(
        "f4"
    )
    a[::2] = np.abs(a[::2])
    # Around the least normal number, so that products and differences are subnormal.
    tiny = (random.integers(0, 1 << 24, _COUNT, np.uint32)).view(np.float32)
    part = random.uniform(0, 1, _COUNT).astype(np.float32)
    found = _run(device, np.concatenate([a, tiny, part])).reshape(_TESTS, _COUNT)
    lanes = np.arange(_COUNT)
    b, c = a[lanes ^ 1], a[lanes ^ 2]
    wide_a, wide_b, wide_c = (v.astype(np.float64) for v in (a, b, c))
    with np.errstate(invalid="ignore"):
        root = np.sqrt(a)
    # Exact where the sum fits f64's 53 bits; a fused result that was rounded twice differs from no other.
    fused = (wide_a * wide_b + wide_c).astype(np.float32)
    reassociates = not _same(found[2], (a + b) - b)
    return {
        "exact_div_sqrt": _same(found[0], a / b) and _same(found[1], root),
        "reassociates": reassociates,
        "contract_control": not reassociates and _same(found[3], a * b + c * a),
        "fma": _mostly(found[4], fused) and not _mostly(found[4], a * b + c),
        "f32_subnormals": _same(found[6], tiny * part) and _same(found[7], tiny - tiny[lanes ^ 1]),
    }


def _same(found: Any, expected: Any) -> bool:
    return bool(np.array_equal(found, expected, equal_nan=True))


def _mostly(found: Any, expected: Any) -> bool:
    """Equal but for the few that rounding twice on the host may change."""
    return bool(np.mean(found == expected) > 0.999)


def _run(device: wgpu.GPUDevice, values: Any) -> Any:
    uses = wgpu.BufferUsage
    usage = uses.STORAGE | uses.COPY_SRC | uses.COPY_DST
    source = device.create_buffer(size=values.nbytes, usage=usage)
    result = device.create_buffer(size=_TESTS * _COUNT * 4, usage=usage)
    device.queue.write_buffer(source, 0, values.data.cast("B"))
    module = device.create_shader_module(code=_KERNEL)
    pipeline = device.create_compute_pipeline(
        layout="auto", compute={"module": module, "entry_point": "entry"}
    )
    entries: list[Any] = [
        {"binding": i, "resource": {"buffer": buffer, "offset": 0, "size": buffer.size}}
        for i, buffer in enumerate((source, result))
    ]
    group = device.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=entries)
    encoder = device.create_command_encoder()
    compute = encoder.begin_compute_pass()
    compute.set_pipeline(pipeline)
    compute.set_bind_group(0, group)
    compute.dispatch_workgroups(_COUNT // 64)
    compute.end()
    device.queue.submit([encoder.finish()])
    found = np.frombuffer(device.queue.read_buffer(result), np.float32)
    source.destroy()
    result.destroy()
    return found
