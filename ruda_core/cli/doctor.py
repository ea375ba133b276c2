"""`ruda doctor`: every backend in a process of its own, so that one that crashes or hangs is only reported."""

from __future__ import annotations

import argparse
import json
import platform
import signal
import subprocess
import sys
from dataclasses import asdict
from typing import Any

from ruda_core.cache import shared_cache
from ruda_core.cli.tables import print_json, print_table
from ruda_core.plugin.discovery import core_version
from ruda_core.plugin.entry import KNOWN, pip_command
from ruda_core.settings import settings

_MENDS = {
    "broken": "pip install --upgrade --force-reinstall {distribution}",
    "incompatible": "pip install --upgrade ruda-core {distribution}",
    "conflict": "pip uninstall {distribution}",
}
_SOUND = ("available", "unavailable", "disabled")


class ChildFailed(Exception):
    """The process crashed, hung or printed nothing; says which."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`[--json] [--timeout SECONDS]`."""
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--timeout", type=float, default=60.0, metavar="SECONDS", help="for each backend (default 60)"
    )


def run(arguments: argparse.Namespace) -> int:
    """0 when a device works and no backend is broken."""
    report = examination(arguments.timeout)
    if arguments.json:
        print_json(report)
    else:
        _print(report)
    backends = report["backends"]
    works = any(device["ok"] for row in backends for device in row["devices"])
    return 0 if works and all(row["status"] in _SOUND for row in backends) else 1


def examination(timeout: float) -> dict[str, Any]:
    """The whole report, ready for JSON; `timeout` in seconds bounds each process."""
    cache = shared_cache().usage()
    return {
        "ruda": core_version(),
        "python": f"{platform.python_version()} ({sys.executable})",
        "platform": platform.platform(),
        "settings": settings().to_dict(),
        "cache": asdict(cache),
        "backends": _backends(timeout),
    }


def _backends(timeout: float) -> list[dict[str, Any]]:
    try:
        claims = _child([], timeout)
    except ChildFailed as failed:
        reason = f"loading the plugins {failed}; name the one to leave out in RUDA_DISABLE_BACKENDS, or set RUDA_NO_PLUGINS=1"
        return [_row("plugins", "", "", {"status": "broken", "reason": reason, "devices": []})]
    rows = [_examined(claim, timeout) for claim in claims]
    known = {claim["name"] for claim in claims}
    missing = [
        {
            **_row(name, f"ruda-{name}", "", {"status": "not installed", "reason": "", "devices": []}),
            "mend": pip_command(name),
        }
        for name in KNOWN
        if name not in known
    ]
    return [*rows, *[{**row, "status": "unavailable", "reason": "it is not installed"} for row in missing]]


def _examined(claim: dict[str, Any], timeout: float) -> dict[str, Any]:
    name, distribution, version = claim["name"], claim["distribution"], claim["version"]
    try:
        found = _child([name, distribution], timeout)
    except ChildFailed as failed:
        found = {"status": "broken", "reason": f"looking for its devices {failed}", "devices": []}
    failing = [d for d in found["devices"] if not d["ok"]]
    if failing and len(failing) == len(found["devices"]):
        found = {**found, "status": "broken", "reason": _first_line(failing[0]["problem"])}
    row = _row(name, distribution, version, found)
    # what was opened is installed well enough
    return {**row, "mend": ""} if any(device["opened"] for device in found["devices"]) else row


def _row(name: str, distribution: str, version: str, found: dict[str, Any]) -> dict[str, Any]:
    mend = _MENDS.get(found["status"], "").format(distribution=distribution)
    return {"name": name, "distribution": distribution, "version": version, **found, "mend": mend}


def _child(arguments: list[str], timeout: float) -> Any:
    """The JSON value that an examining process prints. Raises ChildFailed."""
    command = [sys.executable, "-m", "ruda_core.cli.examine", *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        raise ChildFailed(f"took longer than {timeout:g} seconds") from None
    lines = done.stdout.strip().splitlines()
    if done.returncode == 0 and lines:
        return json.loads(lines[-1])
    last = (done.stderr.strip().splitlines() or ["it printed nothing"])[-1]
    if done.returncode < 0:
        raise ChildFailed(f"crashed the process ({signal.Signals(-done.returncode).name}; {last})")
    raise ChildFailed(f"ended the process with exit code {done.returncode} ({last})")


def _print(report: dict[str, Any]) -> None:
    print(f"ruda {report['ruda']}, Python {report['python']}, {report['platform']}")
    cache = report["cache"]
    print(f"cache: {cache['path'] or 'memory only: ' + cache['reason']}, {cache['nbytes'] / 1e6:.1f} MB")
    changed = {key: row for key, row in report["settings"].items() if row["source"] != "default"}
    for key, row in changed.items():
        print(f"setting: {key} = {row['value']} ({row['origin'] or row['source']})")
    print()
    rows = []
    for row in report["backends"]:
        rows.append(
            (row["name"], f"{row['distribution']} {row['version']}".strip(), row["status"], _advice(row))
        )
        for device in row["devices"]:
            state = "works" if device["ok"] else "fails"
            rows.append(
                (f"  {device['device']}", "", state, _first_line(device["problem"]) or device["name"])
            )
    print_table(("backend", "distribution", "status", "what to know"), rows)


def _first_line(text: str) -> str:
    """What is wrong; a compiler's log may follow, which JSON has."""
    return text.partition("\n")[0]


def _advice(row: dict[str, Any]) -> str:
    return "; ".join(part for part in (row["reason"], f"mend: {row['mend']}" if row["mend"] else "") if part)
