"""Expressions of the IR as Python source over NumPy values.

Values are NumPy scalars (one for all units), arrays of lanes, or `Affine`; a vector has a last axis of
components. All of them take Python's operators, so most of the source is plain arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ruda_core.artifact import SlotKind
from ruda_core.conversions import bitcast, conversion
from ruda_core.dtypes import DType, ValueType
from ruda_core.errors import UnsupportedFeature
from ruda_core.ir import nodes as ir
from ruda_core.ir.span import error_at
from ruda_core.ir.verify import InvalidIR
from ruda_core.reference import masks
from ruda_core.reference.arithmetic import operator
from ruda_core.reference.functions import function

_LONGEST = 400
"""Characters after which an expression gets a name, so that Python's parser can nest no deeper."""

_POSITIONS = frozenset({"absolute_pos", "unit_pos", "workgroup_pos", "native_workgroup_pos"})
_COUNTS = frozenset({"workgroup_count", "native_workgroup_count"})


@dataclass(frozen=True, slots=True)
class SlotUse:
    """A value of the parameter block that the code wants, as a NumPy scalar of `type`."""

    kind: SlotKind
    name: str
    axis: int
    type: ValueType


def spread(value: Any) -> Any:
    """A scalar's lanes with an axis for components."""
    return np.asarray(value)[..., None]


def vector(lanes: int, *args: Any) -> Any:
    """A vector from its components, or from one for all."""
    if len(args) == 1:
        value = np.asarray(args[0])[..., None]
        return np.broadcast_to(value, (*value.shape[:-1], lanes))
    return np.stack(np.broadcast_arrays(*(np.asarray(a) for a in args)), axis=-1)


class Expressions:
    """Renders expressions, and collects what the source refers to.

    `emit(line)` puts a statement before the one that is being rendered.
    """

    def __init__(self, function: ir.Function, emit: Callable[[str], None]) -> None:
        self.function = function
        self.emit = emit
        self.namespace: dict[str, Any] = {"spread": spread, "vector": vector, "select": masks.select}
        self.namespace["select_vector"] = masks.select_vector
        self.slots: dict[SlotUse, str] = {}
        self.positions: dict[tuple[str, int | None], str] = {}
        self._symbols: dict[ir.Symbol, str] = {}
        self._bound: dict[Any, str] = {}
        self._fresh = 0

    def fresh(self, letter: str) -> str:
        """A name that nothing else has."""
        self._fresh += 1
        return f"{letter}{self._fresh}"

    def symbol(self, symbol: ir.Symbol) -> str:
        name = self._symbols.get(symbol)
        if name is None:
            name = self._symbols[symbol] = self.fresh("v")
        return name

    def object(self, key: Any, make: Callable[[], Any]) -> str:
        """A name for the object of this key, made once."""
        name = self._bound.get(key)
        if name is None:
            name = self._bound[key] = self.fresh("k")
            self.namespace[name] = make()
        return name

    def constant(self, dtype: DType, value: Any) -> str:
        number = dtype.numpy.type(value)
        return self.object(("constant", dtype, number.tobytes()), lambda: number)

    def slot(self, kind: SlotKind, value_type: ValueType, name: str = "", axis: int = 0) -> str:
        use = SlotUse(kind, name, axis, value_type)
        found = self.slots.get(use)
        if found is None:
            found = self.slots[use] = self.fresh("p")
        return found

    def render(self, e: ir.Expr) -> str:
        """Source of the expression's value."""
        method = _RENDER.get(type(e))
        if method is None:
            raise InvalidIR(f"the reference interpreter has no meaning for {type(e).__name__}")
        text = method(self, e)
        if len(text) <= _LONGEST:
            return text
        name = self.fresh("t")
        self.emit(f"{name} = {text}")
        return name

    def operand(self, e: ir.Expr, like: ValueType) -> str:
        """An operand of a result of type `like`: a scalar among vectors gets an axis of components."""
        text = self.render(e)
        return f"spread({text})" if like.lanes > 1 and e.type.lanes == 1 else text

    def index(self, e: ir.Expr) -> str:
        """An index, of a dtype that NumPy indexes with."""
        text = self.render(e)
        wide = e.type.kind == "uint" and e.type.bits == 64
        return f"{text}.astype({self.int64()})" if wide else text

    def int64(self) -> str:
        return self.object("int64", lambda: np.dtype(np.int64))

    # One method a node ---------------------------------------------------------------------------

    def _const(self, e: ir.Const) -> str:
        return self.constant(e.type.scalar, e.value)

    def _ref(self, e: ir.Ref) -> str:
        return self.symbol(e.symbol)

    def _param(self, e: ir.Param) -> str:
        if e.hidden:
            return self.slot(e.hidden, e.type)
        return self.slot("scalar", e.type, e.name)

    def _builtin(self, e: ir.Builtin) -> str:
        if e.name not in _POSITIONS and e.name not in _COUNTS:
            raise error_at(
                UnsupportedFeature,
                "the reference backend has no subgroups: use shared memory and barriers",
                e.span,
            )
        name = self.positions.get((e.name, e.axis))
        if name is None:
            name = self.positions[e.name, e.axis] = self.fresh("u")
        return name

    def position_source(self, name: str, axis: int | None) -> str:
        """How the prologue gets a builtin from the chunk `c`."""
        if name in _COUNTS:
            return f"c.count({axis}, native={name.startswith('native')})"
        return f"c.position({name!r}, {axis})"

    def _length(self, e: ir.Length) -> str:
        return self.slot("length", e.type, e.array.name)

    def _shape(self, e: ir.Shape) -> str:
        return self.slot("shape", e.type, e.array.name, e.axis)

    def _stride(self, e: ir.Stride) -> str:
        return self.slot("stride", e.type, e.array.name, e.axis)

    def _offset(self, e: ir.Offset) -> str:
        return self.slot("offset", e.type, e.array.name)

    def _unary(self, e: ir.Unary) -> str:
        flip = e.op == "not" or e.op == "~"
        return f"(~{self.render(e.a)})" if flip else f"(-{self.render(e.a)})"

    def _binary(self, e: ir.Binary) -> str:
        a, b = self.operand(e.a, e.type), self.operand(e.b, e.type)
        how = operator(e.op, e.type.scalar)
        if how is None:
            raise InvalidIR(f"{e.op!r} has no meaning on {e.type!r}")
        if isinstance(how, str):
            return how.format(a=a, b=b)
        return f"{self.object(('operator', e.op, e.type.scalar), lambda: how)}({a}, {b})"

    def _compare(self, e: ir.Compare) -> str:
        return f"({self.operand(e.a, e.type)} {e.op} {self.operand(e.b, e.type)})"

    def _logic(self, e: ir.Logic) -> str:
        sign = "&" if e.op == "and" else "|"
        return f"({self.operand(e.a, e.type)} {sign} {self.operand(e.b, e.type)})"

    def _cast(self, e: ir.Cast) -> str:
        source, to = e.a.type.scalar, e.type.scalar
        if source is to:
            return self.render(e.a)
        convert = self.object(("cast", source, to), lambda: conversion(source, to))
        return f"{convert}({self.render(e.a)})"

    def _bitcast(self, e: ir.Bitcast) -> str:
        convert = self.object(("bitcast", e.a.type, e.type), lambda: bitcast(e.a.type, e.type))
        return f"{convert}({self.render(e.a)})"

    def _select(self, e: ir.Select) -> str:
        helper = "select_vector" if e.type.lanes > 1 and e.cond.type.lanes == 1 else "select"
        return f"{helper}({self.render(e.cond)}, {self.render(e.a)}, {self.render(e.b)})"

    def _math(self, e: ir.Math) -> str:
        dtype = e.args[0].type.scalar
        found = function(e.fn, dtype)
        if found is None:
            raise InvalidIR(f"{e.fn!r} has no meaning on {dtype!r}")
        name = self.object(("math", e.fn, dtype), lambda: found)
        return f"{name}({', '.join(self.operand(a, e.type) for a in e.args)})"

    def _make_vector(self, e: ir.MakeVector) -> str:
        return f"vector({e.type.lanes}, {', '.join(self.render(a) for a in e.args)})"

    def _component(self, e: ir.Component) -> str:
        return f"{self.render(e.a)}[..., {e.index}]"

    def _fence(self, e: ir.Fence) -> str:
        return self.render(e.a)


_RENDER: dict[type, Callable[[Expressions, Any], str]] = {
    ir.Const: Expressions._const,
    ir.Ref: Expressions._ref,
    ir.Param: Expressions._param,
    ir.Builtin: Expressions._builtin,
    ir.Length: Expressions._length,
    ir.Shape: Expressions._shape,
    ir.Stride: Expressions._stride,
    ir.Offset: Expressions._offset,
    ir.Unary: Expressions._unary,
    ir.Binary: Expressions._binary,
    ir.Compare: Expressions._compare,
    ir.Logic: Expressions._logic,
    ir.Cast: Expressions._cast,
    ir.Bitcast: Expressions._bitcast,
    ir.Select: Expressions._select,
    ir.Math: Expressions._math,
    ir.MakeVector: Expressions._make_vector,
    ir.Component: Expressions._component,
    ir.Fence: Expressions._fence,
}
