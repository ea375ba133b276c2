"""Comparing a candidate with the reference: first its results, then its times, run in turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from ruda_core.errors import RudaError
from ruda_core.tune.policy import StackPolicy

if TYPE_CHECKING:
    from ruda_core.client import ComputeClient


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to do an operation."""

    name: str
    """Distinct among the candidates, and changed when what it does changes: it is what records hold."""
    run: Callable[[], Any]
    """Launches the work on the client's stream and returns its results (tensors or arrays, one or several)."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was found out about one candidate."""

    candidate: str
    reference_seconds: float | None
    """Median; None when it was not timed."""
    seconds: float | None
    ratio: float | None
    """Median over the pairs of the reference's time by the candidate's: above 1 the candidate is faster."""
    spread: float | None
    """Median absolute deviation of the ratios, relative to their median."""
    accepted: bool
    reason: str = ""
    """Why it was not accepted."""


def rejected(candidate: str, reason: str) -> Comparison:
    """A comparison that never came to timing."""
    return Comparison(candidate, None, None, None, None, False, reason)


def judged(
    candidate: str, reference: Sequence[float], seconds: Sequence[float], policy: StackPolicy
) -> Comparison:
    """The verdict on paired timings in seconds."""
    ratios = [r / max(s, 1e-12) for r, s in zip(reference, seconds, strict=True)]
    ratio = median(ratios)
    spread = median(abs(r - ratio) for r in ratios) / max(ratio, 1e-12)
    reason = ""
    if spread > policy.max_spread:
        reason = f"its timings vary too much ({spread:.0%})"
    elif ratio < policy.threshold:
        reason = f"{ratio:.2f} times the reference's speed is below {policy.threshold:g}"
    return Comparison(candidate, median(reference), median(seconds), ratio, spread, not reason, reason)


def results_of(value: Any) -> list[np.ndarray[Any, Any]]:
    """Results as NumPy arrays; waits for them."""
    items = value if isinstance(value, (list, tuple)) else [] if value is None else [value]
    return [np.asarray(item.numpy() if hasattr(item, "numpy") else item).copy() for item in items]


def difference(expected: Sequence[Any], found: Sequence[Any], policy: StackPolicy) -> str:
    """What tells the candidate's results from the reference's, or ""."""
    if len(expected) != len(found):
        return f"it gives {len(found)} results, the reference {len(expected)}"
    for number, (e, f) in enumerate(zip(expected, found, strict=True)):
        if e.shape != f.shape or e.dtype != f.dtype:
            return f"result {number} is {f.dtype}{f.shape}, the reference's {e.dtype}{e.shape}"
        if e.dtype.kind in "biuSU":
            same = bool(np.array_equal(e, f))
        else:  # float64 holds every narrower float, those that NumPy itself does not know included
            same = np.allclose(
                f.astype(np.float64),
                e.astype(np.float64),
                rtol=policy.relative_tolerance,
                atol=policy.absolute_tolerance,
                equal_nan=True,
            )
        if not same:
            return f"result {number} differs from the reference's"
    return ""


def timed(client: ComputeClient, run: Callable[[], Any]) -> float:
    """Seconds of one run: the device's own, or the host's until the device is done."""
    _, duration = client.profile(run)
    if duration.device is not None:
        return float(duration.device)
    if duration.host is not None:
        return float(duration.host)
    raise RudaError(f"{client.device} gives no times")


def compare(
    client: ComputeClient,
    reference: Candidate,
    expected: Sequence[Any],
    candidate: Candidate,
    policy: StackPolicy,
) -> Comparison:
    """Validate, then time in alternation. A candidate that fails is rejected with its error, never raised."""
    try:
        difference_found = difference(expected, results_of(candidate.run()), policy)
        if difference_found:
            return rejected(candidate.name, difference_found)
        for _ in range(policy.warmups):
            reference.run()
            candidate.run()
        client.sync().result()
        pairs = [(timed(client, reference.run), timed(client, candidate.run)) for _ in range(policy.samples)]
    except Exception as error:  # whatever a candidate raises is why it is not taken
        return rejected(candidate.name, f"{type(error).__name__}: {error}")
    return judged(candidate.name, [r for r, _ in pairs], [c for _, c in pairs], policy)
