"""How each intrinsic is lowered once one of its arguments is a run-time value."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import NoReturn

from ruda_core.dtypes import DType, VecType, bool_, f32, f64, i32, i64, u32, u64
from ruda_core.errors import KernelSyntaxError
from ruda_core.frontend.casts import bitcast
from ruda_core.frontend.context import Context, suggestion
from ruda_core.frontend.memory import Index, allocate, index_values, is_flat
from ruda_core.frontend.operators import binary, decided, origins, refuse_mix, typed_binary
from ruda_core.frontend.values import (
    WINT,
    ArrayValue,
    Nothing,
    Number,
    Static,
    TupleValue,
    Type,
    Typed,
    Value,
    join,
    show,
    type_of,
)
from ruda_core.frontend.vectors import dot
from ruda_core.ir import build
from ruda_core.ir import nodes as ir
from ruda_core.ir.functions import MATH

Handler = Callable[[Context, str, list[Value], ast.Call], Value]


def _sides(node: ast.Call, count: int) -> list[ast.AST]:
    """The node of each argument, for errors."""
    nodes: list[ast.AST] = [*node.args, *(k.value for k in node.keywords)]
    return nodes if len(nodes) == count else [node] * count


def _numbers(low: Context, args: Sequence[Value], node: ast.Call) -> list[Number]:
    return [low.as_number(a, side) for a, side in zip(args, _sides(node, len(args)), strict=True)]


# Functions of numbers -----------------------------------------------------------------------------


def math(low: Context, name: str, args: list[Value], node: ast.Call) -> Value:
    """A function of the table `MATH`, its operands brought to one dtype."""
    numbers = _numbers(low, args, node)
    sides = _sides(node, len(args))
    common: Type = type_of(numbers[0])
    for number, side in zip(numbers[1:], sides[1:], strict=True):
        joined = join(common, type_of(number))
        if joined is None:
            refuse_mix(low, name, numbers[0], number, node, (sides[0], side))
        common = joined
    common = decided(common, *numbers)
    if common is bool_ and name in ("abs", "sign", "floor", "ceil", "trunc", "round"):
        low.refuse(f"{name} of a bool: cast first, as in i32(...)", node)
    common = _check_domain(low, name, common, numbers, node)
    if name in ("floor", "ceil", "trunc", "round") and not common.is_float:
        return numbers[0]
    operands = tuple(low.coerce(n, common, side, name) for n, side in zip(numbers, sides, strict=True))
    result = low.ir_type(common)
    if MATH[name].gives_bool:
        flags = build.bool_like(result)
        return Typed(ir.Math(flags, low.span(node), name, operands), flags)
    return Typed(ir.Math(result, low.span(node), name, operands), common, origins(common, *numbers))


def _check_domain(low: Context, name: str, common: Type, numbers: list[Number], node: ast.Call) -> Type:
    """The type to compute in. Raises KernelTypeError for a dtype that the function does not take."""
    domain = MATH[name].domain
    if common is WINT or name in ("floor", "ceil", "trunc", "round"):
        return common  # still open, or the identity on integers
    literal = not any(isinstance(n, Typed) for n in numbers)
    if domain == "float" and not common.is_float:
        if literal:
            return f32
        low.refuse(f"{name} takes floats, not {common!r}: write {suggestion(f32, node.args[0])}", node)
    if domain in ("integer", "unsigned") and not common.is_integer:
        low.refuse(f"{name} takes integers, not {common!r}", node)
    if domain == "unsigned" and common.is_signed:
        unsigned = f"u{common.bits}" if isinstance(common, (DType, VecType)) else "u32"
        operands = ", ".join(f"{unsigned}({ast.unparse(a)})" for a in node.args)
        low.refuse(f"{name} of {common!r} is not defined: cast to unsigned: {name}({operands})", node)
    return common


def extreme(low: Context, name: str, args: list[Value], node: ast.Call) -> Value:
    """min and max of two or more, from the left."""
    fn = {"minimum": "min", "maximum": "max"}.get(name, name)
    if len(args) < 2:
        low.refuse(f"{name} takes two or more numbers", node)
    result = args[0]
    for more in args[1:]:
        result = math(low, fn, [result, more], node)
    return result


def clamp(low: Context, name: str, args: list[Value], node: ast.Call) -> Value:
    """`min(max(x, low), high)`."""
    return math(low, "min", [math(low, "max", [args[0], args[1]], node), args[2]], node)


def power(low: Context, name: str, args: list[Value], node: ast.Call) -> Value:
    """`ruda.pow(a, b)` is `a ** b`."""
    a, b = _sides(node, 2)
    return binary(low, "**", args[0], args[1], node, (a, b))


def truncated(low: Context, name: str, args: list[Value], node: ast.Call) -> Value:
    """C's division and remainder."""
    a, b = _numbers(low, args, node)
    for value in (a, b):
        known = type_of(value)
        if known.is_float or known.scalar is bool_:
            low.refuse(f"{name} takes integers, not {known!r}", node)
    side_a, side_b = _sides(node, 2)
    return typed_binary(low, name, a, b, node, (side_a, side_b))


def select(low: Context, name: str, args: list[Value], node: ast.Call) -> Value:
    """`ruda.select(cond, a, b)`: per component where the condition is a vector."""
    sides = _sides(node, 3)
    cond, a, b = _numbers(low, args, node)
    common = join(type_of(a), type_of(b))
    if common is None:
        refuse_mix(low, name, a, b, node, (sides[1], sides[2]))
    common = decided(common, a, b)
    test: ir.Expr
    if isinstance(cond, Typed) and isinstance(cond.type, VecType):
        if cond.type.scalar is not bool_:
            low.refuse(f"a vector condition is of bool, not {cond.type!r}: write a comparison", node)
        if not isinstance(common, VecType):
            common = build.with_scalar(cond.type, low.ir_type(common).scalar)
        if common.lanes != cond.type.lanes:
            low.refuse(f"a condition of {cond.type!r} cannot select {common!r}", node)
        test = cond.expr
    else:
        test = low.truth(cond, sides[0])
    x, y = low.coerce(a, common, sides[1], name), low.coerce(b, common, sides[2], name)
    return Typed(ir.Select(x.type, low.span(node), test, x, y), common, origins(common, a, b))


def bits_as(low: Context, name: str, args: list[Value], node: ast.Call) -> Value:
    return bitcast(low, args[0], low.as_number(args[1], node), node)


def is_float(low: Context, name: str, args: list[Value], node: ast.Call) -> Value:
    value = args[0]
    known = value.value if isinstance(value, Static) else None
    if isinstance(value, Typed):
        return Static(value.type.is_float)
    if isinstance(value, ArrayValue):
        return Static(value.array.dtype.is_float)
    if not hasattr(known, "is_float"):
        low.refuse(f"is_float takes a dtype, not {show(value)}", node)
    return Static(bool(known.is_float))  # type: ignore[union-attr]  # checked just above


def dot_(low: Context, name: str, args: list[Value], node: ast.Call) -> Value:
    return dot(low, args[0], args[1], node)


# Memory -----------------------------------------------------------------------------------------


def memory(low: Context, name: str, args: list[Value], node: ast.Call) -> Value:
    return allocate(low, name, args, node)


def barrier(low: Context, name: str, args: list[Value], node: ast.Call) -> Value:
    low.emit(ir.Barrier(low.span(node)))
    return Nothing("ruda.barrier")


def _place(low: Context, name: str, args: list[Value], node: ast.Call) -> tuple[ArrayValue, Index]:
    """The array and the indices of an access by an intrinsic."""
    array, index = args[0], args[1]
    sides = _sides(node, len(args))
    if not isinstance(array, ArrayValue):
        low.refuse(f"{name} takes an array and an index, not {show(array)}: {name}(x, i, …)", node)
    if array.array.space not in ("global", "shared"):
        low.refuse(
            f"{name} works on global and shared arrays; {array.array.name} is {array.array.space}: "
            f"access it plainly",
            node,
        )
    items: list[Value] = list(index.items) if isinstance(index, TupleValue) else [index]
    if isinstance(index, Static) and isinstance(index.value, tuple):
        items = [Static(item) for item in index.value]
    return array, index_values(low, array, items, [sides[1]] * len(items), sides[1])


_INTEGER_OPS = "add sub min max and or xor exchange compare_exchange load store".split()
# what a device has of these, its features say
ATOMIC_DTYPES: dict[DType, frozenset[str]] = {
    **{dtype: frozenset(_INTEGER_OPS) for dtype in (i32, u32, i64, u64)},
    **{dtype: frozenset(_INTEGER_OPS) - {"and", "or", "xor"} for dtype in (f32, f64)},
}


def atomic(low: Context, name: str, args: list[Value], node: ast.Call) -> Value:
    """`ruda.atomic_*`: the old value, save of a store."""
    op = name.removeprefix("atomic_").rstrip("_")
    array, index = _place(low, name, args, node)
    dtype = array.array.dtype
    allowed = ATOMIC_DTYPES.get(dtype) if isinstance(dtype, DType) else None
    if allowed is None or op not in allowed:
        takers = ", ".join(d.name for d, ops in ATOMIC_DTYPES.items() if op in ops)
        low.refuse(f"{name} works on {takers}; {array.array.name} is of {dtype!r}", node)
    sides = _sides(node, len(args))
    values = tuple(
        low.coerce(low.as_number(v, side), dtype, side, array.array.name)
        for v, side in zip(args[2:], sides[2:], strict=True)
    )
    symbol = None if op == "store" else ir.Symbol(low.hint or "old", dtype)
    span = low.span(node)
    low.emit(ir.Atomic(span, symbol, op, array.array, index, values, flat=is_flat(array)))
    return Nothing(name) if symbol is None else Typed(ir.Ref(dtype, span, symbol), dtype)


def uniform_load(low: Context, name: str, args: list[Value], node: ast.Call) -> Value:
    array, index = _place(low, name, args, node)
    symbol = ir.Symbol(low.hint or "uniform", array.array.dtype)
    span = low.span(node)
    low.emit(ir.UniformLoad(span, symbol, array.array, index, flat=is_flat(array)))
    return Typed(ir.Ref(symbol.type, span, symbol), symbol.type)


def misplaced_unroll(low: Context, name: str, args: list[Value], node: ast.Call) -> NoReturn:
    raise low.error(
        "ruda.unroll stands in a for loop: for i in ruda.unroll(range(n))", node, KernelSyntaxError
    )


HANDLERS: dict[str, Handler] = {
    **{name: math for name in MATH if name not in ("pow", "min", "max", "fmin", "fmax")},
    "minimum": extreme,
    "maximum": extreme,
    "fmin": extreme,
    "fmax": extreme,
    "clamp": clamp,
    "pow": power,
    "div_trunc": truncated,
    "rem_trunc": truncated,
    "select": select,
    "bitcast": bits_as,
    "is_float": is_float,
    "dot": dot_,
    "barrier": barrier,
    "shared": memory,
    "local": memory,
    "uniform_load": uniform_load,
    "unroll": misplaced_unroll,
    **{
        f"atomic_{name}": atomic
        for name in "add sub min max and_ or_ xor exchange compare_exchange load store".split()
    },
}
