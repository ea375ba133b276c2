"""From a Python function and the types of its arguments to IR."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from ruda_core.artifact import ArrayParam, Mode, RudaDim, ScalarParam
from ruda_core.dtypes import BY_NAME, DType, ValueType, VecType, i32, i64, vec
from ruda_core.errors import CompileError, KernelTypeError, RudaError
from ruda_core.frontend.calls import CALLS
from ruda_core.frontend.captures import Capture, Resolver, plain, refusal
from ruda_core.frontend.context import Context, Options, Shared, Visitor
from ruda_core.frontend.expressions import EXPRESSIONS
from ruda_core.frontend.inline import enter
from ruda_core.frontend.locals import static
from ruda_core.frontend.loops import LOOPS
from ruda_core.frontend.scope import Scope
from ruda_core.frontend.signature import KernelSignature, Parameter, signature
from ruda_core.frontend.source import Source, source_of
from ruda_core.frontend.statements import STATEMENTS
from ruda_core.frontend.values import INDEX, ArrayValue, ComptimeValue, IndexType, Type, Typed, Value
from ruda_core.ir import nodes as ir
from ruda_core.ir.span import error_at
from ruda_core.ir.types import ArrayType, TensorType
from ruda_core.tracebacks import shortened

ALL_EXPRESSIONS: dict[type, Visitor] = {**EXPRESSIONS, **CALLS}
ALL_STATEMENTS: dict[type, Visitor] = {**STATEMENTS, **LOOPS}
MAX_ROUNDS = 200

Param = ScalarParam | ArrayParam


@dataclass(frozen=True, slots=True)
class Lowered:
    """A kernel in IR, and the captured names that it depends on."""

    function: ir.Function
    captures: tuple[Capture, ...]


def lower(
    fn: Callable[..., Any],
    arguments: Mapping[str, Any],
    *,
    dim: Any,
    typevars: Mapping[TypeVar, ValueType] | None = None,
    index64: bool = False,
    mode: Mode = "checked",
    name: str | None = None,
    fp_contract: bool = True,
    fp_exact: bool = False,
    fp_fast: bool = False,
    groups: Iterable[tuple[str, ...]] = (),
    equal_lengths: Iterable[tuple[str, ...]] = (),
    spread: bool = False,
) -> Lowered:
    """Lower one specialisation of a kernel.

    `arguments` gives for each parameter a dtype (a run-time scalar), an `ArrayParam`, or a
    `ComptimeValue`; `typevars` binds generic dtypes, which arrays also bind by themselves. Raises
    KernelSyntaxError, KernelTypeError or UnsupportedFeature, each at its place in the source.
    """
    source, sig = source_of(fn), signature(fn)
    size = RudaDim.of(dim)
    options = Options((size.x, size.y, size.z), i64 if index64 else i32, mode)
    bound = _typevars(sig, arguments, typevars or {})
    shared = Shared()
    try:
        context, params = _rounds(fn, source, sig, arguments, bound, options, shared)
    except CompileError as error:  # dozens of frames deep
        raise shortened(error) from error.__cause__
    given = {p.name for p in params if isinstance(p, ArrayParam)}
    globals_ = [a for a in context.arrays if a.space == "global" and a.name in given]
    function = ir.Function(
        name=name or source.name,
        params=params,
        arrays=(*globals_, *(a for a in context.arrays if a.space != "global")),
        body=tuple(context.out),
        dim=options.dim,
        index=options.index,
        mode=mode,
        fp_contract=fp_contract,
        fp_exact=fp_exact,
        fp_fast=fp_fast,
        sites=tuple(context.sites),
        equal_lengths=tuple(equal_lengths),
        groups=tuple(groups),
        spread=spread,
        span=source.span(source.node),
    )
    return Lowered(function, tuple(shared.captures))


def _rounds(
    fn: Callable[..., Any],
    source: Source,
    sig: KernelSignature,
    arguments: Mapping[str, Any],
    typevars: Mapping[TypeVar, ValueType],
    options: Options,
    shared: Shared,
) -> tuple[Context, tuple[Param, ...]]:
    """Lower until the dtypes of all locals are known."""
    for _ in range(MAX_ROUNDS):
        shared.inference.begin()
        context = Context(options, shared, ALL_EXPRESSIONS, ALL_STATEMENTS)
        context.scope = scope = Scope(
            fn=fn,
            source=source,
            resolver=Resolver(fn, shared.captures),
            path=(),
            inlined_at=None,
            spans=source.spans,
            label=ir.KERNEL,
            depth=len(context.blocks),
            typevars=typevars,
        )
        params = _parameters(context, scope, sig, arguments)
        context.block(source.node.body)
        if not shared.inference.changed and not shared.inference.finish():
            return context, params
    raise RudaError(f"the dtypes of {source.name} do not settle: this is a defect of ruda")


# Parameters -------------------------------------------------------------------------------------


def _typevars(
    sig: KernelSignature, arguments: Mapping[str, Any], given: Mapping[TypeVar, ValueType]
) -> dict[TypeVar, ValueType]:
    """Generic dtypes as given, and as the arrays have them."""
    bound = dict(given)
    for p in sig.params:
        argument = arguments.get(p.name)
        if isinstance(p.annotation, (ArrayType, TensorType)) and isinstance(argument, ArrayParam):
            element = p.annotation.element
            if isinstance(element, TypeVar):
                bound.setdefault(element, element_type(argument))
        elif isinstance(p.annotation, TypeVar) and isinstance(argument, (DType, VecType)):
            bound.setdefault(p.annotation, argument)
    return bound


def element_type(param: ArrayParam) -> ValueType:
    """The element type of an array parameter."""
    scalar = BY_NAME[param.dtype]
    return scalar if param.lanes == 1 else vec(scalar, param.lanes)


def _parameters(
    low: Context, scope: Scope, sig: KernelSignature, arguments: Mapping[str, Any]
) -> tuple[Param, ...]:
    params: list[Param] = []
    values: dict[str, Value] = {}
    for p in sig.params:
        if p.name not in arguments:
            raise error_at(KernelTypeError, f"nothing is given for the parameter {p.name!r}", p.span)
        argument = arguments[p.name]
        if isinstance(argument, ComptimeValue):
            values[p.name] = _comptime(low, p, argument)
        elif isinstance(argument, ArrayParam):
            array = ir.Array(p.name, element_type(argument), "global", rank=argument.rank)
            low.arrays.append(array)
            params.append(argument)
            values[p.name] = ArrayValue(array)
        elif isinstance(argument, (DType, VecType, IndexType)):
            value, param = _scalar(low, p, argument)
            values[p.name] = value
            params.append(param)
        else:
            raise error_at(KernelTypeError, f"{argument!r} is no argument for {p.name!r}", p.span)
    enter(low, scope, sig, values)
    return tuple(params)


def _scalar(low: Context, p: Parameter, argument: DType | VecType | IndexType) -> tuple[Value, ScalarParam]:
    if isinstance(argument, VecType):
        if isinstance(p.annotation, TypeVar):  # arrays of vectors bound it: a scalar, for all components
            one = ir.Param(argument.scalar, p.span, p.name)
            return Typed(ir.MakeVector(argument, p.span, (one,)), argument), ScalarParam(
                p.name, argument.scalar.name
            )
        raise error_at(
            KernelTypeError,
            f"parameter {p.name!r} is a {argument!r}, which is not passed by value: take an array of them, "
            f"{p.name}: Array[{argument!r}], or its components as scalars",
            p.span,
        )
    is_index = p.annotation is INDEX or argument is INDEX
    dtype = low.index if isinstance(argument, IndexType) or is_index else argument
    known: Type = INDEX if is_index else dtype
    return Typed(ir.Param(dtype, p.span, p.name), known), ScalarParam(p.name, dtype.name)


def _comptime(low: Context, p: Parameter, argument: ComptimeValue) -> Value:
    reason = refusal(argument.value)
    if reason is not None:
        raise error_at(KernelTypeError, f"the compile-time argument {p.name!r} {reason}", p.span)
    return static(low, plain(argument.value), p.name, low.scope.source.node)
