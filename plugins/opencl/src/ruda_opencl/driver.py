"""OpenCL for the stock server: whole buffers with element offsets, one in-order queue a stream."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pyopencl as cl

from ruda_core.artifact import KernelSource
from ruda_core.capabilities import Device, DeviceProperties
from ruda_core.driver import Driver, DriverTraits, LaunchFunction, Pending, Report
from ruda_core.errors import BackendCompileError, BackendUnavailable
from ruda_opencl.dialect import target_with
from ruda_opencl.failures import is_out_of_memory, translated, wrapped
from ruda_opencl.probe import discover

_STAGED = 1 << 18
"""Writes up to this many bytes are copied on the host, so that they need not wait for the queue."""

_WORD = bytes(4)


class Queue:
    """One in-order queue, what it still has to read from the host, and its last launches' names."""

    __slots__ = ("native", "recent", "staged")

    def __init__(self, native: cl.CommandQueue) -> None:
        self.native = native
        self.recent: deque[str] = deque(maxlen=8)
        self.staged: deque[tuple[cl.Event, bytes]] = deque()


class Finished(Pending):
    """The completion that one event marks; keeps the host memory of a read alive."""

    __slots__ = ("_event", "_keep", "_recent")

    def __init__(self, event: cl.Event, recent: deque[str], keep: object = None) -> None:
        self._event, self._recent, self._keep = event, recent, keep

    def done(self) -> bool:
        return bool(self._event.command_execution_status <= cl.command_execution_status.COMPLETE)

    def wait(self) -> None:
        with wrapped(self._recent):
            self._event.wait()
        self._keep = None

    def on_done(self, callback: Callable[[], None]) -> bool:
        self._event.set_callback(cl.command_execution_status.COMPLETE, lambda status: callback())
        return True


class Mark:
    """The device's clock when one marker was reached."""

    __slots__ = ("_event", "_recent")

    def __init__(self, event: cl.Event, recent: deque[str]) -> None:
        self._event, self._recent = event, recent

    def ticks(self) -> int:
        with wrapped(self._recent):
            self._event.wait()
            return int(self._event.profile.end)


class Program:
    """A built program and what it was built from."""

    __slots__ = ("native", "source")

    def __init__(self, native: cl.Program, source: KernelSource) -> None:
        self.native, self.source = native, source


class OpenCLDriver(Driver):
    """One OpenCL device."""

    def __init__(self, device: Device) -> None:
        usable = discover().usable
        if device.index >= len(usable):
            raise BackendUnavailable(f"{device}: this machine has {len(usable)} usable OpenCL devices")
        device, native = usable[device.index]
        single, extensions = native.single_fp_config, native.extensions.split()
        config = cl.device_fp_config
        self._native = native
        self._context = cl.Context([native])
        self._correct = bool(single & config.CORRECTLY_ROUNDED_DIVIDE_SQRT)
        self.traits = DriverTraits(queues=8, max_page=native.max_mem_alloc_size)
        self.target = target_with(
            f64="cl_khr_fp64" in extensions,
            atomics64={"cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"} <= set(extensions),
            exact_div_sqrt=self._correct,
            f32_subnormals=bool(single & config.DENORM),
            timestamps=True,
            pinned=device.kind == "discrete",
        )
        self._host_queue = cl.CommandQueue(self._context)
        self.properties = _properties(native)

    # Memory and order -----------------------------------------------------------------------------

    def allocate(self, nbytes: int) -> cl.Buffer:
        limit = self._native.max_mem_alloc_size
        if nbytes > limit:
            raise MemoryError(f"{nbytes} bytes on {self.properties.name}: a buffer has at most {limit}")
        try:
            storage = cl.Buffer(self._context, cl.mem_flags.READ_WRITE, nbytes)
            # Drivers of GPUs take the memory at the first use: better that it fails here than in a launch.
            cl.enqueue_copy(self._host_queue, storage, _WORD, is_blocking=True)
        except cl.Error as error:
            if is_out_of_memory(error):
                raise MemoryError(f"{nbytes} bytes on {self.properties.name}: {error}") from error
            raise translated(error) from error
        return storage

    def release(self, storage: cl.Buffer) -> None:
        storage.release()

    def host_memory(self, nbytes: int) -> np.ndarray[Any, Any] | None:
        if not self.target.pinned:
            return None
        flags, access = cl.mem_flags, cl.map_flags
        try:
            memory = cl.Buffer(self._context, flags.READ_WRITE | flags.ALLOC_HOST_PTR, nbytes)
            mapped, _ = cl.enqueue_map_buffer(
                self._host_queue, memory, access.READ | access.WRITE, 0, (nbytes,), np.uint8, is_blocking=True
            )
        except cl.Error:
            return None  # ordinary memory will do
        return mapped  # type: ignore[no-any-return]  # its base keeps the buffer and unmaps it at the end

    def open_queue(self, report: Report) -> Queue:
        with wrapped():
            profiling = cl.command_queue_properties.PROFILING_ENABLE
            return Queue(cl.CommandQueue(self._context, properties=profiling))

    def flush(self, queue: Queue) -> None:
        queue.native.flush()

    def event(self, queue: Queue) -> cl.Event:
        with wrapped(queue.recent):
            event = cl.enqueue_marker(queue.native)
            queue.native.flush()
        return event

    def wait_event(self, queue: Queue, event: cl.Event) -> None:
        with wrapped(queue.recent):
            cl.enqueue_barrier(queue.native, wait_for=[event])

    def completion(self, queue: Queue) -> Pending:
        return Finished(self.event(queue), queue.recent)

    def timestamp(self, queue: Queue) -> Mark:
        return Mark(self.event(queue), queue.recent)

    # Transfers ------------------------------------------------------------------------------------

    def write(self, queue: Queue, storage: cl.Buffer, offset: int, data: memoryview) -> None:
        staged = queue.staged
        while staged and staged[0][0].command_execution_status <= cl.command_execution_status.COMPLETE:
            staged.popleft()
        with wrapped(queue.recent):
            if data.nbytes > _STAGED:
                cl.enqueue_copy(queue.native, storage, data, dst_offset=offset, is_blocking=True)
                return
            copy = bytes(data)
            event = cl.enqueue_copy(queue.native, storage, copy, dst_offset=offset, is_blocking=False)
            staged.append((event, copy))

    def read(self, queue: Queue, storage: cl.Buffer, offset: int, out: memoryview) -> Pending:
        with wrapped(queue.recent):
            event = cl.enqueue_copy(queue.native, out, storage, src_offset=offset, is_blocking=False)
            queue.native.flush()
        return Finished(event, queue.recent, out)

    def copy(self, queue: Queue, source: Any, at: int, target: Any, to: int, nbytes: int) -> bool:
        if source is target and abs(at - to) < nbytes:
            return False  # OpenCL refuses overlapping ranges
        with wrapped(queue.recent):
            cl.enqueue_copy(queue.native, target, source, src_offset=at, dst_offset=to, byte_count=nbytes)
        return True

    # Programs -------------------------------------------------------------------------------------

    def load(self, source: KernelSource, binary: bytes | None) -> Program:
        options = list(source.options)
        if self._correct and "-cl-unsafe-math-optimizations" not in options:
            options.append("-cl-fp32-correctly-rounded-divide-sqrt")
        if binary is not None:
            try:
                return Program(cl.Program(self._context, [self._native], [binary]).build(options), source)
            except cl.Error:
                pass  # made by another version of the driver: the text is at hand
        program = cl.Program(self._context, source.text)
        try:
            return Program(program.build(options, cache_dir=False), source)
        except cl.Error as error:
            raise BackendCompileError(
                f"OpenCL's compiler refused the code generated for {source.location}",
                log=str(error),
                source=source.text,
                file=source.file,
                line=source.line,
            ) from error

    def binary(self, program: Program) -> bytes | None:
        return bytes(program.native.get_info(cl.program_info.BINARIES)[0]) or None

    def launcher(self, program: Program, queue: Queue) -> LaunchFunction:
        source = program.source
        with wrapped():
            kernel = cl.Kernel(program.native, source.entry)
        launch = _template(len(source.bindings), bool(source.layout.slots))
        return launch(kernel, queue, source.dim, source.location, translated)

    def close(self) -> None:
        self._host_queue.finish()
        self._context = self._host_queue = None


def _properties(native: cl.Device) -> DeviceProperties:
    platform = native.platform
    name, driver = native.name.strip(), f"{platform.version.strip()}, {native.driver_version}"
    sizes = [int(size) for size in native.max_work_item_sizes]
    return DeviceProperties(
        name=name,
        vendor=native.vendor.strip(),
        driver=driver,
        fingerprint=f"opencl/{platform.name.strip()}/{name}/{driver}/{native.version.strip()}",
        max_units_per_workgroup=native.max_work_group_size,
        max_workgroup_dim=(sizes[0], sizes[1], sizes[2]),
        max_workgroup_count=(2**31 - 1, 2**31 - 1, 2**31 - 1),
        max_shared_memory=native.local_mem_size,
        max_bindings=max(8, (native.max_parameter_size - 512) // 8),
        max_allocation=native.max_mem_alloc_size,
        alignment=max(256, native.mem_base_addr_align // 8),
        multiprocessors=native.max_compute_units,
        memory_bytes=native.global_mem_size,
        timing_method="device",
        timestamp_period_ns=1.0,
    )


# Launching --------------------------------------------------------------------------------------

_set_bytes = getattr(cl.Kernel, "_set_arg_buf", None) or cl.Kernel.set_arg
"""`_set_arg_buf` takes bytes as they are; `set_arg` finds that out each time, at forty times the cost."""

_made: dict[tuple[int, bool], Callable[..., LaunchFunction]] = {}


def _template(buffers: int, has_parameters: bool) -> Callable[..., LaunchFunction]:
    """A maker of launch functions for this many buffers, written out: a loop would cost more than the launch.

    An argument that is the one of the launch before is not set again; the queue's lock guards the kernel.
    """
    made = _made.get((buffers, has_parameters))
    if made is not None:
        return made
    names = [f"b{i}" for i in range(buffers)]
    sets = [f"if {n} is not last_{n}: set_arg({i}, {n}); last_{n} = {n}" for i, n in enumerate(names)]
    if has_parameters:
        sets.append(f"if words != last_words: set_bytes(kernel, {buffers}, words); last_words = words")
    keep = [f"last_{n}" for n in (*names, "words")]
    newline = "\n            "
    text = f"""
def make(kernel, queue, dim, site, translated):
    set_arg, native, remember = kernel.set_arg, queue.native, queue.recent.append
    dx, dy, dz = dim
    {" = ".join(keep)} = None
    def launch(stream, x, y, z, {"".join(f"{n}, " for n in names)}words):
        nonlocal {", ".join(keep)}
        try:
            {newline.join(sets) or "pass"}
            enqueue(native, kernel, (x * dx, y * dy, z * dz), dim)
        except Error as error:
            {" = ".join(keep)} = None
            raise translated(error) from error
        remember(site)
    return launch
"""
    scope: dict[str, Any] = {
        "enqueue": cl.enqueue_nd_range_kernel,
        "set_bytes": _set_bytes,
        "Error": cl.Error,
    }
    exec(text, scope)
    _made[buffers, has_parameters] = scope["make"]
    return _made[buffers, has_parameters]
