"""What stands on disk: data that comes back as it was, and nothing else."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

import ruda_core as ruda
from ruda_core import Array, f32
from ruda_core.artifact import (
    ArrayParam,
    BindingSpec,
    KernelSource,
    ParameterLayout,
    RudaDim,
    ScalarParam,
    Site,
    Slot,
    VariantFacts,
)
from ruda_core.recall.entries import Unreadable, packed, unpacked
from ruda_core.recall.outline import outline
from ruda_core.recall.shelf import Facts, Request, Shelf
from ruda_core.specialise import Specialiser

SOURCE = KernelSource(
    name="käse",
    entry="ruda_kse",
    dialect="c",
    text="void ruda_kse() { /* \U0001f9c0 \x00 */ }\n",
    layout=ParameterLayout.of(
        [Slot("length", "i32", "x"), Slot("scalar", "f64", "a"), Slot("count", "i32", axis=2)]
    ),
    bindings=(BindingSpec("b", "f32", ("x", "y"), True, False), BindingSpec("faults", "u32", (), True, True)),
    params=(ScalarParam("a", "f64"), ArrayParam("x", "f32", 4), ArrayParam("y", "f32", rank=2)),
    dim=(8, 4, 1),
    mode="validate",
    shared_memory=1 << 40,
    spread=True,
    sites=(Site("a.py", 3, "x"), Site("b.py", 4, None, "must not be")),
    options=("-O3",),
    file="a.py",
    line=1,
    digest="ab",
)


def test_a_source_comes_back_as_it_was_without_its_program() -> None:
    kept = dataclasses.replace(SOURCE, program=object())
    found = unpacked(packed(kept))
    assert found == SOURCE and found.program is None
    assert found.layout.format == SOURCE.layout.format
    for field in dataclasses.fields(KernelSource):
        assert type(getattr(found, field.name)) is type(getattr(SOURCE, field.name))


def test_only_data_is_written() -> None:
    for value in (1.5, [1], {"a": 1}, object(), print, dataclasses.replace(SOURCE, options=(print,))):
        with pytest.raises(TypeError):
            packed(value)


CONTENTS = [
    b"",
    b"\xff",
    b"{}",
    b"1.5",
    b"[]",
    b"[null,{}]",
    b'["os.system","ls"]',
    b'["KernelSource","short"]',
    b'["Slot","zero","u32","",0,1]',
    b"[" * 99999,
    b'[null,"x" "y"]',
]


@pytest.mark.parametrize("content", CONTENTS, ids=lambda content: content[:16].decode(errors="replace"))
def test_what_was_not_written_by_us_is_unreadable(content: bytes) -> None:
    with pytest.raises(Unreadable):
        unpacked(content)


SCALE = 2
OTHER = 1


@ruda.kernel
def scaled(x: Array[f32]):
    x[0] = x[0] * SCALE


class Store(dict[str, bytes]):
    """A cache in memory."""

    put = dict.__setitem__


def shelf(store: Any, *, around: str = "here", later: str | None = "here", mode: Any = "validate") -> Shelf:
    signature = outline(scaled.fn, None)
    assert signature is not None
    types = Specialiser(signature).specialisation(())
    request = Request(scaled.fn, None, SOURCE.name, types, RudaDim(8, 4), mode, ())
    return Shelf(store, request, around, lambda: later)


FACTS = Facts(7, SOURCE.params, ())


def test_what_is_kept_is_found_by_another_shelf_of_the_same() -> None:
    store, variant = Store(), VariantFacts(index64=True)
    first = shelf(store)
    assert first.facts() is None and first.source(variant) is None
    assert first.keep_facts(FACTS)
    first.keep_source(variant, SOURCE)
    assert shelf(store).facts() == FACTS and shelf(store).source(variant) == SOURCE
    for other in (shelf(store, around="elsewhere"), shelf(store, mode="checked")):
        assert other.facts() is None and other.source(variant) is None


def test_every_fact_of_a_variant_is_part_of_its_key() -> None:
    store = Store()
    given = {
        "groups": (("x", "y"),),
        "equal_lengths": (("x", "y"),),
        **{f.name: True for f in dataclasses.fields(VariantFacts) if f.default is False},
    }
    assert set(given) == {f.name for f in dataclasses.fields(VariantFacts)}
    variants = [VariantFacts(), *(VariantFacts(**{name: value}) for name, value in given.items())]
    for number, variant in enumerate(variants):
        shelf(store).keep_source(variant, dataclasses.replace(SOURCE, digest=str(number)))
    found = [shelf(store).source(variant) for variant in variants]
    assert [source and source.digest for source in found] == [str(i) for i in range(len(variants))]


@pytest.mark.parametrize(
    "content", [*CONTENTS, b"null", b"[null,1]", b'[null,1,[null],[null,[null,9,"SCALE",[null]]]]']
)
def test_an_entry_of_something_else_is_a_miss(content: bytes) -> None:
    store = Store()
    shelf(store).keep_facts(FACTS)
    shelf(store).keep_source(VariantFacts(), SOURCE)
    for key in store:
        store[key] = content
    assert shelf(store).facts() is None and shelf(store).source(VariantFacts()) is None


def test_a_source_of_another_kernel_is_a_miss() -> None:
    store = Store()
    shelf(store).keep_source(VariantFacts(), dataclasses.replace(SOURCE, mode="checked"))
    assert store and shelf(store).source(VariantFacts()) is None


def captured(name: str, path: tuple[str, ...] = ()) -> Facts:
    from ruda_core.frontend import Capture

    return dataclasses.replace(FACTS, captures=(Capture(globals(), name, path),))


def test_captures_come_back_as_places_of_this_process() -> None:
    store = Store()
    assert shelf(store).keep_facts(captured("SCALE"))
    assert shelf(store).facts() == captured("SCALE")


@pytest.mark.parametrize("facts", [captured("OTHER"), captured("SCALE", ("real",))], ids=["name", "path"])
def test_a_capture_that_the_key_does_not_cover_keeps_everything_off_the_disk(facts: Facts) -> None:
    store = Store()
    assert not shelf(store).keep_facts(facts) and not store


def test_what_has_changed_while_compiling_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    for changed in (shelf(store, later="there"), shelf(store, later=None)):
        assert not changed.keep_facts(FACTS)
        changed.keep_source(VariantFacts(), SOURCE)
    first = shelf(store)
    monkeypatch.setitem(globals(), "SCALE", 3)
    assert not first.keep_facts(FACTS)
    first.keep_source(VariantFacts(), SOURCE)
    assert not store
