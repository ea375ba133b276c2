"""A function of the IR as one Python function that runs a chunk of workgroups with NumPy.

All units go through the code in step; a mask says which are active. Barriers are therefore nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ruda_core.dtypes import BY_NAME
from ruda_core.errors import UnsupportedFeature
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import walk
from ruda_core.ir.span import error_at
from ruda_core.ir.verify import InvalidIR
from ruda_core.passes.faults import FAULTS
from ruda_core.reference import masks
from ruda_core.reference.accesses import Accesses
from ruda_core.reference.exits import Exits, outliving
from ruda_core.reference.expressions import Expressions, SlotUse
from ruda_core.reference.loops import counted

_DEEPEST = 80
"""Levels of indentation after which guards are left out: code under an empty mask does nothing."""


@dataclass(frozen=True, slots=True)
class Generated:
    """`run(c, values, *memories)` for a chunk `c`."""

    run: Callable[..., None]
    text: str
    slots: tuple[SlotUse, ...]
    """What `values` holds, in order."""
    arrays: tuple[ir.Array, ...]
    """Global arrays whose memories follow, in order."""


def generate(function: ir.Function) -> Generated:
    """Translate; raises UnsupportedFeature with the place for what this backend lacks."""
    return _Generator(function).run()


class _Generator:
    def __init__(self, function: ir.Function) -> None:
        self.function = function
        self.lines: list[str] = []
        self.depth = 1
        self.unguarded = False
        self.exits = Exits()
        self.x = Expressions(function, self.line)
        names = {a.name for a in function.in_space("global")}
        self.access = Accesses(self.x, _written(function), native_faults=FAULTS not in names)
        self.outliving = outliving(function.body)
        self.loops: list[tuple[str, str]] = []
        """For each loop around: the names of the masks that broke and that continue."""
        self.blocks: dict[int, str] = {}
        self.symbols: dict[ir.Symbol, None] = {}
        helpers = (masks.enter, masks.join, masks.merge, masks.merge_vector, counted)
        self.x.namespace.update({h.__name__: h for h in helpers})

    def run(self) -> Generated:
        self.line("m = True")
        self.body(self.function.body, "m")
        body, self.lines = self.lines, []
        arrays = ", ".join(self.access.globals.values())
        self.lines.append(f"def kernel(c, values{', ' + arrays if arrays else ''}):")
        if self.x.slots:
            self.line(f"{', '.join(self.x.slots.values())}, = values")
        for (name, axis), variable in self.x.positions.items():
            self.line(f"{variable} = {self.x.position_source(name, axis)}")
        for text in self.access.prologue:
            self.line(text)
        for symbol in self.symbols:
            if symbol.mutable or symbol in self.outliving:
                self.line(f"{self.x.symbol(symbol)} = None")
            elif self.unguarded:
                self.line(f"{self.x.symbol(symbol)} = {self.x.constant(symbol.type.scalar, 0)}")
        text = "\n".join([*self.lines, *body]) + "\n"
        exec(compile(text, f"<{self.function.name}, for the reference backend>", "exec"), self.x.namespace)
        slots, arrays_used = tuple(self.x.slots), tuple(self.access.globals)
        return Generated(self.x.namespace["kernel"], text, slots, arrays_used)

    def line(self, text: str) -> None:
        self.lines.append(" " * self.depth + text)

    def indented(self, head: str, body: ir.Body, mask: str) -> None:
        self.line(head)
        self.depth += 1
        before = len(self.lines)
        self.body(body, mask)
        if len(self.lines) == before:
            self.line("pass")
        self.depth -= 1

    def body(self, body: ir.Body, mask: str) -> None:
        """The statements under the mask of this name, which holds the remaining units afterwards."""
        for k, s in enumerate(body):
            method = _STATEMENTS.get(type(s))
            if method is None:
                raise InvalidIR(f"the reference interpreter has no meaning for {type(s).__name__}")
            method(self, s, mask)
            rest = body[k + 1 :]
            if isinstance(s, (ir.Break, ir.Continue, ir.Leave)):
                return
            if rest and self.exits.of(s):
                if self.depth < _DEEPEST:
                    self.indented(f"if {mask} is not False:", rest, mask)
                    return
                self.unguarded = True

    def bind(self, symbol: ir.Symbol, text: str, mask: str) -> None:
        self.symbols[symbol] = None
        name = self.x.symbol(symbol)
        if symbol.mutable or symbol in self.outliving:
            helper = "merge_vector" if symbol.type.lanes > 1 else "merge"
            text = f"{helper}({mask}, {text}, {name})"
        self.line(f"{name} = {text}")

    # One method a statement ------------------------------------------------------------------------

    def _let(self, s: ir.Let | ir.Assign, mask: str) -> None:
        self.bind(s.symbol, self.x.render(s.value), mask)

    def _load(self, s: ir.Load | ir.UniformLoad, mask: str) -> None:
        self.bind(s.symbol, self.access.load(s, mask), mask)

    def _store(self, s: ir.Store, mask: str) -> None:
        self.line(self.access.store(s, mask))

    def _atomic(self, s: ir.Atomic, mask: str) -> None:
        text = self.access.atomic(s, mask)
        if s.symbol is None:
            self.line(text)
        else:
            self.bind(s.symbol, text, mask)

    def _if(self, s: ir.If, mask: str) -> None:
        leaves = self.exits.of(s)
        condition, then = self.x.render(s.cond), self.x.fresh("m")
        if s.orelse or leaves:
            name = self.x.fresh("t")
            self.line(f"{name} = {condition}")
            condition = name
        self.line(f"{then} = enter({mask}, {condition})")
        if s.orelse or leaves:
            other = self.x.fresh("m")
            self.line(f"{other} = enter({mask}, ~{condition})")
        if s.then:
            self.indented(f"if {then} is not False:", s.then, then)
        if s.orelse:
            self.indented(f"if {other} is not False:", s.orelse, other)
        if leaves:
            self.line(f"{mask} = join({then}, {other})")

    def _loop(self, s: ir.Loop, mask: str) -> None:
        live, broke = self.x.fresh("m"), self.x.fresh("m")
        self.line(f"{live} = {mask}")
        self.line(f"{broke} = False")
        self.line(f"while {live} is not False:")
        self.trip(s.body, live, broke)
        self.depth -= 1
        if self.exits.of(s):
            self.line(f"{mask} = {broke}")

    def _for(self, s: ir.For, mask: str) -> None:
        live, broke, done, makes = (self.x.fresh("m") for _ in range(4))
        start, stop, step = (self.x.render(e) for e in (s.start, s.stop, s.step))
        variable = self.x.symbol(s.symbol)
        self.symbols[s.symbol] = None
        leaves = self.exits.of(s)
        value = self.x.fresh("t") if s.symbol in self.outliving else variable
        self.line(f"{live} = {mask}")
        self.line(f"{broke} = {done} = False")
        self.line(f"for {value}, {makes} in counted({start}, {stop}, {step}):")
        self.depth += 1
        if leaves:
            self.line(f"{done} = join({done}, enter({live}, ~{makes}))")
        self.line(f"{live} = enter({live}, {makes})")
        self.line(f"if {live} is False: break")
        if value != variable:
            self.line(f"{variable} = merge({live}, {value}, {variable})")
        self.depth -= 1
        self.trip(s.body, live, broke)
        self.line(f"if {live} is False: break")
        self.depth -= 1
        if leaves:
            self.line(f"{mask} = join(join({done}, {live}), {broke})")

    def trip(self, body: ir.Body, live: str, broke: str) -> None:
        """One trip of a loop, one level deeper; leaves the depth there."""
        self.depth += 1
        continued = self.x.fresh("m")
        resumes = "continue" in self.exits.of_body(body)
        if resumes:
            self.line(f"{continued} = False")
        self.loops.append((broke, continued))
        before = len(self.lines)
        self.body(body, live)
        self.loops.pop()
        if resumes:
            self.line(f"{live} = join({live}, {continued})")
        if len(self.lines) == before:
            self.line("pass")

    def _block(self, s: ir.Block, mask: str) -> None:
        inner, left = self.x.fresh("m"), self.x.fresh("m")
        self.line(f"{inner} = {mask}")
        self.line(f"{left} = False")
        outer = self.blocks.get(s.label)
        self.blocks[s.label] = left
        self.body(s.body, inner)
        if outer is not None:
            self.blocks[s.label] = outer
        if self.exits.of(s):
            self.line(f"{mask} = join({inner}, {left})")

    def _exit(self, s: ir.Stmt, mask: str) -> None:
        target = None
        if isinstance(s, ir.Break):
            target = self.loops[-1][0]
        elif isinstance(s, ir.Continue):
            target = self.loops[-1][1]
        elif isinstance(s, ir.Leave) and s.label != ir.KERNEL:
            target = self.blocks[s.label]
        if target is not None:
            self.line(f"{target} = join({target}, {mask})")
        self.line(f"{mask} = False")

    def _barrier(self, s: ir.Barrier, mask: str) -> None:
        """All units are here already."""

    def _assert(self, s: ir.Assert, mask: str) -> None:
        if self.access.native_faults:
            self.access.record(s.site, mask, self.x.render(s.cond))

    def _report(self, s: ir.Report, mask: str) -> None:
        places = "()"
        if s.index is not None and s.length is not None:
            places = f"(({self.x.render(s.index)}, {self.x.render(s.length)}),)"
        self.access.record(s.site, mask, self.x.constant(BY_NAME["bool"], False), places)

    def _subgroup(self, s: ir.Subgroup, mask: str) -> None:
        message = f"subgroup_{s.op}: the reference backend has no subgroups: use shared memory and barriers"
        raise error_at(UnsupportedFeature, message, s.span)


def _written(function: ir.Function) -> frozenset[ir.Array]:
    """Arrays that a store may change, also through another one that shares its memory."""
    stores = (s for s in walk(function.body) if isinstance(s, (ir.Store, ir.Atomic)))
    written = {s.array for s in stores if not (isinstance(s, ir.Atomic) and s.op == "load")}
    names = {a.name for a in written if a.space == "global"}
    shared = {name for group in function.groups if names.intersection(group) for name in group}
    return frozenset(written | {a for a in function.in_space("global") if a.name in shared})


_STATEMENTS: dict[type, Callable[[_Generator, Any, str], None]] = {
    ir.Let: _Generator._let,
    ir.Assign: _Generator._let,
    ir.Load: _Generator._load,
    ir.UniformLoad: _Generator._load,
    ir.Store: _Generator._store,
    ir.Atomic: _Generator._atomic,
    ir.If: _Generator._if,
    ir.Loop: _Generator._loop,
    ir.For: _Generator._for,
    ir.Block: _Generator._block,
    ir.Break: _Generator._exit,
    ir.Continue: _Generator._exit,
    ir.Leave: _Generator._exit,
    ir.Barrier: _Generator._barrier,
    ir.Assert: _Generator._assert,
    ir.Report: _Generator._report,
    ir.Subgroup: _Generator._subgroup,
}
