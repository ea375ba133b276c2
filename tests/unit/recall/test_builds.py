"""Which compiler is installed: seen by its files, and never by those of after the start."""

from __future__ import annotations

import dataclasses
import os
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ruda_core.capabilities import Target
from ruda_core.recall import builds
from ruda_core.recall.builds import surroundings, surroundings_after_compiling
from ruda_core.runtime import Runtime, make_runtime

TARGET = Target(
    storage=frozenset({"f32", "i32"}),
    arithmetic=frozenset({"f32", "i32"}),
    atomics={"i32": frozenset({"add", "sub"}), "u32": frozenset({"add"})},
)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with rooms, and a plugin beside it, all older than this process."""
    for name in ("compiler.py", *(f"{room}/some.py" for room in builds._ROOMS), "passes/software/deep.py"):
        path = tmp_path / "core" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1")
    (tmp_path / "plugin").mkdir()
    (tmp_path / "plugin" / "dialect.py").write_text("x = 1")
    plugin = ModuleType("tested_plugin")
    plugin.__path__ = [str(tmp_path / "plugin")]
    monkeypatch.setitem(sys.modules, "tested_plugin", plugin)
    monkeypatch.setattr(builds, "_HERE", str(tmp_path / "core"))
    monkeypatch.setattr(builds, "_LOADED", time.time() + 60)
    return tmp_path


class Nowhere:
    """No devices."""

    def devices(self) -> tuple[Any, ...]:
        return ()


def runtime(dialect: str | None = "tested_plugin.dialect:Dialect", **names: Any) -> Any:
    return make_runtime("tested", Nowhere(), driver=None, dialect=dialect, **names)


FILES = [
    "core/compiler.py",
    "core/passes/some.py",
    "core/passes/software/deep.py",
    "core/recall/some.py",
    "plugin/dialect.py",
]


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_changes_is_seen_though_size_and_time_stay(tree: Path, name: str) -> None:
    before = surroundings(runtime(), TARGET)
    assert before and before == surroundings(runtime(), TARGET)
    path = tree / name
    status = path.stat()
    time.sleep(0.02)  # the clock of files is coarser than that of processes
    path.write_text("x = 2")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert surroundings(runtime(), TARGET) != before


def test_files_that_come_and_go_are_seen(tree: Path) -> None:
    before = surroundings(runtime(), TARGET)
    (tree / "core" / "passes" / "more.py").write_text("")
    more = surroundings(runtime(), TARGET)
    (tree / "core" / "passes" / "some.py").unlink()
    assert len({before, more, surroundings(runtime(), TARGET)}) == 3


def test_code_that_changed_after_the_start_may_not_be_what_runs(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builds, "_LOADED", time.time() - 60)
    assert surroundings(runtime(), TARGET) is None


@pytest.mark.parametrize("name", [f.name for f in dataclasses.fields(Target)])
def test_everything_about_the_target_counts(tree: Path, name: str) -> None:
    value = getattr(TARGET, name)
    others: dict[type, Any] = {
        frozenset: frozenset({"u8"}),
        dict: {"i32": frozenset({"add"})},
        bool: not value,
        int: 16,
        tuple: (("f16",),),
        type(None): (4, 32),
    }
    changed = dataclasses.replace(TARGET, **{name: others[type(value)]})
    assert surroundings(runtime(), changed) != surroundings(runtime(), TARGET)


def test_the_backend_counts(tree: Path) -> None:
    given = [
        runtime(),
        runtime("tested_plugin.dialect:Other"),
        runtime(owner="plugin 1"),
        runtime(owner="plugin 2"),
    ]
    assert len({surroundings(each, TARGET) for each in given}) == 4


@pytest.mark.parametrize("where", ["tested_plugin.dialect", "ruda_core.codegen.dialect"])
@pytest.mark.parametrize("what", ["dialect", "renderer"])
def test_a_dialect_upon_another_plugins_is_found_out(
    tree: Path, monkeypatch: pytest.MonkeyPatch, where: str, what: str
) -> None:
    def upon(module: str) -> Any:
        base = type("Base", (), {"__module__": module})
        own = {"__module__": "tested_plugin.dialect"}
        return type("Dialect", (base,) if what == "dialect" else (), {**own, "renderer": base})

    dialects = ModuleType("tested_plugin.dialect")
    monkeypatch.setitem(sys.modules, "tested_plugin.dialect", dialects)
    vars(dialects)["Dialect"] = upon(where)
    tested = runtime()
    assert surroundings_after_compiling(tested, TARGET) == surroundings(tested, TARGET) is not None
    vars(dialects)["Dialect"] = upon("another_plugin.dialect")
    assert surroundings_after_compiling(runtime(), TARGET) is None


def test_there_is_none_for_what_cannot_be_known(tree: Path) -> None:
    class Own(Runtime):
        dialect_path = "tested_plugin.dialect:Dialect"
        Compiler = object

    assert surroundings(Own, TARGET) is None
    assert surroundings(runtime(None), TARGET) is None
    assert surroundings(runtime("not_imported.dialect:Dialect"), TARGET) is None
    (tree / "plugin" / "dialect.py").unlink()
    assert surroundings(runtime(), TARGET) is None
