"""Launches and transfers through WebGPU against wgpu-py used by hand, in the same run.

    python benchmarks/webgpu.py

Peers: one encoder, pass, bind group and submit a launch; and 100 dispatches in one pass with a cached bind
group, one upload of all their scalars, and one submit. All with 2 storage buffers on the same adapter.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import wgpu
from kernels import scale
from timing import Row, median_each, ratio_row, show

import ruda_core as ruda

BATCH = 100
STRIDE = 256
TRANSFER = 64 << 20

WGSL = """
struct P { n: u32, a: f32, pad0: u32, pad1: u32 }
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> p: P;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < p.n) { y[id.x] = p.a * x[id.x]; }
}
"""


class ByHand:
    """wgpu-py as a careful user would write it."""

    def __init__(self, adapter: Any) -> None:
        self.device = adapter.request_device_sync()
        usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST
        self.x = self.device.create_buffer(size=4096, usage=usage)
        self.y = self.device.create_buffer(size=4096, usage=usage)
        uniform = wgpu.BufferUsage.UNIFORM | wgpu.BufferUsage.COPY_DST
        self.p = self.device.create_buffer(size=STRIDE * BATCH, usage=uniform)
        module = self.device.create_shader_module(code=WGSL)
        storage = {"visibility": wgpu.ShaderStage.COMPUTE, "buffer": {"type": "storage"}}
        dynamic = {"type": "uniform", "has_dynamic_offset": True}
        self.layout = self.device.create_bind_group_layout(
            entries=[
                {"binding": 0, **storage},
                {"binding": 1, **storage},
                {"binding": 2, "visibility": wgpu.ShaderStage.COMPUTE, "buffer": dynamic},
            ]
        )
        self.pipeline = self.device.create_compute_pipeline(
            layout=self.device.create_pipeline_layout(bind_group_layouts=[self.layout]),
            compute={"module": module, "entry_point": "main"},
        )
        self.data = self.parameters(2.0)
        self.group = self.bind()

    @staticmethod
    def parameters(a: float) -> bytes:
        return struct.pack("<If8x240x", 1024, a)

    def bind(self) -> Any:
        entries = [
            {"binding": i, "resource": {"buffer": b, "offset": 0, "size": size}}
            for i, (b, size) in enumerate(((self.x, 4096), (self.y, 4096), (self.p, STRIDE)))
        ]
        return self.device.create_bind_group(layout=self.layout, entries=entries)

    def unbatched(self) -> None:
        self.device.queue.write_buffer(self.p, 0, self.data)
        encoder = self.device.create_command_encoder()
        work = encoder.begin_compute_pass()
        work.set_pipeline(self.pipeline)
        work.set_bind_group(0, self.bind(), [0])
        work.dispatch_workgroups(16, 1, 1)
        work.end()
        self.device.queue.submit([encoder.finish()])

    def batched(self) -> None:
        data = b"".join([self.parameters(2.0) for _ in range(BATCH)])
        self.device.queue.write_buffer(self.p, 0, data)
        encoder = self.device.create_command_encoder()
        work = encoder.begin_compute_pass()
        work.set_pipeline(self.pipeline)
        for at in range(BATCH):
            work.set_bind_group(0, self.group, [at * STRIDE])
            work.dispatch_workgroups(16, 1, 1)
        work.end()
        self.device.queue.submit([encoder.finish()])

    def read(self, buffer: Any) -> None:
        self.device.queue.read_buffer(buffer)


def main() -> None:
    client = ruda.client("wgpu")
    name = client.properties().name
    adapters = [
        a for a in wgpu.gpu.enumerate_adapters_sync() if a.info["device"] in name or name in a.summary
    ]
    adapter = next((a for a in adapters if a.info["backend_type"] == "Vulkan"), adapters[0])
    peer = ByHand(adapter)
    x, y = client.zeros(1024, np.float32), client.zeros(1024, np.float32)

    def ours() -> None:
        for _ in range(BATCH):
            scale.launch(client, 16, 64, 2.0, 1024, x, y)
        client.flush()

    def unbatched() -> None:
        for _ in range(BATCH):
            peer.unbatched()

    def settle() -> None:
        client.sync().result()
        peer.read(peer.y)

    samples = []
    for _ in range(9):
        row = median_each([ours, unbatched, peer.batched], repeat=1, number=1)
        settle()
        samples.append(row)
    mine, alone, hand = (float(np.median(column)) / BATCH for column in zip(*samples, strict=True))
    rows: list[Row] = [
        ratio_row("launch against unbatched", mine, alone, 0.15),
        ratio_row("launch against batched by hand", mine, hand, 1.2),
    ]
    host = np.ones(TRANSFER, np.uint8)
    handle = client.create_from_slice(host)
    usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST
    buffer = peer.device.create_buffer(size=TRANSFER, usage=usage)

    def peer_write() -> None:
        peer.device.queue.write_buffer(buffer, 0, host)
        peer.device.queue.read_buffer(buffer, 0, 4)

    def our_write() -> None:
        client.write(handle, host)
        client.sync().result()

    read, peer_read, write, wrote = median_each(
        [lambda: client.read_one(handle), lambda: peer.read(buffer), our_write, peer_write],
        repeat=7,
        number=1,
    )
    rows.append(ratio_row("64 MiB read against read_buffer", read, peer_read, 1.3, scale=1e3, unit="ms"))
    rows.append(ratio_row("64 MiB write against write_buffer", write, wrote, 1.3, scale=1e3, unit="ms"))
    show(f"WebGPU: {name}", rows)


if __name__ == "__main__":
    main()
