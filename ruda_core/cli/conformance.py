"""`ruda conformance`: what a device computes, against NumPy and against the reference backend."""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import ruda_core as ruda
from ruda_core.cli.tables import print_table
from ruda_core.conformance.compare import Comparison, Difference
from ruda_core.conformance.numbers import Report, measure, summed
from ruda_core.conformance.shrink import shorter

_EXAMPLES = 20
"""Wrong operations that are printed one by one; the report has all."""


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
    for row in report.wrong[:_EXAMPLES]:
        print(f"WRONG: {row.dtype} {row.operation}: {row.wrong:,} of {row.cases:,}; {row.example}")
    if len(report.wrong) > _EXAMPLES:
        print(f"and {len(report.wrong) - _EXAMPLES} more operations; --report FILE lists them")
    for reason, count in Counter(row.unsupported for row in report.unsupported).items():
        print(f"unsupported: {count} operations: {reason}")
    print(f"random kernels from seed {kernels['first_seed']}: {kernels['count']}, differing: {len(found)}")
    for difference in found:
        print(difference)


def _cells(line: Any) -> tuple[str, ...]:
    ulp = "" if line.ulp is None else f"{line.ulp:.2f}"
    wrong = f"{line.wrong:,}" if line.wrong else ""
    unsupported = str(line.unsupported) if line.unsupported else ""
    return (line.group, line.dtype, str(line.operations), f"{line.cases:,}", wrong, ulp, unsupported)
