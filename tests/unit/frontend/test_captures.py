"""Captured names: keys that tell values apart by type and bits, and notice every change."""

from __future__ import annotations

import enum
import math
import sys
import types
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import ruda_core as ruda
from ruda_core import Array, f16, f32, i32
from ruda_core.artifact import ArrayParam
from ruda_core.frontend import Func, Lowered, capture_key, lower
from ruda_core.frontend.captures import key_of
from ruda_core.ir.text import show

SCALE: Any = 2
OTHER: Any = 1


class Settings:
    TILE = 4

    @classmethod
    def name_length(cls) -> int:
        return len(cls.__name__)


space = types.ModuleType("space")
vars(space)["WIDTH"] = 3


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@dataclass(frozen=True)
class Config:
    a: Any = 1


def _offset(n: int) -> int:
    return n + OTHER


@ruda.func
def _scaled(x: f32):
    return x * SCALE


def direct(x: Array[f32]):
    x[0] = x[0] * SCALE


def through_helper(x: Array[f32]):
    x[0] = _scaled(x[0])


def through_class(x: Array[f32]):
    x[0] = Settings.TILE


def through_plain_function(x: Array[f32]):
    x[0] = _offset(1)


def lowered(fn: Any) -> Lowered:
    return lower(fn, {"x": ArrayParam("x", "f32")}, dim=64)


DIFFERENT = [
    1,
    True,
    1.0,
    0.0,
    -0.0,
    math.nan,
    (1, 2),
    (1.0, 2),
    (1, (2,)),
    Color.RED,
    Color.BLUE,
    Config(1),
    Config(1.0),
    f32,
    f16,
    np.float32(1),
    None,
]


def test_values_differ_by_type_and_bits() -> None:
    keys = [key_of(value) for value in DIFFERENT]
    assert len(set(keys)) == len(DIFFERENT)
    assert [key_of(value) for value in DIFFERENT] == keys


@pytest.mark.parametrize("fn", [direct, through_helper], ids=["direct", "through a helper"])
@pytest.mark.parametrize("other", [3, 2.0, True])
def test_a_changed_global_changes_the_key_and_the_code(
    fn: Any, other: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = lowered(fn)
    key = capture_key(before.captures)
    assert capture_key(before.captures) == key
    monkeypatch.setitem(globals(), "SCALE", other)
    assert capture_key(before.captures) != key
    if other == 3:
        assert show(lowered(fn).function) != show(before.function)
    monkeypatch.undo()
    assert capture_key(before.captures) == key


def test_a_changed_attribute_of_a_class(monkeypatch: pytest.MonkeyPatch) -> None:
    captures = lowered(through_class).captures
    key = capture_key(captures)
    monkeypatch.setattr(Settings, "TILE", 8)
    assert capture_key(captures) != key


def test_what_a_plain_function_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    captures = lowered(through_plain_function).captures
    key = capture_key(captures)
    monkeypatch.setitem(globals(), "OTHER", 5)
    assert capture_key(captures) != key


def _from_class() -> int:
    return Settings.TILE


def _from_module() -> int:
    return space.WIDTH


def _from_inside() -> int:
    def inner() -> int:
        return sum([OTHER for _ in range(2)])

    return inner()


def _from_made_anew() -> int:
    return Settings.name_length()


def through_class_on_host(x: Array[f32]):
    x[0] = _from_class()


def through_module_on_host(x: Array[f32]):
    x[0] = _from_module()


def through_inner_function(x: Array[f32]):
    x[0] = _from_inside()


def through_made_anew(x: Array[f32]):
    x[0] = _from_made_anew()


def _over(other: Any) -> Any:
    def through_closure_on_host(x: Array[f32]):
        x[0] = other()

    return through_closure_on_host


READERS: dict[Any, tuple[Any, str]] = {
    through_class_on_host: (Settings, "TILE"),
    through_module_on_host: (space, "WIDTH"),
    through_inner_function: (sys.modules[__name__], "OTHER"),
    _over(lambda: _from_module()): (space, "WIDTH"),
}


@pytest.mark.parametrize("fn", READERS, ids=lambda fn: str(fn.__name__))
def test_plain_functions_read_through_attributes_and_functions_inside(
    fn: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    captures = lowered(fn).captures
    key = capture_key(captures)
    assert capture_key(captures) == key
    monkeypatch.setattr(*READERS[fn], 9)
    assert capture_key(captures) != key


def test_a_method_that_is_made_anew_at_each_look_is_no_change() -> None:
    captures = lowered(through_made_anew).captures
    assert capture_key(captures) == capture_key(captures)


def test_a_name_that_vanishes(monkeypatch: pytest.MonkeyPatch) -> None:
    captures = lowered(direct).captures
    key = capture_key(captures)
    monkeypatch.delitem(globals(), "SCALE")
    assert capture_key(captures) != key


def _kernel_around(number: Any) -> tuple[Any, Func, Any]:
    @ruda.func
    def helper(v: f32):
        return v + number

    def kernel(x: Array[f32]):
        x[0] = helper(x[0])

    def change(value: Any) -> None:
        nonlocal number
        number = value

    return kernel, helper, change


def test_closures_of_a_factory() -> None:
    first, _, _ = _kernel_around(1)
    second, _, _ = _kernel_around(2)
    again, _, _ = _kernel_around(1)
    a, b, c = lowered(first), lowered(second), lowered(again)
    assert "1.0" in show(a.function) and "2.0" in show(b.function)
    assert capture_key(a.captures) != capture_key(b.captures)
    assert capture_key(a.captures) == capture_key(c.captures), "equal code and equal values"


def test_a_changed_cell_of_a_helper() -> None:
    kernel, _, change = _kernel_around(1)
    captures = lowered(kernel).captures
    key = capture_key(captures)
    change(7)
    assert capture_key(captures) != key
    assert "7.0" in show(lowered(kernel).function)


def test_an_edited_helper_body() -> None:
    kernel, helper, _ = _kernel_around(1)
    captures = lowered(kernel).captures
    key = capture_key(captures)
    code = helper.fn.__code__
    assert isinstance(code, types.CodeType)
    helper.fn.__code__ = code.replace(co_consts=(*code.co_consts, "edited"))
    assert capture_key(captures) != key


def test_captures_are_counted_once() -> None:
    def kernel(x: Array[f32], n: i32):
        x[0] = SCALE
        x[1] = SCALE + SCALE

    found = lower(kernel, {"x": ArrayParam("x", "f32"), "n": i32}, dim=1).captures
    assert [repr(c) for c in found] == ["SCALE"]
    assert len(set(found)) == len(found)
