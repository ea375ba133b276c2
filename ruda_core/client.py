"""ComputeClient: a light view of a device's server; any number of them, from any thread."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ruda_core.artifact import Mode
from ruda_core.capabilities import Device, DeviceProperties, Features
from ruda_core.dtypes import as_dtype
from ruda_core.errors import (
    DeviceMismatch,
    InvalidHandle,
    LaunchArgumentError,
    ServerError,
    UnsupportedStrides,
)
from ruda_core.memory import (
    Bytes,
    Handle,
    MemoryUsage,
    PoolReport,
    can_read,
    contiguous_strides,
    host_view,
    span_of,
)
from ruda_core.profiling import ProfileDuration, Recorder
from ruda_core.server import ComputeServer, Future, Graph, StreamId, current_or_none, current_stream
from ruda_core.tensor import CopyDescriptor, RudaTensor, TensorLayout, element_type, shape_of

if TYPE_CHECKING:
    from ruda_core.runtime import Runtime

T = TypeVar("T")

_MODES: dict[str, tuple[Mode, ...]] = {
    "launch": ("checked",),
    "launch_unchecked": ("unchecked", "validate", "checked"),
}
"""The modes that each low-level door takes; `launch_unchecked` honours the settings, so any."""


class Launchable(Protocol):
    """A compiled kernel, as the low-level doors see it."""

    mode: Mode

    def enqueue(self, client: ComputeClient, count: Any, bindings: Sequence[Any]) -> None:
        """Check the bindings, in parameter order, and launch."""


def _registry() -> Any:
    """The registry is above this room; it is looked up when a client asks for it, not imported by it."""
    return importlib.import_module("ruda_core.registry")


class ComputeClient:
    """Memory, transfers, execution and facts of one device, on the caller's stream or a fixed one."""

    __slots__ = ("__weakref__", "_pin", "runtime", "server")

    def __init__(
        self, server: ComputeServer, runtime: type[Runtime] | None = None, pin: StreamId | None = None
    ) -> None:
        """`pin` is the stream of all this client's work; None: the caller's current one each time."""
        self.server: Any = server
        self.runtime: Any = runtime
        self._pin = pin
        if pin is None:
            current_stream()  # tasks made from here on share it

    @staticmethod
    def init(device: Device, server: ComputeServer) -> ComputeClient:
        """Register `server` for `device`. Raises ServerAlreadyRegistered if its type is there already."""
        client: ComputeClient = _registry().init(device, server)
        return client

    @staticmethod
    def load(device: Device, server_type: type[ComputeServer] | None = None) -> ComputeClient:
        """A client of the registered server of this type (None: the runtime's own).

        Raises ServerNotRegistered.
        """
        client: ComputeClient = _registry().load(device, server_type)
        return client

    def __repr__(self) -> str:
        return f"ComputeClient({str(self.device)!r})"

    # Memory ------------------------------------------------------------------------------------

    def empty(self, nbytes: int) -> Handle:
        """`nbytes` of device memory, contents undefined. Raises OutOfMemory's subclasses."""
        handle: Handle = self.server.allocate(self._pin or current_or_none() or current_stream(), nbytes)
        return handle

    def create_from_slice(self, data: Any) -> Handle:
        """Device memory with the bytes of a buffer or array: C order, native byte order, taken
        before this returns."""
        view = host_view(data)
        stream = self._stream()
        handle: Handle = self.server.allocate(stream, view.nbytes)
        self.server.write(stream, handle, view)
        return handle

    def create(self, bytes_: Bytes) -> Handle:
        """Device memory with these bytes."""
        return self.create_from_slice(bytes_)

    def empty_tensor(self, shape: Sequence[int], elem_size: int) -> TensorLayout:
        """Storage for a tensor of elements of `elem_size` bytes."""
        extents = shape_of(shape)
        return TensorLayout(self.empty(prod(extents) * elem_size), contiguous_strides(extents))

    def create_tensor_from_slice(self, data: Any, shape: Sequence[int], elem_size: int) -> TensorLayout:
        """The same, with these elements in C order."""
        view = self._tensor_data(data, shape_of(shape), elem_size)
        return TensorLayout(self.create_from_slice(view), contiguous_strides(shape_of(shape)))

    def empty_tensors(self, items: Iterable[tuple[Sequence[int], int]]) -> list[TensorLayout]:
        """Storage for several tensors, given as (shape, elem_size), in one allocation."""
        wanted = [(shape_of(shape), elem_size) for shape, elem_size in items]
        step = max(self.server.properties.alignment, 256)
        starts, at = [], 0
        for shape, elem_size in wanted:
            starts.append(at)
            at += -(-prod(shape) * elem_size // step) * step
        whole = self.empty(at)
        return [
            TensorLayout(whole.slice(start, start + prod(shape) * elem_size), contiguous_strides(shape))
            for start, (shape, elem_size) in zip(starts, wanted, strict=True)
        ]

    def create_tensors_from_slices(
        self, items: Iterable[tuple[Any, Sequence[int], int]]
    ) -> list[TensorLayout]:
        """Several tensors, given as (data, shape, elem_size), in one allocation."""
        given = [(self._tensor_data(d, shape_of(s), e), s, e) for d, s, e in items]
        layouts = self.empty_tensors([(shape, elem_size) for _, shape, elem_size in given])
        for layout, (data, _, _) in zip(layouts, given, strict=True):
            self.write(layout.handle, data)
        return layouts

    @staticmethod
    def _tensor_data(data: Any, shape: tuple[int, ...], elem_size: int) -> memoryview:
        view = host_view(data)
        if view.nbytes != prod(shape) * elem_size:
            raise ServerError(
                f"{view.nbytes} bytes for a tensor of shape {shape} with elements of {elem_size} bytes, "
                f"which are {prod(shape) * elem_size}"
            )
        return view

    def memory_usage(self) -> MemoryUsage:
        """Figures of the runtime's own pools of this device over all streams."""
        usage: MemoryUsage = self.server.memory_usage()
        return usage

    def memory_report(self) -> list[PoolReport]:
        """Figures for each pool."""
        report: list[PoolReport] = self.server.memory_report()
        return report

    def memory_cleanup(self) -> None:
        """Give unused memory back to the device; waits for queued work if there is any to give."""
        self.server.memory_cleanup()

    def staging(self, nbytes: int) -> Bytes:
        """Host memory that copies to the device fastest: page-locked where the device has it."""
        memory: Bytes = self.server.staging(nbytes)
        return memory

    # Transfers ---------------------------------------------------------------------------------

    def write(self, handle: Handle, data: Any) -> None:
        """Overwrite the handle's start with `data`. Raises InvalidHandle if it is longer than the handle."""
        self._own(handle)
        self.server.write(self._stream(), handle, host_view(data))

    def read_one(self, handle: Handle) -> Bytes:
        """Wait for the work queued so far, then the handle's bytes; raises what failed on the stream."""
        self._own(handle)
        values: list[Bytes] = self.server.read(self._stream(), (handle,))
        return values[0]

    read_one_unchecked = read_one
    """The same: "unchecked" says nothing of bounds checks."""

    def read(self, handles: Sequence[Handle]) -> list[Bytes]:
        """The same for several."""
        for handle in handles:
            self._own(handle)
        values: list[Bytes] = self.server.read(self._stream(), handles)
        return values

    def read_async(self, handles: Sequence[Handle]) -> Future[list[Bytes]]:
        """The same, enqueued now: `await` it, or call `.result()`."""
        for handle in handles:
            self._own(handle)
        future: Future[list[Bytes]] = self.server.read_async(self._stream(), handles)
        return future

    def read_tensor(self, descriptors: Sequence[CopyDescriptor]) -> list[Bytes]:
        """The packed bytes of strided tensors. Raises UnsupportedStrides for layouts that
        `Runtime.can_read_tensor` refuses."""
        spans = [self._span(descriptor) for descriptor in descriptors]
        return _packed(descriptors, self.read(spans))

    def read_tensor_async(self, descriptors: Sequence[CopyDescriptor]) -> Future[list[Bytes]]:
        """The same, enqueued now."""
        kept = list(descriptors)
        spans = [self._span(descriptor) for descriptor in kept]
        future: Future[list[Bytes]] = self.server.read_async(
            self._stream(), spans, lambda values: _packed(kept, values)
        )
        return future

    def read_one_tensor(self, descriptor: CopyDescriptor) -> Bytes:
        """The packed bytes of one strided tensor."""
        return self.read_tensor([descriptor])[0]

    def _span(self, descriptor: CopyDescriptor) -> Handle:
        """The bytes that a descriptor spans."""
        shape, strides, handle = descriptor.shape, descriptor.strides, descriptor.handle
        self._own(handle)
        supported = self.runtime.can_read_tensor if self.runtime is not None else can_read
        if not supported(shape, strides):
            raise UnsupportedStrides(
                f"shape {tuple(shape)} with strides {tuple(strides)} cannot be read directly: rows must lie whole, "
                f"one beyond the other; copy to a contiguous tensor first (tensor.contiguous())"
            )
        nbytes = span_of(shape, strides)[1] * descriptor.elem_size
        if nbytes > handle.size_in_use:
            raise InvalidHandle(
                f"shape {tuple(shape)} with strides {tuple(strides)} spans {nbytes} bytes, "
                f"the handle has {handle.size_in_use}"
            )
        return handle.slice(0, nbytes)

    def copy(self, source: Handle, target: Handle) -> None:
        """Copy a handle's bytes to another one's start, on the device where it can."""
        self._own(source)
        self._own(target)
        self.server.copy(self._stream(), source, target)

    def to_client(self, handle: Handle, client: ComputeClient) -> Handle:
        """A copy of the handle's bytes on another client's device."""
        self._own(handle)
        if client.server is self.server:
            copy = client.empty(handle.size_in_use)
            client.copy(handle, copy)
            return copy
        return client.create(self.read_one(handle))

    def resource(self, handle: Handle) -> Any:
        """The library's own object for the handle's bytes; hold the handle as long as it is used."""
        self._own(handle)
        return self.server.native(handle)

    def tensor(self, array: Any) -> RudaTensor:
        """A tensor with the elements of an array, a nested list, or a DLPack producer."""
        if isinstance(array, RudaTensor):
            return array.to(self)
        host = _host_array(array)
        handle = self.create_from_slice(host)
        return RudaTensor(handle, host.shape, contiguous_strides(host.shape), _dtype_of(host), self)

    def zeros(self, shape: int | Sequence[int], dtype: object) -> RudaTensor:
        """A tensor of zeros."""
        extents, kind = shape_of(shape), element_type(dtype)
        handle = self.create_from_slice(np.zeros(prod(extents) * kind.itemsize, np.uint8))
        return RudaTensor(handle, extents, contiguous_strides(extents), kind, self)

    def _own(self, handle: Handle) -> None:
        if not isinstance(handle, Handle):
            raise InvalidHandle(
                f"a Handle is needed here, not {type(handle).__name__}; a tensor's is tensor.handle"
            )
        owner: Any = handle.block.server
        if owner is not self.server:
            raise DeviceMismatch(
                f"this handle is storage of {handle.device}, the client is one of {self.device}"
                + (" (of another server)" if handle.device == self.device else "")
                + ": move it with client.to_client(handle, other) or tensor.to(other)"
            )

    # Execution control -------------------------------------------------------------------------

    def launch(self, compiled: Launchable, count: Any, bindings: Sequence[Any]) -> None:
        """Launch a kernel that was compiled in checked mode; `bindings` are handles, ArrayArgs,
        TensorArgs, tensors and scalars in parameter order."""
        self._through("launch", compiled, count, bindings)

    def launch_unchecked(self, compiled: Launchable, count: Any, bindings: Sequence[Any]) -> None:
        """Launch a compiled kernel in the mode it was compiled for."""
        self._through("launch_unchecked", compiled, count, bindings)

    def _through(self, door: str, compiled: Launchable, count: Any, bindings: Sequence[Any]) -> None:
        if compiled.mode not in _MODES[door]:
            raise LaunchArgumentError(
                f"client.{door} takes kernels compiled in mode {' or '.join(_MODES[door])}; this one is "
                f"{compiled.mode}: compile it with mode={_MODES[door][0]!r}, or use the other door"
            )
        compiled.enqueue(self, count, bindings)

    def flush(self) -> None:
        """Submit what is queued; waits for nothing. Raises ServerUnhealthy with the failures known so far."""
        self.server.flush(self._stream())

    def sync(self) -> Future[None]:
        """The completion of the stream's work so far; making it does not wait, `.result()` or `await` does."""
        future: Future[None] = self.server.sync(self._stream())
        return future

    def _stream(self) -> StreamId:
        return self._pin or current_or_none() or current_stream()

    def execution_stream(self) -> StreamId:
        """The stream that this client's next work goes to."""
        return self._stream()

    def set_stream(self, stream: StreamId) -> None:
        """Pin this client to a stream. Makes no dependency on what was queued elsewhere."""
        self._pin = stream

    def same_execution_queue(self, other: ComputeClient) -> bool:
        """True when the two share device, server and resolved stream; says nothing of completion."""
        return self.server is other.server and self._stream() == other._stream()

    def fixed_execution_queue(self) -> ComputeClient:
        """A clone pinned to the stream resolved now; creates and waits for nothing."""
        return ComputeClient(self.server, self.runtime, self._stream())

    def exclusive(self, fn: Callable[[], T]) -> T:
        """Run `fn` with no other thread's work on the device in between."""
        result: T = self.server.exclusive(fn)
        return result

    @contextmanager
    def capture(self) -> Iterator[Graph]:
        """`with client.capture() as graph:` records launches instead of running them; then
        `graph.replay()`. Reading, writing, syncing and allocating inside raise ServerError."""
        stream, nodes = self._stream(), []  # type: ignore[var-annotated]  # the graph's own list
        self.server.capture(stream, nodes)
        graph = Graph(self.server, stream, nodes)
        try:
            yield graph
        finally:
            self.server.capture(stream, None)
            graph.close()

    # Facts -------------------------------------------------------------------------------------

    @property
    def device(self) -> Device:
        """Where this client's memory and work are."""
        device: Device = self.server.device
        return device

    def device_id(self) -> Device:
        """The device's identity; equal for all clients of one device."""
        return self.device

    def properties(self) -> DeviceProperties:
        """Identity, limits and hardware."""
        properties: DeviceProperties = self.server.properties
        return properties

    def features(self) -> Features:
        """What kernels may use."""
        features: Features = self.server.features
        return features

    def properties_fingerprint(self) -> str:
        """Text that changes when compiled code or measured times may no longer hold. Asks no driver."""
        return self.properties().fingerprint

    def enumerate_devices(self, type_id: int) -> list[Device]:
        """The devices of one type of this client's runtime."""
        devices: list[Device] = self.runtime.enumerate_devices(type_id)
        return devices

    def enumerate_all_devices(self) -> list[Device]:
        """All devices of this client's runtime."""
        devices: list[Device] = self.runtime.enumerate_all_devices()
        return devices

    def device_count(self, type_id: int) -> int:
        """How many devices of one type the runtime has."""
        return len(self.enumerate_devices(type_id))

    def device_count_total(self) -> int:
        """How many devices the runtime has."""
        return len(self.enumerate_all_devices())

    # Profiling ---------------------------------------------------------------------------------

    def profile(self, fn: Callable[[], T], name: str | None = None) -> tuple[T, ProfileDuration]:
        """Run `fn`, wait for what it queued on this stream, and say how long that took.

        What `fn` raises comes through; failures of its launches stay with the stream.
        """
        server, stream = self.server, self._stream()
        properties = self.properties()
        begin = server.timestamp(stream)
        start = time.perf_counter()
        result = fn()
        end = server.timestamp(stream) if begin is not None else None
        server.wait(stream)
        host = time.perf_counter() - start
        if begin is None or end is None:
            return result, ProfileDuration(host=host, name=name)
        return result, ProfileDuration.from_ticks(
            begin.ticks(),
            end.ticks(),
            valid_bits=properties.timestamp_bits,
            period_ns=properties.timestamp_period_ns,
            host=host,
            name=name,
        )

    def begin_trace(self) -> Recorder:
        """Record every launch and transfer of the device from now on; see `ruda.trace`."""
        server, stream = self.server, self._stream()
        properties = self.properties()
        recorder = Recorder(
            str(self.device),
            period_ns=properties.timestamp_period_ns,
            valid_bits=properties.timestamp_bits,
        )
        clock = server.timestamp(stream)
        if clock is not None:
            ticks = clock.ticks()  # waits until the device has read its clock, which is now
            recorder.anchor(time.perf_counter_ns(), ticks)
        server.trace(recorder)
        return recorder

    def end_trace(self, recorder: Recorder) -> None:
        """Stop recording."""
        self.server.trace(None)


def _packed(descriptors: Sequence[CopyDescriptor], values: Sequence[Bytes]) -> list[Bytes]:
    return [_pack(descriptor, value) for descriptor, value in zip(descriptors, values, strict=True)]


def _pack(descriptor: CopyDescriptor, span: Bytes) -> Bytes:
    """The elements of a span, without the gaps between rows."""
    shape, item = tuple(descriptor.shape), descriptor.elem_size
    if prod(shape) * item == span.nbytes:
        return span
    strides = tuple(stride * item for stride in descriptor.strides)
    window = as_strided(span, (*shape, item), (*strides, 1))
    return np.ascontiguousarray(window).reshape(-1).view(Bytes)


def _host_array(array: Any) -> np.ndarray[Any, Any]:
    """The elements on the host. Raises LaunchArgumentError for what cannot be brought there."""
    if isinstance(array, np.ndarray | np.generic) or not hasattr(array, "__dlpack__"):
        if hasattr(array, "__cuda_array_interface__"):
            raise LaunchArgumentError(
                f"{type(array).__name__} is in CUDA memory and does not speak DLPack: copy it to the host first"
            )
        return np.asarray(array)
    try:
        return np.from_dlpack(array, device="cpu")
    except TypeError:  # a producer from before DLPack could be asked for a device
        return np.from_dlpack(array)
    except (BufferError, ValueError, RuntimeError) as error:
        raise LaunchArgumentError(
            f"{type(array).__name__} does not hand its data to the host ({error}): give a NumPy array"
        ) from error


def _dtype_of(host: np.ndarray[Any, Any]) -> object:
    try:
        return as_dtype(host.dtype)
    except TypeError as error:
        raise LaunchArgumentError(f"{error}: convert the array with astype first") from error


__all__ = ["ComputeClient", "Launchable"]
