"""Runs legalised functions for many units at once with NumPy, and refuses what a bare target lacks.

A second, fast reading of the IR beside `evaluate`: only plain operations, all units in lock-step under a
mask. Arrays are NumPy arrays of the dtype that the binding (or the array) stores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ruda_core.dtypes import BY_NAME, DType, VecType, bool_, f32, u32
from ruda_core.ir import nodes as ir
from ruda_core.ir.verify import verify

BARE = frozenset({"bool", "i32", "u32", "f32"})
WIDE = BARE | {"i64", "u64", "f64"}
_OPS: dict[str, Callable[..., Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
    "and": np.logical_and,
    "or": np.logical_or,
}
_MATH: dict[str, Callable[..., Any]] = {
    "sqrt": np.sqrt,
    "floor": np.floor,
    "abs": np.abs,
    "min": np.minimum,
    "max": np.maximum,
}


class Refused(Exception):
    """An operation, or a value of a dtype, that the target lacks; or an undefined one."""


def scalar_function(
    make: Callable[..., ir.Expr], *args: DType, mode: Any = "unchecked", **options: Any
) -> ir.Function:
    """A function that stores `make(*values)` in the array "out", where values are loaded from "in0", …"""
    inputs = [ir.Array(f"in{k}", d, "global") for k, d in enumerate(args)]
    symbols = [ir.Symbol(f"x{k}", d) for k, d in enumerate(args)]
    unit = ir.Builtin(BY_NAME["i32"], None, "absolute_pos")
    result = make(*(ir.Ref(s.type, None, s) for s in symbols))
    out = ir.Array("out", result.type, "global")
    loads = [ir.Load(None, s, a, (unit,)) for s, a in zip(symbols, inputs, strict=True)]
    return ir.Function(
        name="f",
        params=(),
        arrays=(*inputs, out),
        body=(*loads, ir.Store(None, out, (unit,), result)),
        dim=(64, 1, 1),
        index=BY_NAME["i32"],
        mode=mode,
        **options,
    )


def run(
    function: ir.Function,
    arrays: Mapping[str, np.ndarray],
    units: int,
    *,
    dtypes: frozenset[str] = BARE,
    math: frozenset[str] = frozenset(),
    check: bool = True,
    contract: bool = False,
    loose: bool = False,
    flush: bool = False,
) -> None:
    """Run `units` units; arrays by name (or the binding's name) are changed in place.

    `contract`: products that feed sums are not rounded, as compilers may have it. `loose`: f32 division
    and sqrt are off by up to two units of the last place, as devices may have it. `flush`: f32 arithmetic takes
    subnormals for zeros and gives zeros for them, the reciprocals that it divides by too.
    """
    if check:
        verify(function)
    with np.errstate(all="ignore"):
        lanes = _Lanes(function, arrays, units, dtypes, math)
        lanes.contract, lanes.loose, lanes.flush = contract, loose, flush
        lanes.body(function.body, np.ones(units, bool))


class _Lanes:
    contract = False
    loose = False
    flush = False

    def __init__(self, function: ir.Function, arrays: Any, units: int, dtypes: Any, math: Any) -> None:
        self.function, self.units, self.dtypes, self.math = function, units, dtypes, math
        self.env: dict[ir.Symbol, np.ndarray] = {}
        self.memory: dict[ir.Array, np.ndarray] = {}
        bound = {a: b for b in function.bindings for a in b.arrays}
        for a in function.arrays:
            name = bound[a].name if a in bound else a.name
            if name in arrays:
                self.memory[a] = arrays[name]
            elif a.space == "constant":
                self.memory[a] = np.array(a.values, a.dtype.numpy)
            elif a.space == "shared":
                self.memory[a] = np.zeros(int(np.prod(a.shape)) * a.dtype.scalar.lanes, a.dtype.numpy)
        self.exits: list[tuple[np.ndarray, np.ndarray]] = []

    def body(self, body: ir.Body, mask: np.ndarray) -> np.ndarray:
        """Run under `mask`; the lanes that go on after it."""
        for s in body:
            if not mask.any():
                break
            mask = self.stmt(s, mask)
        return mask

    def stmt(self, s: ir.Stmt, mask: np.ndarray) -> np.ndarray:
        match s:
            case ir.Let():
                self.env[s.symbol] = self.expr(s.value)
            case ir.Assign():
                new = self.expr(s.value)
                old = self.env.get(s.symbol)
                self.env[s.symbol] = new if old is None else np.where(mask, new, old)
            case ir.If():
                cond = self.expr(s.cond).astype(bool)
                return self.body(s.then, mask & cond) | self.body(s.orelse, mask & ~cond)
            case ir.Loop():
                left = np.zeros_like(mask)
                active, trips = mask.copy(), 0
                while active.any():
                    self.exits.append((left, left))
                    active = self.body(s.body, active)
                    self.exits.pop()
                    trips += 1
                    if trips > 5000:
                        raise Refused("an endless loop")
                return left
            case ir.Break():
                self.exits[-1][0][:] |= mask
                return np.zeros_like(mask)
            case ir.Load():
                self.load(s, mask)
            case ir.Store():
                live = self.live(s, mask)
                value = self.expr(s.value)
                memory = self.memory[s.array]
                memory[self.expr(s.index[0])[live]] = self.typed(value, s.array, memory)[live]
            case ir.MaskedStore():
                live = self.live(s, mask)
                memory = self.memory[s.array]
                parts = (self.expr(s.index), self.expr(s.shift), self.expr(s.value))
                for k in np.flatnonzero(live):
                    at, shift, value = (int(p[k]) for p in parts)
                    if value & ~s.mask:
                        raise Refused("a masked store of bits outside its mask")
                    memory[at] = (int(memory[at]) & ~(s.mask << shift) & 0xFFFFFFFF) | (value << shift)
            case ir.Atomic():
                self.atomic(s, mask)
            case _:
                raise Refused(type(s).__name__)
        return mask

    def live(self, s: Any, mask: np.ndarray) -> np.ndarray:
        return mask if s.check is None else mask & self.expr(s.check)

    def typed(self, value: np.ndarray, array: ir.Array, memory: np.ndarray) -> np.ndarray:
        if value.dtype != memory.dtype and not (value.dtype == np.float32 and memory.dtype.itemsize == 2):
            raise Refused(f"{array.name} holds {memory.dtype}, not {value.dtype}")
        return value

    def load(self, s: ir.Load, mask: np.ndarray) -> None:
        live = self.live(s, mask)
        memory = self.memory[s.array]
        at = np.where(live, self.expr(s.index[0]), 0)
        lanes = s.symbol.type.lanes
        if lanes > 1:
            value = memory.reshape(-1, lanes)[at]
            self.env[s.symbol] = np.where(live[:, None], value, value.dtype.type(0))
            return
        value = memory[at]
        want = s.symbol.type.numpy
        if value.dtype != want:
            if not (want == np.float32 and value.dtype.itemsize == 2):
                raise Refused(f"{s.array.name} holds {value.dtype}, not {want}")
            value = value.astype(want)
        self.env[s.symbol] = np.where(live, value, value.dtype.type(0))

    def atomic(self, s: ir.Atomic, mask: np.ndarray) -> None:
        live = self.live(s, mask)
        memory = self.memory[s.array]
        at, args = self.expr(s.index[0]), [self.expr(a) for a in s.args]
        old = np.zeros(self.units, memory.dtype)
        for k in np.flatnonzero(live):
            i = int(at[k])
            old[k] = memory[i]
            values = [a[k] for a in args]
            if any(v.dtype != memory.dtype for v in values):
                raise Refused(f"atomic {s.op} of {values} on {memory.dtype}")
            match s.op:
                case "compare_exchange":
                    memory[i] = values[1] if old[k] == values[0] else old[k]
                case "exchange" | "store":
                    memory[i] = values[0]
                case "add":
                    memory[i] = old[k] + values[0]
                case "load":
                    pass
                case _:
                    raise Refused(f"atomic {s.op}")
        if s.symbol is not None:
            self.env[s.symbol] = old

    def expr(self, e: ir.Expr) -> np.ndarray:
        if e.type.scalar.name not in self.dtypes:
            raise Refused(f"a value of {e.type!r}: {e}")
        value = self._expr(e)
        want = e.type.numpy
        if value.dtype != want:
            raise Refused(f"{type(e).__name__} gives {value.dtype}, not {want}")
        return value

    def _expr(self, e: ir.Expr) -> np.ndarray:
        match e:
            case ir.Const():
                if e.type.is_float and not np.isfinite(e.value):
                    raise Refused("a non-finite constant")
                return np.full(self.units, e.value, e.type.numpy)
            case ir.Ref():
                return self.env[e.symbol]
            case ir.Param(hidden="zero"):
                return np.zeros(self.units, np.uint32)
            case ir.Builtin(name="absolute_pos"):
                return np.arange(self.units, dtype=e.type.numpy)
            case ir.Offset() | ir.Length():
                return np.zeros(self.units, e.type.numpy)
            case ir.Unary():
                a = self.expr(e.a)
                return ~a if e.op in ("not", "~") else np.negative(a)
            case ir.Binary() if e.op in ("quo", "shl", "shr"):
                return self.integer(e, self.expr(e.a), self.expr(e.b))
            case ir.Binary() | ir.Compare() | ir.Logic():
                if e.op not in _OPS or e.a.type != e.b.type or (e.op == "/" and not e.type.is_float):
                    raise Refused(f"{e.a.type!r} {e.op} {e.b.type!r}")
                if isinstance(e, ir.Compare) and e.op == "!=" and e.a.type.is_float:
                    raise Refused("!= of floats")
                if self.contract and e.op in ("+", "-") and e.type is f32:
                    return _OPS[e.op](self.unrounded(e.a), self.unrounded(e.b)).astype(np.float32)
                if self.flush and isinstance(e, ir.Binary) and e.type is f32:
                    return self.flushed(e.op, self.normal(self.expr(e.a)), self.normal(self.expr(e.b)))
                result = _OPS[e.op](self.expr(e.a), self.expr(e.b))
                return self.off(result) if e.op == "/" else result
            case ir.Cast():
                return self.cast(e, self.expr(e.a))
            case ir.Bitcast():
                return self.expr(e.a).view(e.type.numpy)
            case ir.Select():
                return np.where(self.expr(e.cond), self.expr(e.a), self.expr(e.b))
            case ir.Fence():
                return self.expr(e.a)
            case ir.Math():
                if f"{e.fn}:{e.type.scalar.name}" not in self.math:
                    raise Refused(f"{e.fn}:{e.type!r}")
                return self.off(_MATH[e.fn](*(self.expr(a) for a in e.args)))
            case ir.Component():
                return self.expr(e.a)[:, e.index]
            case ir.MakeVector():
                if not isinstance(e.type, VecType):
                    raise Refused("a vector of one component")
                parts = [self.expr(a) for a in e.args]
                return np.stack(parts * (e.type.lanes // len(parts)), axis=1)
        raise Refused(type(e).__name__)

    def unrounded(self, e: ir.Expr) -> np.ndarray:
        """A product of f32 exactly, as f64; other values as they are."""
        if isinstance(e, ir.Binary) and e.op == "*":
            return self.expr(e.a).astype(np.float64) * self.expr(e.b).astype(np.float64)
        return self.expr(e).astype(np.float64)

    def normal(self, x: np.ndarray) -> np.ndarray:
        """Zeros for subnormals."""
        return np.where(np.abs(x) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), x), x)

    def flushed(self, op: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if op == "/":
            reciprocal = self.normal(1 / b)
            return self.normal(np.where((reciprocal == 0) | (b == 0), a * reciprocal, a / b))
        return self.normal(_OPS[op](a, b))

    def off(self, x: np.ndarray) -> np.ndarray:
        """Off by one or two units of the last place, by a rule of the bits; specials stay."""
        if not self.loose or x.dtype != np.float32:
            return x
        bits = x.view(np.uint32)
        step = (bits % 5).astype(np.int64) - 2
        moved = (bits.astype(np.int64) + step).astype(np.uint32).view(np.float32)
        return np.where(np.isfinite(x) & np.isfinite(moved) & (np.abs(x) > 1e-37), moved, x)

    def integer(self, e: ir.Binary, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if e.op == "quo":
            if (b == 0).any() or (e.type.kind == "int" and ((b == -1) & (a == e.type.scalar.min)).any()):
                raise Refused("an undefined quotient")
            q = a // b
            return (q + ((a - q * b != 0) & ((a < 0) != (b < 0)))).astype(a.dtype)
        if e.b.type.scalar is not u32 or (b >= e.type.bits).any():
            raise Refused("a shift amount that is not u32 or out of range")
        return (a << b.astype(a.dtype)) if e.op == "shl" else (a >> b.astype(a.dtype))

    def cast(self, e: ir.Cast, a: np.ndarray) -> np.ndarray:
        if not e.raw or bool_ in (e.type.scalar, e.a.type.scalar):
            raise Refused(f"a cast from {e.a.type!r} to {e.type!r}, raw: {e.raw}")
        if e.a.type.is_float and not e.type.is_float:
            low, high = e.type.scalar.min, e.type.scalar.max
            wide = np.trunc(a.astype(np.float64))
            if not (np.isfinite(wide) & (wide >= low) & (wide < high + 1.0)).all():
                raise Refused("a plain conversion out of range")
        return a.astype(e.type.numpy)
