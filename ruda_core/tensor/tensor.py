"""RudaTensor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ruda_core.capabilities import Device
from ruda_core.checks import InProcess, checked_client, checked_ints
from ruda_core.conversions import conversion
from ruda_core.dtypes import ValueType, VecType, vec
from ruda_core.errors import DeviceMismatch, InvalidHandle, LaunchArgumentError, ServerError
from ruda_core.memory import Handle, contiguous_strides, is_contiguous, span_of
from ruda_core.tensor.elements import alignment_of, element, element_type, placed, scalar_type, unit_of
from ruda_core.tensor.shapes import expanded, flattened, index_of, resolved, shape_of

if TYPE_CHECKING:
    from ruda_core.client import ComputeClient

_DLPACK_CPU = (1, 0)


class RudaTensor(InProcess):
    """Device storage with a shape. Views share storage; nothing here copies data unless it says so.

    `strides` count elements (vectors, for a tensor of vectors) and may be negative or zero.
    """

    __slots__ = (
        "__weakref__",
        "_array",
        "_at",
        "_block",
        "_reach",
        "client",
        "dtype",
        "handle",
        "offset",
        "shape",
        "size",
        "strides",
    )

    _instead = "send tensor.numpy(), a copy in host memory, and make a tensor of it there with client.tensor"

    def __init__(
        self,
        handle: Handle,
        shape: Iterable[int],
        strides: Iterable[int],
        dtype: object,
        client: ComputeClient,
        *,
        offset: int = 0,
    ) -> None:
        """`offset` is the first element's place in the handle, in elements: not 0 under negative strides.

        Raises InvalidHandle for a layout that leaves the handle, or storage that is not aligned to it, and
        DeviceMismatch for a client of another device.
        """
        self._check_owner(handle, client)
        self.handle = handle
        self.shape = checked_ints(shape, "the shape of a tensor", error=InvalidHandle)
        self.strides = checked_ints(strides, "the strides of a tensor", error=InvalidHandle)
        self.dtype: ValueType = element_type(dtype)
        self.client = client
        if type(offset) is not int:
            (offset,) = checked_ints((offset,), "the offset of a tensor", error=InvalidHandle)
        self.offset = offset
        self.size: int = prod(self.shape)
        low, high = self._checked_span()
        self._block = handle.block
        self._at = placed(handle.offset, self.dtype) + offset * unit_of(self.dtype)
        """Element offset of the first element in its storage."""
        self._reach = self._at + max(self.size, high)
        """Larger than any index that a kernel forms from it."""
        self._array: ValueType | None = self.dtype if is_contiguous(self.shape, self.strides) else None
        """The element type, if it can be an `Array` argument."""

    @staticmethod
    def _check_owner(handle: Any, client: Any) -> None:
        if not isinstance(handle, Handle):
            raise InvalidHandle(f"a tensor lies in a Handle, not in {handle!r}: write client.tensor(array)")
        owner: Any = handle.block.server
        if owner is not getattr(client, "server", None):
            checked_client(client, "a tensor")
            raise DeviceMismatch(
                f"a tensor over storage of {handle.device} takes a client of that, not {client!r}"
            )

    def _checked_span(self) -> tuple[int, int]:
        if len(self.shape) != len(self.strides) or any(extent < 0 for extent in self.shape):
            raise InvalidHandle(f"no layout: shape {self.shape} with strides {self.strides}")
        low, high = span_of(self.shape, self.strides)
        item = self.dtype.itemsize
        if self.size and (self.offset + low < 0 or (self.offset + high) * item > self.handle.size_in_use):
            raise InvalidHandle(
                f"a tensor of shape {self.shape} with strides {self.strides} ({self.dtype.name}) does not fit into "
                f"a handle of {self.handle.size_in_use} bytes on {self.handle.device}"
            )
        if self.handle.offset % alignment_of(self.dtype):
            raise InvalidHandle(
                f"storage at byte {self.handle.offset_start} is not aligned for {self.dtype.name}, which needs "
                f"a multiple of {alignment_of(self.dtype)}"
            )
        return low, high

    @staticmethod
    def empty(client: ComputeClient, shape: int | Iterable[int], dtype: object) -> RudaTensor:
        """A contiguous tensor with undefined contents."""
        extents = shape_of(shape)
        kind = element_type(dtype)
        handle = checked_client(client, "RudaTensor.empty").empty(prod(extents) * kind.itemsize)
        return RudaTensor(handle, extents, contiguous_strides(extents), kind, client)

    # Facts -------------------------------------------------------------------------------------

    @property
    def device(self) -> Device:
        return self.handle.device

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements, without gaps."""
        return self.size * self.dtype.itemsize

    def is_contiguous(self) -> bool:
        """True when the elements lie one after the other in C order."""
        return self._array is not None

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a tensor without axes has no len()")
        return self.shape[0]

    def __bool__(self) -> bool:
        raise TypeError(
            f"whether {self!r} is true is not known on the host: write tensor.item() for the only element, "
            f"tensor.numpy() for all of them, len(tensor) for their number"
        )

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (RudaTensor, np.ndarray, np.generic, int, float)):
            raise TypeError(
                "a tensor's elements are not compared on the host: write tensor.numpy() == ..., "
                "or `is` to ask whether two names mean one tensor"
            )
        return NotImplemented

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"RudaTensor(shape={self.shape}, dtype={self.dtype.name}, device={str(self.device)!r})"

    # Views -------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> RudaTensor:
        """A view by integers, slices (any step), `...` and None; raises IndexError as NumPy does."""
        keys = expanded(key if isinstance(key, tuple) else (key,), self.ndim)
        shape: list[int] = []
        strides: list[int] = []
        first, axis = 0, 0
        for item in keys:
            if item is None:
                shape.append(1)
                strides.append(0)
                continue
            extent, stride = self.shape[axis], self.strides[axis]
            axis += 1
            if isinstance(item, slice):
                start, stop, step = item.indices(extent)
                count = len(range(start, stop, step))
                first += start * stride if count else 0
                shape.append(count)
                strides.append(stride * step)
            else:
                first += index_of(item, extent, axis - 1) * stride
        return self._view(first, shape, strides)

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise TypeError(
            "a tensor's elements are not assigned: write tensor[...].fill(value), or tensor[...].copy_from(other), "
            "which change the elements of a view"
        )

    def _view(self, first: int, shape: Sequence[int], strides: Sequence[int]) -> RudaTensor:
        """The view whose first element is `first` elements after this tensor's own, on a trimmed handle."""
        item = self.dtype.itemsize
        low, high = span_of(shape, strides)
        start = self.offset + first + low if prod(shape) else 0
        length = high - low if prod(shape) else 0
        handle = self.handle.slice(start * item, (start + length) * item)
        return RudaTensor(handle, shape, strides, self.dtype, self.client, offset=-low)

    def reshape(self, *shape: int | Sequence[int]) -> RudaTensor:
        """The same elements in another shape, one extent may be -1. A view of a contiguous tensor;
        of another one, a copy."""
        extents = resolved(shape, self.size)
        source = self if self.is_contiguous() else self.contiguous()
        return source._view(0, extents, contiguous_strides(extents))

    def permute(self, *axes: int | Sequence[int]) -> RudaTensor:
        """A view with the axes in this order."""
        order = flattened(axes)
        axes_once = sorted(axis + self.ndim if axis < 0 else axis for axis in order)
        if axes_once != list(range(self.ndim)):
            raise ValueError(f"permute{order} does not name each of {self.ndim} axes once")
        return self._view(0, [self.shape[a] for a in order], [self.strides[a] for a in order])

    @property
    def T(self) -> RudaTensor:
        """A view with the axes reversed."""
        return self._view(0, self.shape[::-1], self.strides[::-1])

    def vectorized(self, lanes: int) -> RudaTensor:
        """A contiguous scalar tensor as one of vectors, without a copy, for `Array[Vec[T, lanes]]`.

        The last axis is divided by `lanes`; if it does not divide, the whole is one axis of vectors.
        Raises LaunchArgumentError if the length does not divide or the address is not aligned.
        """
        if isinstance(self.dtype, VecType) or not self.is_contiguous():
            raise LaunchArgumentError(
                f"vectorized({lanes}) takes a contiguous tensor of scalars, not {self!r}"
            )
        try:
            kind = vec(self.dtype, lanes)
        except TypeError as error:
            raise LaunchArgumentError(f"vectorized({lanes}): {error}") from None
        if self.size % lanes:
            raise LaunchArgumentError(
                f"vectorized({lanes}): {self.size} elements do not divide into {lanes}s"
            )
        if self.handle.offset % alignment_of(kind):
            raise LaunchArgumentError(
                f"vectorized({lanes}): the tensor starts at byte {self.handle.offset_start} of its storage, "
                f"which is no multiple of {alignment_of(kind)}: take a contiguous() copy"
            )
        last = self.shape[-1] if self.shape else 0
        if last and last % lanes == 0:
            extents = (*self.shape[:-1], last // lanes)
        else:
            extents = (self.size // lanes,)
        return RudaTensor(self.handle, extents, contiguous_strides(extents), kind, self.client)

    # Copies ------------------------------------------------------------------------------------

    def numpy(self) -> np.ndarray[Any, Any]:
        """The elements as a NumPy array of the host; waits. Vectors become a last axis."""
        kind = self.dtype
        if not self.size:
            return np.empty(self._host_shape(), kind.numpy)
        raw = self.client.read_one(self.handle).view(np.ndarray).view(kind.numpy)
        if self.is_contiguous():
            first = self.offset * kind.lanes
            return raw[first : first + self.size * kind.lanes].reshape(self._host_shape())
        return np.ascontiguousarray(self._host_window(raw))

    def _host_shape(self) -> tuple[int, ...]:
        return (*self.shape, self.dtype.lanes) if isinstance(self.dtype, VecType) else self.shape

    def _host_window(self, raw: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """This tensor's elements inside the handle's, as a view."""
        kind = self.dtype
        shape, strides = self.shape, tuple(s * kind.itemsize for s in self.strides)
        if isinstance(kind, VecType):
            shape, strides = (*shape, kind.lanes), (*strides, kind.scalar.itemsize)
        return as_strided(raw[self.offset * kind.lanes :], shape, strides)

    def item(self) -> Any:
        """The only element, as a Python number; raises ValueError unless there is exactly one."""
        if self.size * self.dtype.lanes != 1:
            raise ValueError(f"item() gives the only element, {self!r} has {self.size}: write tensor.numpy()")
        return self.numpy().item()

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return self.numpy().tolist()

    def contiguous(self) -> RudaTensor:
        """This tensor if it is contiguous, else a packed copy."""
        return self if self.is_contiguous() else self._from_host(self.client, self.numpy(), self.dtype)

    def __copy__(self) -> RudaTensor:
        return self._view(0, self.shape, self.strides)

    def __deepcopy__(self, memo: object) -> RudaTensor:
        if not (self.size and self.is_contiguous()):
            return self._from_host(self.client, self.numpy(), self.dtype)
        copy = RudaTensor.empty(self.client, self.shape, self.dtype)
        copy.copy_from(self)
        return copy

    def astype(self, dtype: object) -> RudaTensor:
        """A copy with the elements converted as by a cast in a kernel: floats to integers towards zero, saturated,
        NaN to 0."""
        kind = scalar_type(dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            host = np.asarray(conversion(self.dtype.scalar, kind)(self.numpy()))
        lanes = self.dtype.lanes
        return self._from_host(self.client, host, vec(kind, lanes) if lanes > 1 else kind)

    def to(self, client: ComputeClient) -> RudaTensor:
        """This tensor if it is on that client's device, else a copy there."""
        if checked_client(client, "tensor.to").server is self.client.server:
            return self
        packed = self.contiguous()
        handle = packed.client.to_client(packed._elements(), client)
        return RudaTensor(handle, self.shape, contiguous_strides(self.shape), self.dtype, client)

    def fill(self, value: object) -> None:
        """Set every element to `value`, a number that the dtype holds. Of a tensor that is not contiguous, what lies
        between the elements is read and written back: nothing else may write there meanwhile."""
        one = np.array(element(self.dtype.scalar, value), self.dtype.numpy)
        if self.is_contiguous():
            self.client.fill(self._elements(), one.tobytes())
        else:
            self._store(one)

    def copy_from(self, other: RudaTensor) -> None:
        """Overwrite with the elements of a tensor of the same shape and dtype; on the device where both are contiguous.
        Else as with `fill`: nothing else may write between the elements meanwhile."""
        if not isinstance(other, RudaTensor):
            raise ServerError(
                f"copy_from takes a RudaTensor, not {type(other).__name__}: write client.tensor(...)"
            )
        if other.shape != self.shape or other.dtype != self.dtype:
            raise ServerError(
                f"copy_from: {other!r} does not fit {self!r}: shape and dtype must be equal; reshape or astype first"
            )
        if self.client.server is other.client.server and self.is_contiguous() and other.is_contiguous():
            self.client.copy(other._elements(), self._elements())
            return
        self._store(other.numpy())

    def _elements(self) -> Handle:
        """The bytes of a contiguous tensor, exactly."""
        start = self.offset * self.dtype.itemsize
        if start == 0 and self.nbytes == self.handle.size_in_use:
            return self.handle
        return self.handle.slice(start, start + self.nbytes)

    def _store(self, host: np.ndarray[Any, Any]) -> None:
        """Overwrite with host elements; a strided tensor's neighbours are read and written back."""
        if not self.size:
            return
        if self.is_contiguous():
            self.client.write(self._elements(), host)
            return
        raw = self.client.read_one(self.handle).view(np.ndarray).view(self.dtype.numpy)
        self._host_window(raw)[...] = host
        self.client.write(self.handle, raw)

    @staticmethod
    def _from_host(client: ComputeClient, host: np.ndarray[Any, Any], dtype: ValueType) -> RudaTensor:
        shape = host.shape[:-1] if isinstance(dtype, VecType) else host.shape
        handle = client.create_from_slice(host)
        return RudaTensor(handle, shape, contiguous_strides(shape), dtype, client)

    # Interchange -------------------------------------------------------------------------------

    def __array__(self, *args: object, **kwargs: object) -> np.ndarray[Any, Any]:
        raise TypeError("a RudaTensor is in device memory: write tensor.numpy() to copy it to the host")

    def __dlpack_device__(self) -> tuple[int, int]:
        """The host: the elements are handed over as a copy in host memory."""
        return _DLPACK_CPU

    def __dlpack__(self, **kwargs: Any) -> Any:
        """A capsule over a copy in host memory."""
        kwargs.pop("stream", None)  # there is nothing to wait for: the copy is complete
        return self.numpy().__dlpack__(**kwargs)
