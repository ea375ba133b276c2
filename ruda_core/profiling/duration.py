"""How long something took, by the device's clock and by the host's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ruda_core.checks import checked_int, checked_number


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileDuration:
    """Seconds; never negative."""

    device: float | None = None
    """By the device's timestamps; None where it has none."""
    host: float | None = None
    """By the host's clock, from before the first call to the completion of all of it."""
    method: Literal["device", "host"] = "host"
    name: str | None = None

    def __post_init__(self) -> None:
        for what, seconds in (("device", self.device), ("host", self.host)):
            if seconds is not None:
                checked_number(seconds, f"{what}, in seconds,", error=ValueError)

    @staticmethod
    def from_ticks(
        begin: int,
        end: int,
        *,
        valid_bits: int,
        period_ns: float,
        host: float | None = None,
        name: str | None = None,
    ) -> ProfileDuration:
        """From two readings of a counter of `valid_bits` bits that may have wrapped around once;
        `period_ns` is the time of one tick."""
        for name_, given in (("begin", begin), ("end", end), ("valid_bits", valid_bits)):
            checked_int(given, name_, error=ValueError)
        checked_number(period_ns, "period_ns", above=0, error=ValueError)
        if not 1 <= valid_bits <= 64:
            raise ValueError(f"valid_bits is from 1 to 64, not {valid_bits}")
        ticks = (end - begin) & ((1 << valid_bits) - 1)
        return ProfileDuration(device=ticks * period_ns * 1e-9, host=host, method="device", name=name)

    @property
    def seconds(self) -> float:
        """The best figure there is: the device's, else the host's, else 0."""
        return self.device if self.device is not None else self.host or 0.0

    def __str__(self) -> str:
        return f"{self.seconds * 1e3:.3f} ms by the {self.method}'s clock"
