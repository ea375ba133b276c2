"""Statements for a strip of neighbouring units at once: vectors, and masks where units part.

Values that are the same for the strip stay scalars, and so do loops that no unit leaves early. Where units
part, `frame.mask` says which take part; loops and blocks keep which units are still in them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ruda_core.dtypes import DType, bool_
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import walk
from ruda_core.ir.verify import InvalidIR
from ruda_cpu.expressions import Cell
from ruda_cpu.memory import Place
from ruda_cpu.target import WIDTH
from ruda_cpu.units import Exits, Units
from ruda_cpu.variance import has_outer_exit
from ruda_cpu.writer import MEMORY, REGISTER, Value, constant

_MASK = f"<{WIDTH} x i1>"
_ALL = "splat (i1 true)"
_NONE = "zeroinitializer"


@dataclass(frozen=True, slots=True)
class Torn:
    """A loop or block that units leave one by one."""

    inside: str
    """Variable: units that are still in it at all."""
    live: str
    """Variable: those of them that have not left this turn."""
    label: int | None
    """Of a Block; None for a loop."""


class Strips(Units):
    """Statements by masks."""

    escaping: frozenset[ir.Symbol] = frozenset()
    """Immutable symbols of a loop that are used after it: each unit's from its own last turn."""
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
                self.bind(s.symbol, self._strip_load(s))
            case ir.Store():
                self._strip_store(s)
            case ir.Atomic() | ir.MaskedStore():
                self._one_by_one(s)
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
            case ir.Barrier():
                pass
            case _:
                raise InvalidIR(f"{self.function.name}: LLVM text has no {type(s).__name__} ({s.span})")

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
                value = self.select(Value(self.frame.mask, bool_, True), value, value._replace(text=old, const=False))
        self.w.add(f"store {self.ty(value)} {value.text}, ptr {cell.pointer}")

    def keep(self, symbol: ir.Symbol, value: Value) -> None:
        """Units outside of the mask keep what they have: a strip may end past its row."""
        dtype = symbol.type.scalar
        if self.frame.kind != "strip":
            super().keep(symbol, value)
            return
        place = Place("row", self.kept_at(symbol), dtype)
        self._store_at(place, self.widen(value), self.frame.mask)

    # Masks -------------------------------------------------------------------------------------

    def _both(self, a: str | None, b: Value | None) -> str | None:
        """The units of mask `a` for which the condition holds."""
        if b is None:
            return a
        wide = self.widen(b)
        if a is None:
            return wide.text
        return self.w.ins(f"and {_MASK} {a}, {wide.text}")

    def _without(self, a: str | None, b: Value) -> str:
        no = self.w.ins(f"xor {_MASK} {self.widen(b).text}, {_ALL}")
        return no if a is None else self.w.ins(f"and {_MASK} {a}, {no}")

    def _any(self, mask: str) -> str:
        return self.w.call("i1", f"llvm.vector.reduce.or.v{WIDTH}i1", (_MASK, mask))

    def _only_if(self, condition: str | None, access: Callable[[], Value | None], zero: DType | None) -> Value | None:
        """`access()` behind a branch; else zero."""
        if condition is None:
            return access()
        before, inside, after = self.w.block, self.w.name("in"), self.w.name("out")
        self.w.branch(condition, inside, after)
        self.w.place(inside)
        value = access()
        last = self.w.block
        self.w.jump(after)
        self.w.place(after)
        if value is None or zero is None:
            return None
        nothing = constant(zero, 0).text if not value.wide else "zeroinitializer"
        text = self.w.ins(f"phi {self.ty(value)} [ {value.text}, %{last} ], [ {nothing}, %{before} ]")
        return value._replace(text=text, const=False)

    def _uniform_guard(self, check: Value | None) -> str | None:
        """A condition for an access that the strip makes once: some unit takes part, and the check."""
        guard = None
        if self.frame.mask is not None and not self.frame.some:
            guard = self._any(self.frame.mask)
        if check is None:
            return guard
        return check.text if guard is None else self.w.ins(f"and i1 {guard}, {check.text}")

    # Accesses ----------------------------------------------------------------------------------

    def _strip_load(self, s: ir.Load) -> Value:
        dtype = s.symbol.type.scalar
        check = None if s.check is None else self.expr(s.check)
        if check is not None and check.const:
            check = None if check.text == "true" else check
        place = self.place(s.array, s.index)
        if place.kind == "one":
            if check is None or not check.wide:
                value = self._only_if(self._uniform_guard(check), lambda: self.load_one(place, dtype), dtype)
                return value or constant(dtype, 0)
            some = self._any(self._both(self.frame.mask, check) or _ALL)
            value = self._only_if(some, lambda: self.load_one(place, dtype), dtype) or constant(dtype, 0)
            return self.select(check, value, constant(dtype, 0))
        return self.cast(self._load_at(place, self._both(self.frame.mask, check)), dtype, raw=True)

    def _load_at(self, place: Place, mask: str | None) -> Value:
        t = self.type_of(place.dtype, True, memory=True)
        kind = _suffix(place.dtype)
        align = place.dtype.itemsize
        if place.kind == "row":
            if mask is None:
                text = self.w.ins(f"load {t}, ptr {place.pointer}, align {align}")
            else:
                text = self._intrinsic(
                    t, f"llvm.masked.load.v{WIDTH}{kind}.p0", [("ptr", place.pointer)], mask, align, t
                )
        else:
            ptrs = f"<{WIDTH} x ptr>"
            text = self._intrinsic(
                t, f"llvm.masked.gather.v{WIDTH}{kind}.v{WIDTH}p0", [(ptrs, place.pointer)], mask or _ALL, align, t
            )
        return self.from_memory(text, place.dtype, True)

    def _intrinsic(
        self, result: str, name: str, pointer: list[tuple[str, str]], mask: str, align: int, other: str
    ) -> str:
        """A masked load: the pointer with its alignment, the mask, and zeros for those left out."""
        ((t, p),) = pointer
        self.w.declarations.setdefault(f"declare {result} @{name}({t}, {_MASK}, {other})")
        return self.w.ins(f"call {result} @{name}({t} align {align} {p}, {_MASK} {mask}, {other} zeroinitializer)")

    def _strip_store(self, s: ir.Store) -> None:
        check = None if s.check is None else self.expr(s.check)
        place = self.place(s.array, s.index)
        value = self.cast(self.expr(s.value), place.dtype, raw=True)
        if place.kind == "one" and not value.wide and (check is None or not check.wide):
            self._only_if(self._uniform_guard(check), lambda: self.store_one(place, value), None)
            return
        mask = self._both(self.frame.mask, check)
        if place.kind == "one":
            place = Place("each", self.splat(place.pointer, "ptr"), place.dtype)
        self._store_at(place, self.widen(value), mask)

    def _store_at(self, place: Place, value: Value, mask: str | None) -> None:
        t = self.type_of(place.dtype, True, memory=True)
        kind, align = _suffix(place.dtype), place.dtype.itemsize
        text = self.to_memory(value)
        if place.kind == "row" and mask is None:
            self.w.add(f"store {t} {text}, ptr {place.pointer}, align {align}")
            return
        if place.kind == "row":
            name, p = f"llvm.masked.store.v{WIDTH}{kind}.p0", "ptr"
        else:
            name, p = f"llvm.masked.scatter.v{WIDTH}{kind}.v{WIDTH}p0", f"<{WIDTH} x ptr>"
        self.w.declarations.setdefault(f"declare void @{name}({t}, {p}, {_MASK})")
        self.w.add(f"call void @{name}({t} {text}, {p} align {align} {place.pointer}, {_MASK} {mask or _ALL})")

    def _one_by_one(self, s: ir.Atomic | ir.MaskedStore) -> None:
        """What vectors lack: for one unit after the other."""
        check = None if s.check is None else self.expr(s.check)
        mask = self._both(self.frame.mask, check)
        index = s.index if isinstance(s.index, tuple) else (s.index,)
        place = self.place(s.array, index)
        pointers = self.splat(place.pointer, "ptr") if place.kind == "one" else place.pointer
        if place.kind == "row":
            pointers = self._row_pointers(place)
        extra = [s.shift, s.value] if isinstance(s, ir.MaskedStore) else list(s.args)
        args = [self.expr(a) for a in extra]
        symbol = s.symbol if isinstance(s, ir.Atomic) else None
        dtype = place.dtype
        old = None
        if symbol is not None:
            old = self.w.variable(self.type_of(dtype, True))
            self.w.add(f"store {self.type_of(dtype, True)} zeroinitializer, ptr {old}")
        spilled = [self._spill(f"<{WIDTH} x ptr>", pointers), *(self._spill(self.ty(a), a.text) if a.wide else "" for a in args)]
        bits = self.w.ins(f"bitcast {_MASK} {mask} to i{WIDTH}") if mask is not None else None
        head, end, k, more = self._each_lane(bits)
        pointer = self._lane_of(spilled[0], "ptr", k)
        lane_args = [
            Value(self._lane_of(where, REGISTER[a.dtype.name], k), a.dtype) if a.wide else a
            for where, a in zip(spilled[1:], args, strict=True)
        ]
        if isinstance(s, ir.MaskedStore):
            self.store_bytes(pointer, lane_args[0], s.mask, lane_args[1])
        else:
            value = self.atomic_one(s.op, pointer, dtype, lane_args, shared=s.array.space == "shared")
            if value is not None and old is not None:
                where = self.w.ins(f"getelementptr inbounds {REGISTER[dtype.name]}, ptr {old}, i64 {k}")
                self.w.add(f"store {REGISTER[dtype.name]} {value.text}, ptr {where}")
        self.w.jump(more)
        self._next_lane(head, end, k, more)
        if symbol is not None and old is not None:
            t = self.type_of(dtype, True)
            self.bind(symbol, Value(self.w.ins(f"load {t}, ptr {old}"), dtype, True))

    def _row_pointers(self, place: Place) -> str:
        lanes = ", ".join(f"i64 {k}" for k in range(WIDTH))
        return self.w.ins(
            f"getelementptr {MEMORY[place.dtype.name]}, ptr {place.pointer}, <{WIDTH} x i64> <{lanes}>"
        )

    def _spill(self, llvm_type: str, text: str) -> str:
        where = self.w.variable(llvm_type)
        self.w.add(f"store {llvm_type} {text}, ptr {where}")
        return where

    def _lane_of(self, where: str, llvm_type: str, k: str) -> str:
        p = self.w.ins(f"getelementptr inbounds {llvm_type}, ptr {where}, i64 {k}")
        return self.w.ins(f"load {llvm_type}, ptr {p}")

    def _each_lane(self, bits: str | None) -> tuple[str, str, str, str]:
        """Begin a loop over the units of the strip that take part; leaves off inside it."""
        head, run = self.w.name("lane"), self.w.name("run")
        more, end = self.w.name("more"), self.w.name("end")
        start = self.w.block
        self.w.jump(head)
        self.w.place(head)
        k = "%" + self.w.name("k")
        self.w.lines.append(f"  {k} = phi i64 [ 0, %{start} ], [ {k}.next, %{more} ]")
        if bits is not None:
            shift = self.w.ins(f"trunc i64 {k} to i{WIDTH}")
            bit = self.w.ins(f"lshr i{WIDTH} {bits}, {shift}")
            self.w.branch(self.w.ins(f"trunc i{WIDTH} {bit} to i1"), run, more)
            self.w.place(run)
        return head, end, k, more

    def _next_lane(self, head: str, end: str, k: str, more: str) -> None:
        self.w.place(more)
        self.w.add(f"{k}.next = add nuw nsw i64 {k}, 1")
        done = self.w.ins(f"icmp eq i64 {k}.next, {WIDTH}")
        self.w.branch(done, end, head)
        self.w.place(end)

    # Control flow ------------------------------------------------------------------------------

    def _strip_if(self, s: ir.If) -> None:
        condition = self.expr(s.cond)
        mask, some = self.frame.mask, self.frame.some
        if not condition.wide:
            self._whole_if(s, condition)
        else:
            self._part(s.then, self._both(mask, condition))
            if s.orelse:
                self.frame.mask, self.frame.some = mask, some
                self._part(s.orelse, self._without(mask, condition))
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
        self.w.branch(self._any(mask), inside, end)
        self.w.place(inside)
        self.frame.some = True
        self.strip_body(body)
        self.w.jump(end)
        self.w.place(end)

    def _drop_left(self) -> None:
        """After control flow with exits: without the units that have left a torn loop or block around."""
        around = self.torn[-1] if self.torn else None
        if isinstance(around, Torn):
            live = self.w.ins(f"load {_MASK}, ptr {around.live}")
            self.frame.mask = self._both(self.frame.mask, Value(live, bool_, True))
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
        state = Torn(self.w.variable(_MASK), self.w.variable(_MASK), None)
        self.w.add(f"store {_MASK} {mask or _ALL}, ptr {state.inside}")
        counter = self._wide_start(s) if isinstance(s, ir.For) else None
        head, turn, end = self.w.name("head"), self.w.name("turn"), self.w.name("end")
        self.w.jump(head)
        self.w.place(head)
        inside = self.w.ins(f"load {_MASK}, ptr {state.inside}")
        if counter is not None:
            inside = self._wide_test(counter, inside)
            self.w.add(f"store {_MASK} {inside}, ptr {state.inside}")
        self.w.branch(self._any(inside), turn, end)
        self.w.place(turn)
        self.w.add(f"store {_MASK} {inside}, ptr {state.live}")
        self.frame.mask, self.frame.some = inside, True
        if isinstance(s, ir.For) and counter is not None:
            value = counter[1]
            text = self.w.ins(f"load {self.type_of(s.symbol.type.scalar, counter[4])}, ptr {value}")
            self.bind(s.symbol, Value(text, s.symbol.type.scalar, counter[4]))
        self.torn.append(state)
        self.strip_body(s.body)
        self.torn.pop()
        if counter is not None:
            self._wide_step(counter)
        self.w.jump(head)
        self.w.place(end)
        self.frame.mask, self.frame.some = mask, some
        if has_outer_exit((s,)):
            self._drop_left()

    def _wide_start(self, s: ir.For) -> tuple[str, str, Value, Value, bool]:
        """Turns made (the same for all), and the symbol's next value."""
        if s.trips is None:
            raise InvalidIR(f"{self.function.name}: a For without its number of turns ({s.span})")
        trips, start, step = self.expr(s.trips), self.expr(s.start), self.expr(s.step)
        wide = start.wide or step.wide
        if wide:
            start, step = self.widen(start), self.widen(step)
        made = self.w.variable(REGISTER[trips.dtype.name])
        current = self.w.variable(self.ty(start))
        self.w.add(f"store {REGISTER[trips.dtype.name]} 0, ptr {made}")
        self.w.add(f"store {self.ty(start)} {start.text}, ptr {current}")
        return made, current, trips, step, wide

    def _wide_test(self, counter: tuple[str, str, Value, Value, bool], inside: str) -> str:
        made, _, trips, _, _ = counter
        t = REGISTER[trips.dtype.name]
        n = Value(self.w.ins(f"load {t}, ptr {made}"), trips.dtype)
        a, b = self.widen(n), self.widen(trips)
        more = self.w.ins(f"icmp ult {self.ty(a)} {a.text}, {b.text}")
        return self.w.ins(f"and {_MASK} {inside}, {more}")

    def _wide_step(self, counter: tuple[str, str, Value, Value, bool]) -> None:
        made, current, trips, step, _ = counter
        t, u = REGISTER[trips.dtype.name], self.ty(step)
        n = self.w.ins(f"load {t}, ptr {made}")
        self.w.add(f"store {t} {self.w.ins(f'add nuw {t} {n}, 1')}, ptr {made}")
        v = self.w.ins(f"load {u}, ptr {current}")
        self.w.add(f"store {u} {self.w.ins(f'add {u} {v}, {step.text}')}, ptr {current}")

    def _torn_block(self, s: ir.Block) -> None:
        mask, some = self.frame.mask, self.frame.some
        state = Torn(self.w.variable(_MASK), self.w.variable(_MASK), s.label)
        self.w.add(f"store {_MASK} {mask or _ALL}, ptr {state.inside}")
        self.w.add(f"store {_MASK} {mask or _ALL}, ptr {state.live}")
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
        gone = self.frame.mask or _ALL
        stay = self.w.ins(f"xor {_MASK} {gone}, {_ALL}")
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
        old = self.w.ins(f"load {_MASK}, ptr {where}")
        self.w.add(f"store {_MASK} {self.w.ins(f'and {_MASK} {old}, {stay}')}, ptr {where}")


def _suffix(dtype: DType) -> str:
    """The stored type in an intrinsic's name."""
    return {"float": "f32", "double": "f64"}.get(MEMORY[dtype.name], MEMORY[dtype.name])


def _is_heavy(body: ir.Body) -> bool:
    statements = list(walk(body))
    return len(statements) > 6 or any(isinstance(s, (ir.Loop, ir.For, ir.Block)) for s in statements)



