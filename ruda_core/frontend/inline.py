"""Calls of `@ruda.func` helpers: the body takes the call's place."""

from __future__ import annotations

import ast
from typing import TypeVar

from ruda_core.dtypes import ValueType
from ruda_core.errors import KernelSyntaxError
from ruda_core.frontend.captures import Resolver
from ruda_core.frontend.context import Context
from ruda_core.frontend.functions import Func
from ruda_core.frontend.locals import bind, bind_variable
from ruda_core.frontend.returns import Binding, declared_results, open_again, result_of
from ruda_core.frontend.scope import Scope
from ruda_core.frontend.signature import KernelSignature, Parameter, signature
from ruda_core.frontend.source import source_of
from ruda_core.frontend.values import (
    INDEX,
    ArrayValue,
    Choice,
    IndexType,
    Number,
    Static,
    Type,
    Typed,
    Value,
    Weak,
    is_number,
    join,
    show,
    type_of,
)
from ruda_core.ir import nodes as ir
from ruda_core.ir.types import ArrayType, ComptimeType, TensorType

Arguments = dict[str, tuple[Value, ast.AST]]


def inline(low: Context, func: Func, args: list[Value], node: ast.Call) -> Value:
    """Lower the body of a helper for one call. Raises CompileError."""
    _refuse_recursion(low, func, node)
    sig = signature(func.fn, func.scope)
    given = _arguments(low, sig, args, node)
    binding = _bind_typevars(low, sig, given, node)
    scope = _scope_of(low, func, sig, binding, node)
    # arguments belong to the call: their errors and temporaries to the caller
    values = {p.name: _argument(low, p, *given[p.name], binding, sig.name) for p in sig.params}
    body, result, reached = _lower_body(low, scope, sig, values)
    if scope.returns.left:
        low.emit(ir.Block(low.span(node), scope.label, body))
    else:
        low.out.extend(body)
        if not reached and scope.returns.arity is None:
            low.bound = None  # it never returns
    return open_again(result, binding)


def _lower_body(
    low: Context, scope: Scope, sig: KernelSignature, values: dict[str, Value]
) -> tuple[ir.Body, Value, bool]:
    """The helper's statements, its result, and whether some path reaches its end."""
    caller, bound = low.scope, low.bound
    low.scope = scope
    low.bound = set()
    try:
        with low.nested() as body:
            scope.depth = len(low.blocks)
            enter(low, scope, sig, values)
            low.block(scope.source.node.body)
            reached = low.is_reached()
            result = result_of(low, scope, sig)
    finally:
        low.scope, low.bound = caller, bound
    return tuple(body), result, reached


def _refuse_recursion(low: Context, func: Func, node: ast.Call) -> None:
    scope: Scope | None = low.scope
    while scope is not None:
        if scope.fn is func.fn:
            raise low.error(
                f"{func.fn.__name__} calls itself: recursion is not in the kernel language, write a loop",
                node,
                KernelSyntaxError,
            )
        scope = scope.caller


def _scope_of(low: Context, func: Func, sig: KernelSignature, binding: Binding, node: ast.Call) -> Scope:
    generic = tuple((repr(bound), variable in binding.open) for variable, bound in binding.typevars.items())
    path = (*low.scope.path, (id(node), low.scope.unrolling, generic))
    return Scope(
        fn=func.fn,
        source=source_of(func.fn),
        resolver=Resolver(func.fn, low.captures),
        path=path,
        inlined_at=low.span(node),
        spans=low.spans.setdefault(path, {}),
        label=low.new_label(),
        depth=0,
        typevars=binding.typevars,
        caller=low.scope,
        declared=declared_results(sig, binding),
    )


# Arguments ----------------------------------------------------------------------------------------


def _arguments(low: Context, sig: KernelSignature, args: list[Value], node: ast.Call) -> Arguments:
    """Each parameter's argument and its node."""
    given: Arguments = {}
    names = [p.name for p in sig.params]
    shape = f"{sig.name}({', '.join(names)})"
    if len(node.args) > len(names):
        low.refuse(f"{shape} takes {len(names)} arguments, {len(node.args)} given", node)
    for name, value, side in zip(names, args, node.args, strict=False):
        given[name] = value, side
    for keyword, value in zip(node.keywords, args[len(node.args) :], strict=True):
        if keyword.arg not in names:
            low.refuse(f"{shape} has no parameter {keyword.arg!r}", node)
        if keyword.arg in given:
            low.refuse(f"{shape}: {keyword.arg!r} is given twice", node)
        given[keyword.arg] = value, keyword.value
    for p in sig.params:
        if p.name in given:
            continue
        if not p.has_default:
            low.refuse(f"{shape}: the argument {p.name!r} is missing", node)
        given[p.name] = Static(p.default), node
    return given


def _bind_typevars(low: Context, sig: KernelSignature, given: Arguments, node: ast.Call) -> Binding:
    """Generic dtypes from the arguments: arrays first, then typed scalars, then literals."""
    binding = Binding({}, {})
    weak: dict[TypeVar, list[Number]] = {}
    for p in sig.params:
        variable = getattr(p.annotation, "element", p.annotation)
        value, side = given[p.name]
        if not isinstance(variable, TypeVar):
            continue
        if isinstance(value, ArrayValue):
            _bind_one(low, binding, variable, value.array.dtype, side, sig)
        elif not isinstance(p.annotation, TypeVar):
            low.refuse(f"{p.name!r} of {sig.name} is {p.annotation!r}, but this is {show(value)}", side)
        else:
            number = low.as_number(value, side)
            if isinstance(number, Typed) and not isinstance(number.type, Weak):
                known = low.index if isinstance(number.type, IndexType) else number.type
                _bind_one(low, binding, variable, known, side, sig)
            else:
                weak.setdefault(variable, []).append(number)
    for variable, numbers in weak.items():
        if variable not in binding.typevars:
            _bind_weak(low, binding, variable, numbers, node, sig)
    return binding


def _bind_one(
    low: Context, binding: Binding, variable: TypeVar, known: ValueType, side: ast.AST, sig: KernelSignature
) -> None:
    bound = binding.typevars.setdefault(variable, known)
    if bound != known:
        low.refuse(
            f"{variable.__name__} of {sig.name} is {bound!r} by an earlier argument, but {known!r} by this one: "
            f"cast one of them",
            side,
        )
    if variable.__constraints__ and bound not in variable.__constraints__:
        allowed = ", ".join(map(repr, variable.__constraints__))
        low.refuse(f"{variable.__name__} of {sig.name} is one of {allowed}, but this is {bound!r}", side)


def _bind_weak(
    low: Context,
    binding: Binding,
    variable: TypeVar,
    numbers: list[Number],
    node: ast.Call,
    sig: KernelSignature,
) -> None:
    kind: Type = type_of(numbers[0])
    for number in numbers[1:]:
        kind = join(kind, type_of(number)) or kind
    assert isinstance(kind, Weak)
    keys = tuple(key for n in numbers if isinstance(n, Typed) for key in n.origins)
    if keys:
        binding.open[variable] = kind, keys
        binding.typevars[variable] = kind.default
    else:
        _bind_one(low, binding, variable, kind.default, node, sig)


def _argument(low: Context, p: Parameter, value: Value, side: ast.AST, binding: Binding, owner: str) -> Value:
    """The value that a parameter has in the body."""
    annotation = p.annotation
    role = f"{p.name!r} of {owner}"
    if isinstance(annotation, ComptimeType):
        if not isinstance(value, Static):
            low.refuse(f"{role} is {annotation!r}: it takes a compile-time value, not {show(value)}", side)
        kind = annotation.python
        if kind in (int, float, bool) and not isinstance(
            value.value, (int, float) if kind is float else kind
        ):
            low.refuse(f"{role} is {annotation!r}, but this is {show(value)}", side)
        return value
    if isinstance(annotation, (ArrayType, TensorType)):
        return _array_argument(low, annotation, value, side, binding, role)
    number = low.as_number(value, side)
    if isinstance(annotation, TypeVar) and annotation in binding.open:
        return low.stable(number, p.name)
    wanted: Type = binding.typevars[annotation] if isinstance(annotation, TypeVar) else annotation
    have = type_of(number)
    if have is INDEX and isinstance(annotation, TypeVar):
        wanted = INDEX
    expr = low.coerce(number, wanted, side, role)
    return Typed(low.repeatable(expr, p.name), wanted)


def _array_argument(
    low: Context, annotation: ArrayType | TensorType, value: Value, side: ast.AST, binding: Binding, role: str
) -> ArrayValue:
    if not isinstance(value, ArrayValue):
        low.refuse(f"{role} is {annotation!r}, but this is {show(value)}", side)
    element = annotation.element
    wanted = binding.typevars[element] if isinstance(element, TypeVar) else element
    if value.array.dtype != wanted:
        low.refuse(
            f"{role} is {annotation!r}, but the array {value.array.name!r} is of {value.array.dtype!r}", side
        )
    if isinstance(annotation, ArrayType) and value.array.axes != 1 and not value.flat:
        low.refuse(f"{role} is {annotation!r}, but {value.array.name!r} has {value.array.axes} axes", side)
    return value


def enter(low: Context, scope: Scope, sig: KernelSignature, values: dict[str, Value]) -> None:
    """Name the arguments; a parameter that the body assigns becomes a local."""
    node = scope.source.node
    for p in sig.params:
        value = values[p.name]
        if scope.source.facts.binders[p.name] > 1 and isinstance(value, (Typed, Choice, Static)):
            if isinstance(value, Static) and not is_number(value.value):
                bind(low, p.name, value, node)
            else:
                bind_variable(low, p.name, value, node)
            continue
        scope.values[p.name] = value
        scope.homes[p.name] = low.blocks[-1]
        scope.ever.add(p.name)
        low.bound_names().add(p.name)
