"""`ruda conformance`: what a device computes, against NumPy and against the reference backend."""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from textwrap import shorten
from typing import Any

import ruda_core as ruda
from ruda_core.cli.tables import print_table
from ruda_core.conformance.compare import Comparison, Difference
from ruda_core.conformance.numbers import Report, Row, measure, summed
from ruda_core.conformance.shrink import shorter

_EXAMPLES = 20
"""Wrong results and errors that are printed; the report has all."""
_KERNELS = 5
"""Differing kernels that are printed whole."""
_WIDTH = 150
"""Characters of a list of operations."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`[--device D] [--report FILE] [--kernels N] [--seed S] [--shrink]`."""
    parser.add_argument("--device", help="the device, such as cuda:0; by default the best")
    parser.add_argument("--report", metavar="FILE", help="write everything as JSON")
    parser.add_argument(
        "--kernels", type=int, default=100, metavar="N", help="random kernels to compare (default 100)"
    )
    parser.add_argument(
        "--shrink", action="store_true", help="make the kernels that differ shorter; takes some minutes"
    )
    parser.add_argument("--seed", type=int, help="seed of the first random kernel; by default any")


def run(arguments: argparse.Namespace) -> int:
    """Measure, print a table, write the report; 1 when something is wrong."""
    client = ruda.client(arguments.device)
    start = time.perf_counter()
    report = measure(client)
    seed = random.randrange(1 << 32) if arguments.seed is None else arguments.seed
    comparison = Comparison(ruda.client("reference"), [client])
    found = [
        difference for number in range(arguments.kernels) for _, difference in comparison.check(seed + number)
    ]
    if arguments.shrink:
        found = [shorter(comparison, difference) for difference in found]
    kernels = {
        "first_seed": seed,
        "count": arguments.kernels,
        "dtypes": list(comparison.generator.dtypes),
        "differing": [{"seed": d.kernel.seed, "what": d.what, "text": d.kernel.text} for d in found],
    }
    if arguments.report:
        text = json.dumps({**report.to_dict(), "random_kernels": kernels}, indent=1)
        Path(arguments.report).write_text(text + "\n", encoding="utf-8")
    _print(report, kernels, found)
    print(f"{time.perf_counter() - start:.1f} s")
    return 1 if report.wrong or found else 0


def _print(report: Report, kernels: dict[str, Any], found: list[Difference]) -> None:
    print(f"{report.device}: {report.name}")
    columns = ("group", "dtype", "operations", "cases", "wrong", "largest ULP", "refused")
    print_table(columns, [_cells(line) for line in summed(report.rows)])
    _print_wrong(report.wrong)
    for reason, count in Counter(row.unsupported for row in report.unsupported).items():
        print(f"unsupported: {count} operations: {reason}")
    print(f"random kernels from seed {kernels['first_seed']}: {kernels['count']}, differing: {len(found)}")
    for difference in found[:_KERNELS]:
        print(difference)
    if len(found) > _KERNELS:
        rest = ", ".join(str(d.kernel.seed) for d in found[_KERNELS:])
        print(f"and {len(found) - _KERNELS} more, of the seeds {rest}; --report FILE has their text")


def _print_wrong(wrong: Iterable[Row]) -> None:
    """What is wrong, once for all operations that end with the same error."""
    alike: dict[str, list[Row]] = {}
    for row in wrong:
        alike.setdefault(row.example, []).append(row)
    for example, rows in list(alike.items())[:_EXAMPLES]:
        cases, failed = sum(row.cases for row in rows), sum(row.wrong for row in rows)
        if len(rows) == 1:
            print(f"WRONG: {rows[0].dtype} {rows[0].operation}: {failed:,} of {cases:,}; {example}")
        else:
            print(f"WRONG: {len(rows)} operations: {failed:,} of {cases:,}; {example}")
            print(f"  {shorten(_listed(rows), _WIDTH, placeholder=' ...')}")
    if len(alike) > _EXAMPLES:
        left = sum(map(len, list(alike.values())[_EXAMPLES:]))
        print(f"and {left} more operations; --report FILE lists them")


def _listed(rows: Iterable[Row]) -> str:
    """Operations by dtype."""
    by_dtype: dict[str, list[str]] = {}
    for row in rows:
        by_dtype.setdefault(row.dtype, []).append(row.operation)
    return "; ".join(f"{dtype} {', '.join(operations)}" for dtype, operations in by_dtype.items())


def _cells(line: Any) -> tuple[str, ...]:
    ulp = "" if line.ulp is None else f"{line.ulp:.2f}"
    wrong = f"{line.wrong:,}" if line.wrong else ""
    unsupported = str(line.unsupported) if line.unsupported else ""
    return (line.group, line.dtype, str(line.operations), f"{line.cases:,}", wrong, ulp, unsupported)
