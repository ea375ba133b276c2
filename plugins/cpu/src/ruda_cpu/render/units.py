"""Statements for one unit at a time, or for the whole group: plain control flow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ruda_core.ir import nodes as ir
from ruda_core.ir.verify import InvalidIR
from ruda_cpu.render.expressions import Cell
from ruda_cpu.render.frame import Frame
from ruda_cpu.render.memory import Memory
from ruda_cpu.render.writer import REGISTER, Value, constant_text


@dataclass(frozen=True, slots=True)
class Exits:
    """Blocks that Break and Continue of a loop, or Leave of a block, go to."""

    leave: str
    again: str = ""
    label: int | None = None
    """Of a Block; None for a loop."""


@dataclass(frozen=True, slots=True)
class Track:
    """One of several units, or strips, for which code is written at once."""

    frame: Frame
    env: dict[ir.Symbol, Value]
    cells: dict[ir.Symbol, Cell]
    strides: dict[ir.Symbol, int | None]

    def copy(self) -> Track:
        """One that goes its own way."""
        return Track(self.frame, dict(self.env), dict(self.cells), dict(self.strides))


class Units(Memory):
    """Statements by branches."""

    exits: list[Exits]
    proven: frozenset[ir.Expr] = frozenset()
    """Checks that hold for all units at hand."""

    def body(self, body: ir.Body) -> None:
        for stmt in body:
            self.stmt(stmt)

    def stmt(self, s: ir.Stmt) -> None:
        match s:
            case ir.Let():
                self.note_stride(s.symbol, s.value)
                self.bind(s.symbol, self.expr(s.value))
            case ir.Assign():
                self.assign(s.symbol, self.expr(s.value))
            case ir.Load():
                self.bind(s.symbol, self.checked(s.check, lambda: self._load(s)))
            case ir.Store():
                self.checked(
                    s.check, lambda: self.store_one(self.place(s.array, s.index), self.expr(s.value))
                )
            case ir.MaskedStore():
                self.checked(s.check, lambda: self._masked(s))
            case ir.Atomic():
                self._atomic(s)
            case ir.If():
                self.if_else(
                    s.cond, lambda: self.body(s.then), (lambda: self.body(s.orelse)) if s.orelse else None
                )
            case ir.Loop() | ir.For():
                self.loop(s, lambda: self.body(s.body))
            case ir.Block():
                self.block(s, lambda: self.body(s.body))
            case ir.Break() | ir.Continue() | ir.Leave():
                self.leave(s)
            case ir.Barrier(scope="subgroup"):
                pass  # subgroups are single units here; one of the workgroup ends a region and never comes here
            case _:
                raise InvalidIR(f"{self.function.name}: LLVM text has no {type(s).__name__} ({s.span})")

    # Several units, or strips, at once -----------------------------------------------------------

    def track(self) -> Track:
        """Where the code being written is: its frame, and what it knows."""
        return Track(self.frame, self.env, self.cells, self.strides)

    def switch(self, track: Track) -> None:
        """Go on with other units."""
        self.frame, self.strides = track.frame, track.strides
        self.env, self.cells = track.env, track.cells

    def side_by_side(self, body: ir.Body, tracks: list[Track]) -> None:
        """Straight code, each statement for all tracks before the next."""
        for stmt in body:
            for track in tracks:
                self.switch(track)
                self.stmt(stmt)

    # Values ------------------------------------------------------------------------------------

    def bind(self, symbol: ir.Symbol, value: Value | None) -> None:
        """The one value of an immutable symbol; kept for other regions where they use it."""
        if value is None:
            return
        self.env[symbol] = value
        if symbol in self.kept:
            self.keep(symbol, value)

    def keep(self, symbol: ir.Symbol, value: Value) -> None:
        dtype = symbol.type.scalar
        pointer = self.kept_at(symbol)
        t = self.type_of(dtype, value.wide, memory=True)
        self.w.add(f"store {t} {self.to_memory(value)}, ptr {pointer}, align {dtype.itemsize}{self.tag()}")

    def assign(self, symbol: ir.Symbol, value: Value) -> None:
        cell = self.cells[symbol]
        self.w.add(f"store {self.ty(value)} {value.text}, ptr {cell.pointer}")

    def variable(self, symbol: ir.Symbol) -> Cell:
        """A variable for a symbol."""
        return Cell(self.w.variable(REGISTER[symbol.type.scalar.name]), False)

    # Accesses ----------------------------------------------------------------------------------

    def checked(self, check: ir.Expr | None, access: Callable[[], Value | None]) -> Value | None:
        """`access()` where the check holds; else zero, if it gives a value."""
        if check is None or check in self.proven or isinstance(check, ir.Const) and check.value:
            return access()
        return self.only_if(self.expr(check).text, access)

    def only_if(self, condition: str | None, access: Callable[[], Value | None]) -> Value | None:
        """`access()` behind a branch; else zero, if it gives a value."""
        if condition is None:
            return access()
        before, inside, after = self.w.block, self.w.name("in"), self.w.name("out")
        self.w.branch(condition, inside, after)
        self.w.place(inside)
        value = access()
        last = self.w.block
        self.w.jump(after)
        self.w.place(after)
        if value is None:
            return None
        zero = "zeroinitializer" if value.wide else constant_text(value.dtype, 0)
        text = self.w.ins(f"phi {self.ty(value)} [ {value.text}, %{last} ], [ {zero}, %{before} ]")
        return value._replace(text=text, const=False)

    def _load(self, s: ir.Load) -> Value:
        place = self.place(s.array, s.index)
        if self.frame.kind == "unit" and s.array.space == "global":
            self.fetch_ahead(s.array, s.index[0])
        return self.load_one(place, s.symbol.type.scalar)

    def _masked(self, s: ir.MaskedStore) -> None:
        place = self.place(s.array, (s.index,))
        self.store_bytes(place.pointer, self.expr(s.shift), s.mask, self.expr(s.value))

    def _atomic(self, s: ir.Atomic) -> None:
        def access() -> Value | None:
            place = self.place(s.array, s.index)
            args = [self.expr(a) for a in s.args]
            return self.atomic_one(s.op, place.pointer, place.dtype, args, shared=s.array.space == "shared")

        value = self.checked(s.check, access)
        if s.symbol is not None:
            self.bind(
                s.symbol,
                value
                if value is not None
                else Value(constant_text(s.symbol.type.scalar, 0), s.symbol.type.scalar),
            )

    # Control flow ------------------------------------------------------------------------------

    def if_else(self, cond: ir.Expr, then: Callable[[], None], orelse: Callable[[], None] | None) -> None:
        condition = self.expr(cond).text
        yes, end = self.w.name("then"), self.w.name("end")
        no = self.w.name("else") if orelse else end
        self.w.branch(condition, yes, no)
        self.w.place(yes)
        then()
        self.w.jump(end)
        if orelse:
            self.w.place(no)
            orelse()
            self.w.jump(end)
        self.w.place(end)

    def loop(self, s: ir.Loop | ir.For, body: Callable[[], None], metadata: str = "") -> None:
        head, again, end = self.w.name("head"), self.w.name("again"), self.w.name("end")
        counter = self._start(s) if isinstance(s, ir.For) else None
        self.w.jump(head)
        self.w.place(head)
        if counter is not None:
            self._test(counter, end)
        self.exits.append(Exits(end, again))
        body()
        self.exits.pop()
        self.w.jump(again)
        self.w.place(again)
        if counter is not None:
            self._step(counter)
        self.w.jump(head, metadata)
        self.w.place(end)

    def _start(self, s: ir.For) -> tuple[ir.For, str, str, Value, Value]:
        """Variables for the turns made and the symbol's next value."""
        if s.trips is None:
            raise InvalidIR(f"{self.function.name}: a For without its number of turns ({s.span})")
        trips, start, step = self.expr(s.trips), self.expr(s.start), self.expr(s.step)
        t, u = self.ty(trips), self.ty(start)
        made, current = self.w.variable(t), self.w.variable(u)
        self.w.add(f"store {t} 0, ptr {made}")
        self.w.add(f"store {u} {start.text}, ptr {current}")
        return s, made, current, trips, step

    def _test(self, counter: tuple[ir.For, str, str, Value, Value], end: str) -> None:
        s, made, current, trips, _ = counter
        n = self.w.ins(f"load {self.ty(trips)}, ptr {made}")
        more = self.w.ins(f"icmp ult {self.ty(trips)} {n}, {trips.text}")
        inside = self.w.name("turn")
        self.w.branch(more, inside, end)
        self.w.place(inside)
        t = REGISTER[s.symbol.type.scalar.name]
        self.bind(s.symbol, Value(self.w.ins(f"load {t}, ptr {current}"), s.symbol.type.scalar))

    def _step(self, counter: tuple[ir.For, str, str, Value, Value]) -> None:
        s, made, current, trips, step = counter
        t, u = self.ty(trips), self.ty(step)
        n = self.w.ins(f"load {t}, ptr {made}")
        self.w.add(f"store {t} {self.w.ins(f'add nuw {t} {n}, 1')}, ptr {made}")
        v = self.w.ins(f"load {u}, ptr {current}")
        self.w.add(f"store {u} {self.w.ins(f'add {u} {v}, {step.text}')}, ptr {current}")

    def block(self, s: ir.Block, body: Callable[[], None]) -> None:
        end = self.w.name("left")
        self.exits.append(Exits(end, label=s.label))
        body()
        self.exits.pop()
        self.w.jump(end)
        self.w.place(end)

    def leave(self, s: ir.Stmt) -> None:
        """Jump out; what follows in the same body is dead."""
        for exits in reversed(self.exits):
            if isinstance(s, ir.Leave):
                if exits.label == s.label:
                    self.w.jump(exits.leave)
                    break
            elif exits.label is None:
                self.w.jump(exits.leave if isinstance(s, ir.Break) else exits.again)
                break
        else:
            raise InvalidIR(f"{self.function.name}: nothing to leave ({s.span})")
        self.w.place(self.w.name("dead"))
