"""Arrays: indices, loads and stores, shared and local memory, constant tuples."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from typing import Any

from ruda_core.dtypes import DType, VecType, bool_, i32, spelled
from ruda_core.frontend.context import Context, suggestion
from ruda_core.frontend.values import (
    INDEX,
    WINT,
    ArrayValue,
    Namespace,
    Number,
    Static,
    TupleValue,
    Typed,
    Value,
    Weak,
    is_number,
    show,
    weak_type,
)
from ruda_core.frontend.vectors import pick
from ruda_core.ir import build
from ruda_core.ir import nodes as ir

Index = tuple[ir.Expr, ...]


def element(low: Context, base: Value, node: ast.Subscript) -> Value:
    """`base[index]` as a value."""
    hint, low.hint = low.hint, ""
    match base:
        case ArrayValue():
            index = indices(low, base, node.slice)
            low.hint = hint
            return load(low, base, index, node)
        case TupleValue(items=items):
            return items[_known_index(low, node.slice, len(items))]
        case Static(value=tuple() as items):
            return _of_tuple(low, items, node)
        case Typed(type=VecType()):
            return pick(low, base, low.expr(node.slice), node)
    low.refuse(f"{show(base)} cannot be indexed", node)


def _known_index(low: Context, node: ast.expr, count: int) -> int:
    index = low.expr(node)
    if not (isinstance(index, Static) and isinstance(index.value, int)):
        low.refuse("a tuple of run-time values takes a compile-time index; for others use ruda.local", node)
    if not -count <= index.value < count:
        low.refuse(f"a tuple of {count} has no item {index.value}", node)
    return int(index.value)


def _of_tuple(low: Context, items: tuple[Any, ...], node: ast.Subscript) -> Value:
    index = low.expr(node.slice)
    if isinstance(index, Static):
        return Static(items[_checked(low, index.value, len(items), node)])
    number = low.as_number(index, node.slice)
    if not items or not all(is_number(item) for item in items):
        low.refuse("a tuple that is indexed at run time holds numbers of one type", node)
    kinds = {weak_type(Static(item)) for item in items}
    if len(kinds) != 1:
        names = " and ".join(sorted(kind.name for kind in kinds))
        low.refuse(f"a tuple that is indexed at run time holds numbers of one type, not {names}", node)
    return _constant_load(low, items, kinds.pop(), number, node)


def _checked(low: Context, index: object, count: int, node: ast.Subscript) -> int:
    if not isinstance(index, int) or isinstance(index, bool):
        low.refuse(f"a tuple's index is an integer, not {index!r}", node)
    if not -count <= index < count:
        low.refuse(f"a tuple of {count} has no item {index}", node)
    return index


def _constant_load(
    low: Context, items: tuple[Any, ...], kind: Weak, index: Number, node: ast.Subscript
) -> Typed:
    """A load from a constant array, whose dtype is inferred as a local's is."""
    key = low.scope.key(f"[{node.lineno}:{node.col_offset}]")
    known = low.inference.types.get(key)
    if known is None:
        known = low.inference.assign(key, kind, (), low.span(node))
    dtype = low.ir_type(known).scalar
    values = tuple(
        value.value for item in items if isinstance(value := low.constant(item, known, node), ir.Const)
    )
    site = ("constant", repr(values), dtype)  # repr: 0.0 and -0.0 are equal
    array = low.array_sites.get(site)
    if array is None:
        name = ast.unparse(node.value) if isinstance(node.value, ast.Name) else "constants"
        array = _new_array(low, site, name, dtype, "constant", (len(items),), values)
    at = as_index(low, index, node.slice, f"an index of {array.name}")
    element = load(low, ArrayValue(array), (at,), node)
    return Typed(element.expr, low.read_type(known), (key,) if isinstance(known, Weak) else ())


# Indices ------------------------------------------------------------------------------------------


def indices(low: Context, base: ArrayValue, node: ast.expr) -> Index:
    """The indices of an access: one for each axis."""
    nodes = list(node.elts) if isinstance(node, ast.Tuple) else [node]
    values = [low.expr(n) for n in nodes]
    if len(values) == 1 and isinstance(values[0], (TupleValue, Static)):
        spread = _spread(values[0])
        if spread is not None:
            values, nodes = spread, [node] * len(spread)
    return index_values(low, base, values, nodes, node)


def _spread(value: Value) -> list[Value] | None:
    """The items of a tuple that is used as an index."""
    if isinstance(value, TupleValue):
        return list(value.items)
    if isinstance(value, Static) and isinstance(value.value, tuple):
        return [Static(item) for item in value.value]
    return None


def index_values(
    low: Context, base: ArrayValue, values: Sequence[Value], nodes: Sequence[ast.AST], at: ast.AST
) -> Index:
    """Values as the indices of an access. Raises KernelTypeError for a wrong number of them."""
    array = base.array
    axes = 1 if base.flat else array.axes
    if len(values) != axes:
        counted = f"{axes} {'index' if axes == 1 else 'indices'}"
        flat = f"; {array.name}.flat[k] takes one" if axes > 1 and len(values) == 1 else ""
        low.refuse(f"{array.name} takes {counted}, {len(values)} given{flat}", at)
    role = f"an index of {array.name}"
    found = tuple(as_index(low, low.as_number(v, n), n, role) for v, n in zip(values, nodes, strict=True))
    if base.flat and len(array.shape) > 1:
        return _unflatten(low, found[0], array.shape)
    return found


def _unflatten(low: Context, flat: ir.Expr, shape: tuple[int, ...]) -> Index:
    """The index of each axis; one out of bounds leaves the first axis."""
    flat = low.repeatable(flat)
    found: list[ir.Expr] = []
    for axis in range(len(shape)):
        inner = math.prod(shape[axis + 1 :])
        part = build.binary("//", flat, build.like(flat, inner)) if inner > 1 else flat
        found.append(build.binary("%", part, build.like(flat, shape[axis])) if axis else part)
    return tuple(found)


def as_index(low: Context, value: Number, at: ast.AST, role: str) -> ir.Expr:
    """A value of any integer dtype as the index type; what does not fit stays out of bounds."""
    if not isinstance(value, Typed):
        if weak_type(value) is not WINT:
            low.refuse(f"{role} is an integer, not {show(value)}", at)
        return low.coerce(value, INDEX, at, role)
    have = value.type
    if have.is_float or have is bool_ or isinstance(have, VecType):
        hint = suggestion(i32, at) if have.is_float or have is bool_ else "one component"
        low.refuse(f"{role} is an integer, not {have!r}: write {hint}", at)
    return whole(low, value.expr, low.options.mode != "unchecked", signed=False)


def whole(low: Context, expr: ir.Expr, exact: bool, *, signed: bool) -> ir.Expr:
    """An integer as the index type. `exact`: a value beyond its range becomes one that is as wrong.

    `signed`: the nearest value of the index type, as a loop's bounds need; else any out of bounds.
    """
    index, have = low.index, expr.type.scalar
    if have is index:
        return expr
    fits = have.bits < index.bits or (have.bits == index.bits and not signed)
    if not exact or fits:
        return build.cast(index, expr)
    if have.is_signed:
        expr = build.math("max", expr, build.like(expr, index.min if signed else -1))
    return build.cast(index, build.math("min", expr, build.like(expr, index.max)))


# Access -------------------------------------------------------------------------------------------


def load(low: Context, base: ArrayValue, index: Index, node: ast.AST) -> Typed:
    """An element as a value."""
    array = base.array
    symbol = ir.Symbol(low.hint or "v", array.dtype)
    low.hint = ""
    span = low.span(node)
    low.emit(ir.Load(span, symbol, array, index, flat=is_flat(base)))
    return Typed(ir.Ref(array.dtype, span, symbol), array.dtype)


def is_flat(base: ArrayValue) -> bool:
    """The access goes through a tensor's linear order."""
    return base.flat and base.array.rank is not None


def store(low: Context, base: Value, index: Index, value: Number, node: ast.AST, side: ast.AST) -> None:
    """`base[index] = value`."""
    if not isinstance(base, ArrayValue):
        low.refuse(f"{show(base)} has no elements to assign", node)
    array = base.array
    if array.space == "constant":
        low.refuse(f"{array.name} is a constant: it cannot be written", node)
    stored = low.coerce(value, array.dtype, side, array.name)
    low.emit(ir.Store(low.span(node), array, index, stored, flat=is_flat(base)))


# Shared and local memory --------------------------------------------------------------------------


def allocate(low: Context, space: str, args: Sequence[Value], node: ast.Call) -> ArrayValue:
    """`ruda.shared(dtype, shape)` and `ruda.local(dtype, shape)`: one array for each call site."""
    dtype = _element(low, args[0], space, node)
    shape = _shape(low, args[1], space, node)
    site = (space, tuple(call[0] for call in low.scope.path if isinstance(call, tuple)), node, dtype, shape)
    found = low.array_sites.get(site)
    if found is None:
        found = _new_array(low, site, low.hint or space, dtype, space, shape)
    return ArrayValue(found)


def _element(low: Context, value: Value, space: str, node: ast.Call) -> DType | VecType:
    known = value.value if isinstance(value, Static) else None
    if known is bool:
        return bool_
    if not isinstance(known, (DType, VecType)):
        given = value.holder if isinstance(value, Namespace) else known
        meant = spelled(given) or "f32"
        low.refuse(f"ruda.{space} takes a dtype first, not {show(value)}: ruda.{space}({meant}, 64)", node)
    return known


def _shape(low: Context, value: Value, space: str, node: ast.Call) -> tuple[int, ...]:
    known = value.value if isinstance(value, Static) else None
    axes = known if isinstance(known, tuple) else (known,)
    if not axes or not all(isinstance(n, int) and not isinstance(n, bool) for n in axes):
        low.refuse(
            f"the shape of ruda.{space} is a compile-time int or tuple of them, not {show(value)}: use a "
            f"literal, a captured constant or a Comptime parameter",
            node,
        )
    if min(axes) < 1:
        low.refuse(f"the shape of ruda.{space} is {value.value!r}: each axis has at least one element", node)  # type: ignore[union-attr]  # Static, as known is not None
    return tuple(int(n) for n in axes)


def _new_array(
    low: Context,
    site: Any,
    name: str,
    dtype: DType | VecType,
    space: Any,
    shape: tuple[int, ...],
    values: tuple[int | float | bool, ...] = (),
) -> ir.Array:
    taken = {array.name for array in low.arrays}
    unique, count = name, 1
    while unique in taken:
        count += 1
        unique = f"{name}_{count}"
    array = ir.Array(unique, dtype, space, shape, values=values)
    low.arrays.append(array)
    low.array_sites[site] = array
    return array
