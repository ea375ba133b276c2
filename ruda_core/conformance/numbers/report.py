"""What a device gave, as rows that travel: a table, JSON and a page are made of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One operation on one dtype of one device."""

    device: str
    group: str
    dtype: str
    operation: str
    cases: int = 0
    wrong: int = 0
    ulp: float | None = None
    """Largest error of an operation that has a bound; None where results are equal to the bit."""
    bound: float = 0.0
    """Largest error allowed, in ULP; 0: equal to the bit."""
    outside: int = 0
    """Cases that were not judged: they have subnormals, which the device does not promise to keep."""
    unsupported: str = ""
    """Why the device refuses, where `features()` says that it may."""
    example: str = ""
    """The first wrong case, or the worst; or the error where the operation did not run at all."""

    @property
    def status(self) -> str:
        """`right`, `WRONG` or `unsupported`."""
        if self.unsupported:
            return "unsupported"
        return "WRONG" if self.wrong else "right"


@dataclass(frozen=True, slots=True)
class Report:
    """All rows of one device."""

    device: str
    name: str
    """The device's own name and driver."""
    rows: tuple[Row, ...]
    features: dict[str, Any]

    @property
    def wrong(self) -> tuple[Row, ...]:
        """The rows with a wrong result."""
        return tuple(row for row in self.rows if row.wrong)

    @property
    def unsupported(self) -> tuple[Row, ...]:
        """The rows that the device refuses."""
        return tuple(row for row in self.rows if row.unsupported)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "device": self.device,
            "name": self.name,
            "features": self.features,
            "rows": [{**asdict(row), "status": row.status} for row in self.rows],
        }


@dataclass(frozen=True, slots=True)
class Sum:
    """Rows that share a group and a dtype, as one line."""

    group: str
    dtype: str
    operations: int
    cases: int
    wrong: int
    ulp: float | None
    unsupported: int


def summed(rows: Iterable[Row]) -> list[Sum]:
    """One line for each group and dtype, in the order of their first rows."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row.group, row.dtype), []).append(row)
    return [
        Sum(
            group,
            dtype,
            len(members),
            sum(r.cases for r in members),
            sum(r.wrong for r in members),
            max((r.ulp for r in members if r.ulp is not None), default=None),
            sum(bool(r.unsupported) for r in members),
        )
        for (group, dtype), members in found.items()
    ]
