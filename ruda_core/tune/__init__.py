"""Tuning: choose among ways to do the same by measuring them, and remember the choice.

A candidate must give the reference's results before it is timed, and is timed in turn with it, so
that a machine that slows down slows both. Records hold for one device, driver and machine.
"""

from __future__ import annotations

from ruda_core.tune.autotune import TunedKernel, autotune
from ruda_core.tune.environment import RuntimeEnvironment, runtime_environment
from ruda_core.tune.measure import Candidate, Comparison
from ruda_core.tune.policy import CacheOnly, Disabled, Explore, StackMode, StackPolicy
from ruda_core.tune.stack import Report, StackStats, StackTuner, enable_stack_autotune, stack_autotuner

__all__ = [
    "CacheOnly",
    "Candidate",
    "Comparison",
    "Disabled",
    "Explore",
    "Report",
    "RuntimeEnvironment",
    "StackMode",
    "StackPolicy",
    "StackStats",
    "StackTuner",
    "TunedKernel",
    "autotune",
    "enable_stack_autotune",
    "runtime_environment",
    "stack_autotuner",
]
