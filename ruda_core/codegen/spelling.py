"""How C-like renderers spell: tables, hooks, and one method for each expression.

A subclass of `CLikeRenderer`, which adds the statements, fills the tables and the methods marked "Hook".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar, NoReturn

from ruda_core.artifact import ParameterLayout, SlotKind
from ruda_core.codegen.scopes import atomic_arrays, declarations, scalar_arrays
from ruda_core.codegen.writer import Names, Writer, identifier
from ruda_core.dtypes import BY_NAME, DType, ValueType, VecType, u32
from ruda_core.errors import UnsupportedFeature
from ruda_core.ir import build
from ruda_core.ir import nodes as ir
from ruda_core.ir.span import error_at
from ruda_core.ir.verify import InvalidIR

OPERATORS: Mapping[str, str] = {"quo": "/", "rem": "%", "shl": "<<", "shr": ">>", "and": "&&", "or": "||"}
"""Operators whose spelling is not their name."""

_NEEDED_FOR = {
    "atomic_call": "writes atomics, and what is stored to dtypes that are not in the target's `storage`: they share words"
}
"""Hooks that kernels need for what one does not see in them."""


def native_math(functions: Mapping[str, str], dtypes: Iterable[str]) -> frozenset[str]:
    """`Target.math` of a table like `CLikeRenderer.functions`, for the dtypes that have arithmetic."""
    found = set()
    for key in functions:
        fn, _, domain = key.partition(":")
        found |= {f"{fn}:{d}" for d in dtypes if domain in (d, BY_NAME[d].kind)}
    return frozenset(found)


class CLikeSpelling:
    """Tables, hooks and expressions of one function's rendering."""

    types: ClassVar[Mapping[str, str]]
    """Scalar dtype -> the target's name of it in registers."""
    functions: ClassVar[Mapping[str, str]]
    """"fn:dtype" or "fn:kind" -> a template over the arguments, such as "fmin({0}, {1})"."""
    builtins: ClassVar[Mapping[str, tuple[str, str, str]]]
    """Native position or size -> expressions by axis, of the type that `native` converts from."""
    forever: ClassVar[str]
    """Head of an endless loop."""
    once: ClassVar[tuple[str, str]]
    """Head and tail of a body that `break` leaves."""
    barriers: ClassVar[Mapping[str, str]] = {}
    """Scope -> statement."""

    def __init__(self, function: ir.Function, layout: ParameterLayout, entry: str) -> None:
        self.function = function
        self.layout = layout
        self.entry = entry
        self.w = Writer()
        self.names = Names(function)
        self.bindings = {array: b for b in function.bindings for array in b.arrays}
        self.atomic = atomic_arrays(function)
        self._by_component = scalar_arrays(function)
        self._declarations = declarations(function)
        self._slots = {(s.kind, s.name, s.axis): f"p.{identifier(s.field)}" for s in layout.slots}
        self._leaves: list[int] = []

    def render(self) -> str:
        """The text of the module."""
        self.module()
        return self.w.text()

    def unwritten(self, hook: str) -> NoReturn:
        """Raise UnsupportedFeature for a hook that a subclass has not written, and needs for this function."""
        why = _NEEDED_FOR.get(hook)
        message = (
            f"{self.function.name}: {type(self).__name__} cannot write this yet: give it a method {hook}"
            f"{f', which {why}' if why else ''}"
        )
        raise error_at(UnsupportedFeature, message, self.function.span)

    # Hooks: what differs from language to language ------------------------------------------------

    def module(self) -> None:
        """Hook: write everything around the body, and the body by `self.body(self.function.body)`."""
        self.unwritten("module")

    def vector_type(self, scalar: DType, lanes: int) -> str:
        """Hook: the name of a vector type."""
        self.unwritten("vector_type")

    def constant(self, dtype: DType, value: int | float | bool) -> str:
        """Hook: a literal."""
        self.unwritten("constant")

    def declare(self, name: str, value_type: ValueType, value: str | None, *, mutable: bool) -> str:
        """Hook: a declaration without its semicolon; `value` None leaves a variable undefined."""
        self.unwritten("declare")

    def convert(self, to: ValueType, of: ValueType, text: str) -> str:
        """Hook: conversion by value."""
        self.unwritten("convert")

    def bitcast(self, to: ValueType, of: ValueType, text: str) -> str:
        """Hook: the same bits as another type."""
        self.unwritten("bitcast")

    def select(self, cond: str, a: str, b: str, value_type: ValueType, lanes: int) -> str:
        """Hook: `a` where `cond` (bool, or a bool vector of `lanes`), else `b`."""
        self.unwritten("select")

    def choice(self, e: ir.Expr) -> str:
        """Hook: a side of a select, or what a variable is given: values of which a place may see either."""
        return self.expr(e)

    def condition(self, text: str) -> str:
        """Hook: the bool that a branch is taken by, with what the target's compiler has to be told there."""
        return text

    def vector(self, value_type: VecType, parts: list[str]) -> str:
        """Hook: a vector of its components, or of one part for all."""
        self.unwritten("vector")

    def component(self, vector: VecType, text: str, index: int) -> str:
        """Hook: one component."""
        self.unwritten("component")

    def fence(self, value_type: ValueType, text: str, *, firm: bool = False) -> str:
        """Hook: hide a value from the compiler's algebra. Only for targets that reassociate."""
        self.unwritten(
            "fence, or its target contract_control=True if the compiler can be told not to fuse a * b + c"
        )

    def lazy(self, cond: str, a: str, b: str) -> str:
        """Hook: evaluate `a` only where `cond`. Only for dialects that declare "lazy_select"."""
        self.refuse("a checked load: this dialect does not declare lazy_select")

    def for_head(self, name: str, dtype: DType, start: str, cond: str, step: int) -> str:
        """Hook: the head of a counting loop; `step` is 1 or -1."""
        self.unwritten("for_head")

    def load(self, array: ir.Array, index: str, value_type: ValueType) -> str:
        """Hook: the element as a value of `value_type`."""
        self.unwritten("load")

    def store(self, array: ir.Array, index: str, value: str, value_type: ValueType) -> str:
        """Hook: the statement, with its semicolon, that stores a value of `value_type`."""
        self.unwritten("store")

    def atomic_call(self, op: str, array: ir.Array, index: str, args: list[str]) -> str:
        """Hook: an expression for the old value (for "store" any expression). May write lines before it."""
        self.unwritten("atomic_call")

    def masked_store(self, array: ir.Array, index: str, shift: str, mask: int, value: str) -> None:
        """Hook: write the loop that replaces some bits of a u32 word."""
        self.unwritten("masked_store")

    def barrier(self, scope: str) -> str:
        """Hook: the statement that waits; by default from the table."""
        statement = self.barriers.get(scope)
        return statement if statement is not None else self.refuse(f"a {scope} barrier")

    def subgroup_call(self, op: str, args: list[str], value_type: ValueType) -> str:
        """Hook: a subgroup operation."""
        self.refuse(f"the subgroup operation {op}")

    def operation(self, op: str, value_type: ValueType, a: str, b: str) -> str:
        """Hook: an arithmetic operator; by default infix."""
        return f"({a} {OPERATORS.get(op, op)} {b})"

    def native(self, value_type: ValueType, text: str) -> str:
        """Hook: a builtin of the table as a value of `value_type`; by default the table's are u32."""
        return self.convert(value_type, u32, text)

    def negation(self, value_type: ValueType, a: str) -> str:
        """Hook: unary minus."""
        return f"(-{a})"

    def complement(self, value_type: ValueType, a: str) -> str:
        """Hook: `~` of an integer."""
        return f"(~{a})"

    def comparison(self, op: str, operand: ValueType, a: str, b: str) -> str:
        """Hook: a comparison; bool operands are ordered as 0 and 1."""
        if operand.kind == "bool" and op not in ("==", "!="):
            word = build.with_scalar(operand, u32)
            a, b = self.convert(word, operand, a), self.convert(word, operand, b)
        return f"({a} {op} {b})"

    def logic(self, op: str, value_type: ValueType, a: str, b: str) -> str:
        """Hook: and, or, ^ of bools."""
        if op == "^":
            return f"({a} != {b})"
        lazy = {"&": "and", "|": "or"}.get(op, op)
        if isinstance(value_type, VecType):
            return f"({a} {'&' if lazy == 'and' else '|'} {b})"
        return f"({self.condition(a)} {OPERATORS[lazy]} {b})"

    def inverse(self, value_type: ValueType, a: str) -> str:
        """Hook: `not` of a bool."""
        return f"(!{a})"

    # Helpers for hooks ----------------------------------------------------------------------------

    def refuse(self, what: str) -> NoReturn:
        """Raise InvalidIR: legalisation should have removed `what`."""
        raise InvalidIR(f"{type(self).__name__} cannot render {what} in {self.function.name}")

    def type_name(self, value_type: ValueType) -> str:
        """The target's name of a type."""
        if isinstance(value_type, VecType):
            return self.vector_type(value_type.scalar, value_type.lanes)
        name = self.types.get(value_type.name)
        return name if name is not None else self.refuse(f"the dtype {value_type.name}")

    def stored(self, array: ir.Array) -> ValueType:
        """What one index selects in memory: an element, a component of it, or a word it was bound as."""
        binding = self.bindings.get(array)
        if array.over is None and binding is not None and binding.dtype is not array.dtype.scalar:
            return binding.dtype
        return array.dtype.scalar if array in self._by_component else array.dtype

    def memory(self, array: ir.Array) -> str:
        """The name of what is indexed."""
        binding = self.bindings.get(array)
        return self.names.of(array if binding is None else binding)

    def is_atomic(self, array: ir.Array) -> bool:
        """True when the memory behind `array` must be declared atomic, where a language asks for that."""
        binding = self.bindings.get(array)
        if binding is None:
            return array in self.atomic
        return binding.atomic or any(a in self.atomic for a in binding.arrays)

    def temporary(self, value_type: ValueType, text: str, stem: str = "t") -> str:
        """Bind `text` to a new name here, so that it can be used several times."""
        if text.isidentifier():
            return text
        name = self.names.fresh(stem)
        self.w.line(self.declare(name, value_type, text, mutable=False) + ";")
        return name

    def zero(self, value_type: ValueType) -> str:
        return self.expr(build.zero(value_type))

    def slot(self, kind: SlotKind, name: str = "", axis: int = 0) -> str:
        """The field of the parameter block that holds a slot."""
        text = self._slots.get((kind, name, axis))
        return text if text is not None else self.refuse(f"{kind} of {name!r}: no slot in the layout")

    # Expressions ----------------------------------------------------------------------------------

    def expr(self, e: ir.Expr) -> str:
        """The text of an expression, in brackets where it is not one token."""
        method: Callable[[ir.Expr], str] | None = getattr(self, f"expr_{type(e).__name__}", None)
        return method(e) if method is not None else self.refuse(f"the expression {type(e).__name__}")

    def expr_Const(self, e: ir.Const) -> str:
        if isinstance(e.type, VecType):
            return self.vector(e.type, [self.constant(e.type.scalar, e.value)])
        return self.constant(e.type, e.value)

    def expr_Ref(self, e: ir.Ref) -> str:
        return self.names.of(e.symbol)

    def expr_Param(self, e: ir.Param) -> str:
        return self.slot(e.hidden) if e.hidden else self.slot("scalar", e.name)

    def expr_Length(self, e: ir.Length) -> str:
        return self.slot("length", e.array.name)

    def expr_Shape(self, e: ir.Shape) -> str:
        return self.slot("shape", e.array.name, e.axis)

    def expr_Stride(self, e: ir.Stride) -> str:
        return self.slot("stride", e.array.name, e.axis)

    def expr_Offset(self, e: ir.Offset) -> str:
        return self.slot("offset", e.array.name)

    def expr_Builtin(self, e: ir.Builtin) -> str:
        if e.name == "workgroup_count" and e.axis is not None:
            return self.slot("count", "", e.axis)
        by_axis = self.builtins.get(e.name)
        if by_axis is None or e.axis is None:
            self.refuse(f"the builtin {e.name}, axis {e.axis}")
        return self.native(e.type, by_axis[e.axis])

    def expr_Unary(self, e: ir.Unary) -> str:
        a = self.expr(e.a)
        if e.type.kind == "bool":
            return self.inverse(e.type, a)
        return self.negation(e.type, a) if e.op == "-" else self.complement(e.type, a)

    def expr_Binary(self, e: ir.Binary) -> str:
        a, b = self.expr(e.a), self.expr(e.b)
        if e.op in ("shl", "shr"):
            b = (
                self.convert(build.with_scalar(e.b.type, u32), e.b.type, b)
                if e.b.type.scalar is not u32
                else b
            )
        elif e.op not in ("+", "-", "*", "/", "&", "|", "^", "quo", "rem") or (
            e.op == "/" and not e.type.is_float
        ):
            self.refuse(f"the operator {e.op} on {e.type!r}")
        if e.type.kind == "bool":
            return self.logic(e.op, e.type, a, b)
        return self.operation(e.op, e.type, a, b)

    def expr_Compare(self, e: ir.Compare) -> str:
        if e.a.type != e.b.type:
            self.refuse(f"a comparison of {e.a.type!r} with {e.b.type!r}")
        return self.comparison(e.op, e.a.type, self.expr(e.a), self.expr(e.b))

    def expr_Logic(self, e: ir.Logic) -> str:
        return self.logic(e.op, e.type, self.expr(e.a), self.expr(e.b))

    def expr_Cast(self, e: ir.Cast) -> str:
        return self.convert(e.type, e.a.type, self.expr(e.a))

    def expr_Bitcast(self, e: ir.Bitcast) -> str:
        return self.bitcast(e.type, e.a.type, self.expr(e.a))

    def expr_Select(self, e: ir.Select) -> str:
        cond, lanes = self.expr(e.cond), e.cond.type.lanes
        if lanes == 1:
            cond = self.condition(cond)
        return self.select(cond, self.choice(e.a), self.choice(e.b), e.type, lanes)

    def expr_Math(self, e: ir.Math) -> str:
        of = e.args[0].type.scalar
        template = self.functions.get(f"{e.fn}:{of.name}") or self.functions.get(f"{e.fn}:{of.kind}")
        if template is None:
            self.refuse(f"the function {e.fn} on {of.name}")
        return template.format(*(self.expr(a) for a in e.args), type=self.type_name(e.args[0].type))

    def expr_MakeVector(self, e: ir.MakeVector) -> str:
        if not isinstance(e.type, VecType):
            self.refuse("a vector of one component")
        return self.vector(e.type, [self.expr(a) for a in e.args])

    def expr_Component(self, e: ir.Component) -> str:
        if not isinstance(e.a.type, VecType):
            self.refuse("a component of a scalar")
        return self.component(e.a.type, self.expr(e.a), e.index)

    def expr_Fence(self, e: ir.Fence) -> str:
        return self.fence(e.type, self.expr(e.a), firm=e.firm)


__all__ = ["OPERATORS", "CLikeSpelling", "native_math"]
