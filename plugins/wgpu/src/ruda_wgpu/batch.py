"""One queue: launches gather in one encoder and travel together, their parameters in one upload."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import wgpu

from ruda_core.driver import Report
from ruda_wgpu.failures import translated
from ruda_wgpu.passes import dispatch, dynamic_offsets, native, set_bind_group, set_pipeline
from ruda_wgpu.transfers import Mapped, Staging

LAUNCHES = 128
"""Launches after which a batch is submitted."""
BLOCK = 1 << 16
"""Bytes of parameters after which a batch is submitted."""

Action = Callable[[Any], None]
"""Something recorded outside a pass: it gets the command encoder."""


class Launch(NamedTuple):
    """One recorded dispatch."""

    pipeline: Any
    group: Any
    x: int
    y: int
    z: int
    words: bytes
    """The parameter block, padded to the alignment of uniform offsets."""
    stream: int
    site: str


class Queue:
    """The device's one queue and the batch being recorded.

    The server holds the queue's lock around every call; `lock` is for timestamps, which are read outside it.
    """

    def __init__(
        self, device: wgpu.GPUDevice, uniforms: Any, alignment: int, staging: Staging, report: Report
    ) -> None:
        """`alignment` is that of a parameter block in `uniforms`, in bytes."""
        self.device = device
        self.offsets = dynamic_offsets(alignment, BLOCK)
        self.items: list[Launch | Action] = []
        self.parameter_bytes = 0
        self.number = 0
        """Of the batch being recorded; grows with every submission."""
        self.lock = threading.RLock()
        self.uniforms = uniforms
        self.staging = staging
        self.report = report

    def record(self, item: Launch | Action) -> None:
        """Put an item behind those recorded; a full batch is submitted."""
        self.items.append(item)
        if len(self.items) >= LAUNCHES:
            self.submit()

    def submit(self, tail: Action | None = None) -> None:
        """Submit what is recorded, and `tail` after it in the same submission. Bad launches are reported."""
        with self.lock:
            items = list(self.items)
            del self.items[: len(items)]
            if not items and tail is None:
                return
            self.parameter_bytes = 0
            self.number += 1
            if tail is not None:
                items.append(tail)
            try:
                self._encode(items)
            except wgpu.GPUError as error:
                self._one_by_one(items, error)

    def _one_by_one(self, items: list[Launch | Action], error: Exception) -> None:
        """A batch that cannot be encoded has not run: the good launches go singly, the bad ones are named."""
        if len(items) == 1 and not isinstance(items[0], Launch):
            raise translated(error) from error
        for item in items:
            try:
                self._encode([item])
            except wgpu.GPUError as single:
                if not isinstance(item, Launch):
                    raise translated(single) from single
                failure = translated(single, item.site)
                failure.__cause__ = single
                self.report(item.stream, failure)

    def _encode(self, items: list[Launch | Action]) -> None:
        words = b"".join([item.words for item in items if type(item) is Launch])
        if words:
            self.device.queue.write_buffer(self.uniforms, 0, words)
        encoder = self.device.create_command_encoder()
        compute, to, current, offset, offsets = None, None, None, 0, self.offsets
        for item in items:
            if type(item) is not Launch:
                if compute is not None:
                    compute.end()
                    compute = None
                item(encoder)  # type: ignore[operator]  # not a Launch
                continue
            if compute is None:
                compute, current = encoder.begin_compute_pass(), None
                to = native(compute)
            pipeline, group, x, y, z, block, _, _ = item
            if pipeline is not current:
                current = pipeline
                set_pipeline(to, native(pipeline))
            set_bind_group(to, 0, native(group), 1, offsets[offset])
            dispatch(to, x, y, z)
            offset += len(block)
        if compute is not None:
            compute.end()
        self.device.queue.submit([encoder.finish()])

    def fetch(self, source: Any, start: int, nbytes: int, out: memoryview | None, skip: int) -> Mapped:
        """Submit, with a copy of a range (both multiples of 4) to the host behind everything recorded."""
        buffer = self.staging.take(nbytes)
        self.submit(lambda encoder: encoder.copy_buffer_to_buffer(source, start, buffer, 0, nbytes))
        return Mapped(self.staging, buffer, nbytes, out, skip)

    def mark(self) -> Mapped:
        """Submit, with a word behind everything recorded that becomes readable when all of it is done."""
        buffer = self.staging.take(8)
        self.submit(lambda encoder: encoder.clear_buffer(buffer, 0, 8))
        return Mapped(self.staging, buffer, 8, None, 0)
