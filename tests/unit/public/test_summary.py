"""A run of the tests ends with what failed; what was skipped is listed before, by reason."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CONFTEST = Path(__file__).parents[2] / "conftest.py"
TESTS = """
import pytest

@pytest.mark.skip("no device")
@pytest.mark.parametrize("n", range(3))
def test_skipped(n): pass

@pytest.mark.skip("no time")
def test_later(): pass

def test_wrong(): assert 0
"""


def test_skips_come_before_failures_and_by_reason(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST.read_text())
    (tmp_path / "test_some.py").write_text(TESTS)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-ra", "-p", "no:cacheprovider", "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    lines = done.stdout.splitlines()
    skips = [line for line in lines if line.startswith("SKIPPED")]
    assert skips == ["SKIPPED [3] no device", "SKIPPED [1] no time"]
    failures = next(n for n, line in enumerate(lines) if "= FAILURES =" in line)
    assert lines.index(skips[-1]) < failures
    assert lines[-2].startswith("FAILED test_some.py::test_wrong")
