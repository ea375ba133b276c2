"""What measured times depend on: a tuning record holds only in the environment that it was made in."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ruda_core.errors import RudaError, TuneError

if TYPE_CHECKING:
    from ruda_core.client import ComputeClient

_FORMAT = "1"
_TAGS = ("RUDA_AUTOTUNE_DRIVER_TAG", "RUDA_AUTOTUNE_BUILD_TAG", "RUDA_AUTOTUNE_CONTEXT_TAG")


@dataclass(frozen=True, slots=True)
class RuntimeEnvironment:
    """The identity of a device, its driver and the machine around it."""

    fingerprint: str
    """Digest over the device, its driver and the tags for driver and build."""
    persistent: bool
    """True when the driver can be told from other versions of it, so that records may go to disk."""
    execution_context: str
    """The machine around the device, and the tag for it."""

    @property
    def key(self) -> str:
        """All of it as one text."""
        return "\0".join((self.fingerprint, str(self.persistent), self.execution_context))


class _Tags:
    """The tags as they were at the first look; later changes of the environment change nothing."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: tuple[str, ...] | None = None

    def read(self) -> tuple[str, ...]:
        with self._lock:
            if self._values is None:
                self._values = tuple(os.environ.get(name, "") for name in _TAGS)
            return self._values


_tags = _Tags()
_known: dict[tuple[str, str], RuntimeEnvironment] = {}


def checked_owner(client: object, error: type[RudaError] = TuneError) -> None:
    """Raise `error` for what is no client."""
    if not hasattr(client, "properties_fingerprint"):
        raise error(f"tuning is for the device of a client, such as ruda.client(), not {client!r}")


def runtime_environment(client: ComputeClient) -> RuntimeEnvironment:
    """The environment of a client's device; the same object for the rest of the process.

    `RUDA_AUTOTUNE_DRIVER_TAG`, `_BUILD_TAG` and `_CONTEXT_TAG` are read before the first use and
    never after: set them where something counts that ruda cannot see, such as a library's build.
    """
    checked_owner(client)
    device = (str(client.device), client.properties_fingerprint())
    known = _known.get(device)
    return known if known is not None else _known.setdefault(device, _made(client))


def _made(client: ComputeClient) -> RuntimeEnvironment:
    from importlib.metadata import PackageNotFoundError, version  # never at import: it scans

    try:
        core = version("ruda-core")
    except PackageNotFoundError:  # a source tree
        core = ""
    driver_tag, build_tag, context_tag = _tags.read()
    driver = client.runtime.autotune_driver_fingerprint(client)
    device = client.device
    parts = (
        _FORMAT,
        core,
        device.backend,
        client.properties_fingerprint(),
        driver or "",
        driver_tag,
        build_tag,
    )
    machine = f"{sys.platform} {platform.machine()} cpus={os.cpu_count()}"
    return RuntimeEnvironment(
        fingerprint=hashlib.sha256("\0".join(parts).encode()).hexdigest(),
        persistent=bool(driver or driver_tag),
        execution_context=f"{machine} {context_tag}".strip(),
    )
