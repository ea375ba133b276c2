"""Facts about the device, and times."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from ruda_core.capabilities import Device, DeviceProperties, Features
from ruda_core.checks import checked_function
from ruda_core.client.base import ClientBase
from ruda_core.errors import ServerError
from ruda_core.profiling import ProfileDuration, Recorder

T = TypeVar("T")


class ClientFacts(ClientBase):
    """What a client knows, and measures."""

    __slots__ = ()

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
        checked_function(fn, "profile")
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
        """Stop this recording; others go on."""
        if not isinstance(recorder, Recorder):
            raise ServerError(f"end_trace takes what begin_trace gave, not {recorder!r}")
        self.server.end_trace(recorder)
