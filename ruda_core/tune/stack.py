"""StackTuner: picks the fastest of several ways to do an operation, and remembers it."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ruda_core.checks import checked_list, checked_number, checked_path
from ruda_core.errors import ConfigError, RudaError, TuneError
from ruda_core.tune.environment import RuntimeEnvironment, checked_owner, runtime_environment
from ruda_core.tune.measure import Candidate, Comparison, compare, judged, results_of
from ruda_core.tune.policy import Disabled, Explore, StackPolicy
from ruda_core.tune.records import Record, Records, record_key

if TYPE_CHECKING:
    from ruda_core.client import ComputeClient

_REPORTS = 1024
"""Comparisons that a tuner keeps for `reports`."""


@dataclass(frozen=True, slots=True)
class StackStats:
    """Counts since the tuner was made."""

    hits: int
    """Selections answered by a record."""
    explored: int
    """Keys that were measured."""
    fallbacks: int
    """Selections of the reference without a record or a measurement."""
    rejected: int
    """Candidates whose result differed, that failed, or that were not faster."""


@dataclass(frozen=True, slots=True)
class Report:
    """The comparisons of one exploration."""

    operation: str
    key: str
    device: str
    winner: str
    comparisons: tuple[Comparison, ...]


class StackTuner:
    """Selects among candidates by measurement. Usable from any thread; nobody waits for a measurement of others."""

    def __init__(
        self, policy: StackPolicy | None = None, cache_directory: str | os.PathLike[str] | None = None
    ) -> None:
        """Records go to `cache_directory` (made private to the user); None keeps them in this process."""
        if not isinstance(policy, StackPolicy | None):
            raise ConfigError(f"the policy of a tuner is a tune.StackPolicy(...), not {policy!r}")
        self.policy = policy if policy is not None else StackPolicy()
        place = (
            None
            if cache_directory is None
            else checked_path(cache_directory, "cache_directory", error=ConfigError)
        )
        self._records = Records(Path(place) if place is not None else None)
        self._lock = threading.Lock()
        self._exploring: set[str] = set()
        self._counts = {"hits": 0, "explored": 0, "fallbacks": 0, "rejected": 0}
        self._reports: deque[Report] = deque(maxlen=_REPORTS)

    def select(
        self, client: ComputeClient, operation: str, key: object, candidates: Sequence[Candidate]
    ) -> Candidate:
        """The candidate to use for `operation` on what `repr(key)` describes; the first is the reference.

        Others must give the reference's results before they are timed. Raises TuneError without
        candidates, with two of one name, or when the reference itself fails.
        """
        _check_candidates(operation, candidates)
        by_name = {candidate.name: candidate for candidate in candidates}
        if not candidates or len(by_name) != len(candidates):
            raise TuneError(
                f"{operation}: candidates need distinct names, got {[c.name for c in candidates]}"
            )
        reference = candidates[0]
        if self.policy.mode is Disabled or len(candidates) == 1:
            return self._counted("fallbacks", reference)
        environment = runtime_environment(client)
        place = record_key(environment, operation, repr(key))
        found = self._find(place, tuple(by_name), environment)
        if found is not None:
            return self._counted("hits", by_name[found.winner])
        if self.policy.mode is not Explore or not self._begin(place):
            return self._counted("fallbacks", reference)
        try:
            report = self._explore(client, operation, repr(key), candidates)
        finally:
            self._end(place)
        record = Record(report.winner, tuple(by_name), time.time())
        self._records.keep(place, record, persistent=environment.persistent)
        return by_name[report.winner]

    def _find(self, place: str, names: tuple[str, ...], environment: RuntimeEnvironment) -> Record | None:
        with self._lock:
            return self._records.find(
                place, names, max_age=self.policy.max_age_seconds, persistent=environment.persistent
            )

    def _begin(self, place: str) -> bool:
        with self._lock:
            if place in self._exploring:
                return False
            self._exploring.add(place)
            return True

    def _end(self, place: str) -> None:
        with self._lock:
            self._exploring.discard(place)

    def _counted(self, what: str, candidate: Candidate) -> Candidate:
        with self._lock:
            self._counts[what] += 1
        return candidate

    def _explore(
        self, client: ComputeClient, operation: str, key: str, candidates: Sequence[Candidate]
    ) -> Report:
        reference, start = candidates[0], time.monotonic()
        try:
            expected = results_of(reference.run())
        except RudaError as error:
            raise TuneError(
                f"{operation}: the reference {reference.name!r} fails on {client.device}: {error}"
            ) from error
        found: list[Comparison] = []
        for candidate in candidates[1 : self.policy.max_candidates]:
            if time.monotonic() - start > self.policy.budget_seconds:
                break
            found.append(compare(client, reference, expected, candidate, self.policy))
        accepted = [c for c in found if c.accepted]
        winner = max(accepted, key=lambda c: c.ratio or 0.0).candidate if accepted else reference.name
        report = Report(operation, key, str(client.device), winner, tuple(found))
        with self._lock:
            self._counts["explored"] += 1
            self._counts["rejected"] += len(found) - len(accepted)
            self._reports.append(report)
        return report

    def record_comparison(
        self,
        client: ComputeClient,
        operation: str,
        key: object,
        candidates: Sequence[str],
        *,
        winner: str,
        reference_seconds: Sequence[float],
        seconds: Sequence[float],
    ) -> Comparison:
        """Put in what was measured elsewhere: paired times of the reference (the first of `candidates`) and `winner`.

        The policy judges it: the winner, or else the reference, is what `select` gives from now on.
        """
        _check_operation(operation)
        names = checked_list(candidates, "candidates", error=TuneError)
        times = [
            [
                checked_number(s, "a time in seconds", error=TuneError)
                for s in checked_list(given, what, error=TuneError)
            ]
            for given, what in ((reference_seconds, "reference_seconds"), (seconds, "seconds"))
        ]
        if winner not in names or len(times[0]) != len(times[1]) or len(times[1]) < 3:
            raise TuneError(
                f"{operation}: a comparison names one of {names} and has 3 pairs of times or more"
            )
        verdict = judged(winner, reference_seconds, seconds, self.policy)
        environment = runtime_environment(client)
        chosen = winner if verdict.accepted else candidates[0]
        record = Record(chosen, tuple(candidates), time.time())
        with self._lock:
            place = record_key(environment, operation, repr(key))
            self._records.keep(place, record, persistent=environment.persistent)
            self._reports.append(Report(operation, repr(key), str(client.device), chosen, (verdict,)))
        return verdict

    def invalidate(
        self, client: ComputeClient | None = None, operation: str | None = None, key: object = None
    ) -> int:
        """Forget the record of one operation and key on a client's device, or everything; gives how many."""
        with self._lock:
            if client is not None:
                checked_owner(client)
            if operation is not None:
                _check_operation(operation)
            if client is None or operation is None:
                return self._records.clear()
            return int(self._records.forget(record_key(runtime_environment(client), operation, repr(key))))

    def stats(self) -> StackStats:
        """Counts since the tuner was made."""
        with self._lock:
            return StackStats(**self._counts)

    def reports(self) -> list[Report]:
        """The latest explorations, oldest first."""
        with self._lock:
            return list(self._reports)


def _check_operation(operation: object) -> None:
    if not isinstance(operation, str):
        raise TuneError(f"an operation is named by a text, not by {operation!r}")


def _check_candidates(operation: object, candidates: object) -> None:
    """Raise TuneError for what is no list of candidates with functions to run."""
    _check_operation(operation)
    for candidate in checked_list(candidates, f"{operation}: what select takes", error=TuneError):
        if not isinstance(candidate, Candidate) or not callable(candidate.run):
            raise TuneError(f"{operation}: a candidate is tune.Candidate(name, function), not {candidate!r}")


_current: list[StackTuner] = []


def enable_stack_autotune(
    policy: StackPolicy | None = None, cache_directory: str | os.PathLike[str] | None = None
) -> StackTuner:
    """Make a StackTuner this process's own, instead of the one before; also returned by `stack_autotuner`."""
    tuner = StackTuner(policy, cache_directory)
    _current[:] = [tuner]
    return tuner


def stack_autotuner() -> StackTuner | None:
    """This process's tuner; None until `enable_stack_autotune`."""
    return _current[0] if _current else None
