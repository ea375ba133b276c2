"""ComputeServer: what a client asks of the server of one device.

A backend author writes a `Driver` and gets `DriverServer`; only one who brings a whole runtime
writes a server. Every method may be called from any thread.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ruda_core.artifact import KernelSource
from ruda_core.capabilities import Device, DeviceProperties, Features, Target
from ruda_core.checks import InProcess
from ruda_core.driver import Timestamp
from ruda_core.errors import DeviceLost, InvalidHandle, OutOfMemory, RudaError, ServerError
from ruda_core.memory import Block, Bytes, Handle, HostPool, MemoryUsage, PoolReport
from ruda_core.profiling import Recorder
from ruda_core.server.failures import Failures
from ruda_core.server.futures import Future
from ruda_core.server.programs import Program
from ruda_core.server.streams import StreamId

T = TypeVar("T")

_MOST_COPIED = 1 << 24
"""Bytes that `fill` copies at once: what it copies from stays in a device's second cache."""

Grid = tuple[int, int, int]


class ComputeServer(InProcess, ABC):
    """Owns one device: its memory, programs, order of execution and failures."""

    device: Device
    properties: DeviceProperties
    target: Target
    features: Features
    failures: Failures
    host: HostPool
    direct: bool = False
    """True where generated launchers may enqueue themselves (DriverServer); else they call `launch`."""

    # Work --------------------------------------------------------------------------------------

    @abstractmethod
    def load(self, source: KernelSource) -> Any:
        """The program of a source, compiled once. Raises BackendCompileError."""

    @abstractmethod
    def launch(
        self,
        stream: StreamId,
        program: Any,
        grid: Grid,
        blocks: Sequence[Block],
        writes: Sequence[bool],
        words: bytes,
    ) -> None:
        """Enqueue grid.x*y*z workgroups: one block and one write flag a binding (the fault record
        excluded), and the packed parameters. Raising means that nothing was queued."""

    @abstractmethod
    def flush(self, stream: StreamId) -> None:
        """Submit; raise ServerUnhealthy with the stream's failures known so far. Waits for nothing."""

    @abstractmethod
    def sync(self, stream: StreamId) -> Future[None]:
        """The completion of all the stream's work so far. Making it waits for nothing."""

    # Memory ------------------------------------------------------------------------------------

    @abstractmethod
    def allocate(self, stream: StreamId, nbytes: int) -> Handle:
        """Memory with undefined contents; 0 bytes are legal. Raises OutOfMemory's subclasses."""

    @abstractmethod
    def write(self, stream: StreamId, handle: Handle, data: memoryview) -> None:
        """Copy flat bytes (format B) to the handle's start; taken before this returns."""

    @abstractmethod
    def read(self, stream: StreamId, handles: Sequence[Handle]) -> list[Bytes]:
        """Wait, then the bytes of each; raises the stream's failures."""

    @abstractmethod
    def read_async(
        self, stream: StreamId, handles: Sequence[Handle], finish: Callable[[list[Bytes]], Any] | None = None
    ) -> Future[Any]:
        """The same, enqueued now; `finish` turns the bytes into the future's result."""

    def copy(self, stream: StreamId, source: Handle, target: Handle) -> None:
        """Copy `source` to the start of `target`; through the host unless the server knows better."""
        self.write(stream, target, self.read(stream, [source])[0].data)

    def fill(self, stream: StreamId, target: Handle, piece: memoryview) -> None:
        """Repeat `piece`, flat bytes, over the target: what is there already is copied on the device, twice as much
        each time."""
        total, step = target.size_in_use, piece.nbytes
        whole = total - total % step
        if whole < total:
            self.write(stream, target.slice(whole, total), piece[: total - whole])
        self.write(stream, target, piece[: min(step, whole)])
        done = step
        while done < whole:
            size = min(done, whole - done, max(step, _MOST_COPIED))
            self.copy(stream, target.slice(0, size), target.slice(done, done + size))
            done += size

    @abstractmethod
    def memory_usage(self) -> MemoryUsage:
        """Figures of the pools over all streams."""

    def memory_report(self) -> list[PoolReport]:
        """Figures for each pool; none by default."""
        return []

    def memory_cleanup(self) -> None:
        """Give unused memory back. By default nothing is unused."""

    def staging(self, nbytes: int) -> Bytes:
        """Host memory that transfers read fastest from. Raises OutOfMemory."""
        self.check()
        try:
            return self.host.take(nbytes)
        except (
            MemoryError,
            ValueError,
        ) as error:  # NumPy's words for too much, and for what no address space has
            raise OutOfMemory(f"no {nbytes} bytes of host memory: {error}", requested=nbytes) from error

    def native(self, handle: Handle) -> Any:
        """The library's own object for a handle's bytes. By default the block's storage."""
        return handle.block.storage

    # Control -----------------------------------------------------------------------------------

    def exclusive(self, fn: Callable[[], T]) -> T:
        """Run `fn` with no other thread's work in between. A server with locks must implement it."""
        raise ServerError(f"the server of {self.device} cannot run a function exclusively")

    def wait(self, stream: StreamId) -> None:
        """Block until the stream's work so far is complete; its failures stay where they are."""
        self.sync(stream).wait()

    def timestamp(self, stream: StreamId) -> Timestamp | None:
        """The device's clock after the stream's work so far; None where it has none."""
        return None

    def trace(self, recorder: Recorder) -> None:
        """Send every later launch and transfer to `recorder` too. By default nothing is sent."""

    def end_trace(self, recorder: Recorder) -> None:
        """Send nothing more to `recorder`; others get theirs as before."""

    def capture(self, stream: StreamId, nodes: list[Any] | None) -> None:
        """Record the stream's launches to `nodes` instead of running them; None ends it."""
        raise ServerError(f"the server of {self.device} cannot capture launches")

    def autotune_fingerprint(self) -> str | None:
        """Text that changes when measured times may no longer hold."""
        return self.properties.fingerprint or None

    def check(self) -> None:
        """Raise DeviceLost or ForkedProcessError if the server is no longer usable. By default it always is."""

    def lose(self, error: DeviceLost) -> None:
        """Note that the device is gone."""

    # Helpers for implementations ---------------------------------------------------------------

    def fits(self, handle: Handle, nbytes: int) -> None:
        """Raise InvalidHandle if `nbytes` do not fit into the handle."""
        if nbytes > handle.size_in_use:
            raise InvalidHandle(
                f"{nbytes} bytes do not fit into a handle of {handle.size_in_use} bytes on {self.device}: "
                f"allocate more, or write a slice of the data"
            )

    def launch_failed(self, program: Program, error: Exception) -> Exception:
        """What a launch raises for a driver's exception: ruda's own as they are, others wrapped once."""
        if isinstance(error, DeviceLost):
            self.lose(error)
        if isinstance(error, RudaError):
            return error
        wrapped = ServerError(
            f"{program.source.location}: the launch failed on {self.device}: {type(error).__name__}: {error}"
        )
        wrapped.__cause__ = error
        return wrapped
