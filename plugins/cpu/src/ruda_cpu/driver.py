"""The driver: pages of ordinary memory, kernels as functions, launches on threads."""

from __future__ import annotations

import ctypes
import os
import struct
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from ruda_core.artifact import KernelSource
from ruda_core.capabilities import Device, DeviceProperties, Target
from ruda_core.driver import Driver, DriverTraits, LaunchFunction, Pending, Report
from ruda_core.errors import BackendCompileError
from ruda_cpu.dialect import JOB_WORDS, scratch_bytes
from ruda_cpu.jit import Code, Refused, machine, pack, unpack
from ruda_cpu.pool import Pool, processors
from ruda_cpu.probe import processor_name
from ruda_cpu.queues import Queue
from ruda_cpu.target import BASELINE

_ALIGNMENT = 256
_INLINE = 100e-6
"""Seconds of estimated work up to which a launch runs in the caller."""
_ALONE = 60e-6
"""Seconds of estimated work up to which one thread is enough."""
_UNIT_SECONDS = 5e-9
"""Estimate for a unit of a kernel that has not run yet."""


class Page:
    """Storage: bytes at a fixed, aligned address."""

    __slots__ = ("address", "bytes")

    def __init__(self, nbytes: int) -> None:
        memory = np.empty(nbytes + _ALIGNMENT, np.uint8)
        start = -memory.ctypes.data % _ALIGNMENT
        self.bytes = memory[start : start + nbytes]
        self.address: int = self.bytes.ctypes.data


@dataclass(slots=True, eq=False)
class Program:
    """A loaded kernel."""

    source: KernelSource
    code: Code
    scratch: int
    """Bytes that each thread needs."""
    group_seconds: float
    """Estimated time of one workgroup on one thread; learned from its launches."""


class CpuDriver(Driver):
    """The processor that Python runs on."""

    properties: DeviceProperties
    target: Target = BASELINE
    traits = DriverTraits(queues=8)

    def __init__(self, device: Device) -> None:
        self._machine = machine()
        self._pool = Pool()
        self._queues: list[Queue] = []
        memory = _memory_bytes()
        self.properties = DeviceProperties(
            name=device.name or processor_name(),
            vendor="",
            driver=self._machine.version,
            fingerprint=self._machine.fingerprint,
            max_units_per_workgroup=4096,
            max_workgroup_dim=(4096, 4096, 4096),
            max_workgroup_count=(2**31 - 1, 2**31 - 1, 2**31 - 1),
            max_shared_memory=256 << 10,
            max_bindings=64,
            max_allocation=memory or 1 << 46,
            alignment=_ALIGNMENT,
            multiprocessors=processors(),
            memory_bytes=memory,
        )

    # Memory ------------------------------------------------------------------------------------

    def allocate(self, nbytes: int) -> Page:
        if nbytes > self.properties.max_allocation:
            raise MemoryError(f"{nbytes} bytes are more than this machine has")
        try:
            return Page(nbytes)
        except ValueError as error:  # NumPy's word for a size that no address space has
            raise MemoryError(str(error)) from error

    # Order -------------------------------------------------------------------------------------

    def open_queue(self, report: Report) -> Queue:
        queue = Queue(report)
        self._queues.append(queue)
        return queue

    def event(self, queue: Queue) -> Pending:
        return queue.completion()

    def wait_event(self, queue: Queue, event: Pending) -> None:
        if not event.done():
            queue.submit(event.wait)

    def completion(self, queue: Queue) -> Pending:
        return queue.completion()

    # Transfers ---------------------------------------------------------------------------------

    def write(self, queue: Queue, storage: Page, offset: int, data: memoryview) -> None:
        target = storage.bytes[offset : offset + len(data)]
        if not len(data):
            return
        source = np.frombuffer(data, np.uint8)
        if queue.idle():
            np.copyto(target, source)
        else:
            taken = source.copy()
            queue.submit(lambda: np.copyto(target, taken))

    def read(self, queue: Queue, storage: Page, offset: int, out: memoryview) -> Pending:
        source = storage.bytes[offset : offset + len(out)]
        if not len(out):
            return queue.completion()
        target = np.frombuffer(out, np.uint8)
        return queue.now_or_later(lambda: np.copyto(target, source))

    def copy(self, queue: Queue, source: Page, at: int, target: Page, to: int, nbytes: int) -> bool:
        old, new = source.bytes[at : at + nbytes], target.bytes[to : to + nbytes]
        queue.now_or_later(lambda: np.copyto(new, old))
        return True

    # Programs ----------------------------------------------------------------------------------

    def load(self, source: KernelSource, binary: bytes | None) -> Program:
        code = self._linked(source, binary) or self._compiled(source)
        units = source.dim[0] * source.dim[1] * source.dim[2]
        return Program(source, code, scratch_bytes(source.text), units * _UNIT_SECONDS)

    def _linked(self, source: KernelSource, binary: bytes | None) -> Code | None:
        """From what was kept; None where that is damaged or does not fit."""
        kept = unpack(binary) if binary is not None else None
        if kept is None:
            return None
        try:
            return self._machine.link(kept, source.entry)
        except Refused:
            return None

    def _compiled(self, source: KernelSource) -> Code:
        try:
            return self._machine.link(self._machine.compile(source.text), source.entry)
        except Refused as error:
            raise BackendCompileError(
                f"{source.location}: LLVM refuses the generated text",
                log=str(error),
                source=source.text,
                file=source.file,
                line=source.line,
            ) from error

    def binary(self, program: Program) -> bytes:
        return pack(program.code.object_code)

    def launcher(self, program: Program, queue: Queue) -> LaunchFunction:
        return _Launcher(program, queue, self._pool).launch

    # Interchange and end -----------------------------------------------------------------------

    def native(self, storage: Page, offset: int, nbytes: int) -> Any:
        """The bytes as a NumPy array, without a copy."""
        return storage.bytes[offset : offset + nbytes]

    def close(self) -> None:
        for queue in self._queues:
            queue.close()


class _Launcher:
    """Launches of one program on one queue."""

    __slots__ = (
        "_address",
        "_call",
        "_job",
        "_pack",
        "_pool",
        "_program",
        "_queue",
        "_scratch",
        "_size",
        "_struct",
    )

    def __init__(self, program: Program, queue: Queue, pool: Pool) -> None:
        source = program.source
        words = JOB_WORDS + len(source.bindings)
        self._struct = struct.Struct(f"<{words}Q{max(source.layout.nbytes, 1)}s")
        self._pack = self._struct.pack_into
        self._size = self._struct.size
        self._job = ctypes.create_string_buffer(self._size)
        self._address = ctypes.addressof(self._job)
        self._program, self._queue, self._pool = program, queue, pool
        self._call, self._scratch = program.code.call, program.scratch

    def launch(self, stream: int, x: int, y: int, z: int, *args: Any) -> None:
        groups = x * y * z
        if not groups:
            return
        program, queue = self._program, self._queue
        estimate = groups * program.group_seconds
        last = queue.last
        pages, words = args[:-1], args[-1]
        if estimate > _INLINE or not (last is None or last.finished):
            self._later(stream, (x, y, z), groups, pages, words)
            return
        self._pack(self._job, 0, 0, groups, groups, x, y, z, 0, 0, *[p.address for p in pages], words)
        start = time.perf_counter()
        self._call(self._address, queue.scratch.of(self._scratch))
        _learn(program, groups, time.perf_counter() - start)

    def _later(self, stream: int, count: tuple[int, int, int], groups: int, pages: Any, words: bytes) -> None:
        helpers = min(self._pool.helpers, groups - 1)
        if groups * self._program.group_seconds <= _ALONE:
            helpers = 0
        chunk = max(1, groups // ((helpers + 1) * 8)) if helpers else groups
        job = ctypes.create_string_buffer(self._size)
        self._pack(job, 0, 0, groups, chunk, *count, 0, 0, *[p.address for p in pages], words)
        address = ctypes.addressof(job)

        def work() -> None:
            start = time.perf_counter()
            self._pool.run(self._call, address, self._scratch, self._queue.scratch, helpers)
            _learn(self._program, groups, (time.perf_counter() - start) * (helpers + 1))
            held.clear()

        held = [job, *pages]  # until it is done
        self._queue.submit(work, stream)


def _learn(program: Program, groups: int, seconds: float) -> None:
    program.group_seconds += (seconds / groups - program.group_seconds) * 0.25


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
