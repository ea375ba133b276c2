"""Accesses of a strip of units: whole vectors, gathers, one scalar for all, or unit after unit."""

from __future__ import annotations

from ruda_core.dtypes import DType
from ruda_core.ir import nodes as ir
from ruda_cpu.render.memory import Place
from ruda_cpu.render.units import Units
from ruda_cpu.render.writer import MEMORY, REGISTER, Value, constant
from ruda_cpu.target import WIDTH

MASK = f"<{WIDTH} x i1>"
ALL = "splat (i1 true)"


class StripMemory(Units):
    """Accesses under `frame.mask`."""

    escaping: frozenset[ir.Symbol] = frozenset()
    """Immutable symbols of a loop that are used after it: each unit's from its own last turn."""
    rows: dict[ir.Symbol, Place]
    """Symbols loaded by all units of the strip from neighbouring elements that the kernel does not write: single
    ones of them can be loaded again."""
    written: frozenset[ir.Array]
    """Arrays that the kernel writes."""

    # Masks -------------------------------------------------------------------------------------

    def both(self, a: str | None, b: Value | None) -> str | None:
        """The units of mask `a` for which the condition holds."""
        if b is None:
            return a
        wide = self.widen(b)
        if a is None:
            return wide.text
        return self.w.ins(f"and {MASK} {a}, {wide.text}")

    def without(self, a: str | None, b: Value) -> str:
        no = self.w.ins(f"xor {MASK} {self.widen(b).text}, {ALL}")
        return no if a is None else self.w.ins(f"and {MASK} {a}, {no}")

    def any_of(self, mask: str) -> str:
        return self.w.call("i1", f"llvm.vector.reduce.or.v{WIDTH}i1", (MASK, mask))

    def _uniform_guard(self, check: Value | None) -> str | None:
        """A condition for an access that the strip makes once: some unit takes part, and the check."""
        guard = None
        if self.frame.mask is not None and not self.frame.some:
            guard = self.any_of(self.frame.mask)
        if check is None:
            return guard
        return check.text if guard is None else self.w.ins(f"and i1 {guard}, {check.text}")

    # Accesses ----------------------------------------------------------------------------------

    def strip_load(self, s: ir.Load) -> Value:
        dtype = s.symbol.type.scalar
        check = None if s.check is None else self.expr(s.check)
        if check is not None and check.const:
            check = None if check.text == "true" else check
        place = self.place(s.array, s.index)
        if place.kind == "one":
            if check is None or not check.wide:
                value = self.only_if(self._uniform_guard(check), lambda: self.load_one(place, dtype))
                return value or constant(dtype, 0)
            some = self.any_of(self.both(self.frame.mask, check) or ALL)
            value = self.only_if(some, lambda: self.load_one(place, dtype)) or constant(dtype, 0)
            return self.select(check, value, constant(dtype, 0))
        mask = self.both(self.frame.mask, check)
        steady = s.array not in self.written and s.symbol not in self.escaping
        if place.kind == "row" and mask is None and steady and dtype is place.dtype:
            self.rows[s.symbol] = place
        else:
            self.rows.pop(s.symbol, None)
        return self.cast(self._load_at(place, mask), dtype, raw=True)

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
                t,
                f"llvm.masked.gather.v{WIDTH}{kind}.v{WIDTH}p0",
                [(ptrs, place.pointer)],
                mask or ALL,
                align,
                t,
            )
        return self.from_memory(text, place.dtype, True)

    def _intrinsic(
        self, result: str, name: str, pointer: list[tuple[str, str]], mask: str, align: int, other: str
    ) -> str:
        """A masked load: the pointer with its alignment, the mask, and zeros for those left out."""
        ((t, p),) = pointer
        self.w.declarations.setdefault(f"declare {result} @{name}({t}, {MASK}, {other})")
        return self.w.ins(
            f"call {result} @{name}({t} align {align} {p}, {MASK} {mask}, {other} zeroinitializer)"
        )

    def strip_store(self, s: ir.Store) -> None:
        check = None if s.check is None else self.expr(s.check)
        place = self.place(s.array, s.index)
        value = self.cast(self.expr(s.value), place.dtype, raw=True)
        if place.kind == "one" and not value.wide and (check is None or not check.wide):
            self.only_if(self._uniform_guard(check), lambda: self.store_one(place, value))
            return
        mask = self.both(self.frame.mask, check)
        if place.kind == "one":
            place = Place("each", self.splat(place.pointer, "ptr"), place.dtype)
        self.store_at(place, self.widen(value), mask)

    def store_at(self, place: Place, value: Value, mask: str | None) -> None:
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
        self.w.declarations.setdefault(f"declare void @{name}({t}, {p}, {MASK})")
        self.w.add(f"call void @{name}({t} {text}, {p} align {align} {place.pointer}, {MASK} {mask or ALL})")

    def one_by_one(self, s: ir.Atomic | ir.MaskedStore) -> None:
        """What vectors lack: for one unit after the other."""
        check = None if s.check is None else self.expr(s.check)
        mask = self.both(self.frame.mask, check)
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

        def one(k: str, pointer: str, lane_args: list[Value]) -> None:
            if isinstance(s, ir.MaskedStore):
                self.store_bytes(pointer, lane_args[0], s.mask, lane_args[1])
                return
            value = self.atomic_one(s.op, pointer, dtype, lane_args, shared=s.array.space == "shared")
            if value is not None and old is not None:
                t = REGISTER[dtype.name]
                where = self.w.ins(f"getelementptr inbounds {t}, ptr {old}, i64 {k}")
                self.w.add(f"store {t} {value.text}, ptr {where}")

        def all_lanes() -> None:
            for k in range(WIDTH):
                taken = [self._taken(a, k) if a.wide else a for a in args]
                at = self._index_of(s.array, index[0], k)
                if at is None:
                    pointer = self.w.ins(f"extractelement <{WIDTH} x ptr> {pointers}, i64 {k}")
                else:
                    pointer = self._element(self.pointers[s.array], dtype, self.index64(at, even=False))
                one(str(k), pointer, taken)

        def some_lanes(bits: str) -> None:
            where = self._spill(f"<{WIDTH} x ptr>", pointers)
            spilled = [self._spill(self.ty(a), a.text) if a.wide else "" for a in args]
            head, k, more, end = self._each_lane(bits)
            pointer = self._lane_of(where, "ptr", k)
            taken = [
                Value(self._lane_of(kept, REGISTER[a.dtype.name], k), a.dtype) if a.wide else a
                for kept, a in zip(spilled, args, strict=True)
            ]
            one(k, pointer, taken)
            self._next_lane(head, k, more, end)

        if mask is None:
            all_lanes()
        else:
            bits = self.w.ins(f"bitcast {MASK} {mask} to i{WIDTH}")
            whole, part, end = self.w.name("whole"), self.w.name("some"), self.w.name("end")
            self.w.branch(self.w.ins(f"icmp eq i{WIDTH} {bits}, -1"), whole, part)
            self.w.place(whole)  # most strips are whole: no tests there, and no loop
            all_lanes()
            self.w.jump(end)
            self.w.place(part)
            some_lanes(bits)
            self.w.jump(end)
            self.w.place(end)
        if symbol is not None and old is not None:
            t = self.type_of(dtype, True)
            self.bind(symbol, Value(self.w.ins(f"load {t}, ptr {old}"), dtype, True))

    def _index_of(self, array: ir.Array, e: ir.Expr, k: int) -> Value | None:
        """One unit's index into a shared array, where it is a value of its own and at most cast."""
        if array.space != "shared":
            return None
        if isinstance(e, ir.Cast) and e.a.type.is_integer and e.type.is_integer:
            inner = self._index_of(array, e.a, k)
            return None if inner is None else self.cast(inner, e.type.scalar, raw=True)
        if not isinstance(e, ir.Ref):
            return None
        value = self.lets.get(e.symbol)
        if isinstance(value, ir.Cast):
            return self._index_of(array, value, k)
        if e.symbol in self.rows:
            row = self.rows[e.symbol]
            return self.load_one(
                Place("one", self._element(row.pointer, row.dtype, str(k)), row.dtype), row.dtype
            )
        known = self.env.get(e.symbol)
        return self._taken(known, k) if known is not None and known.wide else None

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

    def _taken(self, a: Value, k: int) -> Value:
        """The value of one unit of the strip."""
        return Value(self.w.ins(f"extractelement {self.ty(a)} {a.text}, i64 {k}"), a.dtype)

    def _each_lane(self, bits: str) -> tuple[str, str, str, str]:
        """Begin a loop over the units of the strip whose bit is set; leaves off inside it."""
        head, run, more, end = (self.w.name(h) for h in ("lane", "run", "more", "end"))
        start = self.w.block
        self.w.jump(head)
        self.w.place(head)
        k = "%" + self.w.name("k")
        self.w.lines.append(f"  {k} = phi i64 [ 0, %{start} ], [ {k}.next, %{more} ]")
        shift = self.w.ins(f"trunc i64 {k} to i{WIDTH}")
        bit = self.w.ins(f"lshr i{WIDTH} {bits}, {shift}")
        self.w.branch(self.w.ins(f"trunc i{WIDTH} {bit} to i1"), run, more)
        self.w.place(run)
        return head, k, more, end

    def _next_lane(self, head: str, k: str, more: str, end: str) -> None:
        self.w.jump(more)
        self.w.place(more)
        self.w.add(f"{k}.next = add nuw nsw i64 {k}, 1")
        done = self.w.ins(f"icmp eq i64 {k}.next, {WIDTH}")
        self.w.branch(done, end, head)
        self.w.place(end)


def _suffix(dtype: DType) -> str:
    """The stored type in an intrinsic's name."""
    return {"float": "f32", "double": "f64"}.get(MEMORY[dtype.name], MEMORY[dtype.name])
