"""The registry: one server for each device and server type, and the doors that users come in by."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ruda_core.artifact import KernelSource
from ruda_core.capabilities import Device
from ruda_core.errors import (
    BackendError,
    BackendUnavailable,
    ConfigError,
    RegistryError,
    ServerAlreadyRegistered,
    ServerNotRegistered,
)
from ruda_core.runtime import Runtime
from ruda_core.settings import in_use

if TYPE_CHECKING:
    from ruda_core.client import ComputeClient
    from ruda_core.plugin import BackendInfo
    from ruda_core.plugin.catalog import Catalog
    from ruda_core.server import ComputeServer


def _catalog() -> Catalog:
    from ruda_core.plugin.catalog import CATALOG  # pluggy and the scan of plugins: not at import

    return CATALOG


Key = tuple[str, int, int, type[Any]]
"""Backend, type id, index, server class."""


class _Slot:
    """The place of one server; its lock is held while the server starts, and no other."""

    __slots__ = ("lock", "server")

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.server: ComputeServer | None = None


class Registry:
    """Servers by key. A slow or failing start keeps nobody waiting but those who ask for the same key."""

    def __init__(self, registered: Callable[[Device, ComputeServer], None]) -> None:
        """`registered(device, server)` is called after each registration, with no lock of the registry's own held."""
        self._registered = registered
        self._lock = threading.Lock()
        self._slots: dict[Key, _Slot] = {}

    def after_fork(self) -> None:
        """In a forked child: locks that another thread of the parent held would never open."""
        self._lock = threading.Lock()
        for slot in self._slots.values():
            slot.lock = threading.RLock()

    def _slot(self, device: Device, server_type: type[Any]) -> _Slot:
        key = (device.backend, device.type_id, device.index, server_type)
        with self._lock:
            return self._slots.setdefault(key, _Slot())

    def obtain(self, runtime: type[Runtime], device: Device) -> ComputeServer:
        """The server of the runtime's own type, started if there is none. A failed start can be tried again."""
        slot = self._slot(device, runtime.Server)
        server = slot.server
        if server is not None:
            return server
        with slot.lock:
            if slot.server is not None:
                return slot.server
            server = slot.server = runtime.create_server(device)
        self._registered(device, server)
        return server

    def add(self, device: Device, server: ComputeServer) -> None:
        """Register a server. Raises ServerAlreadyRegistered when its type already serves the device."""
        slot = self._slot(device, type(server))
        with slot.lock:
            if slot.server is not None:
                raise ServerAlreadyRegistered(
                    f"{device} already has a {type(server).__name__}: take a client of it with "
                    "ComputeClient.load(device), or of the runtime with Runtime.client(device)"
                )
            slot.server = server
        self._registered(device, server)

    def find(self, device: Device, server_type: type[Any]) -> ComputeServer:
        """The registered server. Raises ServerNotRegistered."""
        server = self._slot(device, server_type).server
        if server is None:
            raise ServerNotRegistered(
                f"{device} has no {server_type.__name__} yet: ruda.client({str(device)!r}) starts the "
                "backend's own, ComputeClient.init(device, server) registers one"
            )
        return server


def _notify(hook: str, **arguments: Any) -> None:
    """Call a hook of every plugin; one that fails is reported and keeps nothing from working."""
    try:
        getattr(_catalog().hooks, hook)(**arguments)
    except Exception:  # a plugin's hook can raise anything
        import logging

        logging.getLogger("ruda").warning("a plugin failed in %s", hook, exc_info=True)


def _server_registered(device: Device, server: ComputeServer) -> None:
    _notify("ruda_server_registered", device=device, server=server)


def _kernel_compiled(kernel: KernelSource, device: Device, seconds: float) -> None:
    _notify("ruda_kernel_compiled", kernel=kernel, device=device, seconds=seconds)


REGISTRY = Registry(_server_registered)
Runtime.servers = REGISTRY
Runtime.compiled = staticmethod(_kernel_compiled)


def _after_fork() -> None:
    REGISTRY.after_fork()
    if "ruda_core.plugin.catalog" in sys.modules:
        _catalog().after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def backends() -> list[BackendInfo]:
    """Every registered backend with its status, reason and devices; never raises because of a plugin."""
    _log_as_set()
    return _catalog().infos()


def devices(backend: str | None = None) -> list[Device]:
    """The usable devices, the best first; those of one backend by index.

    Raises the BackendError that says why a backend that was asked for by name cannot be used.
    """
    _log_as_set()
    return _catalog().ranked_devices() if backend is None else list(_catalog().named(backend).devices())


def runtime(backend: str) -> type[Runtime]:
    """The Runtime class of a backend. Raises the BackendError that says why it cannot be used."""
    _log_as_set()
    return _catalog().named(backend).runtime()


def client(device: Device | str | None = None) -> ComputeClient:
    """A client of a device: a `Device`, "cuda", "cuda:1", or the best there is.

    Without a device, `RUDA_DEVICE` decides, else the first of `devices()` that opens. What is asked
    for by name raises the BackendError that says why it cannot be used.
    """
    if device is not None:
        asked = Device.of(device)
        return runtime(asked.backend).client(asked)
    return _best_client() if in_use().device is None else _client_as_set()


def _client_as_set() -> ComputeClient:
    """A client of the device that the settings name; the error says which setting that is, and what there is."""
    settings = in_use()
    try:
        return client(settings.device)
    except (BackendError, ConfigError) as error:
        there = ", ".join(map(str, devices()))
        raise type(error)(
            f"{settings.origins['device']} sets the device to {settings.device!r}: {error}; name one that is here "
            f"({there}), or none for the best"
        ) from error.__cause__


def _best_client() -> ComputeClient:
    failures: list[BackendError] = []
    for candidate in devices():
        try:
            return runtime(candidate.backend).client(candidate)
        except BackendError as error:
            failures.append(error)
    reasons = [str(error) for error in failures] or [
        *_strangers(),
        *(f"{i.name}: {i.reason}" for i in backends()),
    ]
    raise BackendUnavailable(
        f"no device can be used; `ruda doctor` says what is missing ({'; '.join(reasons)})"
    ) from (failures[0] if failures else None)


def _strangers() -> list[str]:
    """What is wrong with names in the setting `backends` that no backend has."""
    settings = in_use()
    known = {info.name for info in backends()}
    asked = [item.partition("@")[0] for item in settings.backends or ()]
    origin = settings.origins.get("backends")
    return [f"{origin} names {name!r}, which is not installed" for name in asked if name not in known]


def dialect_named(name: str) -> Any:
    """The dialect of this name, or of the backend of this name; needs no device. Raises BackendNotFound."""
    return _catalog().dialect(name)


def init(device: Device, server: ComputeServer) -> ComputeClient:
    """Register `server` for `device` and give a client of it; see `ComputeClient.init`."""
    from ruda_core.client import ComputeClient
    from ruda_core.server import ComputeServer

    if not isinstance(server, ComputeServer):
        raise RegistryError(
            f"init takes a ComputeServer, such as Runtime.create_server(device) gives, not {server!r}"
        )
    asked = Device.of(device)
    owner = runtime(asked.backend)
    REGISTRY.add(owner.resolve(asked), server)
    return ComputeClient(server, owner)


def load(device: Device, server_type: type[ComputeServer] | None = None) -> ComputeClient:
    """A client of a server that is registered; see `ComputeClient.load`."""
    from ruda_core.client import ComputeClient

    if not isinstance(server_type, type | None):
        raise RegistryError(f"the type of a server is a subclass of ComputeServer, not {server_type!r}")
    asked = Device.of(device)
    owner = runtime(asked.backend)
    return ComputeClient(REGISTRY.find(owner.resolve(asked), server_type or owner.Server), owner)


_log_set: list[str] = []


def _log_as_set() -> None:
    """Give the logger "ruda" the level that the settings name, once."""
    level = in_use().log
    if level is None or _log_set:
        return
    _log_set.append(level)
    import logging

    logger = logging.getLogger("ruda")
    if level == "off":
        logger.disabled = True
        return
    logger.setLevel(level.upper())
    if not logging.getLogger().handlers:
        logger.addHandler(logging.StreamHandler())


__all__ = [
    "REGISTRY",
    "Registry",
    "backends",
    "client",
    "devices",
    "dialect_named",
    "init",
    "load",
    "runtime",
]
