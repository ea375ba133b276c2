"""What tests on devices share: launching over NumPy arrays, features as conditions, scripts of their own."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import ml_dtypes
import numpy as np
import pytest

import ruda_core as ruda
from ruda_core import Array

T = TypeVar("T")
R = TypeVar("R")

SIGNED = ("i8", "i16", "i32", "i64")
UNSIGNED = ("u8", "u16", "u32", "u64")
INTEGERS = SIGNED + UNSIGNED
FLOATS = ("f16", "bf16", "f32", "f64")
NUMPY: dict[str, Any] = {
    "bool": np.bool_,
    "bf16": ml_dtypes.bfloat16,
    **{name: np.dtype(name[0] + str(int(name[1:]) // 8)).type for name in (*INTEGERS, "f16", "f32", "f64")},
}
"""NumPy's scalar type of each dtype."""


def launch(client: Any, kernel: Any, *args: Any, units: Any, out: Any, **options: Any) -> Any:
    """Run a kernel over `units`, checked; NumPy arrays travel as tensors. Returns what `out` holds then.

    `out` is the last argument of the kernel, a NumPy array (or several, in a tuple). A single unit is all
    alone; other counts are rounded up.
    """
    if units == 1:
        options.setdefault("dim", 1)
    outs = [client.tensor(a) for a in (out if isinstance(out, tuple) else (out,))]
    given = [client.tensor(a) if isinstance(a, np.ndarray) else a for a in args]
    kernel.launch_over(client, units, *given, *outs, **options)
    values = tuple(t.numpy() for t in outs)
    return values if isinstance(out, tuple) else values[0]


def unary(function: Any) -> Any:
    """A kernel that maps `function` over an array."""

    @ruda.kernel
    def kernel(x: Array[T], out: Array[R]):
        i = ruda.ABSOLUTE_POS
        if i < len(out):
            out[i] = function(x[i])

    return kernel


def binary(function: Any) -> Any:
    """A kernel that maps `function` over two arrays."""

    @ruda.kernel
    def kernel(x: Array[T], y: Array[T], out: Array[R]):
        i = ruda.ABSOLUTE_POS
        if i < len(out):
            out[i] = function(x[i], y[i])

    return kernel


A, B, C, D = (TypeVar(name) for name in "ABCD")


@ruda.kernel
def _cast_to_four(x: Array[T], a: Array[A], b: Array[B], c: Array[C], d: Array[D]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        a[i] = A(x[i])
        b[i] = B(x[i])
        c[i] = C(x[i])
        d[i] = D(x[i])


def cast_to_each(client: Any, x: Any, targets: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """`x` cast on the device to each of the dtypes, four to a launch, for they take long to compile."""
    names = list(targets)
    names += names[:1] * (-len(names) % 4)
    for k in range(0, len(names), 4):
        four = names[k : k + 4]
        outs = tuple(np.zeros(x.size, NUMPY[name]) for name in four)
        yield from zip(four, launch(client, _cast_to_four, x, units=x.size, out=outs), strict=True)


def has(client: Any, *names: str, functions: bool = False) -> bool:
    """Whether these dtypes can be stored and computed with (`functions`: exp and its kin too)."""
    support = [client.features().dtypes[name] for name in names]
    return all(s.storage and s.arithmetic and (s.functions or not functions) for s in support)


def usable(client: Any, names: Any) -> list[str]:
    """Those of the dtypes that the device has."""
    return [name for name in names if has(client, name)]


@contextmanager
def refused_without(client: Any, *names: str, functions: bool = False) -> Iterator[None]:
    """The body runs; where the device lacks one of the dtypes it must be refused, and the test is skipped."""
    lacking = [name for name in names if not has(client, name, functions=functions)]
    if not lacking:
        yield
        return
    with pytest.raises(ruda.UnsupportedFeature) as caught:
        yield
    message = str(caught.value)
    assert any(name in message for name in lacking) and client.device.backend in message
    pytest.skip(f"{lacking[0]} is not a feature of {client.device}")


def edge_integers(name: str) -> Any:
    """Values at the ends and around zero of an integer dtype."""
    info = np.iinfo(NUMPY[name])
    wanted = (0, 1, 2, 3, 7, 100, info.max // 3, info.max - 1, info.max)
    negative = (-1, -2, -7, -100, info.min // 3, info.min + 1, info.min) if info.min else ()
    return np.array((*wanted, *negative), NUMPY[name])


def pairs(values: Any) -> tuple[Any, Any]:
    """Every value with every value."""
    first, second = np.meshgrid(values, values, indexing="ij")
    return first.ravel().copy(), second.ravel().copy()


class Script:
    """Runs programs in processes of their own; settings of this process do not leak into them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._numbers = itertools.count()

    def __call__(
        self,
        source: str,
        *args: Any,
        env: Mapping[str, str | None] | None = None,
        name: str | None = None,
        path: Iterable[Path] = (),
        timeout: float = 60.0,
    ) -> Any:
        """Run, demand exit code 0 within `timeout` seconds, and give the JSON value of the last line.

        `name` names the file, so that a second run can be an edit of the first; `path` comes first on the
        import path; None in `env` unsets.
        """
        file = self.folder / (name or f"script{next(self._numbers)}.py")
        file.write_text(textwrap.dedent(source), encoding="utf-8")
        root = str(Path(ruda.__file__).parents[1])
        environment = {k: v for k, v in os.environ.items() if not k.startswith("RUDA_")}
        environment["RUDA_CACHE_DIR"] = str(self.folder / "cache")
        environment["PYTHONPATH"] = os.pathsep.join([*map(str, path), root, os.environ.get("PYTHONPATH", "")])
        for key, value in (env or {}).items():
            environment.pop(key, None)
            if value is not None:
                environment[key] = value
        done = subprocess.run(
            [sys.executable, str(file), *map(str, args)],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        self.stderr = done.stderr
        return json.loads(done.stdout.strip().splitlines()[-1])


def printed(code: str, *, quiet: bool = False, **environment: str) -> str:
    """What Python prints for some code, in a process of its own that ends well, and if `quiet` with no complaint."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0 and not (quiet and done.stderr), done.stderr
    return done.stdout
