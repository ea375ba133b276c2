"""All backends of this process: who claims which name, and which claims stand."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import pluggy

from ruda_core.capabilities import Device
from ruda_core.errors import BackendError, BackendNotFound, ConfigError
from ruda_core.plugin.backend import Backend, Failure
from ruda_core.plugin.discovery import BY_HAND, CORE, Claim, discover, normalized, one_line
from ruda_core.plugin.entry import API_VERSION, BackendEntry, BackendInfo, pip_command
from ruda_core.plugin.hooks import new_manager
from ruda_core.settings import Settings, in_use

_KIND_RANK = {"discrete": 0, "integrated": 1, "virtual": 2}
_PROCESSOR_RANK, _SOFTWARE_RANK, _LAST_RANK = 3, 4, 5


class Catalog:
    """Discovery happens at the first question and is kept; entries added by hand join at any time."""

    def __init__(self, settings: Settings | None = None) -> None:
        """`settings`: those in use by default, read at the first question."""
        self._settings = settings
        self._lock = threading.RLock()
        self._manager: pluggy.PluginManager | None = None
        self._discovered: list[Claim] | None = None
        self._by_hand: list[Claim] = []
        self._backends: dict[Claim, Backend] = {}

    def after_fork(self) -> None:
        """In a forked child: locks that another thread of the parent held would never open."""
        self._lock = threading.RLock()
        for backend in self._backends.values():
            backend.after_fork()

    @property
    def settings(self) -> Settings:
        """The settings that decide which backends are used."""
        return self._settings if self._settings is not None else in_use()

    @property
    def hooks(self) -> pluggy.HookRelay:
        """The hooks of every plugin that loaded."""
        self.backends()
        if self._manager is None:
            self._manager = new_manager()
        return self._manager.hook

    def register(self, entry: BackendEntry) -> None:
        """Add one backend by hand, under the same rules as an installed one."""
        if not isinstance(entry, BackendEntry):
            raise ConfigError(f"register takes a BackendEntry, not {entry!r}")
        with self._lock:
            number = sum(claim.name == entry.name for claim in self._by_hand)
            owner = f"{BY_HAND} ({number + 1})" if number else BY_HAND
            self._by_hand.append(Claim(name=entry.name, distribution=owner, version="", entry=entry))

    def backends(self) -> list[Backend]:
        """Every claim, judged; those in use first, best first, then the rest by name."""
        with self._lock:
            if self._discovered is None:
                manager = new_manager()
                self._discovered = discover(self.settings, manager)
                self._manager = manager
            claims = [*self._discovered, *self._by_hand]
            return [self._backend(claim, _judge(claim, claims, self.settings)) for claim in claims]

    def _backend(self, claim: Claim, failure: Failure | None) -> Backend:
        known = self._backends.get(claim)
        if known is None or known.enabled != (failure is None):
            known = self._backends[claim] = Backend(claim, failure)
        return known

    def infos(self) -> list[BackendInfo]:
        """What `ruda.backends()` shows."""
        ordered = sorted(self.backends(), key=lambda b: (*self._place(b.name), b.name, b.claim.distribution))
        return [backend.info() for backend in ordered]

    def _place(self, name: str) -> tuple[int]:
        allowed = [item.partition("@")[0] for item in self.settings.backends or ()]
        return (allowed.index(name) if name in allowed else len(allowed),)

    def named(self, name: str) -> Backend:
        """The backend of this name, usable or not. Raises BackendNotFound."""
        backends = self.backends()
        matches = [
            backend for backend in backends if backend.name == name and backend.claim.entry is not None
        ]
        matches = sorted(matches, key=lambda backend: not backend.enabled)
        matches += [
            b for b in backends if b.claim.entry is None and (name == b.name or name in b.claim.aliases)
        ]
        if matches:
            return matches[0]
        raise BackendNotFound(self._not_found(name, backends))

    def _not_found(self, name: str, backends: Iterable[Backend]) -> str:
        names = sorted({backend.name for backend in backends if backend.claim.entry is not None})
        parts = [f"no backend {name!r} is installed; there are {', '.join(names) or 'none'}"]
        if command := pip_command(name):
            parts.append(f"{command} brings it")
        if self.settings.no_plugins:
            parts.append(f"plugins are switched off by {self.settings.origins['no_plugins']}")
        failed = [b for b in backends if b.claim.cause is not None]
        parts += [
            f"{b.claim.owner} failed to load ({one_line(b.claim.cause)})" for b in failed if b.claim.cause
        ]
        return "; ".join(parts)

    def dialect(self, name: str) -> Any:
        """The dialect of this name ("wgsl"), or that of the backend of this name ("wgpu"); needs no device.

        Raises BackendNotFound, listing the dialects there are, or why the backend of this name does not load.
        """
        there: dict[str, Any] = {}
        shown: list[str] = []
        for backend in self.backends():
            try:
                dialect = backend.dialect()
            except BackendError:
                if backend.name == name:
                    raise
                continue
            if dialect is not None:
                there.setdefault(dialect.name, dialect)
                there.setdefault(backend.name, dialect)
                alias = "" if backend.name == dialect.name else f" (or {backend.name}, its backend)"
                shown.append(f"{dialect.name}{alias}")
        if name in there:
            return there[name]
        command = f"; {mend} brings it" if (mend := pip_command(name)) else ""
        names = ", ".join(sorted(shown)) or "none"
        raise BackendNotFound(f"no installed backend brings a dialect {name!r}; there are {names}{command}")

    def ranked_devices(self) -> list[Device]:
        """The devices of every usable backend, the one to prefer first."""
        rows = [
            (self._rank(backend, device), device)
            for backend in self.backends()
            for device in backend.known_devices()
        ]
        return [device for _, device in sorted(rows, key=lambda row: row[0])]

    def _rank(self, backend: Backend, device: Device) -> tuple[int, int, int, str, int]:
        entry = backend.claim.entry
        standing = entry.standing if entry else "ordinary"
        ranks = {"last": _LAST_RANK, "processor": _PROCESSOR_RANK}
        rank = ranks.get(standing, _KIND_RANK.get(device.kind, _SOFTWARE_RANK))
        return (
            *self._place(backend.name),
            rank,
            -(entry.priority if entry else 0),
            backend.name,
            device.index,
        )


def _judge(claim: Claim, claims: list[Claim], settings: Settings) -> Failure | None:
    """Why the claim does not stand, or None: the settings first, then the rules."""
    if claim.disabled:
        return Failure("disabled", claim.disabled)
    if claim.entry is None:
        text = f" ({one_line(claim.cause)})" if claim.cause else ""
        return Failure("broken", f"{claim.owner} failed to load{text}", claim.cause)
    excluded = _excluded(claim, settings)
    if excluded:
        return Failure("disabled", excluded)
    rivals = [
        other
        for other in claims
        if other.entry is not None and other.name == claim.name and not _excluded(other, settings)
    ]
    if len(rivals) > 1 and not _is_built_in(claim):
        return Failure("conflict", _conflict(claim, rivals))
    if claim.entry.api_version != API_VERSION:
        return Failure("incompatible", _incompatible(claim, claim.entry.api_version))
    return None


def _is_built_in(claim: Claim) -> bool:
    return normalized(claim.distribution) == CORE


def _excluded(claim: Claim, settings: Settings) -> str:
    """Why the settings leave this claim out, or ""."""
    if claim.name in settings.disable_backends:
        return f"disabled by {settings.origins['disable_backends']}"
    if settings.backends is None:
        return ""
    allowed = [item.partition("@")[::2] for item in settings.backends]
    owners = {normalized(owner) for name, owner in allowed if name == claim.name}
    origin = settings.origins["backends"]
    if not owners:
        return f"not among the backends that {origin} allows"
    if "" in owners or normalized(claim.distribution) in owners:
        return ""
    return f"{origin} chooses another distribution: {', '.join(sorted(owners))}"


def _conflict(claim: Claim, rivals: list[Claim]) -> str:
    owners = [rival.owner for rival in rivals]
    choices = " or ".join(f'RUDA_BACKENDS="{claim.name}@{rival.distribution}"' for rival in rivals)
    return f"{' and '.join(owners)} both register it, so neither is used; uninstall one, or choose: {choices}"


def _incompatible(claim: Claim, version: object) -> str:
    newer = isinstance(version, int) and version > API_VERSION
    mend = "upgrade ruda-core" if newer else f"upgrade {claim.distribution}"
    return f"{claim.owner} speaks version {version!r} of the plugin API, this ruda-core version {API_VERSION}: {mend}"


CATALOG = Catalog()
"""The catalog of this process."""
