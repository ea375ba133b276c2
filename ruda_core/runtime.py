"""Runtime: what is known of a backend at class level; one subclass for each backend.

A runtime opens devices (`create_server`) and hands out clients (`client`). The registry, above,
keeps one server for each device and server type; it installs itself here through `Runtime.servers`.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from ruda_core.artifact import KernelSource
from ruda_core.capabilities import Device as _Device
from ruda_core.checks import checked_client, checked_ints
from ruda_core.errors import BackendLoadError, BackendUnavailable, RudaError
from ruda_core.memory.layout import can_read
from ruda_core.settings import in_use

if TYPE_CHECKING:
    from ruda_core.client import ComputeClient
    from ruda_core.server import ComputeServer

CompiledHook = Callable[[KernelSource, _Device, float], None]


class DeviceSource(Protocol):
    """Where a runtime's devices come from."""

    def devices(self) -> tuple[_Device, ...]:
        """The devices, by index; raises BackendError where there are none."""

    def opening(self) -> None:
        """Called before a device is opened; raises ForkedProcessError where a fork has made that impossible."""


class Servers(Protocol):
    """The registry, as a runtime sees it."""

    def obtain(self, runtime: type[Runtime], device: _Device) -> ComputeServer:
        """The server of the runtime's own type on `device`, made if there is none yet."""


class _Made:
    """A class attribute that is made when first asked for, once for each subclass."""

    _lock = threading.RLock()

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._slot = f"_made_{name}"

    def __get__(self, instance: object, owner: type[Runtime]) -> Any:
        if self._slot not in owner.__dict__:
            with self._lock:
                if self._slot not in owner.__dict__:
                    setattr(owner, self._slot, self._make(owner))
        return owner.__dict__[self._slot]


def load_object(path: str) -> Any:
    """The object that "package.module:object" names."""
    module, _, attributes = path.partition(":")
    found: Any = importlib.import_module(module)
    for attribute in attributes.split("."):
        found = getattr(found, attribute)
    return found


class Runtime:
    """Class-level facts and doors of one backend; never instantiated."""

    name: ClassVar[str] = ""
    """The backend's name."""
    owner: ClassVar[str] = ""
    """Distribution and version that bring the backend."""
    Device: ClassVar[type[_Device]] = _Device
    driver_path: ClassVar[str | None] = None
    """The Driver class, as "package.module:object"; imported when the first server is made."""
    dialect_path: ClassVar[str | None] = None
    server_path: ClassVar[str | None] = None
    source: ClassVar[DeviceSource]
    servers: ClassVar[Servers]
    compiled: ClassVar[CompiledHook | None] = None
    """Called after each real compilation by a target's compiler."""

    @_Made
    def Compiler(cls: type[Runtime]) -> Any:
        """The compiler class: the same for every backend, which differ in their dialect."""
        from ruda_core.compiler import Compiler

        return Compiler

    @_Made
    def Server(cls: type[Runtime]) -> Any:
        """The server class: the backend's own, or a stock server class of this runtime's own."""
        if cls.server_path is not None:
            return cls._loaded(cls.server_path)
        from ruda_core.server import DriverServer

        return type(
            f"{cls.__name__.removesuffix('Runtime')}Server", (DriverServer,), {"__module__": cls.__module__}
        )

    @_Made
    def Driver(cls: type[Runtime]) -> Any:
        """The driver class, or None for a runtime with servers of its own."""
        return cls._loaded(cls.driver_path) if cls.driver_path else None

    @_Made
    def dialect(cls: type[Runtime]) -> Any:
        """The dialect that renders this backend's kernels, or None for a driver that takes the IR itself."""
        return cls._loaded(cls.dialect_path)() if cls.dialect_path else None

    @classmethod
    def _loaded(cls, path: str) -> Any:
        """A class of the plugin's; whatever its import raises becomes a BackendLoadError with the cause."""
        try:
            return load_object(path)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a vendor's library can raise anything, SystemExit included
            raise BackendLoadError(
                f"backend {cls.name!r}: {path} of {cls.owner} failed to load ({type(error).__name__}: {error})"
            ) from error

    @classmethod
    def attach(cls, name: str, source: DeviceSource, *, owner: str) -> None:
        """Bind the class to its backend's name and devices; the plugin room does it once."""
        cls.name = name
        cls.owner = owner
        cls.source = source

    # Devices -----------------------------------------------------------------------------------

    @classmethod
    def enumerate_all_devices(cls) -> list[_Device]:
        """Every device, by index. Raises the BackendError that says why there are none."""
        return list(cls.source.devices())

    @classmethod
    def enumerate_devices(cls, type_id: int) -> list[_Device]:
        """The devices of one type."""
        return [device for device in cls.source.devices() if device.type_id == type_id]

    @classmethod
    def device_count_total(cls) -> int:
        """How many devices there are."""
        return len(cls.source.devices())

    @classmethod
    def device_count(cls, type_id: int) -> int:
        """How many devices of one type there are."""
        return len(cls.enumerate_devices(type_id))

    @classmethod
    def resolve(cls, device: _Device | str | int) -> _Device:
        """The device of this machine that is meant, with its name and kind filled in.

        Raises BackendUnavailable, naming the devices there are.
        """
        wanted = device if isinstance(device, int) and not isinstance(device, bool) else _Device.of(device)
        index = wanted if isinstance(wanted, int) else wanted.index
        found = cls.source.devices()
        for candidate in found:
            if candidate.index == index and (isinstance(wanted, int) or wanted.backend == cls.name):
                return candidate
        raise BackendUnavailable(
            f"there is no device {device}; backend {cls.name!r} has {', '.join(map(str, found))}"
        )

    # Servers and clients -----------------------------------------------------------------------

    @classmethod
    def client(cls, device: _Device | str | int = 0) -> ComputeClient:
        """A new light client of the one server of `device`, which is started if need be."""
        from ruda_core.client import ComputeClient

        return ComputeClient(cls.servers.obtain(cls, cls.resolve(device)), cls)

    @classmethod
    def create_server(cls, device: _Device | str | int = 0) -> ComputeServer:
        """A new server of this runtime's own type that is not registered.

        Raises BackendLoadError, with the driver's own exception as its cause, when the device does not open,
        and ForkedProcessError in a child of `os.fork()` that cannot open one (`BackendEntry.forkable`).
        """
        resolved = cls.resolve(device)
        cls.source.opening()
        return cls._started(resolved, lambda: cls.start(resolved))

    @classmethod
    def start(cls, device: _Device) -> ComputeServer:
        """Open `device`. A runtime with servers of its own replaces this."""
        from ruda_core.cache import shared_cache  # digests and paths: not at import

        hook = cls.compiled

        def compiled(source: KernelSource, seconds: float) -> None:
            if hook is not None:
                hook(source, device, seconds)

        server: ComputeServer = cls.Server(
            device,
            cls.Driver(device),
            store=shared_cache(),
            pool_limit=in_use().pool_limit,
            compiled=compiled,
        )
        return server

    @classmethod
    def _started(cls, device: _Device, start: Callable[[], ComputeServer]) -> ComputeServer:
        try:
            return start()
        except (KeyboardInterrupt, RudaError):
            raise
        except BaseException as error:  # a vendor's library can raise anything
            raise BackendLoadError(
                f"{device} does not open: {cls.owner} failed to start it ({type(error).__name__}: {error})"
            ) from error

    # Facts -------------------------------------------------------------------------------------

    @classmethod
    def can_read_tensor(cls, shape: Sequence[int], strides: Sequence[int]) -> bool:
        """True for layouts (strides in elements) that `read_tensor` takes: rows one beyond the other."""
        return can_read(checked_ints(shape, "shape"), checked_ints(strides, "strides"))

    @classmethod
    def max_ruda_count(cls) -> tuple[int, int, int]:
        """Workgroups of one launch on each axis that every device of this backend takes; opens the devices."""
        limits = [
            cls.client(device).properties().max_workgroup_count for device in cls.enumerate_all_devices()
        ]
        x, y, z = (min(axis) for axis in zip(*limits, strict=True))
        return x, y, z

    @classmethod
    def autotune_driver_fingerprint(cls, client: ComputeClient) -> str | None:
        """Text that changes when measured times may no longer hold; None: keep them for this process only."""
        driver = getattr(checked_client(client, "autotune_driver_fingerprint").server, "driver", None)
        return driver.autotune_fingerprint() if driver is not None else None


def make_runtime(
    name: str,
    source: DeviceSource,
    *,
    driver: str | None,
    dialect: str | None,
    server: str | None = None,
    owner: str = "",
) -> type[Runtime]:
    """A Runtime subclass over the stock server (or the class that `server` names)."""
    title = "".join(part.capitalize() for part in name.replace("_", "-").split("-"))
    made: type[Runtime] = type(
        f"{title}Runtime",
        (Runtime,),
        {
            "__module__": __name__,
            "__doc__": f"The runtime of backend {name!r}.",
            "driver_path": driver,
            "dialect_path": dialect,
            "server_path": server,
        },
    )
    made.attach(name, source, owner=owner)
    return made


__all__ = ["CompiledHook", "DeviceSource", "Runtime", "Servers", "load_object", "make_runtime"]
