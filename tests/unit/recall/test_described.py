"""What stands for a kernel on disk: different for whatever may change its code, or none at all."""

from __future__ import annotations

import dataclasses
import enum
import functools
import importlib.util
import math
import os
import random
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pytest

import ruda_core as ruda
from ruda_core import Array, Comptime, Vec, f16, f32, i32
from ruda_core.artifact import RudaDim
from ruda_core.recall.describe import Uncovered
from ruda_core.recall.outline import outline
from ruda_core.recall.shelf import Request, described
from ruda_core.specialise import Specialiser

T = TypeVar("T", f16, f32)
VALUE: Any = 1
OTHER: Any = 1


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1


class Sizes:
    TILE = 4


class Pair(NamedTuple):
    a: int
    b: int


@dataclasses.dataclass(frozen=True)
class Config:
    a: Any = 1
    b: int = 2

    @property
    def area(self) -> Any:
        return self.a * self.b


@dataclasses.dataclass
class Loose:
    a: int = 1


def plain(n: int) -> int:
    return n + OTHER


@ruda.func
def helper(x: f32):
    return x * OTHER


@ruda.func
def deep(x: f32):
    return helper(x)


@ruda.kernel
def captures(x: Array[f32]):
    x[0] = VALUE


@ruda.kernel
def declares(x: Array[f32]):
    acc: OTHER = 0
    x[0] = f32(acc)


@ruda.kernel
def through_helper(x: Array[f32]):
    x[0] = deep(x[0])


@ruda.kernel
def through_plain(x: Array[f32]):
    x[0] = plain(3)


@ruda.kernel
def of_libraries(x: Array[f32]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        x[i] = math.sqrt(np.float32(2.0)) + ruda.fma(x[0], x[0], max(1, 2))


@ruda.kernel
def sized(n: Comptime[int], x: Array[f32]):
    x[0] = n


@ruda.kernel
def generic(x: Array[T]):
    x[0] = T(1)


def text(kernel: Any, *arguments: Any) -> str:
    """What stands for a kernel with these arguments. Raises Uncovered."""
    signature = outline(kernel.fn, None)
    if signature is None:
        raise Uncovered("no outline")
    specialiser = Specialiser(signature)
    given = arguments or tuple(p.annotation for p in signature.params)
    types_ = specialiser.specialisation(specialiser.split(*given)[0])
    request = Request(kernel.fn, None, kernel.name, types_, RudaDim(1), "checked", ())
    return described(request)[1]


VALUES: list[Any] = [
    1,
    True,
    1.0,
    0.0,
    -0.0,
    math.nan,
    None,
    (),
    (1,),
    (1.0,),
    ((1,), 2),
    np.float32(1),
    np.int8(1),
    np.uint8(1),
    f32,
    f16,
    Vec[f32, 2],
    Vec[f32, 4],
    ruda.index,
    ruda.sqrt,
    ruda.ABSOLUTE_POS,
    T,
    Color.RED,
    Color.BLUE,
    Level.LOW,
    Pair(1, 2),
    Config(),
    Config(2),
    Config(1.0),
    Sizes,
    Color,
    np.float32,
    np.sqrt,
    math.sqrt,
    math,
    helper,
    deep,
    plain,
]


def test_values_that_differ_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}
    for value in VALUES:
        monkeypatch.setitem(globals(), "VALUE", value)
        described_as = text(captures)
        assert described_as not in seen, (value, seen[described_as])
        assert described_as == text(captures)
        seen[described_as] = value


REFUSED: dict[str, Callable[[], Any]] = {
    "a dict's view": lambda: {}.keys(),
    "a set": lambda: {1},
    "an array": lambda: np.zeros(1),
    "a record that changes": Loose,
    "an environment": lambda: os.environ,
    "a module of Python's": lambda: os,
    "a class of Python's": lambda: random.Random,
    "a built-in with effects": lambda: open,
    "a built-in by identity": lambda: id,
    "a partial": lambda: functools.partial(plain, 1),
    "a lambda that reads the clock": lambda: lambda: __import__("time").time(),
    "a function with attributes": lambda: functools.wraps(plain)(lambda n: n),
    "a method": lambda: Config().__eq__,
    "a number of one's own": lambda: type("Mine", (int,), {})(1),
    "a class with a metaclass": lambda: type("Meta", (type,), {})("Made", (), {}),
    "a kernel": lambda: captures,
    "a module that makes up names": lambda: module(__getattr__=lambda name: 1),
    "a random number": lambda: random.random,
    "NumPy's random numbers": lambda: np.random,
}


def module(**values: Any) -> types.ModuleType:
    made = types.ModuleType("made")
    vars(made).update(values)
    return made


@pytest.mark.parametrize("what", REFUSED)
def test_what_may_differ_unseen_is_refused(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "VALUE", REFUSED[what]())
    with pytest.raises(Uncovered):
        text(captures)


def test_a_value_in_a_tuple_in_a_record_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "VALUE", Config(((1, Config(2)), 3)))
    first = text(captures)
    monkeypatch.setitem(globals(), "VALUE", Config(((1, Config(4)), 3)))
    assert text(captures) != first
    monkeypatch.setitem(globals(), "VALUE", Config(((1, Config(os.environ)), 3)))
    with pytest.raises(Uncovered):
        text(captures)


def test_what_a_helper_of_a_helper_reads_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    first = text(through_helper)
    monkeypatch.setitem(globals(), "OTHER", 2)
    assert text(through_helper) != first
    monkeypatch.setitem(globals(), "OTHER", os)
    with pytest.raises(Uncovered):
        text(through_helper)


def test_what_a_plain_function_reads_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    first = text(through_plain)
    monkeypatch.setitem(globals(), "OTHER", 2)
    assert text(through_plain) != first


def imports(n: int) -> int:
    import time

    return n + int(time.time())


def opens(n: int) -> int:
    return len(open(os.devnull).read()) + n


def remembers(n: int) -> int:
    global OTHER
    OTHER = n
    return OTHER


def assigns(n: int) -> int:
    Sizes.TILE = n
    return n


def looks_inside(n: int) -> int:
    return plain.__globals__["OTHER"] + n


def nested(n: int) -> int:
    def inner() -> int:
        return int(os.environ.get("N", 1))

    return inner() + n


def hashes(n: int) -> int:
    return hash("text") + n


def draws(n: int) -> Any:
    return np.random.rand() + n


@pytest.mark.parametrize(
    "function",
    [imports, opens, remembers, assigns, looks_inside, nested, hashes, draws],
    ids=lambda f: f.__name__,
)
def test_a_plain_function_that_may_give_something_else_is_refused(
    function: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "plain", function)
    with pytest.raises(Uncovered):
        text(through_plain)


def test_libraries_are_described_by_what_is_read_of_them() -> None:
    assert text(of_libraries) == text(of_libraries)


@ruda.kernel
def of_random_numbers(x: Array[f32]):
    x[0] = np.random.rand()


@ruda.kernel
def of_devices(x: Array[f32]):
    x[0] = len(ruda.devices())


@ruda.kernel
def behind_the_decorator(x: Array[f32]):
    x[0] = helper.fn(1)


@pytest.mark.parametrize(
    "kernel", [of_random_numbers, of_devices, behind_the_decorator], ids=lambda k: k.name
)
def test_parts_of_libraries_that_are_not_values_are_refused(kernel: Any) -> None:
    with pytest.raises(Uncovered):
        text(kernel)


def test_a_module_of_the_users_counts_by_what_may_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    @ruda.kernel
    def kernel(x: Array[f32]):
        x[0] = settings.SIZE

    settings = module(SIZE=1, unread=os.environ)
    first = text(kernel)
    settings.SIZE = 2  # type: ignore[attr-defined]  # a module made here
    assert text(kernel) != first
    settings.unread = None  # type: ignore[attr-defined]  # a module made here
    settings.SIZE = 1  # type: ignore[attr-defined]  # a module made here
    assert text(kernel) == first


def test_a_module_that_is_passed_on_counts_by_what_the_helper_reads() -> None:
    settings = module(SIZE=1)

    @ruda.func
    def read(m: Comptime[types.ModuleType]):
        return m.SIZE

    @ruda.kernel
    def kernel(x: Array[f32]):
        x[0] = read(settings)

    first = text(kernel)
    settings.SIZE = 2  # type: ignore[attr-defined]  # a module made here
    assert text(kernel) != first


def test_a_class_counts_with_its_bases_and_what_its_properties_read(monkeypatch: pytest.MonkeyPatch) -> None:
    class Base:
        DEPTH = 1

    class Derived(Base):
        @property
        def twice(self) -> Any:
            return 2 * OTHER

    monkeypatch.setitem(globals(), "VALUE", Derived)
    seen = {text(captures)}
    Base.DEPTH = 2
    seen.add(text(captures))
    monkeypatch.setitem(globals(), "OTHER", 5)
    seen.add(text(captures))
    assert len(seen) == 3


def test_cells_count_and_so_does_a_cell_without_a_value() -> None:
    def make(step: Any) -> Any:
        @ruda.kernel
        def kernel(x: Array[f32]):
            x[0] = step

        return kernel

    assert text(make(1)) == text(make(1)) != text(make(2))

    @ruda.kernel
    def early(x: Array[f32]):
        x[0] = late

    first = text(early)
    late = 1
    assert text(early) != first and late


def test_the_dtype_of_a_local_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "OTHER", f32)
    first = text(declares)
    monkeypatch.setitem(globals(), "OTHER", i32)
    assert text(declares) != first


def test_a_file_that_changed_after_the_start_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "written.py"
    path.write_text(
        "import ruda_core as ruda\n@ruda.kernel\ndef kernel(x: ruda.Array[ruda.f32]):\n    x[0] = 1\n"
    )
    spec = importlib.util.spec_from_file_location("written", path)
    assert spec is not None and spec.loader is not None
    written = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(written)
    with pytest.raises(Uncovered, match="changed"):
        text(written.kernel)


def test_two_functions_that_call_each_other_are_described() -> None:
    @ruda.func
    def ping(x: f32):
        return pong(x)

    @ruda.func
    def pong(x: f32):
        return ping(x)

    @ruda.kernel
    def kernel(x: Array[f32]):
        x[0] = ping(x[0])

    assert text(kernel)


def test_arguments_count_by_type_and_value() -> None:
    assert len({text(sized, n, Array[f32]) for n in (1, 2, True)}) == 3
    assert len({text(generic, Array[t]) for t in (f16, f32)}) == 2


def test_an_annotation_that_is_text_counts_by_what_it_means() -> None:
    def make(element: Any) -> Any:
        @ruda.func
        def changed(x: element):
            return x

        @ruda.kernel
        def kernel(x: Array[f32], n: i32):
            x[0] = f32(changed(n))

        return kernel

    assert text(make(i32)) != text(make(f32))


def test_what_stands_for_a_kernel_is_the_same_in_other_processes(script: Any) -> None:
    program = f"""
        import hashlib, importlib.util, json, sys
        spec = importlib.util.spec_from_file_location("tested", {str(__file__)!r})
        tested = sys.modules["tested"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(tested)
        texts = [tested.text(k) for k in (tested.captures, tested.through_helper, tested.of_libraries)]
        for tested.VALUE in (tested.Config(), tested.Color.RED, tested.Sizes, tested.plain):
            texts.append(tested.text(tested.captures))
        print(json.dumps([hashlib.sha256(text.encode()).hexdigest() for text in texts]))
    """
    env = {"PYTHONHASHSEED": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    assert script(program, env=env) == script(program, env={**env, "PYTHONHASHSEED": "2"})
