"""A scalar interpreter of the IR for tests: every unit is a generator that yields at barriers.

It takes functions before and after any pass, refuses undefined operations (a RAW operator out of
range, an unchecked access out of bounds) and knows nothing of the passes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ruda_core.dtypes import BY_NAME, DType, ValueType, VecType, vec
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import expressions, walk
from ruda_core.passes import values


class Undefined(Exception):
    """The function did something that the IR gives no meaning."""


@dataclass
class Buffer:
    """What a launch passes for one array: `data` is one-dimensional storage, others may share it.

    `offset` and `strides` count elements of the parameter's type; `length` is what the kernel sees.
    """

    data: np.ndarray
    offset: int = 0
    length: int | None = None
    shape: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        self.bytes = self.data.view(np.uint8)
        if self.shape is not None and self.strides is None:
            self.strides = tuple(math.prod(self.shape[k + 1 :]) for k in range(len(self.shape)))


@dataclass
class Launch:
    """One launch. `native_count` is what the device dispatches, where it differs from `count`."""

    function: ir.Function
    arrays: Mapping[str, np.ndarray | Buffer] = field(default_factory=dict)
    scalars: Mapping[str, Any] = field(default_factory=dict)
    count: tuple[int, int, int] = (1, 1, 1)
    native_count: tuple[int, int, int] | None = None
    flattened: bool = False
    """The pass `flatten` has run: every index is one linear element index."""
    program: int = 0
    steps: int = 2_000_000
    """Statements that may run, all units together."""

    def run(self) -> None:
        """Run all workgroups in order; results are in the arrays. Raises Undefined."""
        self.native = self.native_count or self.count
        self.buffers = {n: a if isinstance(a, Buffer) else Buffer(a) for n, a in self.arrays.items()}
        self.bound = {a: b for b in self.function.bindings for a in b.arrays}
        nodes = itertools.chain.from_iterable(expressions(s) for s in walk(self.function.body))
        self.explicit_offsets = any(isinstance(e, ir.Offset) for e in nodes)
        for z, y, x in itertools.product(*(range(n) for n in reversed(self.native))):
            self.workgroup((x, y, z))

    def workgroup(self, pos: tuple[int, int, int]) -> None:
        shared = {a: _fresh(a) for a in self.function.in_space("shared")}
        dim = self.function.dim
        units = [
            _Unit(self, pos, (x, y, z), shared)
            for z, y, x in itertools.product(*(range(n) for n in reversed(dim)))
        ]
        waiting = [(unit, unit.start()) for unit in units]
        while waiting:
            arrived = [(unit, run, next(run, None)) for unit, run in waiting]
            places = {id(at): at for _, _, at in arrived}
            if len(places) > 1:
                raise Undefined("some units wait at a barrier that others do not reach")
            at = arrived[0][2]
            if isinstance(at, ir.UniformLoad):
                one = arrived[0][0].load(at, at.symbol.type)
                for unit, _, _ in arrived:
                    unit.env[at.symbol] = one
            waiting = [(unit, run) for unit, run, where in arrived if where is not None]


def run(function: ir.Function, **arguments: Any) -> None:
    """`Launch(function, …).run()`; keywords that are no field of Launch are arrays and scalars by name."""
    known = {k: arguments.pop(k) for k in list(arguments) if k in Launch.__dataclass_fields__}
    arrays = {k: v for k, v in arguments.items() if isinstance(v, (np.ndarray, Buffer))}
    scalars = {k: v for k, v in arguments.items() if k not in arrays}
    Launch(
        function, {**known.pop("arrays", {}), **arrays}, {**known.pop("scalars", {}), **scalars}, **known
    ).run()


def value_of(expr: ir.Expr, env: Mapping[ir.Symbol, Any] | None = None, **scalars: Any) -> Any:
    """The value of one expression that reads symbols of `env` and parameters of `scalars` only."""
    unit = _Unit(
        Launch(ir.Function("f", (), (), (), (1, 1, 1), BY_NAME["i32"]), scalars=scalars),
        (0, 0, 0),
        (0, 0, 0),
        {},
    )
    unit.env.update(env or {})
    return unit.eval(expr)


def _fresh(array: ir.Array) -> np.ndarray:
    """Uninitialised memory, told from zeros by its bytes."""
    if array.space == "constant":
        return np.array(array.values, array.dtype.numpy)
    scalar = array.dtype.scalar.numpy
    memory = np.full(math.prod(array.shape) * array.dtype.lanes * scalar.itemsize, 0xA5, np.uint8)
    return memory.view(scalar)


class _Exit(Exception):
    def __init__(self, kind: str, label: int = -1) -> None:
        self.kind = kind
        self.label = label


class _Unit:
    def __init__(
        self, launch: Launch, group: tuple[int, int, int], pos: tuple[int, int, int], shared: Any
    ) -> None:
        self.launch = launch
        self.group = group
        self.pos = pos
        self.memory: dict[ir.Array, np.ndarray] = dict(shared)
        for a in launch.function.in_space("local", "constant"):
            self.memory[a] = _fresh(a)
        self.env: dict[ir.Symbol, Any] = {}

    def start(self) -> Iterator[ir.Stmt]:
        try:
            yield from self.body(self.launch.function.body)
        except _Exit as leave:
            if leave.label != ir.KERNEL:
                raise Undefined("left a loop or block that is not there") from leave

    def body(self, body: ir.Body) -> Iterator[ir.Stmt]:
        for stmt in body:
            self.launch.steps -= 1
            if self.launch.steps < 0:
                raise Undefined("too many statements: an endless loop?")
            yield from self.stmt(stmt)

    def stmt(self, s: ir.Stmt) -> Iterator[ir.Stmt]:
        match s:
            case ir.Let() | ir.Assign():
                self.env[s.symbol] = self.eval(s.value)
            case ir.Load():
                self.env[s.symbol] = self.load(s, s.symbol.type)
            case ir.UniformLoad() | ir.Barrier():
                yield s
            case ir.Store():
                value = self.eval(s.value)
                if s.check is None or self.eval(s.check):
                    self.write(s.array, self.place(s), s.value.type, value)
            case ir.Atomic():
                self.atomic(s)
            case ir.MaskedStore():
                if s.check is None or self.eval(s.check):
                    self.masked_store(s)
            case ir.If():
                yield from self.body(s.then if self.eval(s.cond) else s.orelse)
            case ir.Loop():
                while (yield from self.once(s.body)):
                    self.launch.steps -= 1
            case ir.For():
                yield from self.count(s)
            case ir.Block():
                yield from self.block(s)
            case ir.Leave():
                raise _Exit("leave", s.label)
            case ir.Break():
                raise _Exit("break")
            case ir.Continue():
                raise _Exit("continue")
            case ir.Assert():
                if not self.eval(s.cond):
                    raise Undefined(f"assert failed at site {s.site}")
            case _:
                raise Undefined(f"{type(s).__name__} has no meaning here")

    def once(self, body: ir.Body) -> Any:
        """One trip; gives False after a break."""
        try:
            yield from self.body(body)
        except _Exit as leave:
            if leave.kind == "break":
                return False
            if leave.kind != "continue":
                raise
        return True

    def count(self, s: ir.For) -> Any:
        start, stop, step = (self.eval(e) for e in (s.start, s.stop, s.step))
        steps: Any = range(start, stop, step) if step else ()
        trips = len(steps) if s.trips is None else self.eval(s.trips)
        if trips != len(steps):
            raise Undefined(f"trips {trips} for range({start}, {stop}, {step})")
        for i in steps:
            self.env[s.symbol] = i
            if not (yield from self.once(s.body)):
                break

    def block(self, s: ir.Block) -> Any:
        try:
            yield from self.body(s.body)
        except _Exit as leave:
            mine = (
                leave.kind in ("break", "continue")
                if s.once
                else leave.kind == "leave" and leave.label == s.label
            )
            if s.once and leave.kind == "leave" and leave.label == s.label:
                return
            if not mine:
                raise

    # Memory -------------------------------------------------------------------------------------

    def place(self, s: Any) -> int:
        """The element index, after checking what nothing else checks."""
        index = tuple(self.eval(i) for i in s.index)
        array: ir.Array = s.array
        if self.launch.flattened or len(index) == 1 and array.rank is None and len(array.shape) <= 1:
            whole = not (self.launch.flattened or self.launch.bound or array.shape)
            if whole and not 0 <= index[0] < self.length(array):
                raise Undefined(f"{array.name}[{index[0]}] is outside its length {self.length(array)}")
            return int(index[0])
        if array.shape:
            extents, strides = (
                array.shape,
                tuple(math.prod(array.shape[k + 1 :]) for k in range(len(array.shape))),
            )
        else:
            buffer = self.launch.buffers[array.name]
            extents, strides = buffer.shape or (), buffer.strides or ()
        if s.flat:
            linear, index = index[0], ()
            if not 0 <= linear < math.prod(extents):
                raise Undefined(f"{array.name}.flat[{linear}] is out of bounds")
            index = tuple(int(i) for i in np.unravel_index(linear, extents))
        if any(not 0 <= i < n for i, n in zip(index, extents, strict=True)):
            raise Undefined(f"{array.name}{list(index)} is outside {list(extents)}")
        return sum(i * k for i, k in zip(index, strides, strict=True))

    def stored(self, array: ir.Array) -> ValueType:
        """The type of an element as memory has it."""
        binding = self.launch.bound.get(array)
        scalar = array.dtype.scalar if binding is None else binding.dtype
        if isinstance(array.dtype, VecType) and scalar is array.dtype.scalar:
            return vec(scalar, array.dtype.lanes)
        return scalar

    def cell(self, array: ir.Array, index: int, stored: ValueType) -> np.ndarray:
        """The element's storage, as an array of its components."""
        size = stored.itemsize
        if array.space == "global":
            buffer = self.launch.buffers[array.name]
            index += 0 if self.launch.explicit_offsets else buffer.offset
            memory = buffer.bytes
        else:
            memory = self.memory[array].view(np.uint8)
        if not 0 <= index * size <= memory.size - size:
            raise Undefined(f"{array.name}[{index}] is out of bounds")
        return memory[index * size : (index + 1) * size].view(stored.scalar.numpy)

    def read(self, array: ir.Array, index: int, to: ValueType) -> Any:
        stored = self.stored(array)
        found = tuple(_python(stored.scalar, v) for v in self.cell(array, index, stored))
        found = (
            tuple(values.cast(to.scalar, stored.scalar, v) for v in found)
            if to.scalar is not stored.scalar
            else found
        )
        return found if isinstance(to, VecType) else found[0]

    def write(self, array: ir.Array, index: int, source: ValueType, value: Any) -> None:
        stored = self.stored(array)
        parts = value if isinstance(value, tuple) else (value,)
        if source.scalar is not stored.scalar:
            parts = tuple(values.cast(stored.scalar, source.scalar, v) for v in parts)
        cell = self.cell(array, index, stored)
        if len(parts) != len(cell):
            raise Undefined(f"{len(parts)} components are stored to {array.name} of {len(cell)}")
        for k, part in enumerate(parts):
            cell[k] = part

    def load(self, s: Any, to: ValueType) -> Any:
        if s.check is not None and not self.eval(s.check):
            return _zero(to)
        return self.read(s.array, self.place(s), to)

    def atomic(self, s: ir.Atomic) -> None:
        stored = self.stored(s.array).scalar
        old: Any = _zero(stored)
        if s.check is None or self.eval(s.check):
            index = self.place(s)
            old = self.read(s.array, index, stored)
            args = tuple(self.eval(a) for a in s.args)
            new = _updated(s.op, stored, old, args)
            self.write(s.array, index, stored, new)
        if s.symbol is not None:
            self.env[s.symbol] = old

    def masked_store(self, s: ir.MaskedStore) -> None:
        index, shift, value = self.eval(s.index), self.eval(s.shift), self.eval(s.value)
        word = BY_NAME["u32"]
        old = self.read(s.array, index, word)
        mask = s.mask << shift & 0xFFFFFFFF
        self.write(s.array, index, word, old & ~mask | value << shift & mask)

    # Expressions --------------------------------------------------------------------------------

    def eval(self, e: ir.Expr) -> Any:
        match e:
            case ir.Const():
                return e.value
            case ir.Ref():
                if e.symbol not in self.env:
                    raise Undefined(f"{e.symbol.name} is read before it is set")
                return self.env[e.symbol]
            case ir.Param():
                return self.param(e)
            case ir.Builtin():
                return self.builtin(e)
            case ir.Length():
                return self.length(e.array)
            case ir.Shape():
                return (self.launch.buffers[e.array.name].shape or ())[e.axis]
            case ir.Stride():
                return (self.launch.buffers[e.array.name].strides or ())[e.axis]
            case ir.Offset():
                return self.launch.buffers[e.array.name].offset
            case ir.Fence():
                return self.eval(e.a)
            case ir.MakeVector():
                parts = tuple(self.eval(a) for a in e.args)
                return parts * e.type.lanes if len(parts) == 1 else parts
            case ir.Component():
                return self.eval(e.a)[e.index]
            case ir.Bitcast():
                return _bitcast(e.type, e.a.type, self.eval(e.a))
        return self.per_component(e)

    def per_component(self, e: Any) -> Any:
        """Unary, Binary, Compare, Logic, Cast, Select, Math: on each component of a vector."""
        parts = [
            e.args if isinstance(e, ir.Math) else [getattr(e, n) for n in ("cond", "a", "b") if hasattr(e, n)]
        ][0]
        found = [self.eval(p) for p in parts]
        if not any(isinstance(v, tuple) for v in found):
            return _apply(e, *found)
        lanes = next(len(v) for v in found if isinstance(v, tuple))
        rows = [v if isinstance(v, tuple) else (v,) * lanes for v in found]
        return tuple(_apply(e, *row) for row in zip(*rows, strict=True))

    def param(self, e: ir.Param) -> Any:
        if e.hidden:
            return {"zero": 0, "program": self.launch.program}[e.hidden]
        value = self.launch.scalars[e.name]
        if e.type.is_float:
            return values.rounded(e.type.scalar, float(value))
        return bool(value) if e.type.kind == "bool" else values.wrap(e.type.scalar, int(value))

    def length(self, array: ir.Array) -> int:
        buffer = self.launch.buffers[array.name]
        if buffer.length is not None:
            return buffer.length
        return (
            math.prod(buffer.shape)
            if buffer.shape is not None
            else buffer.bytes.size // array.dtype.itemsize - buffer.offset
        )

    def builtin(self, e: ir.Builtin) -> int:
        dim, count, native = self.launch.function.dim, self.launch.count, self.launch.native
        whole = tuple(a * b for a, b in zip(dim, count, strict=True))
        absolute = tuple(g * d + u for g, d, u in zip(self.group, dim, self.pos, strict=True))
        position, extent = {
            "absolute_pos": (absolute, whole),
            "unit_pos": (self.pos, dim),
            "workgroup_pos": (self.group, count),
            "native_workgroup_pos": (self.group, native),
            "workgroup_count": (count, count),
            "native_workgroup_count": (native, native),
        }[e.name]
        if e.axis is not None:
            found = position[e.axis]
        elif e.name.endswith("count"):
            found = math.prod(position)
        else:
            found = position[0] + extent[0] * (position[1] + extent[1] * position[2])
        return values.wrap(e.type.scalar, found)


def _zero(value_type: ValueType) -> Any:
    zero = values.cast(value_type.scalar, BY_NAME["i32"], 0)
    return (zero,) * value_type.lanes if isinstance(value_type, VecType) else zero


def _python(dtype: DType, value: Any) -> Any:
    if dtype.is_float:
        return float(value)
    return bool(value) if dtype.kind == "bool" else int(value)


def _bitcast(to: ValueType, source: ValueType, value: Any) -> Any:
    parts = value if isinstance(value, tuple) else (value,)
    bits = sum(values.to_bits(source.scalar, v) << k * source.bits for k, v in enumerate(parts))
    out = tuple(
        values.from_bits(to.scalar, bits >> k * to.bits & ((1 << to.bits) - 1)) for k in range(to.lanes)
    )
    return out if isinstance(to, VecType) else out[0]


def _updated(op: str, dtype: DType, old: Any, args: tuple[Any, ...]) -> Any:
    if op == "load":
        return old
    if op in ("store", "exchange"):
        return args[0]
    if op == "compare_exchange":
        return args[1] if old == args[0] else old
    if op in ("min", "max"):
        return values.EXACT[op](dtype, old, args[0])
    return values.binary({"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^"}[op], dtype, old, args[0])


def _apply(e: Any, *v: Any) -> Any:
    try:
        match e:
            case ir.Unary():
                return values.unary(e.op, e.type.scalar, *v)
            case ir.Binary():
                return values.binary(e.op, e.type.scalar, *v)
            case ir.Compare():
                return values.compare(e.op, *v)
            case ir.Logic():
                return (v[0] and v[1]) if e.op == "and" else (v[0] or v[1])
            case ir.Cast():
                return values.cast(e.type.scalar, e.a.type.scalar, *v, raw=e.raw)
            case ir.Select():
                return v[1] if v[0] else v[2]
            case ir.Math():
                return _math(e.fn, e.args[0].type.scalar, v)
    except ArithmeticError as error:
        raise Undefined(str(error)) from error
    raise Undefined(f"{type(e).__name__} has no meaning here")


_NUMPY_NAMES = {"rsqrt": lambda x: 1 / np.sqrt(x), "erf": lambda x: math.erf(x), "pow": np.power}


def _math(fn: str, dtype: DType, v: tuple[Any, ...]) -> Any:
    if fn in values.EXACT and not (fn == "pow" and dtype.is_float):
        return values.EXACT[fn](dtype, *v)
    with np.errstate(all="ignore"):
        wide = _NUMPY_NAMES.get(fn) or getattr(np, fn)
        return values.rounded(dtype, float(wide(*(np.float64(x) for x in v))))
