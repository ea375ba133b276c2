"""Launchers: functions generated for one signature, so that a launch does only what it must."""

from __future__ import annotations

from ruda_core.launcher.build import Launcher, build_launcher, enqueue_bindings
from ruda_core.launcher.front import front
from ruda_core.launcher.plan import LaunchPlan, misfit, refuse_call
from ruda_core.launcher.prepared import PreparedLaunch, prepare_launch
from ruda_core.launcher.variants import facts_of

__all__ = [
    "LaunchPlan",
    "Launcher",
    "PreparedLaunch",
    "build_launcher",
    "enqueue_bindings",
    "facts_of",
    "front",
    "misfit",
    "prepare_launch",
    "refuse_call",
]
