"""Timing that the benchmarks share: medians of many, and ratios within one run."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


def nothing() -> None:
    """What there is to settle where calls leave nothing behind."""


def median_each(
    functions: Sequence[Callable[[], object]],
    *,
    repeat: int,
    number: int,
    settle: Callable[[], object] = nothing,
) -> list[float]:
    """Median seconds of one call of each function, measured in turn so that drift hits all alike.

    `settle` runs after each series of `number` calls, untimed: a device that is behind makes launches wait.
    """
    samples: list[list[float]] = [[] for _ in functions]
    for _ in range(repeat):
        for function, kept in zip(functions, samples, strict=True):
            start = time.perf_counter()
            for _ in range(number):
                function()
            kept.append((time.perf_counter() - start) / number)
            settle()
    return [statistics.median(kept) for kept in samples]


@dataclass(frozen=True)
class Row:
    """One measurement: what, ours and the peer's, and the goal as it is written down."""

    what: str
    ours: str
    peer: str
    ratio: float | None
    goal: str
    met: bool | None


def ratio_row(
    what: str, ours: float, peer: float, goal: float, *, scale: float = 1e6, unit: str = "µs"
) -> Row:
    """Ours over the peer's, to be at most `goal`."""
    ratio = ours / peer
    return Row(
        what, f"{ours * scale:.2f} {unit}", f"{peer * scale:.2f} {unit}", ratio, f"<= {goal}x", ratio <= goal
    )


def limit_row(what: str, ours: float, goal: float, *, scale: float = 1e6, unit: str = "µs") -> Row:
    """Ours alone, to be at most `goal` in `unit`."""
    return Row(what, f"{ours * scale:.2f} {unit}", "", None, f"<= {goal} {unit}", ours * scale <= goal)


def show(title: str, rows: Sequence[Row]) -> None:
    """Print the rows as a table."""
    table = Table(title=title)
    for heading in ("what", "ours", "peer", "ratio", "goal", "met"):
        table.add_column(heading)
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}x"
        met = "" if row.met is None else ("yes" if row.met else "NO")
        table.add_row(row.what, row.ours, row.peer, ratio, row.goal, met)
    Console().print(table)
