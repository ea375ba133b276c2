"""Processes after one another: what the first compiled, the second finds, and only while nothing has changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ruda_core as ruda
from ruda_core.cache import open_cache

HEAD = """
import json, os, sys
import numpy as np
import ruda_core as ruda
from ruda_core import Array, f32, i32

def over(kernel, *more, mode="launch"):
    client = ruda.client(sys.argv[1])
    x = client.tensor(np.array([1, 2, 3], np.float32))
    getattr(kernel, mode)(client, 1, 4, x, *more)
    return x.tolist()

def show(*values):
    compiler = {"ruda_core.compiler", "ruda_core.frontend.lower", "ruda_core.passes.bounds"}
    print(json.dumps([*values, not compiler.isdisjoint(sys.modules)]))
"""
"""The last value that `show` prints is whether the compiler was imported."""

KERNEL = """
import cfg

SCALE = 2

@ruda.func
def change(x: f32):
    return x * SCALE

@ruda.kernel
def apply(x: Array[f32]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        x[i] = change(x[i]) + cfg.offset(cfg.STEP)

show(over(apply))
"""

MODULE = """
import ruda_core as ruda
from ruda_core import f32
STEP = 1
DEEP = 0

@ruda.func
def offset(step: f32):
    return deeper(step)

@ruda.func
def deeper(step: f32):
    return step + DEEP
"""


@pytest.fixture
def compiled_device() -> str:
    """A device whose backend has a language of its own: what takes the IR is compiled in each process."""
    for device in ruda.devices():
        if ruda.runtime(device.backend).dialect_path:
            return str(device)
    pytest.skip("no device here has a language of its own")


@pytest.fixture
def run(compiled_device: str, script: Any, tmp_path: Path) -> Any:
    """Runs a program with a module `cfg` beside it; gives what it shows."""

    def run(
        program: str = KERNEL, module: str = MODULE, *, options: tuple[str, ...] = (), **env: str | None
    ) -> list[Any]:
        (tmp_path / "cfg.py").write_text(module)
        # bytecode is told apart by the second that its source is of, and these follow each other faster
        env = {"PYTHONDONTWRITEBYTECODE": "1", **env}
        found: list[Any] = script(HEAD + program, compiled_device, env=env, name="program.py")
        return found

    return run


def test_the_second_process_does_not_import_the_compiler(run: Any) -> None:
    assert run() == [[3, 5, 7], True]
    assert run() == [[3, 5, 7], False]


CHANGES = {
    "the body": ("change(x[i]) +", "change(x[i]) -", [1, 3, 5]),
    "a helper": ("x * SCALE", "x * SCALE * 2", [5, 9, 13]),
    "a constant": ("SCALE = 2", "SCALE = 3", [4, 7, 10]),
    "a constant's type": ("SCALE = 2", "SCALE = 2.0", [3, 5, 7]),
}


CHANGES_BESIDE = {
    "a constant": ("STEP = 1", "STEP = 2", [4, 6, 8]),
    "a helper": ("return deeper(step)", "return deeper(step) * 2", [4, 6, 8]),
    "a helper's helper": ("step + DEEP", "step - 1", [2, 4, 6]),
    "what that captures": ("DEEP = 0", "DEEP = 10", [13, 15, 17]),
}


def test_every_change_is_seen_and_the_old_code_is_found_again(run: Any) -> None:
    run()
    for what, (old, new, expected) in CHANGES.items():
        assert run(KERNEL.replace(old, new)) == [expected, True], what
    for what, (old, new, expected) in CHANGES_BESIDE.items():
        assert run(KERNEL, MODULE.replace(old, new)) == [expected, True], f"{what} of a module beside it"
    assert run() == [[3, 5, 7], False]


DECLARED = """
@ruda.kernel
def apply(x: Array[f32]):
    i = ruda.ABSOLUTE_POS
    step: ruda.u8 = 200
    step += 100
    if i < len(x):
        x[i] += f32(step)

show(over(apply))
"""


def test_text_that_python_makes_nothing_of_counts(run: Any) -> None:
    assert run(DECLARED) == [[45, 46, 47], True]
    assert run(DECLARED.replace("u8", "u16")) == [[301, 302, 303], True]


UNCHECKED = KERNEL.replace("show(over(apply))", 'show(over(apply, mode="launch_unchecked"))')


def test_a_setting_that_decides_the_code_counts(run: Any) -> None:
    assert [run(UNCHECKED)[-1] for _ in range(2)] == [True, False]
    assert [run(UNCHECKED, RUDA_BOUNDS_CHECK="validate")[-1] for _ in range(2)] == [True, False]


FROM_THE_ENVIRONMENT = """
def factor(n):
    return n * int(os.environ["FACTOR"])

@ruda.kernel
def apply(x: Array[f32]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        x[i] *= factor(2)

show(over(apply))
"""


def test_what_a_plain_function_reads_elsewhere_is_never_stale(run: Any) -> None:
    assert run(FROM_THE_ENVIRONMENT, FACTOR="1") == [[2, 4, 6], True]
    assert run(FROM_THE_ENVIRONMENT, FACTOR="2") == [[4, 8, 12], True]


LATER = KERNEL.replace(
    "show(over(apply))",
    """
first = over(apply)
cfg.STEP = 10
second = over(apply)
SCALE = 5
show(first, second, over(apply))
""",
)


def test_values_that_change_after_the_launch_from_disk_take_effect(run: Any) -> None:
    run()
    got = [[3, 5, 7], [12, 14, 16], [15, 20, 25]]
    assert run(LATER)[:3] == got
    assert run(LATER) == [*got, False]


def entries(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache").glob("*.bin"))


def test_a_damaged_entry_is_a_miss(run: Any, tmp_path: Path) -> None:
    run()
    for path in entries(tmp_path):
        data = path.read_bytes()
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert run() == [[3, 5, 7], True]
    assert run() == [[3, 5, 7], False]


PATCHED = (
    """
import errno
import ruda_core.cache

def refused(path, *parts):
    raise OSError(errno.EROFS, "read-only file system")

if "READ_ONLY" in os.environ:
    ruda_core.cache.DiskCache._write = staticmethod(refused)
"""
    + KERNEL
)


def test_a_directory_that_cannot_be_written_is_read(run: Any) -> None:
    for _ in range(2):
        assert run(PATCHED, READ_ONLY="1") == [[3, 5, 7], True]
    run(PATCHED)
    assert run(PATCHED, READ_ONLY="1") == [[3, 5, 7], False]


TOGETHER = KERNEL.replace(
    "show(over(apply))",
    """
import subprocess
if "CHILD" in os.environ:
    show(over(apply))
else:
    command = [sys.executable, __file__, *sys.argv[1:]]
    env = {**os.environ, "CHILD": "1"}
    children = [subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    print(json.dumps([json.loads(child.communicate()[0])[0] for child in children]))
""",
)


def test_processes_at_once_all_get_it_right(run: Any, tmp_path: Path) -> None:
    assert run(TOGETHER) == [[3, 5, 7]] * 4
    assert not list((tmp_path / "cache").glob("*.tmp"))
    assert run(TOGETHER, CHILD="1") == [[3, 5, 7], False]


REFUSED = """
def line(function):
    try:
        function()
    except ruda.RudaError as error:
        return f"{type(error).__name__} {error}"

@ruda.kernel
def apply(x: Array[f32], n: i32):
    i = ruda.ABSOLUTE_POS
    x[i] = n

@ruda.kernel
def wrong(x: Array[f32]):
    x[0] = undefined

@ruda.kernel
def uneven(x: Array[f32]):
    if x[ruda.UNIT_POS] > 1:
        ruda.barrier()

def fault():
    client = ruda.client(sys.argv[1])
    apply.prepare(client, 4, client.zeros(3, np.float32), 1, mode="validate")(1, client.zeros(3, np.float32), 1)
    client.sync().result()

first = line(lambda: over(apply, "text"))
show(
    line(lambda: over(apply, 1, 2)),
    first,
    line(fault),
    line(lambda: over(wrong)),
    line(lambda: over(wrong, 1)),
    line(lambda: over(uneven)),
)
"""


def test_errors_are_the_same_from_disk_and_follow_their_lines(run: Any) -> None:
    cold = run(REFUSED)
    assert all(cold[:6]) and "program.py:" in cold[1] and "^" in cold[3] and "^" in cold[5]
    *warm, imported = run(REFUSED)
    assert warm == cold[:6] and imported, "what fails to compile is compiled again, so that it can be shown"
    moved = run("\n\n\n" + REFUSED)
    assert moved[1] != cold[1] and [shifted(text, -3) for text in moved[:3]] == cold[:3]


def shifted(text: str, by: int) -> str:
    """The text with the line of program.py moved."""
    head, _, tail = text.partition("program.py:")
    digits = tail[: len(tail) - len(tail.lstrip("0123456789"))]
    return f"{head}program.py:{int(digits) + by}{tail[len(digits) :]}" if digits else text


VARIANTS = """
def wide(count):
    client = ruda.client(sys.argv[1])
    x, y = client.tensor(np.ones(4, np.float32)), client.tensor(np.ones(count, np.float32))
    both.launch(client, 1, 4, x, y)
    return x.tolist()

@ruda.kernel
def both(x: Array[f32], y: Array[f32]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        x[i] += y[i]

show(*[wide(int(n)) for n in os.environ["COUNTS"].split(",")])
"""


def test_variants_that_an_earlier_process_did_not_meet_are_compiled(run: Any) -> None:
    equal, shorter = [2.0] * 4, [2.0, 2.0, 1.0, 1.0]
    assert run(VARIANTS, COUNTS="4") == [equal, True]
    assert run(VARIANTS, COUNTS="4") == [equal, False]
    assert run(VARIANTS, COUNTS="4,2") == [equal, shorter, True]
    assert run(VARIANTS, COUNTS="2,4") == [shorter, equal, False]


def test_the_entries_are_counted(run: Any, tmp_path: Path) -> None:
    run()
    usage = open_cache(tmp_path / "cache").usage()
    assert usage.entries == len(entries(tmp_path)) >= 2
