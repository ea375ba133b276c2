"""An error in a kernel shows no frames of the compiler that found it, unless one asks for them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import ruda_core as ruda
from ruda_core import Array, KernelTypeError, f32, i32
from ruda_core.artifact import ArrayParam
from ruda_core.frontend import lower


@ruda.func
def inner(x: Array[f32], n: i32):
    if n > 0:
        for k in range(n):
            x[k] = x[k] * (n + 1)


def kernel(x: Array[f32]):
    inner(x, 4)


def test_lowering_is_one_frame() -> None:
    with pytest.raises(KernelTypeError, match="called from") as caught:
        try:
            raise KeyError("a launcher that is not there yet")
        except KeyError:
            lower(kernel, {"x": ArrayParam("x", "f32", 1, None)}, dim=64)
    own = [entry for entry in caught.traceback if "ruda_core" in str(entry.path)]
    assert [entry.name for entry in own] == ["lower"]
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


FAILS = """
from __future__ import annotations
import ruda_core as ruda
from ruda_core import Array, f32, i32

@ruda.kernel
def scaled(x: Array[f32], n: i32):
    x[0] = x[0] * n

scaled.compile(ruda.client("reference"), 1)
"""


@pytest.mark.parametrize(("extent", "long"), [("short", False), ("full", True), (None, False)])
def test_the_setting_decides(tmp_path: Path, extent: str | None, long: bool) -> None:
    program = tmp_path / "program.py"
    program.write_text(FAILS)
    env = {k: v for k, v in os.environ.items() if not k.startswith("RUDA_")}
    env |= {"RUDA_CACHE_DIR": str(tmp_path)} | ({} if extent is None else {"RUDA_TRACEBACK": extent})
    done = subprocess.run(
        [sys.executable, str(program)], env=env, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "KernelTypeError" in done.stderr and "write f32(n)" in done.stderr
    assert ("frontend/operators.py" in done.stderr) is long


def test_a_users_function_that_fails_stays_the_cause() -> None:
    def broken(n: int) -> float:
        return n / 0

    def calls(x: Array[f32]):
        x[0] = broken(3)

    with pytest.raises(KernelTypeError, match="ZeroDivisionError") as caught:
        lower(calls, {"x": ArrayParam("x", "f32", 1, None)}, dim=64)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert caught.value.__cause__.__traceback__ is not None
