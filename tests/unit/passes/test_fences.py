"""Where float results are fenced."""

from __future__ import annotations

from dataclasses import replace

from bare import TARGET
from lanes import scalar_function

from ruda_core.dtypes import f32, f64, i32, i64, u32
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


WILD = replace(TARGET, reassociates=True)


def hidden(make, *dtypes, **options: bool) -> str:
    """What is stored by a function of so many operands on a target whose compiler reassociates."""
    return stored(fences(scalar_function(make, *(dtypes or (f32, f32)), **options), WILD))


def test_every_result_where_the_compiler_reassociates() -> None:
    text = stored(fences(value(fp_contract=False), WILD))
    assert text.count("fence(") == 4
    assert stored(fences(value(fp_fast=True), WILD)).count("fence(") == 0
    twice = fences(fences(value(fp_contract=False), WILD), WILD)
    assert stored(twice) == text


def test_a_product_that_may_be_fused_stands_bare_in_its_sum() -> None:
    def dot(x, y):
        return b.binary("+", b.binary("*", x, y), b.unary("-", x))

    assert hidden(dot).count("fence(") == 2  # the negated value and the sum
    assert hidden(dot, fp_contract=False).count("fence(") == 3
    two = hidden(lambda x, y: b.binary("+", b.binary("*", x, y), b.binary("*", x, x)))
    assert two.count("fence(") == 3  # x could be factored out of bare products
    one = hidden(lambda x, y: b.binary("+", b.binary("*", x, y), x))
    assert one.count("fence(") == 2


def test_what_a_compiler_may_know_is_hidden() -> None:
    known = b.select(
        b.compare("<", b.const(f32, 0.0), b.const(f32, 1.0)), b.const(f32, 0.0), b.const(f32, 1.0)
    )
    assert hidden(lambda x, y: b.binary("*", x, known)).count("fence(") == 3  # the zero to choose as well
    assert hidden(lambda x, y: b.binary("*", x, b.const(f32, 2.0))).count("fence(") == 1
    assert hidden(lambda x, y: b.binary("*", x, b.const(f32, 0.0))).count("fence(") == 2


def test_floats_that_may_be_known_to_be_infinite_are_hidden() -> None:
    bits = b.bitcast(f32, b.const(u32, 0x7F800000))
    assert "fence" in hidden(lambda x, y: b.math("abs", bits))
    chosen = hidden(
        lambda x, y: b.select(b.compare("<", x, y), b.cast(f32, b.const(f64, 1e300), raw=True), x)
    )
    assert chosen.count("fence(") == 1
    assert hidden(lambda x, y: b.select(b.compare("<", x, b.const(f32, 0.0)), y, x)).count("fence(") == 0


def test_divisors_are_hidden_for_their_reciprocals() -> None:
    assert hidden(lambda x, y: b.binary("/", x, b.const(f32, 0.1))).count("fence(") == 2
    assert hidden(lambda x, y: b.binary("/", x, y)).count("fence(") == 2


def test_products_where_contraction_is_forbidden_and_uncontrolled() -> None:
    assert "(fence((%x0.0 * %x1.1)) + %x1.1)" in stored(fences(value(fp_contract=False), TARGET))
    controlled = replace(TARGET, contract_control=True)
    assert "fence" not in stored(fences(value(fp_contract=False), controlled))
    assert "fence" not in stored(fences(value(), TARGET))


def test_integers_are_left_alone() -> None:
    f = scalar_function(lambda x: b.binary("*", x, x), i32)
    assert fences(f, replace(TARGET, reassociates=True)).body[-1].value is f.body[-1].value  # type: ignore[attr-defined]


def test_integers_are_hidden_whatever_floats_may() -> None:
    for options in ({}, {"fp_fast": True}):
        text = hidden(lambda x: b.compare("<", b.cast(i64, x), b.const(i64, 2)), i32, **options)
        assert text.count("fence(") == 1
        assert "fence(i64(" in text
        twice = hidden(lambda x: b.compare("<", b.binary("*", x, b.const(i64, 2)), x), i64, **options)
        assert twice.count("fence(") == 2
        assert "fence" not in hidden(lambda x: b.compare("<", x, b.const(i32, 2)), i32, **options)


def test_the_one_that_a_counter_stops_at_is_hidden() -> None:
    for op, end in (("<", 1), ("<=", 0), (">=", 1), (">", 0)):
        assert "fence" in hidden(lambda x, op=op, end=end: b.compare(op, x, b.const(i32, end)), i32)
        assert "fence" not in hidden(lambda x, op=op, end=end: b.compare(op, x, b.const(i32, end + 1)), i32)
    for op, end in ((">", 1), (">=", 0), ("<=", 1), ("<", 0)):
        assert "fence" in hidden(lambda x, op=op, end=end: b.compare(op, b.const(i32, end), x), i32)


def test_parameters_are_hidden_where_conditions_are_followed_back_to_them() -> None:
    f = scalar_function(lambda x: b.binary("+", x, ir.Param(f32, None, "a")), f32)
    assert stored(fences(f, TARGET)).count("fence(") == 0
    assert stored(fences(f, replace(TARGET, follows_parameters=True))).count("fence(") == 1


def test_a_negated_comparison_is_hidden_from_what_would_turn_it_round() -> None:
    def unordered(x, y):
        return b.select(b.negate(b.compare("<", x, y)), x, y)

    ordered = hidden(lambda x, y: b.select(b.compare("<", x, y), x, y))
    assert hidden(unordered).count("fence(") == ordered.count("fence(") + 1
