"""Fixtures for tests that run on every device.

`RUDA_TEST_DEVICES` restricts the devices: backends or devices, separated by commas ("cpu,cuda:0"). A name in
it that matches nothing stops the run. A backend that is installed but not usable here takes part as one
device whose tests are skipped with the reason.
"""

from __future__ import annotations

import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parent))  # for `support`


@dataclass(frozen=True)
class Absent:
    """A backend without a usable device on this machine."""

    backend: str
    reason: str

    def __str__(self) -> str:
        return f"{self.backend}:absent"


@cache
def tested_devices() -> tuple[Any, ...]:
    """The devices that tests run on; asked for when the first such test is collected."""
    import ruda_core as ruda

    devices: list[Any] = list(ruda.devices())
    devices += [
        Absent(info.name, f"{info.name} is {info.status}: {info.reason}")
        for info in ruda.backends()
        if info.status not in ("available", "disabled")
    ]
    wanted = {name.strip() for name in os.environ.get("RUDA_TEST_DEVICES", "").split(",") if name.strip()}
    unknown = wanted - {str(d) for d in devices} - {d.backend for d in devices}
    if unknown:
        raise pytest.UsageError(
            f"RUDA_TEST_DEVICES names {sorted(unknown)}; there are {[str(d) for d in devices]}"
        )
    if wanted:
        devices = [d for d in devices if str(d) in wanted or d.backend in wanted]
    return tuple(devices)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    own = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize") if mark.args]
    if "device" in metafunc.fixturenames and "device" not in own:  # some tests mean another kind of device
        metafunc.parametrize("device", tested_devices(), ids=str, indirect=True)


@pytest.fixture
def device(request: pytest.FixtureRequest) -> Any:
    """One device after the other."""
    if isinstance(request.param, Absent):
        pytest.skip(request.param.reason)
    return request.param


@pytest.fixture
def client(device: Any) -> Any:
    """A client of the device, as an application gets it."""
    import ruda_core as ruda

    return ruda.client(device)


@pytest.fixture
def script(tmp_path: Path) -> Any:
    """Runs programs in processes of their own."""
    from support import Script

    return Script(tmp_path)


_PLACES = 3
"""Files that are shown for one reason."""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: Any) -> Iterator[None]:
    """What was skipped and why, by reason, before the failures: these are what a run has to end with."""
    if "s" in terminalreporter.reportchars:
        terminalreporter.reportchars = terminalreporter.reportchars.replace("s", "")
        skips = terminalreporter.stats.get("skipped", [])
        if skips:
            _show_skips(terminalreporter, [report.longrepr for report in skips])
    return (yield)


def _show_skips(reporter: Any, skips: list[tuple[str, int, str]]) -> None:
    reasons = Counter(reason.removeprefix("Skipped: ") for _, _, reason in skips)
    files = defaultdict(set)
    for file, _, reason in skips:
        files[reason.removeprefix("Skipped: ")].add(os.path.relpath(file, reporter.startpath))
    reporter.write_sep("=", f"{len(skips)} skipped, by reason", yellow=True)
    for reason, count in reasons.most_common():
        reporter.write(f"SKIPPED [{count}] ", yellow=True)
        reporter.write_line(reason)
        named = sorted(files[reason])
        more = f" and {len(named) - _PLACES} more files" if len(named) > _PLACES else ""
        reporter.write_line(f"    in {', '.join(named[:_PLACES])}{more}")
