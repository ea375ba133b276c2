"""Builds kernels by hand and runs them through the reference driver."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ruda_core.artifact import ArrayParam, BindingSpec, KernelSource, ParameterLayout, ScalarParam, Site, Slot
from ruda_core.capabilities import Device
from ruda_core.dtypes import DType, ValueType, i32
from ruda_core.ir import build
from ruda_core.ir import nodes as ir
from ruda_core.ir.verify import verify
from ruda_core.reference.driver import ReferenceDriver
from ruda_core.reference.memory import Page

POS = ir.Builtin(i32, None, "absolute_pos")
_WIDENED = {"bool": "u32", "u8": "u32", "u16": "u32", "i8": "i32", "i16": "i32", "f16": "f32", "bf16": "f32"}


class Tensor:
    """What a launch passes for one array: `data` is storage, offset and strides count elements of it."""

    def __init__(
        self,
        data: np.ndarray,
        shape: tuple[int, ...] | None = None,
        strides: tuple[int, ...] | None = None,
        offset: int = 0,
        length: int | None = None,
    ) -> None:
        self.data = data
        self.shape = shape
        self.strides = strides
        self.offset = offset
        self.length = length


class Body:
    """Collects statements; names what they bind."""

    def __init__(self) -> None:
        self.statements: list[ir.Stmt] = []

    def add(self, *statements: ir.Stmt) -> None:
        self.statements.extend(statements)

    def let(self, value: ir.Expr, name: str = "t") -> ir.Expr:
        symbol = ir.Symbol(name, value.type)
        self.add(ir.Let(None, symbol, value))
        return build.ref(symbol)

    def variable(self, value: ir.Expr, name: str = "v") -> ir.Symbol:
        symbol = ir.Symbol(name, value.type, mutable=True)
        self.add(ir.Assign(None, symbol, value))
        return symbol

    def load(self, array: ir.Array, *index: ir.Expr, **options: Any) -> ir.Expr:
        symbol = ir.Symbol("x", array.dtype)
        self.add(ir.Load(None, symbol, array, index, **options))
        return build.ref(symbol)

    def store(
        self, array: ir.Array, index: ir.Expr | tuple[ir.Expr, ...], value: ir.Expr, **options: Any
    ) -> None:
        indices = index if isinstance(index, tuple) else (index,)
        self.add(ir.Store(None, array, indices, value, **options))

    def body(self) -> ir.Body:
        return tuple(self.statements)


def num(value: int | float | bool, dtype: DType = i32) -> ir.Expr:
    return build.const(dtype, value)


def below(index: ir.Expr, limit: ir.Expr) -> ir.Expr:
    """0 <= index < limit."""
    return build.both(build.compare(">=", index, num(0, index.type.scalar)), build.compare("<", index, limit))


def array(name: str, dtype: ValueType, rank: int | None = None) -> ir.Array:
    return ir.Array(name, dtype, "global", rank=rank)


def length(a: ir.Array, index: DType = i32) -> ir.Expr:
    return ir.Length(index, None, a)


class Kernel:
    """A function, loaded once."""

    def __init__(
        self,
        body: Body | ir.Body,
        arrays: Sequence[ir.Array],
        dim: int | tuple[int, ...] = 64,
        scalars: Sequence[tuple[str, DType]] = (),
        mode: str = "checked",
        sites: tuple[Site, ...] = (),
        groups: tuple[tuple[str, ...], ...] = (),
        index: DType = i32,
        spread: bool = False,
        hidden: Sequence[ir.Array] = (),
        passes: Sequence[Callable[[ir.Function], ir.Function]] = (),
    ) -> None:
        dims = (dim,) if isinstance(dim, int) else dim
        x, y, z = (*dims, 1, 1, 1)[:3]
        self.globals = [a for a in arrays if a.space == "global"]
        params: list[Any] = [
            ArrayParam(a.name, a.dtype.scalar.name, a.dtype.lanes, a.rank) for a in self.globals
        ]
        params += [ScalarParam(name, d.name) for name, d in scalars]
        function = ir.Function(
            name="test",
            params=tuple(params),
            arrays=(*arrays, *hidden),
            body=body.body() if isinstance(body, Body) else body,
            dim=(x, y, z),
            index=index,
            mode=mode,
            sites=sites,
            groups=groups,
        )
        verify(function)
        for step in passes:
            function = step(function)
            verify(function, after=step.__name__)
        slots = [Slot("count", index.name, axis=k) for k in range(3)] + [Slot("program", "u32")]
        for a in self.globals:
            slots += [Slot("length", index.name, a.name), Slot("offset", index.name, a.name)]
            for k in range(a.rank or 0):
                slots += [Slot("shape", index.name, a.name, k), Slot("stride", index.name, a.name, k)]
        slots += [Slot("scalar", _WIDENED.get(d.name, d.name), name) for name, d in scalars]
        self.layout = ParameterLayout.of(slots)
        shared = {name: group for group in groups for name in group}
        names = list(dict.fromkeys(shared.get(a.name, (a.name,)) for a in self.globals))
        self.bound = names
        bindings = [BindingSpec(n[0], "u32", n, True, True) for n in names]
        if mode == "validate":
            bindings.append(BindingSpec("faults", "u32", (), True, True))
        self.source = KernelSource(
            name="test",
            entry="test",
            dialect="ir",
            text="",
            layout=self.layout,
            bindings=tuple(bindings),
            params=tuple(params),
            dim=(x, y, z),
            mode=mode,
            sites=function.sites,
            spread=spread,
            program=function,
        )
        self.driver = ReferenceDriver(Device("reference"))
        self.errors: list[Exception] = []
        self.queue = self.driver.open_queue(lambda stream, error: self.errors.append(error))
        self.program = self.driver.load(self.source, None)
        self.launch = self.driver.launcher(self.program, self.queue)
        self.faults = np.zeros(16, np.uint32)

    def words(self, count: tuple[int, int, int], arguments: dict[str, Any]) -> bytes:
        values = []
        for slot in self.layout.slots:
            if slot.kind == "count":
                values.append(count[slot.axis])
            elif slot.kind == "program":
                values.append(7)
            elif slot.kind == "scalar":
                values.append(arguments[slot.name])
            else:
                values.append(self._fact(slot, arguments[slot.name]))
        return struct.pack(self.layout.format, *values)

    def _fact(self, slot: Slot, given: Any) -> int:
        t = given if isinstance(given, Tensor) else Tensor(given)
        lanes = next(a for a in self.globals if a.name == slot.name).dtype.lanes
        shape = t.shape or (t.data.size // lanes,)
        if slot.kind == "length":
            return t.length if t.length is not None else int(np.prod(shape)) - (0 if t.shape else t.offset)
        if slot.kind == "offset":
            return t.offset
        strides = t.strides or tuple(int(np.prod(shape[k + 1 :])) for k in range(len(shape)))
        return (shape if slot.kind == "shape" else strides)[slot.axis]

    def __call__(self, count: int | tuple[int, ...] = 1, **arguments: Any) -> None:
        """Launch once; arrays are changed in place. Raises what the launch reported."""
        counts = (count,) if isinstance(count, int) else count
        x, y, z = (*counts, 1, 1, 1)[:3]
        storages, pages = [], []
        for names in self.bound:
            given = arguments[names[0]]
            data = given.data if isinstance(given, Tensor) else given
            page = self.driver.allocate(-(-max(data.nbytes, 1) // 256) * 256)
            page.bytes[:] = 0xA5
            page.bytes[: data.nbytes] = np.ascontiguousarray(data).view(np.uint8).reshape(-1)
            storages.append(page)
            pages.append((page, data))
        if self.source.mode == "validate":
            record = Page(self.faults.view(np.uint8))
            storages.append(record)
        self.launch(3, x, y, z, *storages, self.words((x, y, z), arguments))
        for page, data in pages:
            data.view(np.uint8).reshape(-1)[:] = page.bytes[: data.nbytes]
        if self.errors:
            raise self.errors.pop()


def elementwise(result: ValueType, make: Any, *inputs: ValueType, **options: Any) -> Any:
    """A NumPy function of whole arrays that runs `make(*values)` for each element in a kernel."""
    arrays = [array(f"in{k}", t) for k, t in enumerate(inputs)]
    out = array("out", result)
    b = Body()
    values = [b.load(a, POS, check=below(POS, length(a))) for a in arrays]
    b.store(out, POS, make(*values), check=below(POS, length(out)))
    kernel = Kernel(b, [*arrays, out], **options)

    def apply(*data: np.ndarray) -> np.ndarray:
        count = data[0].size // inputs[0].lanes
        target = np.zeros(count * result.lanes, np.uint8 if result.kind == "bool" else result.numpy)
        kernel(-(-count // 64), out=target, **{f"in{k}": np.ascontiguousarray(d) for k, d in enumerate(data)})
        return target.view(np.bool_) if result.kind == "bool" else target

    return apply
