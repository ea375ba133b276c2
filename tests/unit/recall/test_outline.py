"""Signatures without their source: the same as those with it, or none."""

from __future__ import annotations

from typing import Any, TypeVar

import pytest

import ruda_core as ruda
from ruda_core import Array, Comptime, Tensor, Vec, f32, i32
from ruda_core.frontend import Parameter, signature
from ruda_core.recall.outline import evaluated, outline

T = TypeVar("T")


def of_everything(
    a: f32,
    b: bool,
    c: ruda.index,
    d: T,
    e: Vec[f32, 4],
    x: Array[f32],
    y: Tensor[T],
    /,
    n: Comptime[int],
    m: Comptime[int] = 3,
    *,
    k: Comptime[float] = 0.5,
    last: i32,
) -> tuple[f32, i32]: ...


def of_nothing(): ...


def make(element: Any) -> Any:
    def local(x: Array[element], y: "element") -> element: ...

    return local


FUNCTIONS = [of_everything, of_nothing, make(f32), make(i32)]


def facts(params: tuple[Parameter, ...]) -> list[Any]:
    return [(p.name, p.annotation, p.default) for p in params]


@pytest.mark.parametrize("fn", FUNCTIONS, ids=["everything", "nothing", "f32", "i32"])
def test_an_outline_says_what_the_signature_says(fn: Any) -> None:
    found, full = outline(fn, {"element": f32}), signature(fn, {"element": f32})
    assert found is not None
    assert (found.name, facts(found.params), found.file) == (full.name, facts(full.params), full.file)


def test_annotations_that_are_text_mean_what_their_closure_says_now() -> None:
    names: dict[str, Any] = {}
    exec("from __future__ import annotations\ndef make(e):\n def fn(x: e): e\n return fn", names)
    fn = names["make"](i32)
    assert fn.__annotations__ == {"x": "e"} and evaluated(fn, {"e": f32}) == {"x": i32}
    late = names["make"](None)
    del late.__closure__[0].cell_contents
    assert evaluated(late, {"e": f32}) == {"x": f32}


def of_several(*x: f32): ...


def of_names(**x: f32): ...


def of_no_annotation(x): ...


def of_another_type(x: int): ...


def of_no_name(x: undefined): ...  # noqa: F821  # that is what is tested


def with_attributes(x: f32): ...


with_attributes.__signature__ = None  # type: ignore[attr-defined]  # that is what is tested


@pytest.mark.parametrize(
    "fn",
    [of_several, of_names, of_no_annotation, of_another_type, of_no_name, with_attributes],
    ids=lambda fn: fn.__name__,
)
def test_there_is_none_of_what_its_source_must_explain(fn: Any) -> None:
    assert outline(fn, None) is None
