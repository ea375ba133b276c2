"""Kernels and the IR that they become; kernels with a mistake and the error that they get.

Each `NAME.py` beside this file holds kernels. `NAME.ir` has their printed IR, `NAME.err` the errors of
those that cannot be compiled. `OPTIONS` in a module says how a kernel is specialised, where the
defaults below do not fit. After a change that is meant: `pytest tests/golden --update`, then read the diff.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ruda_core.artifact import ArrayParam
from ruda_core.errors import CompileError
from ruda_core.frontend import ComptimeValue, Lowered, lower, signature
from ruda_core.ir.text import show
from ruda_core.ir.types import ArrayType, ComptimeType, TensorType
from ruda_core.ir.verify import verify

HERE = Path(__file__).parent
HEADING = re.compile(r"^== (\w+)\n", re.MULTILINE)


def load(path: Path) -> ModuleType:
    name = f"ruda_golden_{path.stem}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def kernels(module: ModuleType) -> dict[str, Any]:
    """The plain functions of a module, in order; helpers begin with an underscore or are `@ruda.func`."""
    found = {
        n: f for n, f in vars(module).items() if inspect.isfunction(f) and f.__module__ == module.__name__
    }
    return {name: fn for name, fn in found.items() if not name.startswith("_")}


def arguments(fn: Any, options: dict[str, Any]) -> dict[str, Any]:
    typevars, ranks, comptime = (options.get(k, {}) for k in ("typevars", "ranks", "comptime"))
    out: dict[str, Any] = {}
    for p in signature(fn).params:
        annotation = p.annotation
        if isinstance(annotation, ComptimeType):
            out[p.name] = ComptimeValue(comptime[p.name])
        elif isinstance(annotation, (ArrayType, TensorType)):
            element = typevars.get(annotation.element, annotation.element)
            rank = ranks.get(p.name, 2) if isinstance(annotation, TensorType) else None
            out[p.name] = ArrayParam(p.name, element.scalar.name, element.lanes, rank)
        else:
            out[p.name] = typevars.get(annotation, annotation)
    return out


def lowered_with(module: ModuleType, name: str, **more: Any) -> Lowered:
    fn = kernels(module)[name]
    options = getattr(module, "OPTIONS", {}).get(name, {})
    settings = {k: v for k, v in options.items() if k in ("dim", "mode", "index64", "typevars")}
    return lower(fn, arguments(fn, options), **{"dim": 64, **settings, **more})


def outcome(module: ModuleType, name: str) -> tuple[str, str]:
    """(suffix of the golden file, text)."""
    try:
        lowered = lowered_with(module, name)
    except CompileError as error:
        text = str(error).replace(str(HERE) + "/", "")
        return ".err", f"{type(error).__name__}: {text}\n"
    verify(lowered.function)
    return ".ir", show(lowered.function)


def expected(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    parts = HEADING.split(path.read_text())
    return {name: text.rstrip("\n") + "\n" for name, text in zip(parts[1::2], parts[2::2], strict=True)}


FILES = sorted(p for p in HERE.glob("*.py") if p.stem not in ("conftest", "test_golden"))
CASES = [(path, name) for path in FILES for name in kernels(load(path))]
_updated: set[Path] = set()


def update(path: Path) -> None:
    module = load(path)
    written: dict[str, list[str]] = {".ir": [], ".err": []}
    for name in kernels(module):
        suffix, text = outcome(module, name)
        written[suffix].append(f"== {name}\n{text}")
    for suffix, parts in written.items():
        target = path.with_suffix(suffix)
        if parts:
            target.write_text("\n".join(parts))
        elif target.exists():
            target.unlink()


@pytest.mark.parametrize(("path", "name"), CASES, ids=[f"{path.stem}-{name}" for path, name in CASES])
def test_golden(path: Path, name: str, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update", default=False) and path not in _updated:
        _updated.add(path)
        update(path)
    suffix, text = outcome(load(path), name)
    assert text == expected(path.with_suffix(suffix)).get(name, "not in the golden file: run with --update\n")


@pytest.mark.parametrize("mode", ["validate", "unchecked"])
@pytest.mark.parametrize("index64", [False, True])
def test_every_mode_and_index_width_gives_sound_ir(mode: str, index64: bool) -> None:
    for path, name in CASES:
        if not path.stem.startswith("errors_"):
            verify(lowered_with(load(path), name, mode=mode, index64=index64).function)


def test_lowering_twice_gives_the_same() -> None:
    for path, name in CASES:
        assert outcome(load(path), name) == outcome(load(path), name)


def test_files_that_are_about_errors_hold_only_errors() -> None:
    for path in FILES:
        found = {outcome(load(path), name)[0] for name in kernels(load(path))}
        assert found == ({".err"} if path.stem.startswith("errors_") else {".ir"}), path.name


def test_nothing_stale_is_left_behind() -> None:
    for path in HERE.iterdir():
        if path.suffix in (".ir", ".err"):
            assert set(expected(path)) <= set(kernels(load(path.with_suffix(".py")))), path.name
