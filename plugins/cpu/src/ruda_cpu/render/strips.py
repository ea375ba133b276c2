"""Statements for a strip of neighbouring units at once: vectors, and masks where units part.

Values that are the same for the strip stay scalars, and so do loops that no unit leaves early. Where units
part, `frame.mask` says which take part; loops and blocks keep which units are still in them.
"""

from __future__ import annotations

from dataclasses import dataclass

from ruda_core.dtypes import bool_
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import walk
from ruda_core.ir.verify import InvalidIR
from ruda_cpu.analysis.variance import has_outer_exit
from ruda_cpu.render.expressions import Cell
from ruda_cpu.render.memory import Place
from ruda_cpu.render.strip_memory import ALL, MASK, StripMemory
from ruda_cpu.render.units import Exits, Track
from ruda_cpu.render.writer import REGISTER, Value
from ruda_cpu.target import WIDTH

_NONE = "zeroinitializer"
_TWICE = 16
"""Statements of a loop's body that are worth writing once with masks and once without."""


@dataclass(frozen=True, slots=True)
class Torn:
    """A loop or block that units leave one by one."""

    inside: str
    """Variable: units that are still in it at all."""
    live: str
    """Variable: those of them that have not left this turn."""
    label: int | None
    """Of a Block; None for a loop."""


class Strips(StripMemory):
    """Statements by masks."""

    torn: list[Torn | Exits]
    """Loops and blocks around, innermost last; an `Exits` is one that the strip takes as one."""

    def strip_body(self, body: ir.Body) -> None:
        for stmt in body:
            self.strip_stmt(stmt)

    def strip_stmt(self, s: ir.Stmt) -> None:
        match s:
            case ir.Let():
                if s.symbol not in self.escaping:
                    self.note_stride(s.symbol, s.value)
                self.bind(s.symbol, self.expr(s.value))
            case ir.Assign():
                self._strip_assign(s.symbol, self.expr(s.value))
            case ir.Load():
                self.bind(s.symbol, self.strip_load(s))
            case ir.Store():
                self.strip_store(s)
            case ir.Atomic() | ir.MaskedStore():
                self.one_by_one(s)
            case ir.If():
                self._strip_if(s)
            case ir.Loop() | ir.For():
                if self.strip is not None and s in self.strip.torn:
                    self._torn_loop(s)
                else:
                    self._whole_loop(s)
            case ir.Block():
                self._torn_block(s)
            case ir.Break() | ir.Continue() | ir.Leave():
                self._strip_leave(s)
            case ir.Barrier(scope="subgroup"):
                pass  # subgroups are single units here; one of the workgroup ends a region and never comes here
            case _:
                raise InvalidIR(f"{self.function.name}: LLVM text has no {type(s).__name__} ({s.span})")

    # Several strips at once ----------------------------------------------------------------------

    def is_shared(self, body: ir.Body) -> bool:
        """True for straight code, and loops that all units of a group take alike, with such code in them."""
        return any(isinstance(s, ir.For) for s in body) and all(self._is_shared(s) for s in body)

    def _is_shared(self, s: ir.Stmt) -> bool:
        if isinstance(s, ir.For):
            varies = self.plan.variance.varies
            alike = not (varies(s.start) or varies(s.step) or varies(s.trips) or s.symbol in self.escaping)
            return alike and not s.symbol.mutable and all(self._is_shared(inner) for inner in s.body)
        return isinstance(s, (ir.Let, ir.Assign, ir.Load, ir.Store))

    def strips_side_by_side(self, body: ir.Body, tracks: list[Track]) -> None:
        """Each statement for all strips before the next; a loop is one for all of them."""
        for stmt in body:
            if isinstance(stmt, ir.For):
                self._shared_loop(stmt, tracks)
                continue
            for track in tracks:
                self.switch(track)
                self.strip_stmt(stmt)

    def _shared_loop(self, s: ir.For, tracks: list[Track]) -> None:
        def body() -> None:
            for track in tracks[1:]:
                track.env[s.symbol] = tracks[0].env[s.symbol]
            self.strips_side_by_side(s.body, tracks)
            self.switch(tracks[0])

        self.switch(tracks[0])
        self.loop(s, body)

    # Values ------------------------------------------------------------------------------------

    def bind(self, symbol: ir.Symbol, value: Value | None) -> None:
        if symbol in self.escaping and value is not None:
            self._strip_assign(symbol, value)
            if symbol in self.kept:
                self.keep(symbol, value)
            return
        super().bind(symbol, value)

    def strip_variable(self, symbol: ir.Symbol) -> Cell:
        wide = self.strip is not None and symbol in self.strip.symbols
        return Cell(self.w.variable(self.type_of(symbol.type.scalar, wide)), wide)

    def _strip_assign(self, symbol: ir.Symbol, value: Value) -> None:
        cell = self.cells[symbol]
        if cell.wide:
            value = self.widen(value)
            if self.frame.mask is not None:
                old = self.w.ins(f"load {self.ty(value)}, ptr {cell.pointer}")
                value = self.select(
                    Value(self.frame.mask, bool_, True), value, value._replace(text=old, const=False)
                )
        self.w.add(f"store {self.ty(value)} {value.text}, ptr {cell.pointer}")

    def keep(self, symbol: ir.Symbol, value: Value) -> None:
        """Units outside of the mask keep what they have: a strip may end past its row."""
        dtype = symbol.type.scalar
        if self.frame.kind != "strip":
            super().keep(symbol, value)
            return
        place = Place("row", self.kept_at(symbol), dtype)
        self.store_at(place, self.widen(value), self.frame.mask)

    # Control flow ------------------------------------------------------------------------------

    def _strip_if(self, s: ir.If) -> None:
        condition = self.expr(s.cond)
        mask, some = self.frame.mask, self.frame.some
        if not condition.wide:
            self._whole_if(s, condition)
        else:
            self._part(s.then, self.both(mask, condition))
            if s.orelse:
                self.frame.mask, self.frame.some = mask, some
                self._part(s.orelse, self.without(mask, condition))
        self.frame.mask, self.frame.some = mask, some
        if has_outer_exit((s,)):
            self._drop_left()

    def _whole_if(self, s: ir.If, condition: Value) -> None:
        mask, some = self.frame.mask, self.frame.some
        yes, end = self.w.name("then"), self.w.name("end")
        no = self.w.name("else") if s.orelse else end
        self.w.branch(condition.text, yes, no)
        for label, body in ((yes, s.then), (no, s.orelse)):
            if label == end:
                continue
            self.frame.mask, self.frame.some = mask, some
            self.w.place(label)
            self.strip_body(body)
            self.w.jump(end)
        self.w.place(end)

    def _part(self, body: ir.Body, mask: str | None) -> None:
        """A body for some of the units; skipped where there is none, when that is worth a branch."""
        self.frame.mask = mask
        if mask is None or not _is_heavy(body):
            self.frame.some = mask is None
            self.strip_body(body)
            return
        inside, end = self.w.name("part"), self.w.name("end")
        self.w.branch(self.any_of(mask), inside, end)
        self.w.place(inside)
        self.frame.some = True
        self.strip_body(body)
        self.w.jump(end)
        self.w.place(end)

    def _drop_left(self) -> None:
        """After control flow with exits: without the units that have left a torn loop or block around."""
        around = self.torn[-1] if self.torn else None
        if isinstance(around, Torn):
            live = self.w.ins(f"load {MASK}, ptr {around.live}")
            self.frame.mask = self.both(self.frame.mask, Value(live, bool_, True))
            self.frame.some = False

    def _whole_loop(self, s: ir.Loop | ir.For) -> None:
        """A loop that the strip takes as one, under whatever mask there is."""
        mask, some = self.frame.mask, self.frame.some

        def body() -> None:
            self.torn.append(self.exits[-1])
            self.strip_body(s.body)
            self.torn.pop()
            self.frame.mask, self.frame.some = mask, some

        self.loop(s, body)

    def _torn_loop(self, s: ir.Loop | ir.For) -> None:
        mask, some = self.frame.mask, self.frame.some
        state = Torn(self.w.variable(MASK), self.w.variable(MASK), None)
        self.w.add(f"store {MASK} {mask or ALL}, ptr {state.inside}")
        counter = self._wide_start(s) if isinstance(s, ir.For) else None
        first = self._first_start(s, counter) if isinstance(s, ir.For) and counter is not None else None
        if isinstance(s, ir.For) and counter is not None and mask is None and _is_light(s.body):
            self._common_turns(s, counter, first)
        head, turn, end = self.w.name("head"), self.w.name("turn"), self.w.name("end")
        self.w.jump(head)
        self.w.place(head)
        inside = self.w.ins(f"load {MASK}, ptr {state.inside}")
        if counter is not None:
            inside = self._wide_test(counter, inside)
            self.w.add(f"store {MASK} {inside}, ptr {state.inside}")
        self.w.branch(self.any_of(inside), turn, end)
        self.w.place(turn)
        self.w.add(f"store {MASK} {inside}, ptr {state.live}")
        self.frame.mask, self.frame.some = inside, True
        if isinstance(s, ir.For) and counter is not None:
            self._bind_counter(s, counter, first)
        self.torn.append(state)
        self.strip_body(s.body)
        self.torn.pop()
        if counter is not None:
            self._wide_step(counter, first)
        self.w.jump(head)
        self.w.place(end)
        self.frame.mask, self.frame.some = mask, some
        if has_outer_exit((s,)):
            self._drop_left()

    def _common_turns(
        self, s: ir.For, counter: tuple[str, str, Value, Value, bool], first: str | None
    ) -> None:
        """The turns that all units make, without a mask. What remains is for those who make more."""
        made, _, trips, _, _ = counter
        if not trips.wide:
            return
        t = REGISTER[trips.dtype.name]
        least = self.w.call(t, f"llvm.vector.reduce.umin.v{WIDTH}{t}", (self.ty(trips), trips.text))
        head, turn, end = self.w.name("head"), self.w.name("turn"), self.w.name("end")
        outer = self.frame.first
        known = dict(outer.made) if outer is not None else {}
        self.w.jump(head)
        self.w.place(head)
        n = self.w.ins(f"load {t}, ptr {made}")
        self.w.branch(self.w.ins(f"icmp ult {t} {n}, {least}"), turn, end)
        self.w.place(turn)
        self._bind_counter(s, counter, first)
        self.strip_body(s.body)
        self._wide_step(counter, first)
        self.w.jump(head)
        self.w.place(end)
        if outer is not None:
            outer.made = known

    def _bind_counter(
        self, s: ir.For, counter: tuple[str, str, Value, Value, bool], first: str | None
    ) -> None:
        """The loop's symbol for this turn, and its value in the strip's first unit."""
        dtype = s.symbol.type.scalar
        text = self.w.ins(f"load {self.type_of(dtype, counter[4])}, ptr {counter[1]}")
        self.bind(s.symbol, Value(text, dtype, counter[4]))
        if first is not None and self.frame.first is not None:
            made = Value(self.w.ins(f"load {REGISTER[dtype.name]}, ptr {first}"), dtype)
            self.frame.first.made[s.symbol] = made

    def _wide_start(self, s: ir.For) -> tuple[str, str, Value, Value, bool]:
        """Turns made (the same for all), and the symbol's next value."""
        if s.trips is None:
            raise InvalidIR(f"{self.function.name}: a For without its number of turns ({s.span})")
        trips, start, step = self.expr(s.trips), self.expr(s.start), self.expr(s.step)
        wide = start.wide or step.wide
        if wide:
            start = self.widen(start)
        made = self.w.variable(REGISTER[trips.dtype.name])
        current = self.w.variable(self.ty(start))
        self.w.add(f"store {REGISTER[trips.dtype.name]} 0, ptr {made}")
        self.w.add(f"store {self.ty(start)} {start.text}, ptr {current}")
        return made, current, trips, step, wide

    def _first_start(self, s: ir.For, counter: tuple[str, str, Value, Value, bool]) -> str | None:
        """A variable for the symbol's value in the strip's first unit, where the others move evenly with it."""
        stride = self.stride(s.start)
        if stride is None or counter[3].wide or s.symbol in self.escaping or s.symbol.mutable:
            return None
        if not counter[4] or self.frame.first is None:
            return None
        with self.for_first():
            start = self.expr(s.start)
        where = self.w.variable(self.ty(start))
        self.w.add(f"store {self.ty(start)} {start.text}, ptr {where}")
        self.strides[s.symbol] = stride
        return where

    def _wide_test(self, counter: tuple[str, str, Value, Value, bool], inside: str) -> str:
        made, _, trips, _, _ = counter
        t = REGISTER[trips.dtype.name]
        n = Value(self.w.ins(f"load {t}, ptr {made}"), trips.dtype)
        a, b = self.widen(n), self.widen(trips)
        more = self.w.ins(f"icmp ult {self.ty(a)} {a.text}, {b.text}")
        return self.w.ins(f"and {MASK} {inside}, {more}")

    def _wide_step(self, counter: tuple[str, str, Value, Value, bool], first: str | None) -> None:
        made, current, trips, step, wide = counter
        step = self.widen(step) if wide else step
        t, u = REGISTER[trips.dtype.name], self.ty(step)
        n = self.w.ins(f"load {t}, ptr {made}")
        self.w.add(f"store {t} {self.w.ins(f'add nuw {t} {n}, 1')}, ptr {made}")
        self._advance(current, u, step)
        if first is not None:
            self._advance(first, self.ty(counter[3]), counter[3])

    def _advance(self, where: str, t: str, step: Value) -> None:
        v = self.w.ins(f"load {t}, ptr {where}")
        self.w.add(f"store {t} {self.w.ins(f'add {t} {v}, {step.text}')}, ptr {where}")

    def _torn_block(self, s: ir.Block) -> None:
        mask, some = self.frame.mask, self.frame.some
        state = Torn(self.w.variable(MASK), self.w.variable(MASK), s.label)
        self.w.add(f"store {MASK} {mask or ALL}, ptr {state.inside}")
        self.w.add(f"store {MASK} {mask or ALL}, ptr {state.live}")
        self.torn.append(state)
        self.strip_body(s.body)
        self.torn.pop()
        self.frame.mask, self.frame.some = mask, some
        if has_outer_exit((s,)):
            self._drop_left()

    def _strip_leave(self, s: ir.Stmt) -> None:
        """Take the units at hand out of every torn loop and block up to the one that they leave."""
        if isinstance(self.torn[-1], Exits) and not isinstance(s, ir.Leave):
            self.leave(s)
            return
        gone = self.frame.mask or ALL
        stay = self.w.ins(f"xor {MASK} {gone}, {ALL}")
        for around in reversed(self.torn):
            if isinstance(around, Exits):
                if not isinstance(s, ir.Leave):
                    self.leave(s)
                    return
                continue
            target = around.label == s.label if isinstance(s, ir.Leave) else around.label is None
            if not (target and isinstance(s, ir.Continue)):
                self._clear(around.inside, stay)
            self._clear(around.live, stay)
            if target:
                break
        self.frame.mask, self.frame.some = _NONE, False

    def _clear(self, where: str, stay: str) -> None:
        old = self.w.ins(f"load {MASK}, ptr {where}")
        self.w.add(f"store {MASK} {self.w.ins(f'and {MASK} {old}, {stay}')}, ptr {where}")


def _is_heavy(body: ir.Body) -> bool:
    statements = list(walk(body))
    return len(statements) > 6 or any(isinstance(s, (ir.Loop, ir.For, ir.Block)) for s in statements)


def _is_light(body: ir.Body) -> bool:
    """True for code without exits that is worth writing twice."""
    statements = list(walk(body))
    return len(statements) <= _TWICE and not any(
        isinstance(s, (ir.Break, ir.Continue, ir.Leave)) for s in statements
    )
