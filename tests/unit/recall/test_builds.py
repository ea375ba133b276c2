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
    monkeypatch.setattr(builds, "_AT_START", None)
    return tmp_path


def process(runtime: Any, target: Target = TARGET) -> str | None:
    """The surroundings in a process that starts now."""
    builds._AT_START = builds.installed()
    return surroundings(runtime, target)


class Nowhere:
    """No devices."""

    def devices(self) -> tuple[Any, ...]:
        return ()

    def opening(self) -> None:
        return None


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
    before = process(runtime())
    assert before and before == process(runtime())
    path = tree / name
    status = path.stat()
    time.sleep(0.02)  # the clock of files is coarser than that of processes
    path.write_text("x = 2")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert process(runtime()) != before


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_changes_while_the_process_runs_keeps_what_it_compiles_off_the_disk(
    tree: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    dialects = ModuleType("tested_plugin.dialect")
    vars(dialects)["Dialect"] = type("Dialect", (), {"__module__": "tested_plugin.dialect"})
    monkeypatch.setitem(sys.modules, "tested_plugin.dialect", dialects)
    started = process(runtime())
    assert surroundings_after_compiling(runtime(), TARGET) == started is not None
    time.sleep(0.02)  # the clock of files is coarser than that of processes
    (tree / name).write_text("x = 2")
    assert surroundings_after_compiling(runtime(), TARGET) != started


def test_files_that_come_and_go_are_seen(tree: Path) -> None:
    before = process(runtime())
    (tree / "core" / "passes" / "more.py").write_text("")
    more = process(runtime())
    (tree / "core" / "passes" / "some.py").unlink()
    assert len({before, more, process(runtime())}) == 3


def test_code_that_changed_after_the_start_may_not_be_what_runs(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builds, "_LOADED", time.time() - 60)
    assert process(runtime()) is None


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
    assert process(runtime(), changed) != process(runtime())


def test_the_backend_counts(tree: Path) -> None:
    given = [
        runtime(),
        runtime("tested_plugin.dialect:Other"),
        runtime(owner="plugin 1"),
        runtime(owner="plugin 2"),
    ]
    assert len({process(each) for each in given}) == 4


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
    assert process(tested) == surroundings_after_compiling(tested, TARGET) is not None
    vars(dialects)["Dialect"] = upon("another_plugin.dialect")
    assert surroundings_after_compiling(runtime(), TARGET) is None


def test_there_is_none_for_what_cannot_be_known(tree: Path) -> None:
    class Own(Runtime):
        dialect_path = "tested_plugin.dialect:Dialect"
        Compiler = object

    assert process(Own) is None
    assert process(runtime(None)) is None
    assert process(runtime("not_imported.dialect:Dialect")) is None
    (tree / "plugin" / "dialect.py").unlink()
    assert process(runtime()) is None
