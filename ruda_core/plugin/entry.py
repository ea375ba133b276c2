"""What a plugin says about a backend, and what ruda says back."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from ruda_core.capabilities import Device
from ruda_core.errors import ConfigError

API_VERSION = 1
"""Version of the plugin API: the hooks, BackendEntry, Driver, ComputeServer and the dialect classes."""

Status = Literal["available", "unavailable", "broken", "incompatible", "disabled", "conflict"]
Standing = Literal["ordinary", "processor", "last"]
Forkable = Literal["always", "until opened", "until probed"]

_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_PATH = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendEntry:
    """One backend. Everything heavy is named as "package.module:object" and imported when needed.

    Raises ConfigError for a name or path that cannot be one.
    """

    name: str
    """What users write: `ruda.client("name")`. Lower case."""
    api_version: int
    """The `ruda_core.plugin.API_VERSION` that the backend was written for."""
    probe: str
    """A function without arguments that gives the list of `DeviceInfo` on this machine. It opens no
    device; it raises BackendUnavailable, with the command that mends it, where something is missing."""
    driver: str | None = None
    """The Driver class; None only with `runtime`."""
    dialect: str | None = None
    """The dialect class that renders kernels; None for a driver that takes the IR itself."""
    runtime: str | None = None
    """A Runtime subclass of the backend's own, instead of the stock one over `driver`."""
    server: str | None = None
    """A ComputeServer class of the backend's own, instead of the stock DriverServer."""
    priority: int = 0
    """Between devices of one kind the higher one is chosen by `ruda.client()`."""
    standing: Standing = "ordinary"
    """"processor": made for this machine's processor, chosen before software OpenCL and Vulkan.
    "last": chosen when there is nothing else."""
    forkable: Forkable = "until opened"
    """How long children made by `os.fork()` can still open devices of their own: always, until this process
    opens one, or until it runs the probe, which then starts a library that hangs or fails in children.
    After that `ForkedProcessError` keeps them from trying."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise ConfigError(f"{self.name!r} cannot name a backend: lower-case letters, digits, - and _")
        for field in ("probe", "driver", "dialect", "runtime", "server"):
            path = getattr(self, field)
            if (path is not None or field == "probe") and not (
                isinstance(path, str) and _PATH.fullmatch(path)
            ):
                raise ConfigError(f"backend {self.name!r}: {field} is 'package.module:object', not {path!r}")
        if self.driver is None and self.runtime is None:
            raise ConfigError(f"backend {self.name!r} names neither a driver nor a runtime")
        if not isinstance(self.priority, int):
            raise ConfigError(f"backend {self.name!r}: priority is an int, not {self.priority!r}")
        for field, words in (("standing", get_args(Standing)), ("forkable", get_args(Forkable))):
            if getattr(self, field) not in words:
                raise ConfigError(
                    f"backend {self.name!r}: {field} is {' or '.join(map(repr, words))}, not {getattr(self, field)!r}"
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendInfo:
    """One registered entry as `ruda.backends()` shows it."""

    name: str
    distribution: str
    """The installed distribution that registers it."""
    version: str
    api_version: int | None
    """None: the plugin failed before it could say."""
    status: Status
    reason: str = ""
    """Why it is not available, and what to do."""
    devices: tuple[Device, ...] = ()


KNOWN = ("cuda", "opencl", "wgpu", "cpu")
"""The backends that are known by name, installed or not."""
_EXTRAS = {"cuda": "[cu13]"}
"""What a backend needs beside itself: CuPy is built for one CUDA at a time."""


def pip_command(name: str) -> str:
    """What brings a backend that is known by name; "" for another. From a checkout of ruda, it is in that."""
    if name not in KNOWN:
        return ""
    import shlex  # both only on the way to an error
    from pathlib import Path

    extra = _EXTRAS.get(name, "")
    checkout = Path(__file__).resolve().parents[2] / "plugins" / name
    if (checkout / "pyproject.toml").is_file():
        return f"pip install -e {shlex.quote(f'{checkout}{extra}')}"
    return f"pip install {shlex.quote(f'ruda-{name}{extra}')}"
