"""Calls: casts, methods, intrinsics, helpers, and plain functions at compile time."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from ruda_core.dtypes import DType, VecType, as_dtype
from ruda_core.errors import KernelSyntaxError, KernelTypeError
from ruda_core.frontend.captures import called_on_host, refusal
from ruda_core.frontend.casts import FLEXIBLE, cast, text_to_float
from ruda_core.frontend.context import Context, Visitor
from ruda_core.frontend.foreign import COMPILE_TIME_BUILTINS, HOST, PYTHON, at_run_time, intrinsic_of
from ruda_core.frontend.functions import Func
from ruda_core.frontend.inline import inline
from ruda_core.frontend.intrinsic_calls import HANDLERS
from ruda_core.frontend.intrinsics import Intrinsic, Refused
from ruda_core.frontend.locals import static
from ruda_core.frontend.refusals import refuse_unsupported
from ruda_core.frontend.values import (
    INDEX,
    ArrayValue,
    IndexType,
    Namespace,
    Static,
    TupleValue,
    Typed,
    Value,
    is_number,
    show,
)
from ruda_core.frontend.vectors import construct, total
from ruda_core.ir import nodes as ir


def call(low: Context, node: ast.Call) -> Value:
    """A call, by what is called."""
    if isinstance(node.func, ast.Attribute):
        method = _method(low, node, node.func)
        if method is not None:
            return method
    function = low.expr(node.func)
    hint, low.hint = low.hint, ""
    called = _called(function)
    if called is None:
        low.refuse(f"{show(function)} cannot be called in a kernel", node)
    if isinstance(called, Refused):
        refuse_unsupported(low, called, node)
    if called is float and node.args and isinstance(node.args[0], ast.Constant):
        text = node.args[0].value
        if isinstance(text, str):
            return text_to_float(low, text, node)
    for keyword in node.keywords:
        if keyword.arg is None:
            raise low.error("** is not in the kernel language: name each argument", node, KernelSyntaxError)
    _refuse_counting(low, called, node)
    args = [low.expr(arg) for arg in (*node.args, *(k.value for k in node.keywords))]
    if not isinstance(called, Func):
        low.hint = hint
    result = _apply(low, called, args, node)
    low.hint = ""
    return result


def _refuse_counting(low: Context, called: Any, node: ast.Call) -> None:
    """Raise KernelSyntaxError for `enumerate(range(n))` and its like, whose range would be refused alone."""
    if called not in (enumerate, zip, reversed):
        return
    for arg in node.args:
        if isinstance(arg, ast.Call) and isinstance(arg.func, ast.Name) and arg.func.id == "range":
            raise low.error(
                f"{called.__name__} over a range is not in the kernel language: write for i in range(...), with "
                f"begin, end and step, and work out the rest from i",
                node,
                KernelSyntaxError,
            )


def _called(function: Value) -> Any:
    if isinstance(function, Static) and (
        callable(function.value) or isinstance(function.value, (DType, VecType))
    ):
        value = function.value
        if isinstance(value, type) and issubclass(value, np.generic):
            return as_dtype(value)
        return value
    if isinstance(function, Namespace) and isinstance(function.holder, type):
        return function.holder
    return None


def _apply(low: Context, called: Any, args: list[Value], node: ast.Call) -> Value:
    if isinstance(called, Func):
        return inline(low, called, args, node)
    if isinstance(called, (DType, VecType, IndexType)) or called in FLEXIBLE:
        return _cast(low, called, args, node)
    if called is len:
        return _length(low, _one(low, "len", args, node), node)
    if called is range:
        raise low.error(
            "range stands in a for loop: for i in range(n), or ruda.unroll(range(n))", node, KernelSyntaxError
        )
    intrinsic = intrinsic_of(called)
    if intrinsic is not None:
        return _intrinsic(low, intrinsic, called, args, node)
    return _on_host(low, called, args, node)


# Methods and casts --------------------------------------------------------------------------------


def _method(low: Context, node: ast.Call, func: ast.Attribute) -> Value | None:
    """`a.shape(d)`, `a.stride(d)` and `v.sum()`; None when the receiver is a module or a class."""
    if func.attr not in ("shape", "stride", "sum"):
        return None
    base = low.expr(func.value)
    if isinstance(base, (Namespace, Static)):
        return None
    if isinstance(base, Typed) and isinstance(base.type, VecType) and func.attr == "sum":
        if node.args or node.keywords:
            low.refuse("v.sum() takes no argument", node)
        return total(low, base, node)
    if isinstance(base, ArrayValue) and func.attr != "sum":
        return _axis_method(low, base, func.attr, node)
    advice = ": write a loop that adds" if isinstance(base, ArrayValue) else ""
    low.refuse(f"{show(base)} has no method {func.attr!r}{advice}", node)


def _axis_method(low: Context, base: ArrayValue, method: str, node: ast.Call) -> Value:
    args = [low.expr(arg) for arg in node.args]
    axis = args[0].value if len(args) == 1 and isinstance(args[0], Static) else None
    array = base.array
    if not isinstance(axis, int) or isinstance(axis, bool) or not 0 <= axis < array.axes:
        axes = "0" if array.axes == 1 else f"0 to {array.axes - 1}"
        low.refuse(f"{array.name}.{method} takes one compile-time axis: {axes}", node)
    span = low.span(node)
    if array.shape:
        step = 1
        for extent in array.shape[axis + 1 :]:
            step *= extent
        return Static(array.shape[axis] if method == "shape" else step)
    if array.rank is None:
        return Static(1) if method == "stride" else Typed(ir.Length(low.index, span, array), INDEX)
    made = ir.Shape if method == "shape" else ir.Stride
    return Typed(made(low.index, span, array, axis), INDEX)


def _cast(low: Context, wanted: Any, args: list[Value], node: ast.Call) -> Value:
    if node.keywords:
        low.refuse(f"{wanted!r}(...) takes no keyword arguments", node)
    if isinstance(wanted, VecType):
        return construct(low, wanted, args, node)
    name = getattr(wanted, "__name__", None) or repr(wanted)
    value = low.as_number(_one(low, name, args, node), node.args[0])
    return cast(low, wanted, value, node)


def _one(low: Context, name: str, args: list[Value], node: ast.Call) -> Value:
    if len(args) != 1 or node.keywords:
        low.refuse(f"{name}(...) takes one argument, {len(args)} given", node)
    return args[0]


def _length(low: Context, value: Value, node: ast.Call) -> Value:
    match value:
        case ArrayValue(array=array) if array.shape:
            count = 1
            for extent in array.shape:
                count *= extent
            return Static(count)
        case ArrayValue(array=array):
            return Typed(ir.Length(low.index, low.span(node), array), INDEX)
        case TupleValue(items=items):
            return Static(len(items))
        case Static(value=tuple() as known):
            return Static(len(known))
        case Typed(type=VecType() as vector):
            return Static(vector.lanes)
    low.refuse(f"{show(value)} has no len", node)


# Intrinsics ---------------------------------------------------------------------------------------


def _intrinsic(low: Context, intrinsic: Intrinsic, called: Any, args: list[Value], node: ast.Call) -> Value:
    args = _in_order(low, intrinsic, args, node)
    if called in COMPILE_TIME_BUILTINS and len(args) == 1 and called in (min, max):
        return _extreme_of_tuple(low, called, args[0], node)
    known = _all_known(args)
    if known is not None:
        ours = isinstance(called, (Intrinsic, np.ufunc)) or called is np.where
        host = HOST.get(intrinsic.name) if ours else PYTHON.get(called, called)
        if host is not None:
            return _evaluate(low, host, known, node)
    handler: Callable[..., Value] | None = HANDLERS.get(intrinsic.name)
    if handler is None:
        low.refuse(f"ruda.{intrinsic.name} cannot be called here", node)
    return handler(low, intrinsic.name, args, node)


def _all_known(args: list[Value]) -> list[Any] | None:
    values = [arg.value for arg in args if isinstance(arg, Static)]
    return values if len(values) == len(args) and all(is_number(v) or v is None for v in values) else None


def _in_order(low: Context, intrinsic: Intrinsic, args: list[Value], node: ast.Call) -> list[Value]:
    """Keyword arguments at their places. Raises KernelTypeError for a wrong number of arguments."""
    count = len(node.args)
    placed = dict(enumerate(args[:count]))
    for keyword, value in zip(node.keywords, args[count:], strict=True):
        at = intrinsic.params.index(keyword.arg) if keyword.arg in intrinsic.params else -1
        if at < 0 or at in placed:
            low.refuse(f"{_shape(intrinsic)} has no parameter {keyword.arg!r} left to give", node)
        placed[at] = value
    needed = f"{len(intrinsic.params)} argument{'s' * (len(intrinsic.params) != 1)}"
    if sorted(placed) != list(range(len(placed))) or len(placed) < _fewest(intrinsic):
        low.refuse(f"{_shape(intrinsic)} takes {needed}, {len(args)} given", node)
    if len(placed) > len(intrinsic.params) and not intrinsic.variadic:
        low.refuse(f"{_shape(intrinsic)} takes {needed}, {len(args)} given", node)
    return [placed[i] for i in range(len(placed))]


def _fewest(intrinsic: Intrinsic) -> int:
    return 1 if intrinsic.variadic else len(intrinsic.required)


def _shape(intrinsic: Intrinsic) -> str:
    return f"{intrinsic.name}({', '.join(intrinsic.params)}{', …' if intrinsic.variadic else ''})"


def _extreme_of_tuple(low: Context, called: Any, value: Value, node: ast.Call) -> Value:
    if isinstance(value, Static) and isinstance(value.value, tuple):
        return _evaluate(low, PYTHON[called], [value.value], node)
    if isinstance(value, TupleValue):
        name = "minimum" if called is min else "maximum"
        return HANDLERS[name](low, name, list(value.items), node)
    low.refuse(
        f"{called.__name__} takes several numbers or a tuple, not {show(value)}"
        f"{': write a loop over its elements' if isinstance(value, ArrayValue) else ''}",
        node,
    )


# Compile time -------------------------------------------------------------------------------------


def _on_host(low: Context, called: Any, args: list[Value], node: ast.Call) -> Value:
    """A plain Python function, or a class, with compile-time arguments."""
    name = getattr(called, "__name__", repr(called))
    builtin = getattr(called, "__module__", None) == "builtins" or isinstance(called, type(len))
    if called is print:
        raise low.error(
            "print is not in the kernel language: write the value into an array and print that on the host",
            node,
            KernelSyntaxError,
        )
    if builtin and called not in COMPILE_TIME_BUILTINS:
        low.refuse(f"{name} is not in the kernel language: {at_run_time(called)}", node)
    for arg, side in zip(args, (*node.args, *(k.value for k in node.keywords)), strict=True):
        if not isinstance(arg, Static):
            low.refuse(
                f"{name} is a plain Python function, called at compile time, but this is {show(arg)}: "
                f"{at_run_time(called)}",
                side,
            )
    called_on_host(called, low.captures)
    values = [arg.value for arg in args if isinstance(arg, Static)]
    count = len(node.args)
    keywords = {str(k.arg): v for k, v in zip(node.keywords, values[count:], strict=True)}
    return _evaluate(low, called, values[:count], node, keywords)


def _evaluate(
    low: Context, function: Any, args: list[Any], node: ast.Call, keywords: dict[str, Any] | None = None
) -> Value:
    name = getattr(function, "__name__", "this")
    try:
        result = function(*args, **(keywords or {}))
        if isinstance(result, (enumerate, zip, reversed, range, list)):
            result = tuple(result)
    except Exception as error:  # whatever the user's function raises
        cause = low.error(
            f"{name} failed at compile time: {type(error).__name__}: {error}", node, KernelTypeError
        )
        raise cause from error
    reason = refusal(result)
    if reason is not None:
        low.refuse(f"the result of {name} {reason}", node)
    return static(low, result, name, node)


CALLS: dict[type, Visitor] = {ast.Call: call}
