"""One backend of this process: whether it can be used, and its runtime once somebody asks."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from ruda_core.capabilities import Device
from ruda_core.errors import (
    BackendConflict,
    BackendError,
    BackendIncompatible,
    BackendLoadError,
    BackendUnavailable,
    ForkedProcessError,
)
from ruda_core.plugin.discovery import Claim, one_line
from ruda_core.plugin.entry import BackendInfo, Status
from ruda_core.runtime import Runtime, load_object, make_runtime

_ERRORS: dict[Status, type[BackendError]] = {
    "unavailable": BackendUnavailable,
    "disabled": BackendUnavailable,
    "broken": BackendLoadError,
    "incompatible": BackendIncompatible,
    "conflict": BackendConflict,
}


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a backend cannot be used."""

    status: Status
    reason: str
    cause: BaseException | None = None

    def error(self, name: str) -> BackendError:
        """A new exception of the type that belongs to the status, with the cause kept."""
        error = _ERRORS[self.status](f"backend {name!r}: {self.reason}")
        error.__cause__ = self.cause
        return error


class Backend:
    """A claim that has been judged. Devices are looked for once, at the first question about them."""

    def __init__(self, claim: Claim, failure: Failure | None) -> None:
        self.claim = claim
        self.name = claim.name
        self._settled = failure
        """A failure that no second try mends."""
        self._failure = failure
        self._devices: tuple[Device, ...] | None = None
        self._runtime: type[Runtime] | None = None
        self._lock = threading.RLock()
        self._probed = self._opened = False
        """Begun is enough, for what that started may go on."""
        self._lost = ""
        """What the parent of this process did that keeps it from opening devices."""

    def after_fork(self) -> None:
        """In a forked child: nobody is left to open the lock or to end the look, and what was started may be of no use."""
        self._lock = threading.RLock()
        forkable = self.claim.entry.forkable if self.claim.entry else "always"
        if self._probed and self._devices is None and self._failure is None:
            self._lost = "while its devices were being looked for"
            self._failure = Failure("unavailable", self._refusal())
        elif self._probed and forkable == "until probed":
            self._lost = "after its devices were looked for"
        elif self._opened and forkable != "always":
            self._lost = "after a device of it was opened"

    def _refusal(self) -> str:
        return (
            f"this process was forked {self._lost}, and what that starts does not survive os.fork(): "
            "start children with multiprocessing's 'spawn', or before the first look at devices"
        )

    def opening(self) -> None:
        """Called before a device is opened. Raises ForkedProcessError in a child that could only hang or fail."""
        if self._lost:
            raise ForkedProcessError(f"backend {self.name!r}: {self._refusal()}")
        self._opened = True

    @property
    def enabled(self) -> bool:
        """True when nothing but the machine can keep it from working."""
        return self._settled is None

    def failure(self) -> Failure | None:
        """Why it is not usable; looks for devices if that was not done yet."""
        with self._lock:
            if self._devices is None and self._failure is None:
                self._look()
            return self._failure

    def devices(self) -> tuple[Device, ...]:
        """Its devices, by index. Raises the BackendError that says why there are none; then looks anew next time."""
        with self._lock:
            if self._devices is None and self._settled is None and not self._lost:
                self._look()
            if self._failure is not None:
                raise self._failure.error(self.name)
            return self._devices or ()

    def known_devices(self) -> tuple[Device, ...]:
        """Its devices, or nothing where it is not usable."""
        return (self._devices or ()) if self.failure() is None else ()

    def _look(self) -> None:
        """Run the probe; anything but KeyboardInterrupt becomes a failure with its cause."""
        self._failure = None
        self._probed = True
        try:
            self._devices = self._found()
        except KeyboardInterrupt:
            raise
        except BackendUnavailable as error:
            self._failure = Failure("unavailable", str(error), error)
        except BaseException as error:  # a vendor's library can raise anything, SystemExit included
            reason = f"{self.claim.owner} failed to load ({one_line(error)})"
            self._failure = Failure("broken", reason, error)

    def _found(self) -> tuple[Device, ...]:
        entry = self.claim.entry
        if entry is None:
            return ()
        found = load_object(entry.probe)()
        devices = tuple(found)
        for device in devices:
            if not isinstance(device, Device) or device.backend != self.name:
                raise TypeError(f"{entry.probe} gives DeviceInfo of backend {self.name!r}, not {device!r}")
        if len({device.index for device in devices}) != len(devices):
            raise TypeError(f"{entry.probe} gives one index to two devices: {', '.join(map(str, devices))}")
        if not devices:
            raise BackendUnavailable("no device of this backend is on this machine")
        return tuple(sorted(devices, key=lambda device: device.index))

    def runtime(self) -> type[Runtime]:
        """Its Runtime class, made at the first call. Raises the BackendError that says why there is none."""
        with self._lock:
            self.devices()
            if self._runtime is None:
                self._runtime = self._made()
            return self._runtime

    def _made(self) -> type[Runtime]:
        entry = self.claim.entry
        if entry is None:
            raise BackendLoadError(f"backend {self.name!r} has no entry")
        if entry.runtime is None:
            return make_runtime(
                entry.name,
                self,
                driver=entry.driver,
                dialect=entry.dialect,
                server=entry.server,
                owner=self.claim.owner,
            )
        try:
            own = load_object(entry.runtime)
            if not (isinstance(own, type) and issubclass(own, Runtime)):
                raise TypeError(f"{entry.runtime} is a subclass of ruda_core.runtime.Runtime, not {own!r}")
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a plugin's module can raise anything
            raise Failure("broken", f"{self.claim.owner} failed to load ({one_line(error)})", error).error(
                self.name
            ) from error
        own.attach(entry.name, self, owner=self.claim.owner)
        return own

    def dialect(self) -> Any:
        """A new dialect of the backend's, whether this machine has devices or not; None where it takes IR.

        Raises BackendError for a backend that the settings or the rules leave out, or that does not import.
        """
        if self._settled is not None:
            raise self._settled.error(self.name)
        entry = self.claim.entry
        if entry is None or entry.dialect is None:
            return None
        try:
            return load_object(entry.dialect)()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a plugin's module can raise anything
            failure = Failure("broken", f"{self.claim.owner} failed to load ({one_line(error)})", error)
            raise failure.error(self.name) from error

    def info(self) -> BackendInfo:
        """What `ruda.backends()` shows; never raises because of the plugin."""
        failure = self.failure()
        return BackendInfo(
            name=self.name,
            distribution=self.claim.distribution,
            version=self.claim.version,
            api_version=self.claim.entry.api_version if self.claim.entry else None,
            status=failure.status if failure else "available",
            reason=failure.reason if failure else "",
            devices=self.known_devices(),
        )
