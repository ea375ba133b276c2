"""Makes random programs, and runs functions made by hand on the processor."""

from __future__ import annotations

import random
import struct
from dataclasses import replace
from typing import Any

import numpy as np
import reference_harness as harness
from ruda_cpu.dialect import CpuDialect

from ruda_core.artifact import BindingSpec, ParameterLayout, Slot
from ruda_core.compiler import legalised
from ruda_core.dtypes import f32, i32
from ruda_core.ir import build
from ruda_core.ir import nodes as ir
from ruda_core.passes.trips import trips

DIMS = (
    (64, 1, 1),
    (32, 1, 1),
    (16, 4, 1),
    (8, 8, 1),
    (8, 2, 2),
    (20, 1, 1),
    (1, 24, 1),
    (4, 6, 2),
    (33, 1, 1),
    (16, 16, 1),
    (3, 5, 1),
    (100, 1, 1),
)


class CpuKernel(harness.Kernel):
    """The harness's kernel, legalised, rendered and run by the CPU driver."""

    def __init__(self, driver: Any, body: Any, arrays: Any, dim: Any, scalars: Any) -> None:
        super().__init__(body, arrays, dim, scalars)
        function = legalised(trips(self.source.program), driver.target)
        self.layout = ParameterLayout.of((*self.layout.slots, Slot("zero", "u32")))
        source = replace(
            self.source,
            dialect="cpu",
            text=CpuDialect().render(function, self.layout, "entry"),
            entry="entry",
            layout=self.layout,
            bindings=tuple(
                BindingSpec(b.name, b.dtype.name, tuple(a.name for a in b.arrays), True, True)
                for b in function.bindings
            ),
        )
        self.driver = driver
        self.queue = driver.open_queue(lambda stream, error: self.errors.append(error))
        self.launch = driver.launcher(driver.load(source, None), self.queue)

    def words(self, count: tuple[int, int, int], arguments: dict[str, Any]) -> bytes:
        values = []
        for slot in self.layout.slots:
            fixed = {"count": count[slot.axis], "program": 7, "zero": 0}.get(slot.kind)
            if fixed is None:
                given = arguments[slot.name]
                fixed = given if slot.kind == "scalar" else self._fact(slot, given)
            values.append(fixed)
        return struct.pack(self.layout.format, *values)

    def __call__(self, count: int, **arguments: Any) -> None:
        pages = []
        for names in self.bound:
            data = arguments[names[0]]
            page = self.driver.allocate(-(-data.nbytes // 256) * 256)
            self.driver.write(self.queue, page, 0, data.view(np.uint8).data)
            pages.append((page, data))
        self.launch(0, count, 1, 1, *(p for p, _ in pages), self.words((count, 1, 1), arguments))
        for page, data in pages:
            self.driver.read(self.queue, page, 0, data.view(np.uint8).data).wait()


def program(r: random.Random) -> tuple[tuple[ir.Stmt, ...], list[ir.Array], tuple[int, int, int]]:
    """A program of one to three phases between barriers, its arrays, and the dim of its workgroups."""
    maker = _Maker(r)
    return tuple(maker.whole()), maker.arrays, maker.dim


class _Maker:
    def __init__(self, r: random.Random) -> None:
        self.r = r
        self.dim = r.choice(DIMS)
        self.units = self.dim[0] * self.dim[1] * self.dim[2]
        self.x, self.out, self.sums = (harness.array(name, i32) for name in ("x", "out", "sums"))
        self.shared = ir.Array("shared", i32, "shared", (self.units,))
        self.local = ir.Array("local", i32, "local", (4,))
        self.arrays = [self.x, self.out, self.sums, self.shared, self.local]
        self.absolute = ir.Builtin(i32, None, "absolute_pos")
        self.unit = ir.Builtin(i32, None, "unit_pos")
        self.left = 60

    # Expressions: `env` holds what they may use ----------------------------------------------

    def leaf(self, env: list[ir.Symbol]) -> ir.Expr:
        if env and self.r.random() < 0.7:
            return build.ref(self.r.choice(env))
        return self.r.choice(
            [
                harness.num(self.r.randint(-5, 9)),
                self.unit,
                self.absolute,
                ir.Builtin(i32, None, "unit_pos", 0),
                ir.Builtin(i32, None, "unit_pos", 1),
                ir.Builtin(i32, None, "workgroup_pos", 0),
                ir.Param(i32, None, "n"),
                harness.length(self.x),
            ]
        )

    def value(self, env: list[ir.Symbol], depth: int = 2) -> ir.Expr:
        if depth == 0 or self.r.random() < 0.2:
            return self.leaf(env)
        a, b = self.value(env, depth - 1), self.value(env, depth - 1)
        op = self.r.choice(["+", "-", "*", "&", "|", "^", "//", "%", "select", "min", "float"])
        if op == "select":
            return build.select(self.condition(env, depth - 1), a, b)
        if op == "min":
            return build.math("min", a, b)
        if op == "float":
            return build.cast(i32, build.binary("*", build.cast(f32, a), harness.num(0.5, f32)))
        return build.binary(op, a, b)

    def condition(self, env: list[ir.Symbol], depth: int = 1) -> ir.Expr:
        op = self.r.choice(["<", "<=", ">", ">=", "==", "!="])
        return build.compare(op, self.value(env, depth), self.value(env, depth))

    def place(self, env: list[ir.Symbol]) -> ir.Expr:
        near = build.binary("+", self.absolute, harness.num(self.r.randint(-2, 2)))
        return self.r.choice([self.absolute, self.unit, near, self.value(env, 1), self.leaf(env)])

    # Statements -------------------------------------------------------------------------------

    def whole(self) -> list[ir.Stmt]:
        out: list[ir.Stmt] = [
            ir.Store(None, self.local, (harness.num(j),), harness.num(j * 3)) for j in range(4)
        ]
        env: list[ir.Symbol] = []
        for _ in range(self.r.randint(1, 3)):
            env = self.body(env, 0, False, out)
            if self.r.random() < 0.7:
                env = [*env, self.exchange(env, out)]
            if self.r.random() < 0.4:
                self.barrier_loop(env, out)
        for j in range(4):
            self.result(env, j, out)
        return out

    def result(self, env: list[ir.Symbol], j: int, out: list[ir.Stmt]) -> None:
        at = build.binary("+", build.binary("*", self.absolute, harness.num(4)), harness.num(j))
        check = harness.below(at, harness.length(self.out))
        out.append(ir.Store(None, self.out, (at,), self.value(env), check))

    def exchange(self, env: list[ir.Symbol], out: list[ir.Stmt], shift: ir.Expr | None = None) -> ir.Symbol:
        """What another unit wrote to shared memory."""
        mirrored = build.binary("-", harness.num(self.units - 1), self.unit)
        if shift is not None:
            mirrored = build.binary("%", build.binary("+", self.unit, shift), harness.num(self.units))
        found = ir.Symbol("other", i32)
        out += [
            ir.Store(None, self.shared, (self.unit,), self.value(env)),
            ir.Barrier(None),
            ir.Load(None, found, self.shared, (mirrored,)),
            ir.Barrier(None),
        ]
        return found

    def barrier_loop(self, env: list[ir.Symbol], out: list[ir.Stmt]) -> None:
        turn = ir.Symbol("turn", i32)
        inner: list[ir.Stmt] = []
        inside = self.body([*env, turn], 1, False, inner)
        found = self.exchange(inside, inner, build.ref(turn))
        variables = [s for s in env if s.mutable]
        if variables:
            value = build.binary("+", build.ref(found), self.value(variables, 1))
            inner.append(ir.Assign(None, self.r.choice(variables), value))
        stop = self.r.choice([harness.num(3), ir.Param(i32, None, "n")])
        out.append(ir.For(None, turn, harness.num(0), stop, harness.num(1), tuple(inner)))

    def body(self, env: list[ir.Symbol], depth: int, in_loop: bool, out: list[ir.Stmt]) -> list[ir.Symbol]:
        """Some statements; what may be used after them in the same body."""
        env = list(env)
        for _ in range(self.r.randint(1, 5)):
            if self.left <= 0:
                break
            self.left -= 1
            k = self.r.random()
            variables = [s for s in env if s.mutable]
            if k < 0.2:
                env.append(self.let(env, out))
            elif k < 0.4 and variables:
                out.append(ir.Assign(None, self.r.choice(variables), self.value(env)))
            elif k < 0.46:
                variable = ir.Symbol("m", i32, mutable=True)
                out.append(ir.Assign(None, variable, self.value(env)))
                env.append(variable)
            elif k < 0.6:
                env.append(self.load(env, out))
            elif k < 0.66:
                env.append(self.through_local(env, out))
            elif k < 0.72:
                self.result(env, self.r.randint(0, 3), out)
            elif k < 0.78:
                at = build.binary("&", self.value(env, 1), harness.num(7))
                out.append(ir.Atomic(None, None, "add", self.sums, (at,), (self.value(env),)))
            elif k < 0.88 and depth < 4:
                self.branch(env, depth, in_loop, out)
            elif k < 0.96 and depth < 3:
                self.loop(env, depth, out)
            elif in_loop:
                jump = self.r.choice([ir.Break(None), ir.Continue(None)])
                out.append(ir.If(None, self.condition(env), (jump,)))
        return env

    def let(self, env: list[ir.Symbol], out: list[ir.Stmt]) -> ir.Symbol:
        symbol = ir.Symbol("a", i32)
        out.append(ir.Let(None, symbol, self.value(env)))
        return symbol

    def load(self, env: list[ir.Symbol], out: list[ir.Stmt]) -> ir.Symbol:
        symbol, at = ir.Symbol("l", i32), self.place(env)
        out.append(ir.Load(None, symbol, self.x, (at,), harness.below(at, harness.length(self.x))))
        return symbol

    def through_local(self, env: list[ir.Symbol], out: list[ir.Stmt]) -> ir.Symbol:
        symbol, at = ir.Symbol("q", i32), harness.num(self.r.randint(0, 3))
        anywhere = build.binary("&", self.leaf(env), harness.num(3))
        out.append(ir.Store(None, self.local, (anywhere,), self.value(env)))
        out.append(ir.Load(None, symbol, self.local, (at,)))
        return symbol

    def branch(self, env: list[ir.Symbol], depth: int, in_loop: bool, out: list[ir.Stmt]) -> None:
        then: list[ir.Stmt] = []
        orelse: list[ir.Stmt] = []
        self.body(env, depth + 1, in_loop, then)
        if self.r.random() < 0.5:
            self.body(env, depth + 1, in_loop, orelse)
        out.append(ir.If(None, self.condition(env), tuple(then), tuple(orelse)))

    def loop(self, env: list[ir.Symbol], depth: int, out: list[ir.Stmt]) -> None:
        inner: list[ir.Stmt] = []
        kind = self.r.random()
        if kind < 0.3:
            self.far_loop(env, out)
            return
        if kind < 0.7:
            turn = ir.Symbol("k", i32)
            stop = self.r.choice(
                [harness.num(self.r.randint(0, 5)), build.binary("%", self.value(env, 1), harness.num(6))]
            )
            self.body([*env, turn], depth + 1, True, inner)
            out.append(ir.For(None, turn, harness.num(0), stop, harness.num(1), tuple(inner)))
            return
        count = ir.Symbol("c", i32, mutable=True)
        limit = build.binary("&", self.value(env, 1), harness.num(7))
        out.append(ir.Assign(None, count, harness.num(0)))
        inner.append(ir.If(None, build.compare(">=", build.ref(count), limit), (ir.Break(None),)))
        inner.append(ir.Assign(None, count, build.binary("+", build.ref(count), harness.num(1))))
        self.body(env, depth + 1, True, inner)
        out.append(ir.Loop(None, tuple(inner)))

    def far_loop(self, env: list[ir.Symbol], out: list[ir.Stmt]) -> None:
        """A loop in which a unit jumps over its neighbours; here and there its start wraps."""
        turn = ir.Symbol("far", i32)
        size = build.binary("*", harness.num(self.units), ir.Builtin(i32, None, "workgroup_count", 0))
        position = self.r.choice([self.unit, self.absolute])
        length = harness.length(self.x)
        steps = [harness.num(self.units), size, build.binary("*", ir.Param(i32, None, "n"), size)]
        start, stop, step = (
            position,
            self.r.choice([length, harness.num(2 * self.units - 3)]),
            self.r.choice(steps),
        )
        kind = self.r.random()
        if kind < 0.2:
            start, stop = build.binary("-", length, position), harness.num(self.r.randint(-9, 9))
            step = build.binary("-", harness.num(0), step)
        elif kind < 0.4:
            start = build.binary("+", position, harness.num(2**31 - 1 - self.r.randint(0, 2 * self.units)))
            stop, step = harness.num(2**31 - 1), harness.num(2**28 + 5)
        elif kind < 0.6:
            start = build.binary("*", start, harness.num(2))
        inner: list[ir.Stmt] = []
        self.body([*env, turn], 3, False, inner)
        near = build.binary("+", build.ref(turn), harness.num(self.r.randint(-1, 1)))
        found = ir.Symbol("there", i32)
        inner.insert(0, ir.Load(None, found, self.x, (near,), harness.below(near, harness.length(self.x))))
        variables = [s for s in env if s.mutable]
        if variables:
            value = build.binary("+", build.ref(found), self.value([*env, turn], 1))
            inner.append(ir.Assign(None, self.r.choice(variables), value))
        out.append(ir.For(None, turn, start, stop, step, tuple(inner)))
