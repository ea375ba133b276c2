"""`ruda demo`: real kernels on every usable device, each checked against NumPy."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import ruda_core as ruda
from ruda_core.cli.demo.pictures import photograph, write_png
from ruda_core.cli.demo.programs import Outcome, Program, all_programs
from ruda_core.cli.tables import print_json, print_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`[--device D] [--image FILE] [--output FOLDER] [--json]`."""
    parser.add_argument("--device", help="only this device, such as cuda:0; by default all that are usable")
    parser.add_argument("--image", help="a photograph to filter; by default one that scikit-image ships")
    parser.add_argument(
        "--output", default="demo-output", help="folder for the pictures (default demo-output)"
    )
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Run, print a row for each program and device, write the pictures; 1 when something is wrong or fails."""
    picture, origin = photograph(arguments.image)
    devices = [ruda.client(arguments.device).device] if arguments.device else ruda.devices()
    folder = Path(arguments.output)
    rows: list[dict[str, object]] = []
    for device in devices:
        for program in all_programs(ruda.client(device), picture):
            row: dict[str, object] = {"device": str(device), "program": program.name}
            try:
                outcome, first, again = _timed(program)
            except ruda.RudaError as error:  # the other programs and devices are shown all the same
                refused = isinstance(error, ruda.UnsupportedFeature)
                rows.append(row | {"right": refused, "refused": refused, "error": str(error)})
                continue
            rows.append(
                row
                | {
                    "right": outcome.right,
                    "largest_error": outcome.largest_error,
                    "first_ms": first * 1e3,
                    "again_ms": again * 1e3,
                }
            )
            _save(outcome, folder / str(device).replace(":", "-"))
    if arguments.json:
        print_json(rows)
    else:
        print(f"photograph: {origin}")
        print_table(("device", "program", "first", "again", "largest error"), (_cells(r) for r in rows))
        for row in rows:
            if "error" in row:
                print(f"\n{row['device']}, {row['program']}: {row['error']}")
        print(f"pictures: {folder}/")
    return 0 if all(row["right"] for row in rows) else 1


def _timed(program: Program) -> tuple[Outcome, float, float]:
    """The outcome, and the seconds of the first run (compiling included) and of the best of three more."""
    start = time.perf_counter()
    result = program.run()
    first = time.perf_counter() - start
    again = []
    for _ in range(3):
        start = time.perf_counter()
        result = program.run()
        again.append(time.perf_counter() - start)
    return program.judge(result), first, min(again)


def _save(outcome: Outcome, folder: Path) -> None:
    for name, picture in outcome.pictures.items():
        folder.mkdir(parents=True, exist_ok=True)
        write_png(folder / f"{name}.png", picture)


def _cells(row: dict[str, object]) -> tuple[str, ...]:
    if "error" in row:
        verdict = "unsupported" if row["refused"] else "FAILED"
        return str(row["device"]), str(row["program"]), "", "", verdict
    verdict = "right" if row["right"] else "WRONG"
    return (
        str(row["device"]),
        str(row["program"]),
        f"{row['first_ms']:.1f} ms",
        f"{row['again_ms']:.2f} ms",
        f"{row['largest_error']:.2g}, {verdict}",
    )
