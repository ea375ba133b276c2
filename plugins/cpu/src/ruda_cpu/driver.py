"""The driver: pages of ordinary memory, kernels as functions, launches on threads."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ruda_core.artifact import KernelSource
from ruda_core.capabilities import Device, DeviceProperties, Target
from ruda_core.driver import Driver, DriverTraits, LaunchFunction, Pending, Report
from ruda_core.errors import BackendCompileError
from ruda_cpu.probe import processor_name
from ruda_cpu.run.jit import Code, Refused, machine, pack, unpack
from ruda_cpu.run.launches import Launcher, Program
from ruda_cpu.run.pool import Pool, processors
from ruda_cpu.run.queues import Queue
from ruda_cpu.target import BASELINE

_GROUPS = 2**39
"""Workgroups of one launch: their units are counted in 63 bits."""
_ALIGNMENT = 256


class Page:
    """Storage: bytes at a fixed, aligned address."""

    __slots__ = ("address", "bytes")

    def __init__(self, nbytes: int) -> None:
        memory = np.empty(nbytes + _ALIGNMENT, np.uint8)
        start = -memory.ctypes.data % _ALIGNMENT
        self.bytes = memory[start : start + nbytes]
        self.address: int = self.bytes.ctypes.data


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
            max_workgroup_count=(_GROUPS, 2**31 - 1, 2**31 - 1),
            max_workgroups=_GROUPS,
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
        queue = Queue(report, self._pool)
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
        return Program(source, code)

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
        return Launcher(program, queue, self._pool).launch

    # Interchange and end -----------------------------------------------------------------------

    def native(self, storage: Page, offset: int, nbytes: int) -> Any:
        """The bytes as a NumPy array, without a copy."""
        return storage.bytes[offset : offset + nbytes]

    def close(self) -> None:
        for queue in self._queues:
            queue.close()
        self._pool.close()


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
