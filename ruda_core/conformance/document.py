"""The page `docs/numbers.md`, from measurements: `python -m ruda_core.conformance.document [FILE]`.

It runs the corpus of numbers on every usable device and says what is exact, what has which error and
what is refused.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import ruda_core as ruda
from ruda_core.conformance.numbers import Report, measure
from ruda_core.conformance.numbers.floats import NARROW_BOUND, WIDE_BOUND
from ruda_core.conformance.numbers.report import Row

PAGE = Path(__file__).resolve().parents[2] / "docs" / "numbers.md"

_HEAD = f"""# Numbers

What each device computes, measured over values at which machines differ: all pairs of 8-bit integers, all
16-bit values, and of wider dtypes the corners (ends of the range, powers of two and their neighbours,
infinities, NaN with payloads, subnormals, halves) with each other and with random bits.

Integers, conversions, comparisons, `+ - * /`, `sqrt`, `fma` and rounding must equal NumPy or exact
arithmetic to the bit, under `fp_contract=False`. So must expressions that a compiler could simplify but
must not, such as `(x + y) - y`, `x * 0.0` and a Kahan sum ("algebra"). Other functions may err by at most
{WIDE_BOUND:g} units in the last place (ULP) of f32 and f64, {NARROW_BOUND:g} of f16 and bf16.

This page is written by `python -m ruda_core.conformance.document`; `ruda conformance --device D` measures
one device.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure every device and write the page; 1 when a device is wrong somewhere."""
    parser = argparse.ArgumentParser(
        prog="python -m ruda_core.conformance.document", description=main.__doc__
    )
    parser.add_argument(
        "file", nargs="?", type=Path, default=PAGE, metavar="FILE", help="by default the page itself"
    )
    file = parser.parse_args(arguments).file
    reports = [measure(ruda.client(device)) for device in ruda.devices()]
    file.write_text(page(reports), encoding="utf-8")
    return 1 if any(report.wrong for report in reports) else 0


def page(reports: Sequence[Report]) -> str:
    """The whole page."""
    parts = [_HEAD, "## Devices", _table(("device", "what it is"), [(r.device, r.name) for r in reports])]
    parts += ["## Exact operations", *_exact(reports)]
    parts += ["## Functions", "The largest error in ULP.", _functions(reports)]
    wrong = [_wrong(report, row) for report in reports for row in report.wrong]
    if wrong:
        headings = ("device", "dtype", "operation", "wrong", "such as")
        parts += ["## Known to be wrong", _table(headings, wrong)]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _exact(reports: Sequence[Report]) -> list[str]:
    keys = dict.fromkeys((row.group, row.dtype) for r in reports for row in r.rows if not row.bound)
    lines = []
    for group, dtype in keys:
        cells = [_count(r, group, dtype) for r in reports]
        lines.append((group, dtype, *cells))
    return [
        "The number of cases, all of them right unless it says otherwise, and the operations that a device "
        "refuses.",
        _table(("group", "dtype", *(r.device for r in reports)), lines),
    ]


def _count(report: Report, group: str, dtype: str) -> str:
    rows = [r for r in report.rows if (r.group, r.dtype) == (group, dtype)]
    cases, wrong = sum(r.cases for r in rows), sum(r.wrong for r in rows)
    said = f"{cases:,}, **{wrong:,} wrong**" if wrong else f"{cases:,}"
    refused = [r.operation for r in rows if r.unsupported]
    outside = sum(r.outside for r in rows)
    if outside:
        said += f"; {outside:,} with subnormals not judged"
    return f"{said}; refused: {', '.join(refused)}" if refused else said


def _functions(reports: Sequence[Report]) -> str:
    keys = dict.fromkeys((row.operation, row.dtype) for r in reports for row in r.rows if row.bound)
    found = {(r.device, row.operation, row.dtype): row for r in reports for row in r.rows if row.bound}
    lines = [
        (name, dtype, *(_error(found.get((r.device, name, dtype))) for r in reports)) for name, dtype in keys
    ]
    return _table(("function", "dtype", *(r.device for r in reports)), lines)


def _error(row: Row | None) -> str:
    if row is None:
        return ""
    if row.unsupported:
        return "refused"
    if row.ulp is None:
        return "**fails**"
    return f"**{row.ulp:.3g}**" if row.wrong else f"{row.ulp:.2f}"


def _wrong(report: Report, row: Row) -> tuple[str, ...]:
    return report.device, row.dtype, row.operation, f"{row.wrong:,} of {row.cases:,}", f"`{row.example}`"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
