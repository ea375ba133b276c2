"""Memory and transfers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Self, cast

from ruda_core.checks import checked_int, checked_ints, checked_list, checked_tuples
from ruda_core.client.base import ClientBase
from ruda_core.errors import InvalidHandle, ServerError, UnsupportedStrides
from ruda_core.memory import (
    Bytes,
    Handle,
    MemoryUsage,
    PoolReport,
    can_read,
    contiguous_strides,
    host_view,
    pack,
    span_of,
    whole_bytes,
)
from ruda_core.server import Future, current_or_none, current_stream
from ruda_core.tensor import CopyDescriptor, RudaTensor, TensorLayout, element_type, host_elements, shape_of

if TYPE_CHECKING:
    from ruda_core.client import ComputeClient

_PIECE = 1 << 16
"""Bytes that the host writes of what is filled; the device copies them."""


class ClientTransfers(ClientBase):
    """What a client does with memory."""

    __slots__ = ()

    def empty(self, nbytes: int) -> Handle:
        """`nbytes` of device memory, contents undefined. Raises OutOfMemory's subclasses."""
        if type(nbytes) is not int:
            nbytes = whole_bytes(nbytes)
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
        nbytes = prod(extents) * checked_int(elem_size, "elem_size")
        return TensorLayout(self.empty(nbytes), contiguous_strides(extents))

    def create_tensor_from_slice(self, data: Any, shape: Sequence[int], elem_size: int) -> TensorLayout:
        """The same, with these elements in C order."""
        view = self._tensor_data(data, shape_of(shape), elem_size)
        return TensorLayout(self.create_from_slice(view), contiguous_strides(shape_of(shape)))

    def empty_tensors(self, items: Iterable[tuple[Sequence[int], int]]) -> list[TensorLayout]:
        """Storage for several tensors, given as (shape, elem_size), in one allocation."""
        wanted = [
            (shape_of(shape), checked_int(elem_size, "elem_size"))
            for shape, elem_size in checked_tuples(items, "shape, elem_size")
        ]
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
        fields = checked_tuples(items, "data, shape, elem_size")
        given = [(self._tensor_data(d, shape_of(s), e), s, e) for d, s, e in fields]
        layouts = self.empty_tensors([(shape, elem_size) for _, shape, elem_size in given])
        for layout, (data, _, _) in zip(layouts, given, strict=True):
            self.write(layout.handle, data)
        return layouts

    @staticmethod
    def _tensor_data(data: Any, shape: tuple[int, ...], elem_size: int) -> memoryview:
        view = host_view(data)
        if view.nbytes != prod(shape) * checked_int(elem_size, "elem_size"):
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
        memory: Bytes = self.server.staging(whole_bytes(nbytes))
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
        self._own_all(handles)
        values: list[Bytes] = self.server.read(self._stream(), handles)
        return values

    def read_async(self, handles: Sequence[Handle]) -> Future[list[Bytes]]:
        """The same, enqueued now: `await` it, or call `.result()`."""
        self._own_all(handles)
        future: Future[list[Bytes]] = self.server.read_async(self._stream(), handles)
        return future

    def read_tensor(self, descriptors: Sequence[CopyDescriptor]) -> list[Bytes]:
        """The packed bytes of strided tensors. Raises UnsupportedStrides for layouts that
        `Runtime.can_read_tensor` refuses."""
        kept = [_plain(descriptor) for descriptor in checked_list(descriptors, "what read_tensor takes")]
        return _packed(kept, self.read([self._span(descriptor) for descriptor in kept]))

    def read_tensor_async(self, descriptors: Sequence[CopyDescriptor]) -> Future[list[Bytes]]:
        """The same, enqueued now."""
        kept = [
            _plain(descriptor) for descriptor in checked_list(descriptors, "what read_tensor_async takes")
        ]
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

    def fill(self, handle: Handle, pattern: bytes) -> None:
        """Repeat the bytes of `pattern` over the handle; the last time may be cut short."""
        self._own(handle)
        if not isinstance(pattern, bytes | bytearray | memoryview) or not len(pattern):
            raise ServerError(f"fill repeats some bytes, such as np.float32(1.5).tobytes(), not {pattern!r}")
        repeats = max(1, min(_PIECE, handle.size_in_use) // len(pattern))
        self.server.fill(self._stream(), handle, memoryview(bytes(pattern) * repeats))

    def to_client(self, handle: Handle, client: Self) -> Handle:
        """A copy of the handle's bytes on another client's device."""
        self._own(handle)
        if not isinstance(client, ClientBase):
            raise ServerError(f"to_client takes the client of the other device, not {client!r}")
        if client.server is self.server:
            copy = client.empty(handle.size_in_use)
            client.copy(handle, copy)
            return copy
        return client.create(self.read_one(handle))

    def resource(self, handle: Handle) -> Any:
        """The library's own object for the handle's bytes; hold the handle as long as it is used."""
        self._own(handle)
        return self.server.native(handle)

    def tensor(self, array: Any, dtype: object = None) -> RudaTensor:
        """A tensor with the elements of an array, a nested list, or a DLPack producer.

        `dtype` is ruda's or NumPy's; without one, what NumPy takes: f64 and i64 for lists of Python's
        numbers. Raises LaunchArgumentError for elements that are no numbers.
        """
        if isinstance(array, RudaTensor):
            moved = array.to(self._whole())
            return moved if dtype is None else moved.astype(dtype)
        host, kind = host_elements(array, dtype)
        handle = self.create_from_slice(host)
        return RudaTensor(handle, host.shape, contiguous_strides(host.shape), kind, self._whole())

    def _whole(self) -> ComputeClient:
        """This client, as tensors know it."""
        return cast("ComputeClient", self)

    def zeros(self, shape: int | Sequence[int], dtype: object) -> RudaTensor:
        """A tensor of zeros."""
        extents, kind = shape_of(shape), element_type(dtype)
        handle = self.empty(prod(extents) * kind.itemsize)  # first, so that what is too big says so
        self.fill(handle, bytes(1))
        return RudaTensor(handle, extents, contiguous_strides(extents), kind, self._whole())


def _plain(descriptor: Any) -> CopyDescriptor:
    """The descriptor with tuples of ints; raises ServerError for what is none."""
    if not isinstance(descriptor, CopyDescriptor):
        raise ServerError(
            f"a CopyDescriptor(handle, shape, strides, elem_size) is needed here, not {descriptor!r}; "
            f"a tensor's elements are tensor.numpy()"
        )
    return CopyDescriptor(
        descriptor.handle,
        shape_of(descriptor.shape),
        checked_ints(descriptor.strides, "strides"),
        checked_int(descriptor.elem_size, "elem_size", least=1),
    )


def _packed(descriptors: Sequence[CopyDescriptor], values: Sequence[Bytes]) -> list[Bytes]:
    return [pack(v, d.shape, d.strides, d.elem_size) for d, v in zip(descriptors, values, strict=True)]
