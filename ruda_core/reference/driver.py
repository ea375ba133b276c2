"""The driver: NumPy memory, and kernels that are done when their launch returns."""

from __future__ import annotations

from typing import Any

import numpy as np

from ruda_core.artifact import KernelSource
from ruda_core.capabilities import Device
from ruda_core.driver import COMPLETED, Driver, LaunchFunction, Pending, Report
from ruda_core.reference.memory import Page
from ruda_core.reference.program import Program
from ruda_core.reference.target import ALIGNMENT, TARGET, properties


class ReferenceDriver(Driver):
    """Runs IR itself, so that it needs no dialect. A queue is the function that takes its failures."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.properties = properties()
        self.target = TARGET

    def allocate(self, nbytes: int) -> Page:
        room = np.empty(nbytes + ALIGNMENT, np.uint8)
        start = -room.ctypes.data % ALIGNMENT
        return Page(room[start : start + nbytes])

    def open_queue(self, report: Report) -> Report:
        return report

    def completion(self, queue: Report) -> Pending:
        return COMPLETED

    def write(self, queue: Report, storage: Page, offset: int, data: memoryview) -> None:
        storage.bytes[offset : offset + data.nbytes] = data

    def read(self, queue: Report, storage: Page, offset: int, out: memoryview) -> Pending:
        np.asarray(out)[...] = storage.bytes[offset : offset + out.nbytes]
        return COMPLETED

    def copy(self, queue: Report, source: Page, at: int, target: Page, to: int, nbytes: int) -> bool:
        target.bytes[to : to + nbytes] = source.bytes[at : at + nbytes]
        return True

    def load(self, source: KernelSource, binary: bytes | None) -> Program:
        return Program(source)

    def launcher(self, program: Program, queue: Report) -> LaunchFunction:
        return program.launcher(queue)

    def native(self, storage: Page, offset: int, nbytes: int) -> Any:
        """The bytes themselves, as a NumPy array that shares them."""
        return storage.bytes[offset : offset + nbytes]
