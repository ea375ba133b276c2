"""Loops: at run time, and unrolled."""

from __future__ import annotations

import ast
from typing import NoReturn

from ruda_core.dtypes import VecType, bool_, i32
from ruda_core.frontend import locals as names
from ruda_core.frontend.context import Context, Visitor, suggestion
from ruda_core.frontend.expressions import items_of
from ruda_core.frontend.intrinsics import EXPORTS
from ruda_core.frontend.memory import whole
from ruda_core.frontend.scope import Bound, Loop, merge
from ruda_core.frontend.statements import assign_to
from ruda_core.frontend.values import (
    INDEX,
    WINT,
    ArrayValue,
    Number,
    Static,
    Typed,
    Value,
    show,
    type_of,
    weak_type,
)
from ruda_core.ir import nodes as ir

MAX_UNROLLED = 1 << 16


def while_(low: Context, node: ast.While) -> None:
    before = set(low.bound_names())
    loop = Loop("run time")
    low.scope.loops.append(loop)
    with low.nested() as body:
        known = _tests(low, node)
        exit_bound: Bound = None if known else set(low.bound_names())
        if known is not False:
            low.block(node.body)
    low.scope.loops.pop()
    if known is False:
        low.bound = before
        return
    low.emit(ir.Loop(low.span(node), tuple(body)))
    low.bound = _after(loop, exit_bound)


def _tests(low: Context, node: ast.While) -> bool | None:
    """Leave the loop where the condition fails; True or False when it is compile-time.

    `while a and b` tests a, then b: what a proves holds while b is evaluated.
    """
    test = node.test
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    pending: ir.Expr | None = None
    always = True
    for part in parts:
        statements, value = low.aside(part)
        if isinstance(value, Static) and not statements:
            if value.value:
                continue
            if always:
                return False
            low.emit(ir.Break(low.span(node)))
            return None
        if statements and pending is not None:
            _leave_unless(low, pending, node)
            pending = None
        low.out.extend(statements)
        always = False
        cond = low.truth(value, part)
        pending = cond if pending is None else ir.Logic(bool_, low.span(node), "and", pending, cond)
    if pending is not None:
        _leave_unless(low, pending, node)
    return True if always else None


def _leave_unless(low: Context, cond: ir.Expr, node: ast.While) -> None:
    span = low.span(node.test)
    failed = cond.a if isinstance(cond, ir.Unary) and cond.op == "not" else ir.Unary(bool_, span, "not", cond)
    low.emit(ir.If(span, failed, (ir.Break(span),)))


def _after(loop: Loop, bound: Bound) -> Bound:
    for at_break in loop.exits:
        bound = merge(bound, at_break)
    return bound


# For ----------------------------------------------------------------------------------------------


def for_(low: Context, node: ast.For) -> None:
    call = node.iter if isinstance(node.iter, ast.Call) else None
    callee = low.expr(call.func) if call is not None and _may_be_range(call) else None
    if call is not None and isinstance(callee, Static):
        if callee.value is range:
            _run_time(low, node, _bounds(low, call))
            return
        if callee.value is EXPORTS["unroll"]:
            _unroll(low, node, _unrolled_items(low, call))
            return
    items = items_of(low.expr(node.iter))
    if items is None:
        _refuse_iteration(low, node)
    _unroll(low, node, items)


def _may_be_range(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) or (
        isinstance(call.func, ast.Attribute) and call.func.attr in ("range", "unroll")
    )


def _refuse_iteration(low: Context, node: ast.For) -> NoReturn:
    value = low.aside(node.iter)[1]
    hint = f": write for i in range(len({value.array.name}))" if isinstance(value, ArrayValue) else ""
    low.refuse(f"a for loop is over range(...) or a compile-time tuple, not {show(value)}{hint}", node.iter)


def _bounds(low: Context, call: ast.Call) -> list[Value]:
    if call.keywords or not 1 <= len(call.args) <= 3:
        low.refuse("range takes a stop, or a start, a stop and perhaps a step", call)
    values = [low.expr(arg) for arg in call.args]
    if len(values) == 1:
        return [Static(0), values[0], Static(1)]
    return values if len(values) == 3 else [*values, Static(1)]


def _run_time(low: Context, node: ast.For, bounds: list[Value]) -> None:
    if not isinstance(node.target, ast.Name):
        low.refuse("a range gives one number at a time", node.target)
    name = node.target.id
    assert isinstance(node.iter, ast.Call)
    given = node.iter.args
    sides = (
        given
        if len(given) == 3
        else [node.iter, given[0], node.iter]
        if len(given) == 1
        else [*given, node.iter]
    )
    start, stop, step = (_bound(low, value, side) for value, side in zip(bounds, sides, strict=True))
    if isinstance(step, ir.Const) and step.value == 0:
        low.refuse("a range's step is not zero", node.iter)
    before = set(low.bound_names())
    loop = Loop("run time")
    counter = ir.Symbol(name, low.index)
    low.scope.loops.append(loop)
    with low.nested() as body:
        names.bind(low, name, Typed(ir.Ref(low.index, low.span(node.target), counter), INDEX), node.target)
        low.block(node.body)
    low.scope.loops.pop()
    low.emit(ir.For(low.span(node), counter, start, stop, step, tuple(body)))
    low.bound = before  # there may have been no iteration


def _bound(low: Context, value: Value, node: ast.expr) -> ir.Expr:
    """A range's bound as the index type, fixed before the loop."""
    number: Number = low.as_number(value, node)
    role = "a range's bound"
    if not isinstance(number, Typed):
        if weak_type(number) is not WINT:
            low.refuse(f"{role} is an integer, not {show(value)}", node)
        return low.coerce(number, INDEX, node, role)
    known = type_of(number)
    if not known.is_integer or isinstance(known, VecType):
        low.refuse(f"{role} is an integer, not {known!r}: write {suggestion(i32, node)}", node)
    return low.repeatable(whole(low, number.expr, True, signed=True), "bound")


# Unrolled -----------------------------------------------------------------------------------------


def _unrolled_items(low: Context, call: ast.Call) -> tuple[Value, ...]:
    """What `ruda.unroll(...)` goes through."""
    if len(call.args) != 1 or call.keywords:
        low.refuse("ruda.unroll takes one range or one compile-time tuple", call)
    inner = call.args[0]
    if isinstance(inner, ast.Call) and _may_be_range(inner):
        callee = low.expr(inner.func)
        if isinstance(callee, Static) and callee.value is range:
            return _static_range(low, inner)
    value = low.expr(inner)
    items = items_of(value)
    if items is None:
        low.refuse(f"ruda.unroll takes range(...) or a compile-time tuple, not {show(value)}", inner)
    return items


def _static_range(low: Context, call: ast.Call) -> tuple[Value, ...]:
    limits = []
    for value in _bounds(low, call):
        if not (isinstance(value, Static) and isinstance(value.value, int)):
            low.refuse(
                f"ruda.unroll needs compile-time bounds, not {show(value)}: use a plain range, or a Comptime "
                f"parameter",
                call,
            )
        limits.append(value.value)
    if limits[2] == 0:
        low.refuse("a range's step is not zero", call)
    numbers = range(*limits)
    if len(numbers) > MAX_UNROLLED:
        low.refuse(f"this unrolls {len(numbers)} times; at most {MAX_UNROLLED} are", call)
    return tuple(Static(number) for number in numbers)


def _unroll(low: Context, node: ast.For, items: tuple[Value, ...]) -> None:
    """The body once for each item; blocks stand around it only where a break or continue needs them."""
    scope = low.scope
    loop = Loop("unrolled", break_label=low.new_label())
    outer = scope.unrolling
    scope.loops.append(loop)
    fixed = [low.stable(item) for item in items]
    with low.nested() as whole_body:
        for count, item in enumerate(fixed):
            scope.unrolling = (*outer, count)
            _iteration(low, loop, node, item)
            if low.bound is None:
                break
    scope.unrolling = outer
    scope.loops.pop()
    if loop.break_label in loop.leaves:
        low.emit(ir.Block(low.span(node), loop.break_label, tuple(whole_body)))
    else:
        low.out.extend(whole_body)
    low.bound = _after(loop, low.bound)
    if low.bound is not None:
        low.bound -= _targets(node) & scope.source.facts.loop_only


def _targets(node: ast.For) -> set[str]:
    return {name.id for name in ast.walk(node.target) if isinstance(name, ast.Name)}


def _iteration(low: Context, loop: Loop, node: ast.For, item: Value) -> None:
    loop.continue_label = low.new_label()
    loop.skips.clear()
    with low.nested() as body:
        loop.depth = len(low.blocks)
        low.bound_names().difference_update(_targets(node))  # each iteration binds them anew
        assign_to(low, node.target, item, node.iter)
        low.block(node.body)
    if loop.continue_label in loop.leaves:
        low.emit(ir.Block(low.span(node), loop.continue_label, tuple(body)))
    else:
        low.out.extend(body)
    for skipped in loop.skips:
        low.bound = merge(low.bound, skipped)


def jump(low: Context, node: ast.Break | ast.Continue) -> None:
    """`break` and `continue`."""
    breaks = isinstance(node, ast.Break)
    loop = low.scope.loops[-1]
    span = low.span(node)
    bound, low.bound = low.bound, None
    if loop.kind == "run time":
        if breaks:
            loop.exits.append(bound)
        low.emit(ir.Break(span) if breaks else ir.Continue(span))
        return
    skipped = bool(loop.skips)
    (loop.exits if breaks else loop.skips).append(bound)
    if len(low.blocks) == loop.depth and not (breaks and skipped):
        return  # no unit goes on in this iteration, and after a break none begins another
    label = loop.break_label if breaks else loop.continue_label
    loop.leaves.add(label)
    low.emit(ir.Leave(span, label))


LOOPS: dict[type, Visitor] = {
    ast.While: while_,
    ast.For: for_,
    ast.Break: jump,
    ast.Continue: jump,
}
