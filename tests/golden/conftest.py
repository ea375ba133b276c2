"""The option of the golden tests: `pytest tests/golden --update` writes what is seen as what is expected."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="write the golden files instead of comparing")
