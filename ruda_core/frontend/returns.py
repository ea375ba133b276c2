"""Results of helpers: one value straight out of the body, or variables where several returns give them."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any, TypeVar

from ruda_core.dtypes import ValueType
from ruda_core.frontend.context import Context
from ruda_core.frontend.infer import Conflict
from ruda_core.frontend.scope import Returns, Scope
from ruda_core.frontend.signature import KernelSignature
from ruda_core.frontend.values import (
    Choice,
    Key,
    Nothing,
    Static,
    TupleValue,
    Typed,
    Value,
    Weak,
    is_number,
    show,
    type_of,
)
from ruda_core.ir import nodes as ir


@dataclass(slots=True)
class Binding:
    """The generic dtypes of one call."""

    typevars: dict[TypeVar, ValueType]
    open: dict[TypeVar, tuple[Weak, tuple[Key, ...]]]
    """Those bound only by locals that have no dtype yet: bound for this round alone."""


def declared_results(sig: KernelSignature, binding: Binding) -> tuple[Any, ...] | None:
    """The types that the helper is annotated to return, or None."""
    if sig.returns is None:
        return None
    items = sig.returns if isinstance(sig.returns, tuple) else (sig.returns,)
    return tuple(binding.typevars.get(t, t) if isinstance(t, TypeVar) else t for t in items)


def give(low: Context, node: ast.Return) -> None:
    """`return` in a helper."""
    scope = low.scope
    value = None if node.value is None else low.expr(node.value)
    if isinstance(value, Static) and value.value is None:
        value = None
    items = _items(value)
    _check_arity(low, scope.returns, value, items, node)
    last = len(low.blocks) == scope.depth
    if last and not scope.returns.left:
        scope.returns.direct = _as_declared(low, scope, value, items, node)
    else:
        for k, item in enumerate(items):
            _assign(low, scope, k, item, node)
        if not last:
            scope.returns.left = True
            low.emit(ir.Leave(low.span(node), scope.label))
    low.bound = None


def _items(value: Value | None) -> tuple[Value, ...]:
    if value is None:
        return ()
    if isinstance(value, TupleValue):
        return value.items
    if isinstance(value, Static) and isinstance(value.value, tuple):
        return tuple(Static(item) for item in value.value)
    return (value,)


def _check_arity(
    low: Context, returns: Returns, value: Value | None, items: tuple[Value, ...], node: ast.Return
) -> None:
    single = value is not None and not (
        isinstance(value, TupleValue) or (isinstance(value, Static) and isinstance(value.value, tuple))
    )
    arity = -1 if single else len(items)
    if returns.arity is None:
        returns.arity, returns.span = arity, low.span(node)
    elif returns.arity != arity:
        assert returns.span is not None
        low.refuse(
            f"{low.scope.source.name} returns {_count(arity)} here, but {_count(returns.arity)} on line "
            f"{returns.span.line}",
            node,
        )


def _count(arity: int) -> str:
    return {0: "nothing", -1: "one value"}.get(arity, f"a tuple of {arity}")


def _wanted(scope: Scope, k: int) -> Any:
    declared = scope.declared
    return declared[k] if declared is not None and k < len(declared) else None


def _as_declared(
    low: Context, scope: Scope, value: Value | None, items: tuple[Value, ...], node: ast.Return
) -> Value | None:
    """The single result, converted where the helper is annotated with its dtype."""
    if scope.declared is None or value is None:
        return value
    role = f"the result of {scope.source.name}"
    at = node.value or node
    converted = tuple(
        Typed(low.coerce(low.as_number(item, at), wanted, at, role), wanted)
        if (wanted := _wanted(scope, k)) is not None
        else item
        for k, item in enumerate(items)
    )
    return TupleValue(converted) if scope.returns.arity != -1 else converted[0]


def _result_name(k: int) -> str:
    return f"return {k}"


def _assign(low: Context, scope: Scope, k: int, item: Value, node: ast.Return) -> None:
    """Assign one result to its variable."""
    if not (isinstance(item, (Typed, Choice)) or (isinstance(item, Static) and is_number(item.value))):
        low.refuse(f"{show(item)} is returned on one of several paths: only numbers can be", node)
    key, span = scope.key(_result_name(k)), low.span(node)
    wanted = _wanted(scope, k)
    if wanted is not None:
        low.inference.declare(key, wanted, span)
    origins = item.origins if isinstance(item, Typed) else ()
    try:
        known = low.inference.assign(key, type_of(item), origins, span)
    except Conflict as conflict:
        low.refuse(
            f"{scope.source.name} returns {show(item)} on line {span.line}, but {conflict.old!r} on line "
            f"{conflict.since.line}: write {conflict.old!r}(...)",
            node,
        )
    symbol = low.symbol(key, scope.source.name, known)
    low.emit(ir.Assign(span, symbol, low.coerce(item, known, node, "the other result")))


def result_of(low: Context, scope: Scope, sig: KernelSignature) -> Value:
    """The call's value, after its body."""
    returns = scope.returns
    if returns.arity in (None, 0):
        return Nothing(sig.name)
    if low.is_reached():
        low.refuse(
            f"{sig.name} returns a value on some paths only: end it with a return",
            scope.source.node.body[-1],
        )
    if not returns.left:
        assert returns.direct is not None
        return returns.direct
    count = 1 if returns.arity == -1 else returns.arity or 0
    results = tuple(_read(low, scope, k) for k in range(count))
    return results[0] if returns.arity == -1 else TupleValue(results)


def _read(low: Context, scope: Scope, k: int) -> Typed:
    key = scope.key(_result_name(k))
    symbol, known = low.symbols[key], low.inference.types[key]
    ref = ir.Ref(low.ir_type(known), scope.inlined_at, symbol)
    return Typed(ref, low.read_type(known), (key,) if isinstance(known, Weak) else ())


def open_again(result: Value, binding: Binding) -> Value:
    """Results whose dtype came from locals that have none yet are as open as those."""
    if not binding.open:
        return result
    if isinstance(result, TupleValue):
        return TupleValue(tuple(open_again(item, binding) for item in result.items))
    if isinstance(result, Typed):
        for kind, keys in binding.open.values():
            if result.type == kind.default:
                return Typed(result.expr, kind, keys)
    return result
