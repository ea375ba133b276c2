"""The kit under pytest: `pytest -p ruda_core.conformance --ruda-device acme:0`.

Without paths on the command line it runs the kit's own tests on that device, and writes a report.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ruda_core as ruda
from ruda_core.conformance.numbers import Row

KIT = Path(__file__).parent / "kit"
ROWS = pytest.StashKey[list[Row]]()
KERNELS = pytest.StashKey[list[dict[str, Any]]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The kit's options."""
    group = parser.getgroup("ruda", "ruda's conformance kit")
    group.addoption("--ruda-device", metavar="DEVICE", help="run the kit on this device, such as acme:0")
    group.addoption("--ruda-kernels", type=int, default=100, metavar="N", help="random kernels (default 100)")
    group.addoption("--ruda-report", metavar="FILE", help="the report (default ruda-conformance.json)")


def pytest_configure(config: pytest.Config) -> None:
    """Run the kit where no tests are named."""
    config.stash[ROWS], config.stash[KERNELS] = [], []
    if config.getoption("ruda_device") and config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = [str(KIT)]


@pytest.fixture(scope="session")
def ruda_client(request: pytest.FixtureRequest) -> ruda.ComputeClient:
    """A client of the device under test."""
    device = request.config.getoption("ruda_device")
    if not device:
        raise pytest.UsageError("name the device to test: --ruda-device acme:0")
    return ruda.client(device)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Write the report and say where it is."""
    rows, kernels = config.stash[ROWS], config.stash[KERNELS]
    if not rows and not kernels:
        return
    client = ruda.client(config.getoption("ruda_device"))
    report = ruda_report(client, rows, kernels)
    path = Path(config.getoption("ruda_report") or "ruda-conformance.json")
    path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    refused = sum(bool(row.unsupported) for row in rows)
    wrong = sum(bool(row.wrong) for row in rows)
    terminalreporter.write_line(
        f"{client.device}: {len(rows)} operations, {wrong} wrong, {refused} refused; report: {path}"
    )


def ruda_report(client: ruda.ComputeClient, rows: list[Row], kernels: list[dict[str, Any]]) -> dict[str, Any]:
    """Capabilities and results, ready for JSON."""
    from ruda_core.conformance.numbers import report_of

    return {**report_of(client, rows).to_dict(), "random_kernels": kernels}
