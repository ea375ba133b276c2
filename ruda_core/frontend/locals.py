"""Binding and reading names."""

from __future__ import annotations

import ast
import types
from typing import Any, TypeVar

from ruda_core.frontend import hints
from ruda_core.frontend.captures import CONSTANT_MODULES, MISSING, Capture, plain, refusal
from ruda_core.frontend.context import Context
from ruda_core.frontend.infer import Conflict
from ruda_core.frontend.intrinsics import Position, Refused
from ruda_core.frontend.refusals import refuse_unsupported
from ruda_core.frontend.values import (
    INDEX,
    ArrayValue,
    Choice,
    Namespace,
    Nothing,
    Number,
    Static,
    TupleValue,
    Type,
    Typed,
    Value,
    Weak,
    is_number,
    show,
    type_of,
)
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import is_simple


def bind(low: Context, name: str, value: Value, at: ast.AST) -> None:
    """Give a local a value."""
    if isinstance(value, Nothing):
        low.refuse(f"{show(value)}: there is nothing to assign to {name!r}", at)
    if not (isinstance(value, (Typed, Choice)) or (isinstance(value, Static) and is_number(value.value))):
        _bind_whole(low, name, value, at)
        return
    scope, facts = low.scope, low.scope.source.facts
    single = facts.binders.get(name, 0) == 1 or (name in facts.exclusive and isinstance(value, Static))
    if name not in facts.loop_only and low.inference.is_variable(scope.key(name), at, single):
        bind_variable(low, name, value, at)
        return
    if isinstance(value, Typed) and not _stays(value.expr):
        value = Typed(low.let(value.expr, name), value.type, value.origins)
    elif isinstance(value, Choice):
        value = low.stable(value, name)
    _name(low, name, value)


def _stays(expr: ir.Expr) -> bool:
    """A value that already has a name of its own."""
    return isinstance(expr, ir.Ref) and is_simple(expr)


def _name(low: Context, name: str, value: Value) -> None:
    low.scope.values[name] = value
    low.scope.homes[name] = low.blocks[-1]
    low.scope.ever.add(name)
    low.bound_names().add(name)


def bind_variable(low: Context, name: str, value: Number, at: ast.AST) -> None:
    """Assign to a local that is a mutable symbol."""
    scope = low.scope
    key, span = scope.key(name), low.span(at)
    origins = value.origins if isinstance(value, Typed) else ()
    try:
        known = low.inference.assign(key, type_of(value), origins, span)
    except Conflict as conflict:
        low.refuse(
            f"{name!r} is {conflict.old!r} since line {conflict.since.line}, but on line {span.line} it is given "
            f"{show(value)}: {_cure(name, value, conflict.old)}",
            at,
        )
    symbol = low.symbol(key, name, known)
    low.emit(ir.Assign(span, symbol, low.coerce(value, known, at, repr(name))))
    scope.values.pop(name, None)
    scope.ever.add(name)
    low.bound_names().add(name)


def _cure(name: str, value: Number, old: Type) -> str:
    if isinstance(value, Static) and old.scalar.is_integer:
        return f"start with a float, such as {name} = 0.0, or write {old!r}({value.value!r})"
    return f"write {old!r}(...), or use another name"


def declare(low: Context, name: str, declared: Type, value: Number, at: ast.AST) -> None:
    """`name: dtype = value`."""
    key = low.scope.key(name)
    low.inference.declare(key, declared, low.span(at))
    low.inference.make_variable(key)
    bind_variable(low, name, value, at)


def _bind_whole(low: Context, name: str, value: Value, at: ast.AST) -> None:
    """Name something that has no symbol: an array, a dtype, a tuple, a function."""
    scope = low.scope
    known = scope.values.get(name)
    single = scope.source.facts.binders.get(name, 0) == 1
    if not single and name in low.bound_names():
        if known is None:
            low.refuse(f"{name!r} is a number before this line, and {show(value)} here: use another name", at)
        if scope.homes[name] != low.blocks[-1] and not _same(known, value):
            low.refuse(
                f"{name!r} becomes {show(value)} only on some paths: what is not a number cannot depend on "
                f"run-time control flow",
                at,
            )
    _name(low, name, low.stable(value, name))


def _same(a: Value, b: Value) -> bool:
    if isinstance(a, ArrayValue) and isinstance(b, ArrayValue):
        return a.array is b.array and a.flat == b.flat
    return isinstance(a, Static) and isinstance(b, Static) and a.value is b.value


# Reading ----------------------------------------------------------------------------------------


def name(low: Context, node: ast.Name) -> Value:
    """A local, or a captured name."""
    scope = low.scope
    if node.id not in scope.source.facts.binders:
        return captured(low, node)
    if node.id not in low.bound_names():
        some = node.id in scope.ever
        problem = "is bound on only some of the paths to here" if some else "is used before it is bound"
        low.refuse(f"{node.id!r} {problem}: give it a value before", node)
    value = scope.values.get(node.id)
    if value is None:
        return _variable(low, node)
    if scope.homes.get(node.id, low.blocks[0]) not in low.blocks:
        _outside(low, node, value)
    return value


def _variable(low: Context, node: ast.Name) -> Typed:
    key = low.scope.key(node.id)
    known = low.read_type(low.inference.types[key])
    symbol = low.symbols[key]
    # the symbol is older than what this round has learnt of its dtype
    ref = ir.Ref(low.ir_type(known), low.span(node), symbol)
    return Typed(ref, known, (key,) if isinstance(known, Weak) else ())


def _outside(low: Context, node: ast.Name, value: Value) -> None:
    """A name that is used outside of the block that binds it."""
    scope = low.scope
    if isinstance(value, (Typed, Choice)):
        low.inference.make_variable(scope.key(node.id))
        return
    several = scope.source.facts.binders[node.id] > 1
    if several and not (isinstance(value, Static) and is_number(value.value)):
        low.refuse(
            f"{node.id!r} is not the same on every path to here: what is not a number cannot depend on "
            f"run-time control flow",
            node,
        )
    if isinstance(value, TupleValue):
        low.refuse(f"the tuple {node.id!r} is used outside of the block that makes it: unpack it there", node)


# Captured names -----------------------------------------------------------------------------------


def captured(low: Context, node: ast.Name) -> Value:
    """A name of the module, the closure or Python itself."""
    value, capture = low.scope.resolver.find(node.id)
    if value is MISSING:
        if capture is not None:
            low.refuse(f"the name {node.id!r} has no value yet", node)
        written = hints.of_name(node.id, low.scope.ever, low.scope.resolver.names())
        low.refuse(f"the name {node.id!r} is not defined{written}", node)
    return wrap(low, value, node.id, capture, (), node)


def wrap(
    low: Context, value: Any, name: str, capture: Capture | None, path: tuple[str, ...], node: ast.AST
) -> Value:
    """What a captured object is in a kernel; its capture is recorded unless it is only a way to others."""
    if isinstance(value, types.ModuleType):
        constant = value.__name__.split(".")[0] in CONSTANT_MODULES
        return Namespace(value, None if constant else capture, path)
    if isinstance(value, type) and value.__module__.split(".")[0] not in CONSTANT_MODULES:
        return Namespace(value, capture, path)
    if capture is not None:
        low.scope.resolver.record(capture.at(path) if path else capture)
    reason = refusal(value)
    if reason is not None:
        low.refuse(f"{name!r} {reason}", node)
    return static(low, value, name, node)


def static(low: Context, value: Any, name: str, node: ast.AST) -> Value:
    """A compile-time object as a value: generic dtypes and positions become what they stand for."""
    if isinstance(value, TypeVar):
        bound = low.scope.typevars.get(value)
        if bound is None:
            low.refuse(f"the generic dtype {value.__name__} is bound by no parameter of this function", node)
        return Static(bound)
    if isinstance(value, Refused):
        refuse_unsupported(low, value, node)
    if isinstance(value, Position):
        return _position(low, value, node)
    if isinstance(value, tuple):
        return Static(_dtypes_in(low, plain(value), name, node))
    return Static(plain(value))


def _dtypes_in(low: Context, value: tuple[Any, ...], name: str, node: ast.AST) -> tuple[Any, ...]:
    """A captured tuple, with generic dtypes replaced."""
    if not any(isinstance(item, TypeVar) for item in value):
        return value
    items = [static(low, item, name, node) for item in value]
    return tuple(item.value for item in items if isinstance(item, Static))


def _position(low: Context, position: Position, node: ast.AST) -> Value:
    if position.builtin == "workgroup_dim":
        x, y, z = low.options.dim
        return Static(x * y * z if position.axis is None else (x, y, z)[position.axis])
    builtin: Any = position.builtin
    return Typed(ir.Builtin(low.index, low.span(node), builtin, position.axis), INDEX)


def attribute_of(low: Context, base: Namespace | Static, attribute: str, node: ast.AST) -> Value:
    """A captured object's attribute."""
    holder = base.holder if isinstance(base, Namespace) else base.value
    found = getattr(holder, attribute, MISSING)
    what = getattr(holder, "__name__", None) or repr(holder)
    if found is MISSING:
        low.refuse(f"{what} has no attribute {attribute!r}{hints.of_attribute(holder, attribute)}", node)
    if isinstance(base, Namespace):
        return wrap(low, found, f"{what}.{attribute}", base.root, (*base.path, attribute), node)
    reason = refusal(found)
    if reason is not None:
        low.refuse(f"{what}.{attribute} {reason}", node)
    return static(low, found, attribute, node)
