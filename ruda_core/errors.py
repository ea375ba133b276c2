"""Every exception of ruda.

::

    RudaError
    ├── BackendError
    │   ├── BackendNotFound          no entry of that name is installed
    │   ├── BackendUnavailable       no driver or no device on this machine
    │   ├── BackendLoadError         the plugin failed to import or to start
    │   ├── BackendIncompatible      the plugin speaks another API version
    │   └── BackendConflict          two distributions claim one name
    ├── RegistryError
    │   ├── ServerAlreadyRegistered
    │   └── ServerNotRegistered
    ├── CompileError                 file, line, column
    │   ├── KernelSyntaxError
    │   ├── KernelTypeError
    │   ├── UniformityError
    │   ├── UnsupportedFeature
    │   └── BackendCompileError      the target compiler's own error; log, source
    ├── LaunchError
    │   ├── LaunchArgumentError
    │   ├── LaunchLimitError         what, requested, limit
    │   └── DeviceMismatch
    ├── ServerError
    │   ├── OutOfMemory              requested, in_use, limit
    │   │   ├── BufferTooBig
    │   │   ├── OutOfDeviceMemory
    │   │   └── PoolCapacityExceeded
    │   ├── InvalidHandle
    │   ├── UnsupportedStrides
    │   ├── KernelFault              kernel, file, line, array, index, length
    │   ├── DeviceLost
    │   ├── ServerUnhealthy          errors
    │   └── ForkedProcessError
    ├── TuneError
    └── ConfigError

A message says what happened, to what, where, and what to do.
"""

from __future__ import annotations

from collections.abc import Sequence


class RudaError(Exception):
    """Root of everything that ruda raises on purpose. Goes from process to process with its attributes."""

    def __reduce__(self) -> tuple[object, ...]:
        # Exception's own calls the class with the message alone, which those with attributes of their own refuse
        return _rebuilt, (type(self), self.args, self.__dict__)


def _rebuilt(cls: type[RudaError], args: tuple[object, ...], state: dict[str, object]) -> RudaError:
    error = cls.__new__(cls, *args)
    error.__dict__.update(state)
    return error


class BackendError(RudaError):
    """A backend that was asked for by name cannot be used."""


class BackendNotFound(BackendError):
    """No installed distribution registers a backend of this name."""


class BackendUnavailable(BackendError):
    """The backend is installed, but this machine has no driver or no device for it."""


class BackendLoadError(BackendError):
    """The backend's code failed; the original exception is `__cause__`."""


class BackendIncompatible(BackendError):
    """The backend was written for another version of the plugin API."""


class BackendConflict(BackendError):
    """Two distributions register one name; neither is used."""


class RegistryError(RudaError):
    """One server for each device and server type: the rule was about to be broken."""


class ServerAlreadyRegistered(RegistryError):
    """This server type already serves this device."""


class ServerNotRegistered(RegistryError):
    """No server of this type serves this device yet."""


class CompileError(RudaError):
    """A kernel that cannot be compiled.

    `file`, `line` and `column` (both counted from 1) say where. `str(error)` begins with them,
    shows the source line with a caret below it, then says what to write instead.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str = "<unknown>",
        line: int = 0,
        column: int = 0,
        excerpt: str = "",
        notes: Sequence[str] = (),
    ) -> None:
        self.message = message
        self.file = file
        self.line = line
        self.column = column
        self.excerpt = excerpt
        self.notes = tuple(notes)
        super().__init__(self._text())

    def _text(self) -> str:
        parts = [f"{self.file}:{self.line}:{self.column}: {self.message}" if self.line else self.message]
        if self.excerpt:
            parts.append(self.excerpt)
        parts.extend(self.notes)
        return "\n".join(parts)


class KernelSyntaxError(CompileError):
    """The kernel uses Python that is not in the kernel language."""


class KernelTypeError(CompileError):
    """Dtypes that do not fit together, or a name without a value."""


class UniformityError(CompileError):
    """A barrier that some units of a workgroup may not reach."""


class UnsupportedFeature(CompileError):
    """The device lacks something that this kernel needs; agrees with `client.features()`."""


class BackendCompileError(CompileError):
    """The target's own compiler refused generated source: `log`, and `source` with line numbers."""

    def __init__(self, message: str, *, log: str = "", source: str = "", **where: object) -> None:
        self.log = log
        self.source = source
        super().__init__(message, **where)  # type: ignore[arg-type]  # forwards CompileError's own keywords

    def _text(self) -> str:
        return "\n".join(part for part in (super()._text(), self.log, numbered(self.source)) if part)


def numbered(source: str) -> str:
    """The text with a line number before each line, as an error shows it."""
    return "\n".join(f"{number:4d} | {line}" for number, line in enumerate(source.splitlines(), 1))


class LaunchError(RudaError):
    """A launch that was refused before anything was queued."""


class LaunchArgumentError(LaunchError):
    """An argument does not fit its parameter; the message has kernel, parameter, expected and got."""


class LaunchLimitError(LaunchError):
    """A launch over a limit of the device."""

    def __init__(self, message: str, *, what: str, requested: object, limit: object) -> None:
        self.what = what
        self.requested = requested
        self.limit = limit
        super().__init__(message)


class DeviceMismatch(LaunchError):
    """Storage of one device used with a client of another; both are named."""


class ServerError(RudaError):
    """A failure of a device's server: memory, transfers, or work that failed after its launch."""


class OutOfMemory(ServerError):
    """No memory after reclaiming the pools; `requested`, `in_use` and `limit` in bytes (None: unknown)."""

    def __init__(
        self, message: str, *, requested: int, in_use: int | None = None, limit: int | None = None
    ) -> None:
        self.requested = requested
        self.in_use = in_use
        self.limit = limit
        super().__init__(message)


class BufferTooBig(OutOfMemory):
    """One allocation over the device's limit for a buffer or a binding."""


class OutOfDeviceMemory(OutOfMemory):
    """The device itself has no memory left."""


class PoolCapacityExceeded(OutOfMemory):
    """The limit set by `pool_limit` is reached."""


class InvalidHandle(ServerError):
    """A handle used beyond its bounds, or one that no longer names storage."""


class UnsupportedStrides(ServerError):
    """A layout that `Runtime.can_read_tensor` refuses."""


class KernelFault(ServerError):
    """An access out of bounds or a failed assert, reported by a launch in validate mode.

    `array`, `index` and `length` are None for an assert.
    """

    def __init__(
        self,
        message: str,
        *,
        kernel: str,
        file: str,
        line: int,
        array: str | None = None,
        index: int | None = None,
        length: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.file = file
        self.line = line
        self.array = array
        self.index = index
        self.length = length
        super().__init__(message)


class DeviceLost(ServerError):
    """The device's context is gone; every later use of this server raises the same."""


class ServerUnhealthy(ServerError):
    """Several failures surfaced at once; `errors` holds them in order."""

    def __init__(self, errors: Sequence[Exception]) -> None:
        self.errors = tuple(errors)
        super().__init__("; ".join(str(error) for error in self.errors))


class ForkedProcessError(ServerError):
    """A client inherited through `fork` was used in the child, or a device was opened there whose driver the
    parent had started before and that does not survive a fork; start children with `spawn`."""


class TuneError(RudaError):
    """No candidate of a tuned operation is usable."""


class ConfigError(RudaError):
    """An unknown setting, or a value that a setting does not take."""
