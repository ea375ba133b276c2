"""Random kernels: integers, branches, loops, early exits, and accesses that are sometimes out of bounds."""

from __future__ import annotations

import random
from dataclasses import replace

from building import E, Kernel, const, fn, select

from ruda_core.dtypes import i32, u8, u32
from ruda_core.ir import nodes as ir
from ruda_core.ir.build import all_of
from ruda_core.ir.rewrite import Rewriter
from ruda_core.passes.bounds import below, extents

ACCESSES = (ir.Load, ir.Store, ir.Atomic, ir.UniformLoad)

EDGES = [-(2**31), -(2**31) + 1, -17, -2, -1, 0, 1, 2, 3, 7, 8, 15, 16, 100, 2**30, 2**31 - 2, 2**31 - 1]


class Generator:
    """Random kernels over two scalars, an array of four elements and shared memory of sixteen."""

    def __init__(self, seed: int, **facts: object) -> None:
        self.random = random.Random(seed)
        self.k = Kernel(dim=(2, 1, 1), **facts)
        self.out = self.k.array("out", i32)
        self.shared = self.k.memory("local", "s", i32, (16,))
        self.table = self.k.memory("local", "t", i32, (3, 5))
        self.known = [
            self.k.scalar("n", i32),
            self.k.scalar("m", i32),
            self.k.builtin("absolute_pos"),
            self.k.len(self.out),
        ]
        self.variables: list[E] = []
        for slot in range(16):
            self.k.store(self.shared, slot, slot)
        for slot in range(15):
            self.k.store(self.table, slot, slot, flat=True)

    def expr(self, depth: int = 2) -> E:
        r = self.random
        if depth == 0 or r.random() < 0.3:
            if r.random() < 0.3:
                return const(i32, r.choice([*EDGES, 0, 1, 2, 3, 4, 5, 16]))
            return r.choice(self.known + self.variables)
        a, b = self.expr(depth - 1), self.expr(depth - 1)
        pick = r.choice(
            [
                "+",
                "-",
                "+",
                "-",
                "*",
                "//",
                "%",
                "&",
                ">>",
                "<<",
                "|",
                "^",
                "min",
                "max",
                "neg",
                "sel",
                "div_trunc",
                "rem_trunc",
                "abs",
                "u8",
                "u32",
            ]
        )
        if pick in ("min", "max"):
            return fn(pick, a, b)
        if pick == "abs":
            return fn("abs", a)
        if pick == "neg":
            return -a
        if pick == "sel":
            return select(self.cond(depth - 1), a, b)
        if pick in ("u8", "u32"):
            return a.to({"u8": u8, "u32": u32}[pick]).to(i32)
        if r.random() < 0.5:
            b = const(i32, r.choice([0, 1, 1, 2, 3, 4, 8, 16]))
        return a.binary(pick, b)

    def cond(self, depth: int = 1) -> E:
        r = self.random
        if depth and r.random() < 0.4:
            a, b = self.cond(depth - 1), self.cond(depth - 1)
            return r.choice([a & b, a | b, ~a])
        return self.expr(1).compare(r.choice(["<", "<=", ">", ">=", "==", "!=", "<", ">="]), self.expr(1))

    def access(self) -> None:
        r, k = self.random, self.k
        if r.random() < 0.5:
            i = r.choice([self.expr, lambda: k.let(self.expr())])()
            size = r.choice([k.len(self.out), const(i32, 16), const(i32, 17)])
            edge = [const(i32, 0), size]
            shift = r.choice([0, 0, 1, -1, 2])
            with k.if_((i + shift >= edge[0]) & (i + r.choice([0, shift, 1]) < edge[1])):
                array = self.out if size.expr.__class__ is ir.Length else self.shared
                k.store(array, i + r.choice([0, shift, shift, 1]), self.expr(1))
                k.store(array, fn("min", i, size - 1), 3)
            return
        match r.randrange(4):
            case 0:
                self.known.append(k.load(self.shared, self.expr()))
            case 1:
                k.store(self.out, self.expr(), self.expr(1))
            case 2:
                self.known.append(k.load(self.table, self.expr(1), self.expr(1)))
            case 3:
                k.store(self.shared, self.expr(), self.expr(1))

    def body(self, depth: int, in_loop: bool = False) -> None:
        r, k = self.random, self.k
        for _ in range(r.randrange(1, 5)):
            known, variables = list(self.known), list(self.variables)
            match r.randrange(9):
                case 0 | 1 | 2:
                    self.access()
                    continue
                case 3:
                    self.known.append(k.let(self.expr()))
                    continue
                case 4:
                    if self.variables and r.random() < 0.7:
                        k.set(r.choice(self.variables), self.expr())
                    else:
                        self.variables.append(k.var(self.expr()))
                    continue
                case 5 | 6 if depth:
                    with k.if_(self.cond()):
                        self.body(depth - 1, in_loop)
                        if r.random() < 0.3:
                            k.leave() if not in_loop or r.random() < 0.3 else r.choice(
                                [k.break_, k.continue_]
                            )()
                    self.known, self.variables = list(known), list(variables)
                    if r.random() < 0.4:
                        with k.else_():
                            self.body(depth - 1, in_loop)
                case 7 if depth:
                    start, stop = r.choice([0, 1, 3, self.expr(1)]), r.choice([3, 16, self.expr(1)])
                    fuel = k.var(const(i32, 6), "fuel")
                    with k.range(start, stop, r.choice([1, 1, 2, -1, 5, self.expr(0)])) as i:
                        with k.if_(fuel <= 0):
                            k.break_()
                        k.set(fuel, fuel - 1)
                        self.known.append(i)
                        self.body(depth - 1, True)
                        with k.if_(self.cond()):
                            k.break_()
                case 8 if depth:
                    left = k.var(const(i32, r.choice([2, 5])), "left")
                    self.variables.append(k.var(self.expr(1)))
                    with k.while_((left > 0) & self.cond()):
                        k.set(left, left - 1)
                        self.body(depth - 1, True)
            self.known, self.variables = known, variables


def always_checked(function: ir.Function) -> ir.Function:
    """Every access with its whole check, and nothing proved."""

    class Checks(Rewriter):
        def stmt(self, stmt: ir.Stmt) -> None:
            if isinstance(stmt, ACCESSES):
                limits = extents(stmt, function.index)
                check = all_of([below(i, n) for i, n in zip(stmt.index, limits, strict=True)])
                stmt = replace(stmt, check=check)
            self.emit(stmt)

    return Checks().run(function)
