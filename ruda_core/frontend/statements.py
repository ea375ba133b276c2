"""Statements: one visit for each kind of node. Loops are in `loops.py`."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ruda_core.artifact import Site
from ruda_core.dtypes import DType, VecType, bool_
from ruda_core.errors import KernelSyntaxError
from ruda_core.frontend import locals as names
from ruda_core.frontend import returns
from ruda_core.frontend.context import Context, Visitor
from ruda_core.frontend.expressions import apply, items_of
from ruda_core.frontend.memory import indices, load, store
from ruda_core.frontend.scope import merge
from ruda_core.frontend.values import ArrayValue, IndexType, Static, Typed, Value, show
from ruda_core.ir import nodes as ir


def nothing(low: Context, node: ast.stmt) -> None:
    """`pass`."""


def expression(low: Context, node: ast.Expr) -> None:
    """A call for its effect, or a docstring."""
    if isinstance(node.value, ast.Constant):
        return
    low.expr(node.value)
    last = low.out[-1] if low.out else None
    if isinstance(last, ir.Atomic) and last.op not in ("load", "store") and last.span is low.span(node.value):
        low.out[-1] = ir.Atomic(last.span, None, last.op, last.array, last.index, last.args, flat=last.flat)


# Assignment -------------------------------------------------------------------------------------


def assign(low: Context, node: ast.Assign) -> None:
    value = _named(low, node.value, node.targets[0])
    if len(node.targets) > 1:
        value = low.stable(value)
    for target in node.targets:
        assign_to(low, target, value, node.value)


def _named(low: Context, node: ast.expr, target: ast.expr) -> Value:
    """The value of an expression, named after its target where it makes something new."""
    if isinstance(target, ast.Name) and isinstance(node, (ast.Call, ast.Subscript)):
        low.hint = target.id
    value = low.expr(node)
    low.hint = ""
    return value


def assign_to(low: Context, target: ast.expr, value: Value, side: ast.expr) -> None:
    """Give a target a value."""
    match target:
        case ast.Name(id=name):
            names.bind(low, name, value, target)
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            _unpack(low, target, targets, value, side)
        case ast.Subscript():
            base = low.expr(target.value)
            if not isinstance(base, ArrayValue):
                low.refuse(f"{show(base)} has no elements to assign{_vector_advice(base)}", target)
            index = indices(low, base, target.slice)
            store(low, base, index, low.as_number(value, side), target, side)
        case _:
            raise low.error("this cannot be assigned", target, KernelSyntaxError)


def _vector_advice(base: Value) -> str:
    if isinstance(base, Typed) and isinstance(base.type, VecType):
        return f": make a new vector, as in {base.type!r}(…)"
    return ""


def _unpack(low: Context, target: ast.expr, targets: list[ast.expr], value: Value, side: ast.expr) -> None:
    items = items_of(value)
    if items is None:
        low.refuse(f"{show(value)} cannot be unpacked into {len(targets)} names", side)
    if len(items) != len(targets):
        low.refuse(f"{len(items)} values cannot be unpacked into {len(targets)} names", target)
    # every value is taken before the first name changes: this is what makes a swap
    fixed = [
        low.stable(item, one.id if isinstance(one, ast.Name) else "t")
        for one, item in zip(targets, items, strict=True)
    ]
    sides = side.elts if isinstance(side, ast.Tuple) else [side] * len(items)
    for one, item, node in zip(targets, fixed, sides, strict=True):
        assign_to(low, one, item, node)


def augmented(low: Context, node: ast.AugAssign) -> None:
    """`target op= value`: the target's array and index are evaluated once."""
    target = node.target
    if isinstance(target, ast.Name):
        load_node = ast.copy_location(ast.Name(target.id, ast.Load()), target)
        if target.id not in low.scope.source.facts.binders:
            low.refuse(f"{target.id!r} is used before it is bound", target)
        before = names.name(low, load_node)
        after = apply(low, node.op, before, low.expr(node.value), node, target, node.value)
        names.bind(low, target.id, after, target)
        return
    assert isinstance(target, ast.Subscript)
    base = low.expr(target.value)
    if not isinstance(base, ArrayValue):
        low.refuse(f"{show(base)} has no elements to assign{_vector_advice(base)}", target)
    index = tuple(low.repeatable(i, "i") for i in indices(low, base, target.slice))
    before = load(low, base, index, target)
    after = apply(low, node.op, before, low.expr(node.value), node, target, node.value)
    store(low, base, index, low.as_number(after, node), target, node.value)


def annotated(low: Context, node: ast.AnnAssign) -> None:
    """`name: dtype = value` fixes a local's dtype."""
    if not isinstance(node.target, ast.Name) or node.value is None:
        raise low.error("an annotated name is given a value: acc: f32 = 0", node, KernelSyntaxError)
    declared = low.expr(node.annotation)
    dtype = declared.value if isinstance(declared, Static) else None
    if dtype is bool:
        dtype = bool_
    if not isinstance(dtype, (DType, VecType, IndexType)):
        low.refuse(f"a local is annotated with a dtype, not {show(declared)}", node.annotation)
    value = _named(low, node.value, node.target)
    names.declare(low, node.target.id, dtype, low.as_number(value, node.value), node.target)


# Control flow -----------------------------------------------------------------------------------


def if_(low: Context, node: ast.If) -> None:
    if isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And) and not node.orelse:
        _guarded(low, None, node.test.values, node)
        return
    test = low.expr(node.test)
    known = _known(test)
    if known is not None:
        low.block(node.body if known else node.orelse)
        return
    cond = low.truth(test, node.test)
    branch(low, cond, lambda: low.block(node.body), lambda: low.block(node.orelse), node)


def _known(test: Value) -> bool | None:
    """A condition that is compile-time."""
    return bool(test.value) if isinstance(test, Static) else None


def branch(
    low: Context, cond: ir.Expr, then: Callable[[], None], orelse: Callable[[], None], node: ast.AST
) -> None:
    """An If with both bodies, and what is bound after it."""
    before = set(low.bound_names())
    with low.nested() as then_body:
        then()
    after_then, low.bound = low.bound, before
    with low.nested() as else_body:
        orelse()
    low.bound = merge(after_then, low.bound)
    low.emit(ir.If(low.span(node), cond, tuple(then_body), tuple(else_body)))


def _guarded(low: Context, cond: ir.Expr | None, tests: list[ast.expr], node: ast.If) -> None:
    """`if a and b and …: body` without else.

    Where a later test takes statements, it becomes an If inside the former's: so what the first test
    proves holds for the second, and for the body.
    """
    if not tests:
        if cond is None:
            low.block(node.body)
        else:
            branch(low, cond, lambda: low.block(node.body), lambda: None, node)
        return
    statements, value = low.aside(tests[0])
    known = _known(value)
    if known is False and not statements:
        return

    def rest(outer: ir.Expr | None) -> None:
        both = outer
        if known is None:
            test = low.truth(value, tests[0])
            both = test if outer is None else ir.Logic(bool_, low.span(node), "and", outer, test)
        if known is not False:
            _guarded(low, both, tests[1:], node)

    if cond is None or not statements:
        low.out.extend(statements)
        rest(cond)
        return

    def inside() -> None:
        low.out.extend(statements)
        rest(None)

    branch(low, cond, inside, lambda: None, node)


def assertion(low: Context, node: ast.Assert) -> None:
    """Checked in validate mode; elsewhere only its types are."""
    statements, value = low.aside(node.test)
    cond = low.truth(value, node.test)
    if low.options.mode != "validate":
        return
    low.out.extend(statements)
    span = low.span(node)
    message = node.msg.value if isinstance(node.msg, ast.Constant) else ast.unparse(node.test)
    low.sites.append(Site(span.file, span.line, None, str(message)))
    low.emit(ir.Assert(span, cond, len(low.sites) - 1))


def return_(low: Context, node: ast.Return) -> None:
    scope = low.scope
    if scope.caller is not None:
        returns.give(low, node)
        return
    if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
        raise low.error("a kernel returns nothing: store the result in an array", node, KernelSyntaxError)
    if len(low.blocks) != scope.depth:
        low.emit(ir.Leave(low.span(node), scope.label))
    low.bound = None


STATEMENTS: dict[type, Visitor] = {
    ast.Pass: nothing,
    ast.Expr: expression,
    ast.Assign: assign,
    ast.AugAssign: augmented,
    ast.AnnAssign: annotated,
    ast.If: if_,
    ast.Assert: assertion,
    ast.Return: return_,
}
