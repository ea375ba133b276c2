"""Finding plugins. One that fails is kept with its reason; it never keeps the others from working."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pluggy

from ruda_core.errors import RudaError
from ruda_core.plugin.entry import BackendEntry
from ruda_core.plugin.hooks import check_names
from ruda_core.settings import Settings

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "ruda.backends"
"""Entry-point group of plugins; the value is a module or object with hook implementations."""
CORE = "ruda-core"
BUILT_IN = "ruda_core.reference"
"""The plugin that ruda-core brings: it needs no metadata, so it is there in a source tree too."""
BY_HAND = "registered by hand"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A plugin's claim to a backend's name, or the failure of a plugin that never came to make one."""

    name: str
    """The backend's name; for a plugin that failed, the entry point's."""
    distribution: str
    version: str
    entry: BackendEntry | None = None
    aliases: frozenset[str] = frozenset()
    """Names under which a plugin that failed can be asked for."""
    cause: BaseException | None = None
    disabled: str = ""
    """Why it was not even imported."""

    @property
    def owner(self) -> str:
        """The distribution and its version, as errors name it."""
        return f"{self.distribution} {self.version}".strip()


def one_line(error: BaseException) -> str:
    """The exception's type and first line."""
    text = str(error).strip()
    return f"{type(error).__name__}: {text.splitlines()[0]}" if text else type(error).__name__


def normalized(distribution: str) -> str:
    """A distribution's name as package indexes compare them."""
    return "-".join(
        part for part in distribution.lower().replace("_", "-").replace(".", "-").split("-") if part
    )


def discover(settings: Settings, manager: pluggy.PluginManager) -> list[Claim]:
    """Load what is built in and what is installed, in an order that does not depend on the machine."""
    claims = list(_load(manager, BUILT_IN, CORE, core_version(), lambda: importlib.import_module(BUILT_IN)))
    if settings.no_plugins:
        return claims
    for point in _entry_points():
        distribution, version = _owner(point)
        if point.name in settings.disable_backends:
            reason = f"disabled by {settings.origins['disable_backends']}"
            claims.append(Claim(name=point.name, distribution=distribution, version=version, disabled=reason))
            continue
        claims.extend(_load(manager, point.name, distribution, version, point.load, _aliases(point)))
    return claims


def core_version() -> str:
    """The installed version of ruda-core, or that of the source tree."""
    from importlib.metadata import PackageNotFoundError, version  # never at import: it scans

    try:
        return version(CORE)
    except PackageNotFoundError:
        return str(getattr(importlib.import_module("ruda_core"), "__version__", "0"))


def _entry_points() -> list[EntryPoint]:
    from importlib.metadata import entry_points  # never at import: it scans

    return sorted(entry_points(group=GROUP), key=lambda point: (point.name, *_owner(point), point.value))


def _owner(point: EntryPoint) -> tuple[str, str]:
    if point.dist is None:
        return "unknown distribution", ""
    return point.dist.name, point.dist.version


def _aliases(point: EntryPoint) -> frozenset[str]:
    distribution = normalized(_owner(point)[0])
    module = point.value.partition(":")[0]
    stem = module.partition(".")[0]
    return frozenset(
        {
            point.name,
            distribution,
            distribution.removeprefix("ruda-"),
            module,
            stem,
            stem.removeprefix("ruda_"),
        }
    )


def _load(
    manager: pluggy.PluginManager,
    name: str,
    distribution: str,
    version: str,
    load: Any,
    aliases: frozenset[str] = frozenset(),
) -> Iterator[Claim]:
    """Import one plugin, register its hooks and ask for its backends."""
    plugin = None
    try:
        plugin = load()
        manager.register(plugin, name=f"{distribution}:{name}")
        check_names(manager, plugin)
        entries = _entries(manager, plugin)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a plugin's import can raise anything, SystemExit included
        if plugin is not None and manager.is_registered(plugin):
            manager.unregister(plugin)
        yield Claim(name=name, distribution=distribution, version=version, cause=error, aliases=aliases)
        return
    for entry in entries:
        yield Claim(name=entry.name, distribution=distribution, version=version, entry=entry)


def _entries(manager: pluggy.PluginManager, plugin: object) -> list[BackendEntry]:
    others = [other for other in manager.get_plugins() if other is not plugin]
    answers: list[Any] = manager.subset_hook_caller("ruda_backends", others)()
    entries = [entry for answer in answers for entry in _listed(answer)]
    names = [entry.name for entry in entries]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise RudaError(f"ruda_backends() gives {', '.join(twice)} more than once")
    return entries


def _listed(answer: Any) -> Iterable[BackendEntry]:
    if not isinstance(answer, (list, tuple)) or not all(isinstance(item, BackendEntry) for item in answer):
        raise RudaError(f"ruda_backends() gives a list of BackendEntry, not {answer!r}")
    return answer
