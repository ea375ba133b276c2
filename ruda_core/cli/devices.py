"""`ruda devices`: what can be used, the best first."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from ruda_core.cli.tables import print_json, print_table
from ruda_core.registry import devices


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`[BACKEND] [--json]`."""
    parser.add_argument("backend", nargs="?", help="only this backend's devices")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """0 when there is a device."""
    found = devices(arguments.backend)
    if arguments.json:
        print_json([{"device": str(device), **asdict(device)} for device in found])
    elif found:
        print_table(("device", "kind", "name"), [(str(d), d.kind, d.name) for d in found])
    else:
        print("No device can be used; `ruda doctor` says what is missing.")
    return 0 if found else 1
