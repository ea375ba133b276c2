"""OpenCL for the stock server: whole buffers with element offsets, one in-order queue a stream."""

from __future__ import annotations

import threading
import warnings
from typing import Any

import numpy as np
import pyopencl as cl

from ruda_core.artifact import KernelSource
from ruda_core.capabilities import Device, DeviceProperties
from ruda_core.driver import Driver, DriverTraits, LaunchFunction, Pending, Report
from ruda_core.errors import BackendCompileError, BackendUnavailable, ServerError
from ruda_opencl.dialect import target_with
from ruda_opencl.failures import is_out_of_memory, translated, wrapped
from ruda_opencl.launching import launch_maker, new_kernel
from ruda_opencl.probe import discover
from ruda_opencl.queues import WORD, Clock, Finished, Mark, Queue

_STAGED = 1 << 18
"""Writes up to this many bytes are copied on the host, so that they need not wait for the queue."""
_ARRAY_BYTES, _HEAD_BYTES = 24, 64
"""Of what a kernel may be given: an array's address, length and offset, and what every launch has."""


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
            whole=device.kind
            != "cpu",  # PoCL (seen in 3.1) gives rint, floor, ceil, trunc of a known NaN as anything
        )
        self._host_queue = cl.CommandQueue(self._context)
        self._clock: Clock | None = None
        self._first_use = threading.Lock()
        self.properties = _properties(native)

    # Memory and order -----------------------------------------------------------------------------

    def allocate(self, nbytes: int) -> cl.Buffer:
        limit = self._native.max_mem_alloc_size
        if nbytes > limit:
            raise MemoryError(f"{nbytes} bytes on {self.properties.name}: a buffer has at most {limit}")
        try:
            storage = cl.Buffer(self._context, cl.mem_flags.READ_WRITE, nbytes)
            # Drivers of GPUs take the memory at the first use: better that it fails here than in a launch.
            cl.enqueue_copy(self._host_queue, storage, WORD, is_blocking=True)
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
            return Queue(cl.CommandQueue(self._context))

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
        with self._first_use, wrapped(queue.recent):
            if self._clock is None:
                self._clock = Clock(self._context)
            return self._clock.read(queue)

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
        options = ["-w", *source.options]  # nobody reads warnings about generated code
        if self._correct and "-cl-unsafe-math-optimizations" not in options:
            options.append("-cl-fp32-correctly-rounded-divide-sqrt")
        if binary is not None:
            try:
                return Program(_built(cl.Program(self._context, [self._native], [binary]), options), source)
            except cl.Error:
                pass  # made by another version of the driver: the text is at hand
        program = cl.Program(self._context, source.text)
        try:
            return Program(_built(program, options), source)
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
        names = program.native.get_info(cl.program_info.KERNEL_NAMES).split(";")
        if source.entry not in names:
            raise _unfit(
                source, f"has no kernel {source.entry}; it has {', '.join(filter(None, names)) or 'none'}"
            )
        with wrapped():
            kernel = new_kernel(program.native, source.entry)
        given = len(source.bindings) + bool(source.layout.slots)
        if kernel.num_args != given:
            last = " and a block of parameters" if source.layout.slots else ""
            what = f"takes {kernel.num_args} arguments, and is given {len(source.bindings)} buffers{last}"
            raise _unfit(source, f"declares a kernel {source.entry} that {what}")
        make = launch_maker(len(source.bindings), bool(source.layout.slots))
        return make(kernel, queue, source.dim, source.location, translated)

    def native(self, storage: cl.Buffer, offset: int, nbytes: int) -> cl.Buffer:
        """The buffer itself, or a sub-buffer of these bytes where OpenCL can start one."""
        if offset == 0 and nbytes == storage.size:
            return storage
        step = self._native.mem_base_addr_align // 8
        if offset % step:
            raise ServerError(
                f"a view that starts {offset} bytes into its buffer has no OpenCL object of its own: "
                f"on {self.properties.name} sub-buffers start at multiples of {step}; copy it first"
            )
        with wrapped():
            return storage.get_sub_region(offset, nbytes)

    def close(self) -> None:
        self._host_queue.finish()
        self._context = self._host_queue = None


def _built(program: cl.Program, options: list[str]) -> cl.Program:
    """Built, without PyOpenCL's word that the compiler said something: NVIDIA's says that about most kernels."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cl.CompilerWarning)
        return program.build(options, cache_dir=False)


def _unfit(source: KernelSource, what: str) -> BackendCompileError:
    """The error for text, written by hand, that is no kernel of the declared signature."""
    return BackendCompileError(
        f"the OpenCL text of {source.location} {what}", source=source.text, file=source.file, line=source.line
    )


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
        max_workgroups=2**31 - 1,  # PoCL counts them in an int, and ends the process where that overflows
        max_shared_memory=native.local_mem_size,
        max_bindings=max(8, (native.max_parameter_size - _HEAD_BYTES) // _ARRAY_BYTES),
        max_allocation=native.max_mem_alloc_size,
        alignment=max(256, native.mem_base_addr_align // 8),
        multiprocessors=native.max_compute_units,
        memory_bytes=native.global_mem_size,
        timing_method="device",
        timestamp_period_ns=1.0,
    )
