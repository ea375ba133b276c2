"""Times: durations, recorded events, and their export. Knows no backend."""

from __future__ import annotations

from ruda_core.profiling.duration import ProfileDuration
from ruda_core.profiling.events import Event, Timeline
from ruda_core.profiling.export import chrome_trace
from ruda_core.profiling.recorder import Recorder
from ruda_core.profiling.tracing import trace

__all__ = ["Event", "ProfileDuration", "Recorder", "Timeline", "chrome_trace", "trace"]
