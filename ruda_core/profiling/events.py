"""What a trace recorded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TRACKS = ("submission", "execution", "transfer")
Track = Literal["submission", "execution", "transfer"]


@dataclass(frozen=True, slots=True)
class Event:
    """One span on one track, in nanoseconds of the host's clock."""

    track: Track
    name: str
    queue: int
    start: int
    stop: int
    nbytes: int | None = None
    """Bytes moved, for transfers."""

    @property
    def duration(self) -> int:
        return max(0, self.stop - self.start)


@dataclass(frozen=True, slots=True)
class Timeline:
    """All events of a trace, by start."""

    device: str
    events: tuple[Event, ...]

    def on(self, track: Track) -> tuple[Event, ...]:
        """The events of one track."""
        return tuple(event for event in self.events if event.track == track)
