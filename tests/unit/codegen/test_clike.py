"""The base of C-like dialects: names, scopes, wrapping arithmetic, and refusals of what should not come."""

from __future__ import annotations

from dataclasses import replace

import pytest
from legal import CASES, assign, let, make, number, position, store, symbol

from ruda_core.artifact import ParameterLayout
from ruda_core.codegen import CLikeDialect, CRenderer, native_math
from ruda_core.codegen.scopes import declarations, used_dtypes
from ruda_core.codegen.writer import Names, Writer, bare, identifier
from ruda_core.dtypes import BY_NAME, f32, f64, i8, i32, i64, u32
from ruda_core.errors import UnsupportedFeature
from ruda_core.ir import build
from ruda_core.ir import nodes as ir
from ruda_core.ir.verify import InvalidIR


class PlainRenderer(CRenderer):
    """C with nothing added: enough to see what the base writes."""

    types = {
        "bool": "bool",
        "i8": "char",
        "i32": "int",
        "u32": "uint",
        "i64": "long",
        "f32": "float",
        "f64": "double",
    }
    functions = {"sqrt:float": "sqrt({0})", "min:int": "min({0}, {1})"}
    builtins = {
        "native_workgroup_pos": ("group.x", "group.y", "group.z"),
        "unit_pos": ("unit.x", "unit.y", "unit.z"),
    }
    barriers = {"workgroup": "wait();"}

    def module(self) -> None:
        with self.w.braces(f"void {self.entry}()"):
            self.body(self.function.body)

    def bitcast(self, to, of, text):
        return f"bits_{self.type_name(to)}({text})"

    def atomic_call(self, op, array, index, args):
        return f"atomic_{op}(&{self.memory(array)}[{index}]{''.join(f', {a}' for a in args)})"


class PlainDialect(CLikeDialect):
    name = "plain"
    renderer = PlainRenderer


def text_of(*body: ir.Stmt, arrays: tuple[ir.Array, ...] = (), slots=()) -> str:
    legal = make("k", list(body), list(arrays), {}, {}, slots=slots)
    return PlainDialect().render(legal.function, legal.layout, "entry")


def value_of(expr: ir.Expr) -> str:
    _, bound = let("r", expr)
    line = text_of(bound).splitlines()[1]
    return line.partition(" = ")[2].rstrip(";")


def test_names_are_ascii_distinct_and_never_keywords():
    arrays = tuple(ir.Array(name, i32, "global") for name in ("float", "größe", "__x", "_"))
    function = replace(make("k", [], list(arrays), {}, {}).function)
    names = Names(function)
    found = [names.of(item) for item in (*arrays, *function.bindings)]
    found += [names.of(symbol(name)) for name in ("int", "x", "x", "ß", "3d")]
    assert len(set(found)) == len(found)
    assert all(name.isascii() and name.isidentifier() and name[-1].isdigit() for name in found)
    assert not any(name.startswith("_") for name in found)


def test_identifiers_keep_what_is_ascii():
    assert identifier("row_2") == "row_2"
    assert identifier("ä") == "ue4"


def test_brackets_that_enclose_everything_go():
    assert bare("(a + b)") == "a + b"
    assert bare("(a) + (b)") == "(a) + (b)"
    assert bare("((int)x)") == "(int)x"


def test_lines_are_indented():
    w = Writer()
    with w.braces("if (a)"):
        w.line("b;")
    assert w.text() == "if (a) {\n  b;\n}\n"


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (build.binary("+", number(1), number(2)), "(int)(1u + 2u)"),
        (build.binary("*", build.binary("+", number(1), number(2)), number(3)), "(int)((1u + 2u) * 3u)"),
        (build.binary("+", number(1, u32), number(2, u32)), "1u + 2u"),
        (build.binary("quo", number(7), number(2)), "7 / 2"),
        (build.binary("shr", number(-8), number(2, u32)), "(-8) >> 2u"),
        (build.binary("*", number(3, i8), number(4, i8)), "(char)((uint)((char)3) * (uint)((char)4))"),
        (build.binary("+", build.const(f32, 0.1), build.const(f32, -2)), "0.1f + (-2.0f)"),
        (build.const(f64, 0.1), "0.1"),
        (build.const(f64, -0.0), "-0.0"),
        (build.const(f32, float("inf")), "bits_float(0x7f800000u)"),
        (number(-(2**31)), "-2147483647 - 1"),
        (number(-(2**63), i64), "-9223372036854775807L - 1"),
        (build.unary("-", number(5)), "(int)((uint)p.zero_0 - 5u)"),
        (build.unary("~", number(5)), "~5"),
        (build.compare("<", number(1), number(2)), "1 < 2"),
        (build.math("sqrt", build.const(f32, 2)), "sqrt(2.0f)"),
        (build.select(build.compare("<", number(1), number(2)), number(3), number(4)), "(1 < 2) ? 3 : 4"),
        (build.negate(build.compare("<", number(1), number(2))), "!(1 < 2)"),
    ],
)
def test_expressions(expr, text):
    assert value_of(expr) == text


def test_bools_combine_without_arithmetic():
    a, b = build.compare("<", number(1), number(2)), build.compare("==", number(1), number(2))
    assert value_of(build.binary("^", a, b)) == "(1 < 2) != (1 == 2)"
    assert value_of(build.binary("&", a, b)) == "(1 < 2) && (1 == 2)"
    assert value_of(build.compare("<", a, b)) == "((uint)(1 < 2)) < ((uint)(1 == 2))"


def test_a_variable_is_declared_where_all_its_uses_are():
    v, w = symbol("v", mutable=True), symbol("w", mutable=True)
    yes = build.compare("<", number(1), number(2))
    inner = ir.If(None, yes, (assign(v, number(1)), assign(v, number(2))))
    outer = ir.If(None, yes, (assign(w, number(3)),), (assign(w, number(4)),))
    _, last = let("r", build.ref(w))
    text = text_of(inner, outer, last)
    lines = [line.strip() for line in text.splitlines()]
    assert "int v_2 = 1;" in lines and "v_2 = 2;" in lines
    assert "int w_1;" in lines and "w_1 = 3;" in lines
    assert lines.index("int w_1;") < lines.index("if (1 < 2) {")


def test_a_variable_that_a_loop_carries_lives_outside_it():
    v = symbol("v", mutable=True)
    more = assign(v, build.binary("+", build.ref(v), number(1)))
    done = ir.If(None, build.compare(">", build.ref(v), number(3)), (ir.Break(None),))
    loop = ir.Loop(None, (done, more))
    found = declarations(make("k", [assign(v, number(0)), loop], [], {}, {}).function)
    assert not found.at_start and len(found.with_value) == 1


def test_the_end_of_a_range_is_kept_when_the_body_changes_it():
    end, k = symbol("end", mutable=True), symbol("k")
    loop = ir.For(None, k, number(0), build.ref(end), number(1), (assign(end, number(2)),))
    text = text_of(assign(end, number(9)), loop)
    assert "const int stop_2 = end_1;" in text
    assert "for (int k_3 = 0; k_3 < stop_2; ++k_3)" in text


def test_other_steps_count_trips():
    k = symbol("k")
    loop = ir.For(None, k, number(5), number(50), number(7), (), number(7, u32))
    text = text_of(loop)
    assert "for (uint trip_1 = 0u; trip_1 < 7u; ++trip_1)" in text
    assert "const int k_2 = bits_int((bits_uint(5) + (trip_1 * bits_uint(7))));" in text


@pytest.mark.parametrize(
    "body",
    [
        (let("r", build.binary("//", number(1), number(2)))[1],),
        (let("r", build.compare("<", number(1), number(2, u32)))[1],),
        (let("r", build.math("erf", build.const(f32, 1)))[1],),
        (let("r", ir.Builtin(i32, None, "absolute_pos", None))[1],),
        (let("r", ir.Param(i32, None, "nobody"))[1],),
        (let("r", build.const(BY_NAME["u8"], 1))[1],),
        (ir.Leave(None, 3),),
        (ir.Block(None, 1, (ir.Loop(None, (ir.Leave(None, 1),)),), True),),
        (ir.Loop(None, (ir.Block(None, 1, (ir.Continue(None),), True),)),),
        (ir.Break(None),),
        (ir.For(None, symbol("k"), number(0), number(9), number(2), ()),),
        (ir.Assert(None, build.compare("<", number(1), number(2)), 0),),
        (ir.Barrier(None, "subgroup"),),
    ],
)
def test_what_legalisation_should_have_removed_is_refused(body):
    with pytest.raises(InvalidIR, match="PlainRenderer cannot render"):
        text_of(*body)


def test_a_fence_that_is_not_written_is_named_with_the_ways_out():
    with pytest.raises(UnsupportedFeature, match="method fence, or its target contract_control=True"):
        text_of(let("r", ir.Fence(f32, None, build.const(f32, 1)))[1])


def test_an_access_with_an_index_for_each_axis_is_refused():
    y = ir.Array("y", i32, "global")
    with pytest.raises(InvalidIR, match="2 indices"):
        text_of(ir.Store(None, y, (number(0), number(1)), number(1)), arrays=(y,))


def test_hidden_values_come_from_the_layout():
    y = ir.Array("y", i32, "global")
    with pytest.raises(InvalidIR, match="length of 'y'"):
        text_of(let("r", ir.Length(i32, None, y))[1], arrays=(y,))


def test_native_math_follows_the_table():
    assert native_math({"sqrt:float": "", "min:i32": ""}, ("i32", "u32", "f32")) == {"sqrt:f32", "min:i32"}


def test_used_dtypes_see_values_and_arrays():
    y = ir.Array("y", f32, "global")
    i, at = position()
    function = make("k", [at, store(y, i, build.cast(f32, build.const(f64, 1)))], [y], {}, {}).function
    assert {"f32", "f64", "i32"} <= used_dtypes(function)


def test_rendering_twice_gives_the_same_text():
    legal = CASES["loops"]()
    dialect = PlainDialect()
    first = dialect.render(legal.function, legal.layout, "entry")
    assert first == dialect.render(legal.function, legal.layout, "entry")
    assert isinstance(legal.layout, ParameterLayout)
