"""Every Python block of the pages runs and prints what the page shows; the language's on every device."""

from __future__ import annotations

import re
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").glob("*.md"))]


@pytest.fixture(scope="module")
def runner() -> ModuleType:
    """What `make docs` runs."""
    loader = SourceFileLoader("ruda_docs_runner", str(ROOT / ".ci" / "docs"))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    sys.modules[loader.name] = module  # dataclasses look their module up
    loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", [page for page in PAGES if page != "docs/language.md"])
def test_a_page_runs(runner: Any, page: str) -> None:
    assert runner.failure(ROOT / page) is None


def test_the_language_runs_on_every_device(runner: Any, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUDA_DEVICE", str(device))
    assert runner.failure(ROOT / "docs" / "language.md") is None


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        ("```python\nprint(1)\n```\n\n```\n1\n```\n", None),
        ("```python\nprint(1)\n```\n\n```\n2\n```\n", "the page shows"),
        ("```python\nprint(1)\n```\n", "the page shows"),
        ("```python\na = 1\n```\n\nand\n\n```python\nassert a == 2\n```\n", "AssertionError"),
        ("```python\n# own.py\nprint(__file__)\n```\n\n```\nown.py\n```\n", None),
        ("```python\n# own.py\nraise SystemExit(3)\n```\n", "exit code 3"),
        ("```py\nnot even Python\n```\n", None),
    ],
)
def test_what_a_page_shows_is_compared(runner: Any, tmp_path: Path, page: str, problem: str | None) -> None:
    (tmp_path / "page.md").write_text(page)
    found = runner.failure(tmp_path / "page.md")
    assert (found is None) if problem is None else (found is not None and problem in found)


def test_the_pages_name_only_what_there_is() -> None:
    import ruda_core as ruda

    for page in PAGES:
        for name in re.findall(r"`ruda\.([A-Za-z_0-9]+)", (ROOT / page).read_text()):
            assert hasattr(ruda, name) or name == "toml", f"{page}: ruda.{name}"


def test_the_guide_has_every_setting() -> None:
    from ruda_core.settings import KEYS

    guide = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    assert [key for key in KEYS if f"`{key}`" not in guide] == []
