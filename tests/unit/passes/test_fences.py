"""Where float results are fenced."""

from __future__ import annotations

from dataclasses import replace

from bare import TARGET
from lanes import scalar_function

from ruda_core.dtypes import f32, i32
from ruda_core.ir import build as b
from ruda_core.ir import nodes as ir
from ruda_core.ir.text import show
from ruda_core.passes.fences import fences


def value(**options: bool) -> ir.Function:
    return scalar_function(
        lambda x, y: b.binary("-", b.binary("+", b.binary("*", x, y), y), y), f32, f32, **options
    )


def stored(f: ir.Function) -> str:
    return show(f).split("store ")[1]


def test_every_result_where_the_compiler_reassociates() -> None:
    wild = replace(TARGET, reassociates=True)
    text = stored(fences(value(), wild))
    assert text.count("fence(") == 4
    assert stored(fences(value(fp_fast=True), wild)).count("fence(") == 0
    twice = fences(fences(value(), wild), wild)
    assert stored(twice) == text


def test_products_where_contraction_is_forbidden_and_uncontrolled() -> None:
    assert "(fence((%x0.0 * %x1.1)) + %x1.1)" in stored(fences(value(fp_contract=False), TARGET))
    controlled = replace(TARGET, contract_control=True)
    assert "fence" not in stored(fences(value(fp_contract=False), controlled))
    assert "fence" not in stored(fences(value(), TARGET))


def test_integers_are_left_alone() -> None:
    f = scalar_function(lambda x: b.binary("*", x, x), i32)
    assert fences(f, replace(TARGET, reassociates=True)).body[-1].value is f.body[-1].value  # type: ignore[attr-defined]
