"""Driver: the one class that a backend author writes.

The stock server (`ruda_core.server.DriverServer`) does everything that devices have in common:
pools, streams and their hazards, program caches, errors, futures. A driver opens a device and does
seven things with it. Storage, queue, program and event are the driver's own objects; the server
never looks inside.

Locks: `allocate`, `release` and `open_queue` run under the server's lock; what takes a queue runs
under that queue's lock; `load` runs under none and may be slow. `Pending` may be used from any thread.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ruda_core.artifact import KernelSource
from ruda_core.capabilities import Device, DeviceProperties, Target

Report = Callable[[int, Exception], None]
"""`report(stream, error)`: a failure that was found after its launch had returned."""

LaunchFunction = Callable[..., None]
"""`f(stream, x, y, z, *storages, words)`: enqueue one launch of x*y*z workgroups.

One storage for each of the source's bindings, then the packed parameter block (bytes). Called
under the queue's lock; raising means that nothing was queued.
"""


class Pending(ABC):
    """One completion."""

    @abstractmethod
    def done(self) -> bool:
        """True once it is complete; never waits."""

    @abstractmethod
    def wait(self) -> None:
        """Block, with Python's lock released, until complete; raises what the device reported."""

    def on_done(self, callback: Callable[[], None]) -> bool:
        """Have `callback()` called once from any thread when complete. False: not offered, poll or wait."""
        return False


class Completed(Pending):
    """A completion that is already past."""

    def done(self) -> bool:
        return True

    def wait(self) -> None:
        return None

    def on_done(self, callback: Callable[[], None]) -> bool:
        callback()
        return True


COMPLETED = Completed()


class Timestamp(Protocol):
    """A reading of the device's clock, taken when all work enqueued before it was done."""

    def ticks(self) -> int:
        """Wait for the reading; in units of `properties.timestamp_period_ns`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverTraits:
    """How the server must treat a driver."""

    queues: int = 8
    """Native queues that the server may open; stream ids share them."""
    max_page: int = 1 << 62
    """Bytes of the largest storage that may be bound whole."""
    transfer_granularity: int = 1
    """Offsets and sizes of transfers are multiples of this many bytes inside the driver; the server
    pads allocations to it."""
    parameter_alignment: int = 16
    """The parameter block is padded to a multiple of this."""
    writes_overtake: bool = False
    """`write` runs before launches that are recorded but not submitted: the server flushes first
    when the batch may touch the range."""
    read_in_place_from: int = 1 << 62
    """A waiting read of this many bytes or more uses `read_now`."""


class Driver(ABC):
    """One opened device.

    `__init__(device)` opens it and sets `properties`, `target` and `traits`; raising there means
    that the device cannot be used now, and the server reports it as BackendLoadError with the cause.
    """

    properties: DeviceProperties
    target: Target
    traits: DriverTraits = DriverTraits()

    @abstractmethod
    def __init__(self, device: Device) -> None: ...

    # Memory ------------------------------------------------------------------------------------

    @abstractmethod
    def allocate(self, nbytes: int) -> Any:
        """New storage of `nbytes` (a multiple of 256), aligned to `properties.alignment`.

        Raises MemoryError when the device has none left.
        """

    def release(self, storage: Any) -> None:
        """Give idle storage back. By default dropping the last reference does it."""

    def host_memory(self, nbytes: int) -> np.ndarray[Any, Any] | None:
        """Page-locked uint8 memory, freed with its last reference; None: ordinary memory is as good."""
        return None

    # Order -------------------------------------------------------------------------------------

    @abstractmethod
    def open_queue(self, report: Report) -> Any:
        """A new in-order queue; failures found later go to `report`."""

    def flush(self, queue: Any) -> None:
        """Submit what is held back. By default nothing is. Raises nothing for a bad launch: it reports."""

    def batch(self, queue: Any) -> int:
        """Number of the batch being recorded; grows with every submission. Only for `writes_overtake`."""
        return 0

    def event(self, queue: Any) -> Any:
        """Mark everything enqueued so far, submitted; for `wait_event` of another queue."""
        return None

    def wait_event(self, queue: Any, event: Any) -> None:
        """Make later work of `queue` wait for `event` on the device, not on the host."""

    @abstractmethod
    def completion(self, queue: Any) -> Pending:
        """Submit, and give the completion of everything enqueued so far. Does not wait."""

    def timestamp(self, queue: Any) -> Timestamp | None:
        """Read the device's clock after the work enqueued so far; None where devices have none."""
        return None

    # Transfers ---------------------------------------------------------------------------------

    @abstractmethod
    def write(self, queue: Any, storage: Any, offset: int, data: memoryview) -> None:
        """Copy bytes (C-contiguous, format B) into storage; `data` is taken before this returns."""

    @abstractmethod
    def read(self, queue: Any, storage: Any, offset: int, out: memoryview) -> Pending:
        """Copy bytes from storage to `out`, which the server keeps alive. Submits; does not wait."""

    def read_now(self, queue: Any, storage: Any, offset: int, out: memoryview) -> None:
        """The same, waiting; in place where the device can map memory."""
        self.read(queue, storage, offset, out).wait()

    def copy(self, queue: Any, source: Any, at: int, target: Any, to: int, nbytes: int) -> bool:
        """Copy on the device between two storages. False: not offered, the server goes through the host."""
        return False

    # Programs ----------------------------------------------------------------------------------

    @abstractmethod
    def load(self, source: KernelSource, binary: bytes | None) -> Any:
        """Compile. `binary` is what `binary()` gave for the same digest on this device, or None.

        Raises BackendCompileError with the target compiler's log and the source.
        """

    def binary(self, program: Any) -> bytes | None:
        """Bytes that make a later `load` cheap; None: nothing worth keeping on disk."""
        return None

    @abstractmethod
    def launcher(self, program: Any, queue: Any) -> LaunchFunction:
        """The function that launches `program` on `queue`; made once for each pair."""

    def graph(self, queue: Any, enqueue: Callable[[], None]) -> Callable[[], None] | None:
        """Record what `enqueue()` launches on `queue` instead of running it, and give a function that
        enqueues all of it again at once. None: not offered, the server launches one by one."""
        return None

    # Interchange and end -----------------------------------------------------------------------

    def native(self, storage: Any, offset: int, nbytes: int) -> Any:
        """The library's own object for these bytes, for `client.resource(handle)`."""
        return storage

    def autotune_fingerprint(self) -> str | None:
        """Text that changes when measured times may no longer hold."""
        return self.properties.fingerprint or None

    def close(self) -> None:
        """Give the device back at exit; all queues are idle."""
