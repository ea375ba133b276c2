"""WebGPU for the stock server: whole buffers with element offsets, launches batched in one encoder."""

from __future__ import annotations

from typing import Any

import numpy as np
import wgpu

from ruda_core.artifact import KernelSource
from ruda_core.capabilities import Device
from ruda_core.driver import Driver, DriverTraits, LaunchFunction, Pending, Report
from ruda_core.errors import BackendCompileError
from ruda_wgpu.batch import BLOCK, Action, Queue
from ruda_wgpu.device import can_map_storage, has_clock, open_adapter, properties_of, target_of
from ruda_wgpu.failures import is_out_of_memory, translated, wrapped
from ruda_wgpu.floats import tried
from ruda_wgpu.launching import launch_maker
from ruda_wgpu.shaders import shader_module
from ruda_wgpu.timing import Clock, Reading
from ruda_wgpu.transfers import Staging

_IN_PLACE = 1 << 18
"""Bytes from which mapping storage beats a copy through staging memory."""
_STAGED = 1 << 20
"""Bytes from which a write maps storage, where it can, instead of going through the library's staging.
Copies inside one buffer go in pieces of it."""
_USES = wgpu.BufferUsage


class Program:
    """A pipeline, how its bind groups are laid out, and what it was made from."""

    __slots__ = ("layout", "pipeline", "source")

    def __init__(self, pipeline: Any, layout: Any, source: KernelSource) -> None:
        self.pipeline, self.layout, self.source = pipeline, layout, source


class WgpuDriver(Driver):
    """One WebGPU adapter."""

    def __init__(self, device: Device) -> None:
        adapter, self._device = open_adapter(device)
        self._in_place = can_map_storage(adapter)
        self._align = max(16, self._device.limits["min-uniform-buffer-offset-alignment"])
        self._staging = Staging(self._device)
        self._uniforms = self._device.create_buffer(size=BLOCK, usage=_USES.UNIFORM | _USES.COPY_DST)
        self._between = self._device.create_buffer(size=_STAGED, usage=_USES.COPY_SRC | _USES.COPY_DST)
        self._clock = Clock(self._device) if has_clock(self._device) else None
        self._layouts: dict[int, tuple[Any, Any]] = {}
        self._groups: dict[tuple[Any, ...], Any] = {}
        self.properties = properties_of(adapter, self._device)
        self.target = target_of(adapter, self._device, lambda: tried(self._device))
        self.traits = DriverTraits(
            queues=1,
            max_page=self.properties.max_allocation,
            transfer_granularity=4,
            parameter_alignment=16,
            writes_overtake=True,
            read_in_place_from=_IN_PLACE if self._in_place else 1 << 62,
        )

    # Memory and order -----------------------------------------------------------------------------

    def allocate(self, nbytes: int) -> wgpu.GPUBuffer:
        limit = self._device.limits["max-buffer-size"]
        if nbytes > limit:
            raise MemoryError(f"{nbytes} bytes on {self.properties.name}: a buffer has at most {limit}")
        mapped = _USES.MAP_READ | _USES.MAP_WRITE if self._in_place else 0
        try:
            return self._device.create_buffer(
                size=nbytes, usage=_USES.STORAGE | _USES.COPY_SRC | _USES.COPY_DST | mapped
            )
        except wgpu.GPUError as error:
            if is_out_of_memory(error):
                raise MemoryError(f"{nbytes} bytes on {self.properties.name}: {error}") from error
            raise translated(error) from error

    def release(self, storage: wgpu.GPUBuffer) -> None:
        for key in [key for key in self._groups if storage in key]:
            del self._groups[key]
        storage.destroy()

    def open_queue(self, report: Report) -> Queue:
        return Queue(self._device, self._uniforms, self._align, self._staging, report)

    def flush(self, queue: Queue) -> None:
        queue.submit()

    def batch(self, queue: Queue) -> int:
        return queue.number

    def completion(self, queue: Queue) -> Pending:
        return queue.mark()

    def timestamp(self, queue: Queue) -> Reading | None:
        return None if self._clock is None else self._clock.read(queue)

    # Transfers ------------------------------------------------------------------------------------

    def write(self, queue: Queue, storage: wgpu.GPUBuffer, offset: int, data: memoryview) -> None:
        nbytes = data.nbytes
        with wrapped("a write"):
            if offset % 4 or nbytes % 4:
                self._write_odd(queue, storage, offset, data)
            elif self._in_place and nbytes >= _STAGED and offset % 8 == 0:
                queue.submit()
                storage.map_async("WRITE", offset, nbytes).sync_wait()
                _fill(storage, offset, data)
                storage.unmap()
            else:
                self._device.queue.write_buffer(storage, offset, data)

    def _write_odd(self, queue: Queue, storage: wgpu.GPUBuffer, offset: int, data: memoryview) -> None:
        """Transfers move whole words, so the words at both ends keep what they have beside the data."""
        start, stop = offset & ~3, (offset + data.nbytes + 3) & ~3
        words = np.empty(stop - start, np.uint8)
        for at in {start, stop - 4}:
            edge = words[at - start : at - start + 4].data
            self.read(queue, storage, at, edge).wait()
        words[offset - start : offset - start + data.nbytes] = np.frombuffer(data, np.uint8)
        self.write(queue, storage, start, words.data)

    def read(self, queue: Queue, storage: wgpu.GPUBuffer, offset: int, out: memoryview) -> Pending:
        start = offset & ~3
        nbytes = ((offset + out.nbytes + 3) & ~3) - start
        return queue.fetch(storage, start, nbytes, out, offset - start)

    def read_now(self, queue: Queue, storage: wgpu.GPUBuffer, offset: int, out: memoryview) -> None:
        if not self._in_place:
            super().read_now(queue, storage, offset, out)
            return
        queue.submit()
        start = offset & ~7
        nbytes = ((offset + out.nbytes + 3) & ~3) - start
        with wrapped("a read"):
            storage.map_async("READ", start, nbytes).sync_wait()
            found = np.frombuffer(storage.read_mapped(start, nbytes, copy=False), np.uint8)
            np.frombuffer(out, np.uint8)[:] = found[offset - start : offset - start + out.nbytes]
            storage.unmap()

    def copy(self, queue: Queue, source: Any, at: int, target: Any, to: int, nbytes: int) -> bool:
        if (at | to | nbytes) % 4:
            return False  # WebGPU copies whole words
        queue.record(
            self._copy_within(source, at, to, nbytes)
            if source is target
            else lambda encoder: encoder.copy_buffer_to_buffer(source, at, target, to, nbytes)
        )
        return True

    def _copy_within(self, storage: wgpu.GPUBuffer, at: int, to: int, nbytes: int) -> Action:
        """Piece by piece through another buffer, because WebGPU copies between two; the ranges may overlap."""
        between = self._between
        pieces = range(0, nbytes, between.size)

        def action(encoder: Any) -> None:
            for start in pieces if to < at else reversed(pieces):  # what is overwritten has been copied
                size = min(between.size, nbytes - start)
                encoder.copy_buffer_to_buffer(storage, at + start, between, 0, size)
                encoder.copy_buffer_to_buffer(between, 0, storage, to + start, size)

        return action

    # Programs -------------------------------------------------------------------------------------

    def load(self, source: KernelSource, binary: bytes | None) -> Program:
        groups, pipelines = self._layout(len(source.bindings))
        try:
            module = shader_module(self._device, source.text)
            pipeline = self._device.create_compute_pipeline(
                layout=pipelines, compute={"module": module, "entry_point": source.entry}
            )
        except wgpu.GPUError as error:
            raise BackendCompileError(
                f"WebGPU's compiler refused the code generated for {source.location}",
                log=str(error),
                source=source.text,
                file=source.file,
                line=source.line,
            ) from error
        return Program(pipeline, groups, source)

    def _layout(self, buffers: int) -> tuple[Any, Any]:
        """Bind group and pipeline layouts of kernels with this many buffers: those, then the parameters."""
        layout = self._layouts.get(buffers)
        if layout is None:
            stage = wgpu.ShaderStage.COMPUTE
            entries: list[Any] = [
                {"binding": i, "visibility": stage, "buffer": {"type": "storage"}} for i in range(buffers)
            ]
            uniform = {"type": "uniform", "has_dynamic_offset": True}
            entries.append({"binding": buffers, "visibility": stage, "buffer": uniform})
            groups = self._device.create_bind_group_layout(entries=entries)
            layout = groups, self._device.create_pipeline_layout(bind_group_layouts=[groups])
            self._layouts[buffers] = layout
        return layout

    def launcher(self, program: Program, queue: Queue) -> LaunchFunction:
        source, layout, groups = program.source, program.layout, self._groups
        nbytes = source.layout.nbytes
        size = max(16, nbytes)
        step = -(-size // self._align) * self._align

        def group_of(*buffers: Any) -> Any:
            key = (*buffers, size)
            group = groups.get(key)
            if group is None:
                group = groups[key] = self._group(layout, key)
            return group

        make = launch_maker(len(source.bindings))
        return make(queue, program.pipeline, group_of, nbytes, step, source.location)

    def _group(self, layout: Any, key: tuple[Any, ...]) -> Any:
        """The bind group of these buffers and a parameter block of the size that ends the key."""
        *buffers, size = key
        resources = [{"buffer": buffer, "offset": 0, "size": buffer.size} for buffer in buffers]
        resources.append({"buffer": self._uniforms, "offset": 0, "size": size})
        entries: list[Any] = [{"binding": i, "resource": r} for i, r in enumerate(resources)]
        with wrapped("a bind group"):
            return self._device.create_bind_group(layout=layout, entries=entries)

    # Interchange and end --------------------------------------------------------------------------

    def close(self) -> None:
        self._groups.clear()


def _fill(buffer: wgpu.GPUBuffer, offset: int, data: memoryview) -> None:
    """Copy into a mapped range; wgpu-py's own write_mapped does it byte by byte."""
    mapped = buffer._experimental_get_mapped_range(offset, data.nbytes)
    np.frombuffer(mapped, np.uint8)[:] = np.frombuffer(data, np.uint8)
