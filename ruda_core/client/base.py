"""What every part of a client needs: server, stream and device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from ruda_core.capabilities import Device
from ruda_core.checks import InProcess
from ruda_core.errors import DeviceMismatch, InvalidHandle, RegistryError
from ruda_core.memory import Handle
from ruda_core.server import ComputeServer, StreamId, checked_stream, current_or_none, current_stream


class ClientBase(InProcess):
    """A server, and the stream that work goes to."""

    __slots__ = ("__weakref__", "_pin", "runtime", "server")

    _instead = "send str(client.device), and call ruda.client with it there"

    def __init__(self, server: ComputeServer, runtime: Any = None, pin: StreamId | None = None) -> None:
        """`runtime` is the Runtime class that the server belongs to; `pin` is the stream of all this
        client's work, None: the caller's current one each time."""
        if not isinstance(server, ComputeServer):
            raise RegistryError(
                f"a client is made by ruda.client(device), or over a ComputeServer, not {server!r}"
            )
        self.server: Any = server
        self.runtime: Any = runtime
        self._pin = pin if pin is None else checked_stream(pin)
        if pin is None:
            current_stream()  # tasks made from here on share it

    def __copy__(self) -> Self:
        return type(self)(self.server, self.runtime, self._pin)

    def __deepcopy__(self, memo: object) -> Self:
        return self.__copy__()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.device)!r})"

    @property
    def device(self) -> Device:
        """Where this client's memory and work are."""
        device: Device = self.server.device
        return device

    def _stream(self) -> StreamId:
        return self._pin or current_or_none() or current_stream()

    def _own_all(self, handles: Sequence[Handle]) -> None:
        if not isinstance(handles, Sequence):
            raise InvalidHandle(
                f"a list of handles is needed here, not {type(handles).__name__}: write [handle]"
            )
        for handle in handles:
            self._own(handle)

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
