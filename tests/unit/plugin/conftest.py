"""Installed distributions, laid out as a package manager leaves them."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from ruda_core.plugin.catalog import Catalog
from ruda_core.settings import read

_numbers = itertools.count()

Install = Callable[..., str]
"""`install(distribution, code, entry="plugin")` gives the name of the module."""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Lay a distribution out on `sys.path`, with one entry point."""
    root = tmp_path / "site"
    root.mkdir()
    monkeypatch.syspath_prepend(str(root))

    def make(distribution: str, code: str, entry: str = "plugin", version: str = "1.0") -> str:
        module = f"plugin_under_test_{next(_numbers)}"
        (root / f"{module}.py").write_text(textwrap.dedent(code))
        info = root / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
        (info / "entry_points.txt").write_text(f"[ruda.backends]\n{entry} = {module}\n")
        return module

    return make


@pytest.fixture
def catalog(tmp_path: Path) -> Callable[..., Catalog]:
    """A catalog under an environment of its own."""

    def make(**environ: str) -> Catalog:
        return Catalog(read(environ, tmp_path))

    return make
