"""The hooks that a plugin can implement, with pluggy's rules: take the arguments you need, or none.

Hooks are for what is rare. Nothing on the path of a launch calls one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pluggy

from ruda_core.artifact import KernelSource
from ruda_core.capabilities import Device
from ruda_core.plugin.entry import BackendEntry

if TYPE_CHECKING:
    from ruda_core.server import ComputeServer

hookspec = pluggy.HookspecMarker("ruda")
hookimpl = pluggy.HookimplMarker("ruda")
"""Marks a function of a plugin as the implementation of the hook of the same name."""


@hookspec
def ruda_backends() -> Iterable[BackendEntry]:  # type: ignore[empty-body]  # a hook is only its signature
    """The backends of this plugin. Called once a process, at the first look for a device."""


@hookspec
def ruda_kernel_compiled(kernel: KernelSource, device: Device, seconds: float) -> None:
    """A target's compiler has compiled `kernel` for `device` in `seconds`; never for a cache hit."""


@hookspec
def ruda_server_registered(device: Device, server: ComputeServer) -> None:
    """`server` now serves `device` in this process."""


def new_manager() -> pluggy.PluginManager:
    """A plugin manager that knows these hooks and no plugin."""
    import sys

    manager = pluggy.PluginManager("ruda")
    manager.add_hookspecs(sys.modules[__name__])
    return manager


def check_names(manager: pluggy.PluginManager, plugin: object) -> None:
    """Raise PluginValidationError when `plugin` implements a hook that does not exist."""
    for caller in manager.get_hookcallers(plugin) or ():
        if not caller.has_spec():
            raise pluggy.PluginValidationError(
                plugin,
                f"implements {caller.name!r}, which is no hook of ruda: there are "
                + ", ".join(sorted(name for name in globals() if name.startswith("ruda_"))),
            )
