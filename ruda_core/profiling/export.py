"""The Chrome trace format, which Perfetto opens."""

from __future__ import annotations

from typing import Any

from ruda_core.profiling.events import TRACKS, Event, Timeline

_TRACKS_PER_QUEUE = 16
"""Thread ids that one queue's tracks are spaced by."""


def chrome_trace(timeline: Timeline) -> dict[str, Any]:
    """A document for `json.dump`: one process for the device, one thread for each queue's track."""
    queues = sorted({event.queue for event in timeline.events} | {0})
    names: list[dict[str, Any]] = [_metadata("process_name", 0, timeline.device)]
    names += [
        _metadata("thread_name", _thread(queue, t), f"{t} (queue {queue})")
        for queue in queues
        for t in TRACKS
    ]
    return {"traceEvents": names + [_span(event) for event in timeline.events], "displayTimeUnit": "ms"}


def _thread(queue: int, track: str) -> int:
    return queue * _TRACKS_PER_QUEUE + TRACKS.index(track) + 1


def _metadata(kind: str, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "pid": 1, "tid": thread, "name": kind, "args": {"name": name}}


def _span(event: Event) -> dict[str, Any]:
    span: dict[str, Any] = {
        "ph": "X",
        "pid": 1,
        "tid": _thread(event.queue, event.track),
        "name": event.name,
        "cat": event.track,
        "ts": event.start / 1e3,
        "dur": event.duration / 1e3,
    }
    if event.nbytes is not None:
        span["args"] = {"bytes": event.nbytes}
    return span
