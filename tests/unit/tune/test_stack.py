"""The tuner over a client that keeps its own clock: what is measured is then known exactly."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ruda_core.capabilities import Device
from ruda_core.errors import ConfigError, ServerError, TuneError
from ruda_core.tune import (
    CacheOnly,
    Candidate,
    Disabled,
    Explore,
    StackPolicy,
    StackTuner,
    autotune,
    enable_stack_autotune,
    environment,
    runtime_environment,
    stack,
    stack_autotuner,
)


@dataclass(frozen=True)
class Duration:
    device: float | None
    host: float | None = None


class Ready:
    def result(self) -> None:
        return None


class Clock:
    """A client whose time passes only in `spend`."""

    def __init__(self, fingerprint: str | None = "driver 1") -> None:
        self.device = Device("clock", 0)
        self.fingerprint = fingerprint
        self.now = 0.0
        self.runtime = self

    def autotune_driver_fingerprint(self, client: Any) -> str | None:
        return self.fingerprint

    def properties_fingerprint(self) -> str:
        return f"properties {self.fingerprint}"

    def profile(self, fn: Callable[[], Any]) -> tuple[Any, Duration]:
        start = self.now
        result = fn()
        return result, Duration(self.now - start)

    def sync(self) -> Ready:
        return Ready()

    def tensor(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return array


class Work:
    """A candidate of known cost and result that counts its runs."""

    def __init__(self, clock: Clock, name: str, cost: Any, result: Any = (1.0, 2.0)) -> None:
        self.clock, self.name, self.result = clock, name, result
        self.costs: Iterator[float] = iter(cost) if not isinstance(cost, float) else iter(lambda: cost, None)
        self.runs = 0

    def run(self) -> Any:
        self.runs += 1
        if isinstance(self.result, Exception):
            raise self.result
        self.clock.now += next(self.costs)
        return np.array(self.result)

    @property
    def candidate(self) -> Candidate:
        return Candidate(self.name, self.run)


def select(tuner: StackTuner, clock: Clock, *works: Work, key: object = 1) -> str:
    return tuner.select(clock, "op", key, [w.candidate for w in works]).name  # type: ignore[arg-type]


def test_the_fastest_candidate_wins_and_is_remembered() -> None:
    clock, tuner = Clock(), StackTuner()
    works = [Work(clock, "ref", 1.0), Work(clock, "half", 0.5), Work(clock, "third", 0.3)]
    assert select(tuner, clock, *works) == "third"
    runs = [w.runs for w in works]
    assert select(tuner, clock, *works) == "third"
    assert [w.runs for w in works] == runs, "a hit runs nothing"
    stats = tuner.stats()
    assert (stats.hits, stats.explored, stats.rejected) == (1, 1, 0)
    (report,) = tuner.reports()
    assert report.winner == "third" and report.device == "clock:0"
    assert [round(c.ratio or 0, 2) for c in report.comparisons] == [2.0, 3.33]


@pytest.mark.parametrize(
    "result, words",
    [
        ((1.0, 2.5), "differs"),
        ((1.0, float("nan")), "differs"),
        ((1.0, 2.0, 3.0), "(3,)"),
        ((1, 2), "int64"),
        (ServerError("lost"), "ServerError: lost"),
    ],
)
def test_a_candidate_that_is_wrong_or_fails_never_wins(result: Any, words: str) -> None:
    clock, tuner = Clock(), StackTuner()
    wrong = Work(clock, "fast", 0.01, result)
    assert select(tuner, clock, Work(clock, "ref", 1.0), wrong) == "ref"
    assert wrong.runs == 1, "it is not timed"
    (comparison,) = tuner.reports()[0].comparisons
    assert words in comparison.reason and not comparison.accepted and tuner.stats().rejected == 1


def test_nan_equals_nan_and_rounding_is_allowed() -> None:
    clock, tuner = Clock(), StackTuner()
    ref = Work(clock, "ref", 1.0, (float("nan"), 1.0))
    assert select(tuner, clock, ref, Work(clock, "fast", 0.1, (float("nan"), 1.00001))) == "fast"


def test_hardly_faster_is_not_better() -> None:
    clock, tuner = Clock(), StackTuner()
    assert select(tuner, clock, Work(clock, "ref", 1.0), Work(clock, "same", 0.97)) == "ref"
    assert "below 1.05" in tuner.reports()[0].comparisons[0].reason


def test_timings_that_vary_decide_nothing() -> None:
    clock, tuner = Clock(), StackTuner()
    noisy = Work(clock, "noisy", [0.1, 0.1, 0.1, *([0.1, 0.4, 0.9] * 3)])
    assert select(tuner, clock, Work(clock, "ref", 1.0), noisy) == "ref"
    assert "vary" in tuner.reports()[0].comparisons[0].reason


def test_a_machine_that_slows_down_slows_both() -> None:
    clock, tuner = Clock(), StackTuner()
    slowing = [1.1**k for k in range(20)]
    works = [Work(clock, "ref", slowing), Work(clock, "fast", [0.5 * c for c in slowing])]
    assert select(tuner, clock, *works) == "fast"


@pytest.mark.parametrize("mode", [CacheOnly, Disabled])
def test_without_exploring_the_reference_serves(mode: Any, tmp_path: Path) -> None:
    clock = Clock()
    works = [Work(clock, "ref", 1.0), Work(clock, "fast", 0.1)]
    tuner = StackTuner(StackPolicy(mode=mode), tmp_path / "t")
    assert select(tuner, clock, *works) == "ref" and works[1].runs == 0 and tuner.stats().fallbacks == 1
    select(StackTuner(StackPolicy(mode=Explore), tmp_path / "t"), clock, *works)
    again = StackTuner(StackPolicy(mode=mode), tmp_path / "t")
    assert select(again, clock, *works) == ("fast" if mode is CacheOnly else "ref")


def test_records_hold_for_their_environment_key_and_candidates(tmp_path: Path) -> None:
    clock = Clock()
    works = [Work(clock, "ref", 1.0), Work(clock, "fast", 0.1)]
    only = StackPolicy(mode=CacheOnly)
    select(StackTuner(cache_directory=tmp_path / "t"), clock, *works)
    assert select(StackTuner(only, tmp_path / "t"), clock, *works) == "fast"
    assert select(StackTuner(only, tmp_path / "t"), clock, *works, key=2) == "ref"
    assert select(StackTuner(only, tmp_path / "t"), clock, *works, Work(clock, "new", 0.1)) == "ref"
    assert select(StackTuner(only, tmp_path / "t"), Clock("driver 2"), *works) == "ref"
    old = StackPolicy(mode=CacheOnly, max_age_seconds=0.0)
    assert select(StackTuner(old, tmp_path / "t"), clock, *works) == "ref"


def test_without_a_driver_fingerprint_nothing_goes_to_disk(tmp_path: Path) -> None:
    clock = Clock(None)
    works = [Work(clock, "ref", 1.0), Work(clock, "fast", 0.1)]
    tuner = StackTuner(cache_directory=tmp_path / "t")
    assert select(tuner, clock, *works) == select(tuner, clock, *works) == "fast"
    assert list((tmp_path / "t").iterdir()) == []


def test_a_damaged_record_counts_as_none(tmp_path: Path) -> None:
    clock = Clock()
    works = [Work(clock, "ref", 1.0), Work(clock, "fast", 0.1)]
    select(StackTuner(cache_directory=tmp_path / "t"), clock, *works)
    (file,) = (tmp_path / "t").iterdir()
    file.write_bytes(file.read_bytes().replace(b"fast", b"ref "))
    again = StackTuner(StackPolicy(mode=CacheOnly), tmp_path / "t")
    assert select(again, clock, *works) == "ref" and again.stats().fallbacks == 1


def test_invalidate_forgets_in_memory_and_on_disk(tmp_path: Path) -> None:
    clock: Any = Clock()
    works = [Work(clock, "ref", 1.0), Work(clock, "fast", 0.1)]
    tuner = StackTuner(cache_directory=tmp_path / "t")
    select(tuner, clock, *works)
    assert tuner.invalidate(clock, "op", 1) == 1 and tuner.invalidate(clock, "op", 1) == 0
    assert select(StackTuner(StackPolicy(mode=CacheOnly), tmp_path / "t"), clock, *works) == "ref"
    select(tuner, clock, *works)
    assert tuner.stats().explored == 2 and tuner.invalidate() == 1


def test_a_comparison_measured_elsewhere_is_taken_in() -> None:
    clock: Any = Clock()
    tuner = StackTuner()
    works = [Work(clock, "ref", 1.0), Work(clock, "fast", 0.1)]
    times: dict[str, Any] = {"reference_seconds": [1.0, 1.0, 1.0], "seconds": [0.5, 0.5, 0.5]}
    assert tuner.record_comparison(clock, "op", 1, ["ref", "fast"], winner="fast", **times).accepted
    assert select(tuner, clock, *works) == "fast" and works[1].runs == 0
    times["seconds"] = [1.0, 1.0, 1.0]
    assert not tuner.record_comparison(clock, "op", 1, ["ref", "fast"], winner="fast", **times).accepted
    assert select(tuner, clock, *works) == "ref"
    with pytest.raises(TuneError):
        tuner.record_comparison(clock, "op", 1, ["ref"], winner="fast", **times)


def test_a_selection_inside_an_exploration_does_not_wait() -> None:
    clock, tuner = Clock(), StackTuner()
    inner: list[str] = []
    works = [Work(clock, "ref", 1.0), Work(clock, "fast", 0.1)]

    def nosy() -> Any:
        inner.append(select(tuner, clock, *works))
        return works[0].run()

    tuner.select(clock, "op", 1, [Candidate("ref", nosy), works[1].candidate])  # type: ignore[arg-type]
    assert set(inner) == {"ref"}


def test_mistakes_are_named() -> None:
    clock, tuner = Clock(), StackTuner()
    with pytest.raises(TuneError, match="distinct"):
        select(tuner, clock, Work(clock, "a", 1.0), Work(clock, "a", 1.0))
    with pytest.raises(TuneError, match="reference 'ref' fails"):
        select(tuner, clock, Work(clock, "ref", 1.0, ServerError("x")), Work(clock, "b", 1.0))
    assert select(tuner, clock, Work(clock, "ref", 1.0), Work(clock, "fast", 0.1)) == "fast", (
        "it can be tried again"
    )
    for wrong in ({"mode": "explore"}, {"samples": 1}, {"threshold": 0.5}):
        with pytest.raises(ConfigError):
            StackPolicy(**wrong)  # type: ignore[arg-type]
    with pytest.raises(TuneError):
        autotune(configs=[])


def test_the_environment_is_one_object_and_knows_if_it_persists() -> None:
    clock: Any = Clock("driver 7")
    assert runtime_environment(clock) is runtime_environment(clock)
    assert runtime_environment(clock).persistent and not runtime_environment(Clock(None)).persistent  # type: ignore[arg-type]


@pytest.mark.parametrize("tag", ["DRIVER", "BUILD", "CONTEXT"])
def test_each_tag_is_part_of_the_identity(tag: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fresh() -> Any:
        monkeypatch.setattr(environment, "_known", {})
        monkeypatch.setattr(environment, "_tags", environment._Tags())
        return runtime_environment(Clock())  # type: ignore[arg-type]

    plain = fresh()
    assert fresh() == plain
    monkeypatch.setenv(f"RUDA_AUTOTUNE_{tag}_TAG", "one")
    assert runtime_environment(Clock()) == plain, "read once"  # type: ignore[arg-type]
    assert fresh() != plain


def test_the_process_has_one_tuner_once_enabled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "_current", [])
    assert stack_autotuner() is None
    tuner = enable_stack_autotune(StackPolicy())
    assert stack_autotuner() is tuner


class Kernel:
    """Stands for a kernel whose cost is 1/dim; launching with dim 7 fails."""

    name = "scale"
    parameters = ("x", "n")

    def __init__(self) -> None:
        self.dims: list[int] = []

    @staticmethod
    def fn(x: Any, n: int) -> None:
        """What it would do."""

    def digest(self) -> str:
        return "0"

    def launch_over(self, client: Clock, units: int, x: Any, n: int, *, dim: int) -> None:
        if dim == 7:
            raise ServerError("no dim of 7")
        self.dims.append(dim)
        client.now += 1.0 / dim


def test_a_tuned_kernel_measures_once_for_each_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "_current", [])
    clock, kernel = Clock(), Kernel()
    tuned = autotune(configs=[{"dim": 32}, {"dim": 256}, {"dim": 7}, {"dim": 64}], key=["n"])(kernel)
    tuned.launch_over(clock, 100, np.zeros(3), 5)  # type: ignore[arg-type]
    assert kernel.dims[-1] == 256
    count = len(kernel.dims)
    tuned.launch_over(clock, 100, np.zeros(3), 5)  # type: ignore[arg-type]
    assert len(kernel.dims) == count + 1
    tuned.launch_over(clock, 100, np.zeros(3), n=6)  # type: ignore[arg-type]
    assert len(kernel.dims) > count + 2, "another value of the key is measured anew"
    with pytest.raises(TuneError, match="'m'"):
        autotune(configs=[{"dim": 1}, {"dim": 2}], key=["m"])(kernel).launch_over(clock, 1, 0, 0)  # type: ignore[arg-type]


def test_importing_it_scans_no_metadata() -> None:
    code = "import ruda_core.tune, sys; print([m for m in ('importlib.metadata', 'platformdirs', 'rich') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", [f.name for f in fields(StackPolicy)])
def test_a_policy_takes_numbers_of_its_kind(name: str) -> None:
    least = {"samples": 2, "max_candidates": 0, "threshold": 0.99, "max_spread": 0}.get(name, -1)
    for value in (None, "9", True, [], math.nan, least, object()):
        with pytest.raises(ConfigError, match=name):
            StackPolicy(**{name: value})  # type: ignore[arg-type]
    endless = name in ("budget_seconds", "max_age_seconds", "max_spread")
    if endless:
        assert getattr(StackPolicy(**{name: math.inf}), name) == math.inf  # type: ignore[arg-type]
        return
    with pytest.raises(ConfigError, match=name):
        StackPolicy(**{name: math.inf})  # type: ignore[arg-type]


NO_CANDIDATES = (None, 3, "ab", [3], [None], [Candidate("a", None)])  # type: ignore[arg-type]


def test_what_is_no_client_operation_or_candidate_is_named() -> None:
    clock: Any = Clock()
    tuner, ways = StackTuner(), [Candidate("a", list), Candidate("b", list)]
    for wrong in (None, 3, "cpu", []):
        with pytest.raises(TuneError, match="client"):
            tuner.select(wrong, "op", 1, ways)  # type: ignore[arg-type]
        with pytest.raises(TuneError, match="client"):
            runtime_environment(wrong)  # type: ignore[arg-type]
    for operation in (None, 3, []):
        with pytest.raises(TuneError, match="operation"):
            tuner.select(clock, operation, 1, ways)  # type: ignore[arg-type]
    for candidates in NO_CANDIDATES:
        with pytest.raises(TuneError, match="op: "):
            tuner.select(clock, "op", 1, candidates)  # type: ignore[arg-type]
    with pytest.raises(TuneError, match="client"):
        tuner.invalidate(3)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="StackPolicy"):
        StackTuner(3)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="cache_directory"):
        StackTuner(None, 3)  # type: ignore[arg-type]
    assert tuner.stats().explored == 0


@pytest.mark.parametrize("times", [None, 3, "abc", [None] * 3, ["1"] * 3, [-1.0] * 3, [math.nan] * 3])
def test_times_measured_elsewhere_are_numbers(times: Any) -> None:
    clock, tuner = Clock(), StackTuner()
    for other in ("reference_seconds", "seconds"):
        given: Any = {"reference_seconds": [1.0] * 3, "seconds": [1.0] * 3, other: times}
        with pytest.raises(TuneError, match="seconds"):
            tuner.record_comparison(clock, "op", 1, ["a", "b"], winner="b", **given)  # type: ignore[arg-type]
    assert tuner.reports() == []


def test_configurations_and_keys_are_lists() -> None:
    for configs in (None, 3, "dim", [3], [{3: 4}]):
        with pytest.raises(TuneError, match="config"):
            autotune(configs=configs)  # type: ignore[arg-type]
    for key in (None, 3, "n", [3]):
        with pytest.raises(TuneError, match="key"):
            autotune(configs=[{"dim": 8}], key=key)  # type: ignore[arg-type]
