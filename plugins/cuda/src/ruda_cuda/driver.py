"""CUDA for the stock server: storage is an address, a queue a stream, a launch one packed block."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from cupy_backends.cuda.api import driver, runtime

from ruda_core.artifact import KernelSource
from ruda_core.capabilities import Device, DeviceProperties
from ruda_core.driver import Driver, DriverTraits, LaunchFunction, Pending, Report
from ruda_core.errors import BackendUnavailable
from ruda_cuda import cupy_home, nvrtc
from ruda_cuda.clock import Clock, Mark
from ruda_cuda.compiling import architecture, compiled
from ruda_cuda.current import enter
from ruda_cuda.dialect import BASELINE
from ruda_cuda.failures import NO_MEMORY, Failure, translated, wrapped
from ruda_cuda.graphs import Graph
from ruda_cuda.launching import Arguments, launch_maker
from ruda_cuda.locked import PIECE, Pieces, locked
from ruda_cuda.queues import Event, Finished, Queue, SmallRead

_TAKEN = 1 << 16
"""Writes up to this many bytes are copied first, and so never wait for page-locked sources."""
_ARGUMENT_BYTES, _ARRAY_BYTES, _HEAD_BYTES = 4096, 24, 64
"""What a kernel may be given, and of it an array's address, length and offset, and what every launch has."""


class Program:
    """A loaded module, its kernel, and what it was compiled to. Modules live as long as the process."""

    __slots__ = ("code", "function", "module", "source")

    def __init__(self, code: bytes, source: KernelSource) -> None:
        self.module: int = driver.moduleLoadData(code)
        self.function: int = driver.moduleGetFunction(self.module, source.entry)
        self.code, self.source = code, source


class CudaDriver(Driver):
    """One NVIDIA GPU, by its primary context, which it shares with other libraries."""

    target = BASELINE

    def __init__(self, device: Device) -> None:
        count = runtime.getDeviceCount()
        if device.index >= count:
            raise BackendUnavailable(f"{device}: this machine has {count} CUDA devices")
        self._index = device.index
        self._several = count > 1
        version, newest = nvrtc.version(), runtime.driverGetVersion()
        if 1000 * version[0] > newest:
            raise BackendUnavailable(
                f"NVRTC {version[0]}.{version[1]} compiles for newer drivers than this machine's (CUDA "
                f"{newest // 1000}.{newest % 1000 // 10}): update the driver, or pip install 'ruda-cuda[cu12]'"
            )
        native = runtime.getDeviceProperties(device.index)
        self._arch = architecture(native["major"], native["minor"], nvrtc.capabilities())
        self.traits = DriverTraits(queues=8)
        self.properties = _properties(native, self._arch, version)
        cupy_home.ensure()
        self._pieces = Pieces()
        self._clock: Clock | None = None
        self._first_use = threading.Lock()
        enter(device.index)

    # Memory and order -----------------------------------------------------------------------------

    def allocate(self, nbytes: int) -> int:
        enter(self._index)
        try:
            return int(runtime.malloc(nbytes))
        except Failure as error:
            if error.status == NO_MEMORY:
                raise MemoryError(f"{nbytes} bytes on {self.properties.name}: {error}") from error
            raise translated(error) from error

    def release(self, storage: int) -> None:
        enter(self._index)
        with wrapped():
            runtime.free(storage)

    def host_memory(self, nbytes: int) -> np.ndarray[Any, Any] | None:
        enter(self._index)
        return locked(nbytes)

    def open_queue(self, report: Report) -> Queue:
        enter(self._index)
        with wrapped():
            return Queue()

    def event(self, queue: Queue) -> Event:
        enter(self._index)
        with wrapped(queue.recent):
            return Event(queue.stream)

    def wait_event(self, queue: Queue, event: Event) -> None:
        with wrapped(queue.recent):
            runtime.streamWaitEvent(queue.stream, event.native)

    def completion(self, queue: Queue) -> Pending:
        enter(self._index)
        with wrapped(queue.recent):
            return Finished(queue)

    def timestamp(self, queue: Queue) -> Mark:
        enter(self._index)
        with self._first_use, wrapped(queue.recent):
            if self._clock is None:
                self._clock = Clock()
            return self._clock.read(queue)

    # Transfers ------------------------------------------------------------------------------------

    def write(self, queue: Queue, storage: int, offset: int, data: memoryview) -> None:
        enter(self._index)
        taken = bytes(data) if data.nbytes <= _TAKEN else data
        to_device = runtime.memcpyHostToDevice
        with wrapped(queue.recent):
            # Ordinary memory is staged before this returns.
            runtime.memcpyAsync(storage + offset, _address(taken), data.nbytes, to_device, queue.stream)
            if taken is data:
                Finished(queue).wait()

    def read(self, queue: Queue, storage: int, offset: int, out: memoryview) -> Pending:
        enter(self._index)
        piece = self._pieces.take() if out.nbytes < PIECE else None
        to = _address(out) if piece is None else _address(piece.data)
        with wrapped(queue.recent):
            runtime.memcpyAsync(to, storage + offset, out.nbytes, runtime.memcpyDeviceToHost, queue.stream)
            if piece is None:
                return Finished(queue, out)
            return SmallRead(queue, piece, self._pieces.free, out)

    def copy(self, queue: Queue, source: int, at: int, target: int, to: int, nbytes: int) -> bool:
        begin, end = source + at, target + to
        if abs(begin - end) < nbytes:
            return False  # CUDA leaves overlapping ranges undefined
        enter(self._index)
        with wrapped(queue.recent):
            runtime.memcpyAsync(end, begin, nbytes, runtime.memcpyDeviceToDevice, queue.stream)
        return True

    # Programs -------------------------------------------------------------------------------------

    def load(self, source: KernelSource, binary: bytes | None) -> Program:
        enter(self._index)
        if binary is not None:
            try:
                return Program(binary, source)
            except Failure:
                pass  # damaged, or made for another device: the text is at hand
        code = compiled(source, self._arch)
        with wrapped():
            return Program(code, source)

    def binary(self, program: Program) -> bytes | None:
        return program.code

    def launcher(self, program: Program, queue: Queue) -> LaunchFunction:
        source = program.source
        pointers = len(source.bindings)
        block = source.layout.nbytes if source.layout.slots else 0
        make = launch_maker(pointers, several=self._several)
        arguments = Arguments(pointers, block)
        return make(program.function, queue, source.dim, source.location, self._index, arguments)

    def graph(self, queue: Queue, enqueue: Callable[[], None]) -> Callable[[], None] | None:
        try:
            return Graph(queue, self._index, enqueue).replay
        except Failure:
            return None  # what CUDA cannot record is launched one by one

    def native(self, storage: int, offset: int, nbytes: int) -> Any:
        """CuPy's pointer to these bytes."""
        import cupy  # costs a second: only for who asks for its objects

        memory = cupy.cuda.UnownedMemory(storage + offset, nbytes, None, self._index)
        return cupy.cuda.MemoryPointer(memory, 0)


def _address(data: bytes | memoryview) -> int:
    """Where the bytes lie."""
    return int(np.frombuffer(data, np.uint8).__array_interface__["data"][0])


def _properties(native: dict[str, Any], arch: str, compiler: tuple[int, int]) -> DeviceProperties:
    name = native["name"].decode()
    version = runtime.driverGetVersion()
    cuda = f"CUDA {version // 1000}.{version % 1000 // 10}, NVRTC {compiler[0]}.{compiler[1]}"
    dim, grid = native["maxThreadsDim"], native["maxGridSize"]
    return DeviceProperties(
        name=name,
        vendor="NVIDIA",
        driver=cuda,
        fingerprint=f"cuda/{name}/{arch}/{cuda}",
        max_units_per_workgroup=native["maxThreadsPerBlock"],
        max_workgroup_dim=(dim[0], dim[1], dim[2]),
        max_workgroup_count=(grid[0], grid[1], grid[2]),
        max_shared_memory=native["sharedMemPerBlock"],
        max_bindings=(_ARGUMENT_BYTES - _HEAD_BYTES) // _ARRAY_BYTES,
        max_allocation=native["totalGlobalMem"],
        multiprocessors=native["multiProcessorCount"],
        subgroup_min=native["warpSize"],
        subgroup_max=native["warpSize"],
        memory_bytes=native["totalGlobalMem"],
        timing_method="device",
        timestamp_period_ns=1.0,
    )
