"""Durations, traces and their export."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import numpy as np
import pytest
from array_driver import ArrayDriver, ThreadDriver, array, plan_of

from ruda_core.launcher import build_launcher, prepare_launch
from ruda_core.profiling import Event, ProfileDuration, Timeline, chrome_trace, trace


@pytest.mark.parametrize(
    "begin, end, bits, ticks",
    [
        (10, 30, 64, 20),
        (2**32 - 10, 5, 32, 15),
        (0, 2**32 - 1, 32, 2**32 - 1),
        (7, 7, 36, 0),
        (2**64 - 1, 0, 64, 1),
    ],
)
def test_ticks_wrap_around_and_are_never_negative(begin, end, bits, ticks):
    duration = ProfileDuration.from_ticks(begin, end, valid_bits=bits, period_ns=2.5)
    assert duration.device == pytest.approx(ticks * 2.5e-9) and duration.method == "device"
    assert duration.seconds >= 0 and "ms" in str(duration)


class Clocked(ThreadDriver):
    """A device with a clock of 32 bits that is about to wrap around."""

    def timestamp(self, queue: Any) -> Any:
        done = self.completion(queue)
        found: list[int] = []
        queue.jobs.put(lambda: found.append((time.perf_counter_ns() + self.skew) & 0xFFFFFFFF))
        end = self.completion(queue)

        class Reading:
            def ticks(self) -> int:
                done.wait()
                end.wait()
                return found[0]

        return Reading()

    skew = -time.perf_counter_ns() - 5_000_000


def busy(x: Any, **_: Any) -> None:
    time.sleep(0.02)
    x += 1


@pytest.fixture(params=[ArrayDriver, ThreadDriver, Clocked])
def timed(request, make_client):
    return make_client(request.param, timestamp_bits=32)


def test_profile_times_what_a_function_queues(timed):
    launch, x = build_launcher(timed.server, plan_of(busy, array("x"), writes="x")), timed.zeros(4, "f32")

    def region() -> str:
        launch(timed, 1, x)
        launch(timed, 1, x)
        return "result"

    start = time.perf_counter()
    result, duration = timed.profile(region, name="region")
    wall = time.perf_counter() - start
    assert result == "result" and duration.name == "region" and 0.04 <= duration.host <= wall
    has_clock = isinstance(timed.server.driver, Clocked)
    assert (duration.device is not None) == has_clock
    if has_clock:
        assert 0.04 <= duration.device <= wall
    with pytest.raises(ZeroDivisionError):
        timed.profile(lambda: 1 // 0)


def test_a_trace_has_three_tracks_and_ends(timed, tmp_path):
    launch, x = build_launcher(timed.server, plan_of(busy, array("x"), writes="x")), timed.zeros(4, "f32")
    prepared = prepare_launch(launch, timed, (x,))
    path = tmp_path / "out.json"
    with trace(path, timed) as recorder:
        y = timed.tensor(np.zeros(4, np.float32))
        start = time.perf_counter()
        launch(timed, 1, y)
        prepared(1, x)
        taken = time.perf_counter() - start
        y.numpy()
    if type(timed.server.driver) is not ArrayDriver:
        assert taken < 0.02, "a trace does not wait between launches"
    spans = [e for e in json.loads(path.read_text())["traceEvents"] if e["ph"] == "X"]
    assert len({(e["pid"], e["tid"]) for e in spans}) == 3
    assert all(e["dur"] >= 0 for e in spans)
    timeline = recorder.finish()
    assert [len(timeline.on(t)) for t in ("submission", "execution", "transfer")] == [2, 2, 2]
    first, second = timeline.on("execution")
    assert first.stop <= second.start + 2_000_000 and all(15e6 < e.duration < 500e6 for e in (first, second))
    assert {e.name for e in timeline.on("transfer")} == {"read", "write"}
    launch(timed, 1, x)
    assert len(recorder.finish().events) == 6, "nothing is recorded after the end"


def executions(recorder: Any) -> int:
    return len(recorder.finish().on("execution"))


def transfers(recorder: Any) -> list[str]:
    return [event.name for event in recorder.finish().on("transfer")]


def test_every_open_trace_records_every_launch(timed, tmp_path):
    launch, x = build_launcher(timed.server, plan_of(busy, array("x"), writes="x")), timed.zeros(4, "f32")
    with trace(tmp_path / "outer.json", timed) as outer:
        launch(timed, 1, x)
        with trace(tmp_path / "inner.json", timed) as inner:
            launch(timed, 1, x)
            x.numpy()
        launch(timed, 1, x)
        timed.zeros(4, "f32")
    launch(timed, 1, x)
    assert [executions(outer), executions(inner)] == [3, 1]
    assert [transfers(outer), transfers(inner)] == [["read", "write"], ["read"]]


def test_traces_of_two_threads_end_on_their_own(timed, tmp_path):
    launch, x = build_launcher(timed.server, plan_of(busy, array("x"), writes="x")), timed.zeros(4, "f32")
    opened, launched, recorders = threading.Event(), threading.Event(), []

    def other() -> None:
        with trace(tmp_path / "other.json", timed) as recorder:
            recorders.append(recorder)
            opened.set()
            launched.wait(10)
            launch(timed, 1, x)

    thread = threading.Thread(target=other)
    with trace(tmp_path / "own.json", timed) as own:
        thread.start()
        assert opened.wait(10)
        launch(timed, 1, x)
    launched.set()  # the first trace has ended, the second records on
    thread.join()
    launch(timed, 1, x)
    assert [executions(own), executions(recorders[0])] == [1, 2]


def test_a_trace_is_written_when_its_block_raises(client, tmp_path):
    path = tmp_path / "out.json"
    with pytest.raises(ZeroDivisionError), trace(path, client):
        client.zeros(3, "f32")
        1 // 0  # noqa: B018
    assert "transfer" in path.read_text()


def test_the_export_names_device_and_tracks():
    timeline = Timeline(
        "acme:0", (Event("execution", "k", 1, 1000, 3500), Event("transfer", "read", 0, 0, 5, 64))
    )
    text = json.dumps(chrome_trace(timeline))
    for word in (
        "acme:0",
        "submission (queue 1)",
        "execution (queue 1)",
        "transfer (queue 0)",
        '"bytes": 64',
    ):
        assert word in text
