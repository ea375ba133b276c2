"""When to measure, how much, and what counts as better."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from ruda_core.checks import checked_int, checked_number
from ruda_core.errors import ConfigError


class StackMode(Enum):
    """Whether a tuner measures."""

    Explore = "explore"
    """Measure what is not known yet."""
    CacheOnly = "cache-only"
    """Use what is known; else the reference."""
    Disabled = "disabled"
    """Always the reference."""


Explore, CacheOnly, Disabled = StackMode.Explore, StackMode.CacheOnly, StackMode.Disabled


@dataclass(frozen=True, slots=True, kw_only=True)
class StackPolicy:
    """Frozen rules of a StackTuner. Raises ConfigError for what cannot be one."""

    mode: StackMode = Explore
    samples: int = 9
    """Pairs of timings, reference and candidate in turn, that decide on one candidate."""
    warmups: int = 2
    """Untimed runs of each before the first timing."""
    threshold: float = 1.05
    """A candidate replaces the reference from this many times its speed on."""
    max_spread: float = 0.15
    """Median absolute deviation of the pairs' ratios, relative to the median, over which they say nothing."""
    max_candidates: int = 32
    """Candidates after these are not tried."""
    budget_seconds: float = 30.0
    """No further candidate is begun after this long for one key."""
    max_age_seconds: float = 7 * 24 * 3600.0
    """Older records are measured anew."""
    relative_tolerance: float = 1e-4
    """Of a candidate's floats against the reference's; integers must agree exactly."""
    absolute_tolerance: float = 1e-5

    def __post_init__(self) -> None:
        if not isinstance(self.mode, StackMode):
            raise ConfigError(f"mode is tune.Explore, tune.CacheOnly or tune.Disabled, not {self.mode!r}")
        for name, least in (("samples", 3), ("warmups", 0), ("max_candidates", 1)):
            checked_int(getattr(self, name), name, least=least, error=ConfigError)
        for name, from_ in (("threshold", 1.0), ("relative_tolerance", 0.0), ("absolute_tolerance", 0.0)):
            checked_number(getattr(self, name), name, least=from_, error=ConfigError)
        for name in ("budget_seconds", "max_age_seconds"):  # infinity: without end
            checked_number(getattr(self, name), name, most=math.inf, error=ConfigError)
        checked_number(self.max_spread, "max_spread", above=0.0, most=math.inf, error=ConfigError)
