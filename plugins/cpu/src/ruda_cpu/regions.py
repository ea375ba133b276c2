"""Regions: the loops over the units of a group, in one of two forms.

Straight code becomes a loop over a row of units that LLVM vectorises, its bounds narrowed by a guard around
the code. Code with loops of its own becomes strips of units as vectors, with the loops outside.
"""

from __future__ import annotations

from collections.abc import Callable

from ruda_core.dtypes import BY_NAME, i32
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import expressions, walk
from ruda_cpu.frame import Frame
from ruda_cpu.plan import Region
from ruda_cpu.strips import Strips
from ruda_cpu.target import WIDTH
from ruda_cpu.variance import Variance, escaping, symbols_of
from ruda_cpu.writer import Lines, Value, constant, constant_text

_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "=="}
_IOTA = ", ".join(f"i32 {k}" for k in range(WIDTH))


class Regions(Strips):
    """Loops over units."""

    group_frame: Frame

    def region(self, node: Region) -> None:
        outer_env, outer_cells = dict(self.env), dict(self.cells)
        self.strides, self.exits, self.torn = {}, [], []
        statements = list(walk(node.body))
        loops = [s for s in statements if isinstance(s, (ir.Loop, ir.For))]
        if loops and self.layout.extent >= 4:
            self._strip_region(node)
        else:
            self._unit_region(node, statements)
        self.env, self.cells = outer_env, outer_cells

    # Rows --------------------------------------------------------------------------------------

    def _counted(self, count: int, body: Callable[[str], None]) -> None:
        """`body(k)` for k from 0 to count."""
        if count == 1:
            body("0")
            return
        head, end = self.w.name("row"), self.w.name("end")
        before = self.w.block
        k, after = "%" + self.w.name("r"), "%" + self.w.name("r")
        phi: Lines = []
        self.w.jump(head)
        self.w.place(head)
        self.w.lines.append(phi)
        body(k)
        self.w.add(f"{after} = add nuw nsw i64 {k}, 1")
        done = self.w.ins(f"icmp eq i64 {after}, {count}")
        phi.append(f"  {k} = phi i64 [ 0, %{before} ], [ {after}, %{self.w.block} ]")
        self.w.branch(done, end, head)
        self.w.place(end)

    def _row(self, r: str) -> tuple[list[Value], str]:
        """`unit_pos` of the first unit of a row, and its linear position as i64."""
        dim = self.function.dim
        units = [constant(i32, 0)] * 3
        if self.layout.rows == 1:
            return units, "0"
        y = r if dim[2] == 1 else self.w.ins(f"urem i64 {r}, {dim[1]}")
        units[1] = Value(self.w.ins(f"trunc nuw nsw i64 {y} to i32"), i32)
        if dim[2] > 1:
            units[2] = Value(
                self.w.ins(f"trunc nuw nsw i64 {self.w.ins(f'udiv i64 {r}, {dim[1]}')} to i32"), i32
            )
        return units, self.w.ins(f"mul nuw nsw i64 {r}, {self.layout.extent}")

    def _units(self, row: list[Value], lane: Value, linear: Value) -> tuple[Value, Value, Value]:
        """`unit_pos` by axis of units whose lane in the row, and linear position, are given."""
        units = list(row)
        if self.layout.axis is not None:
            units[self.layout.axis] = lane
        else:
            x, y, _ = self.function.dim
            parts = self._divided(linear, x)
            units[0] = parts[1]
            units[1], units[2] = reversed(self._divided(parts[0], y))
        return units[0], units[1], units[2]

    def _divided(self, a: Value, by: int) -> tuple[Value, Value]:
        (x, d), wide = self.level(a, constant(i32, by))
        t = self.ty(x)
        q = self.w.ins(f"udiv {t} {x.text}, {d.text}")
        r = self.w.ins(f"urem {t} {x.text}, {d.text}")
        return Value(q, i32, wide), Value(r, i32, wide)

    # One unit after the other ------------------------------------------------------------------

    def _unit_region(self, node: Region, statements: list[ir.Stmt]) -> None:
        self.strip = None
        plain = any(isinstance(s, ir.Atomic) and s.array.space == "shared" for s in statements)
        self._counted(self.layout.rows, lambda r: self._unit_row(node, r, parallel=not plain))

    def _unit_row(self, node: Region, r: str, *, parallel: bool) -> None:
        row, start = self._row(r)
        first_linear = Value(self.w.ins(f"trunc nuw nsw i64 {start} to i32"), i32)
        first = Frame("first", self._units(row, constant(i32, 0), first_linear), first_linear, start)
        before: Lines = []
        self.w.lines.append(before)
        lane, after = "%" + self.w.name("l"), "%" + self.w.name("l")
        group = self.w.meta("distinct !{}") if parallel else None
        probe = Frame("unit", first.units, first.linear, start, lane, first, before)
        self.frame = probe
        low, high, body = self._bounds(node.body)
        head, end = self.w.name("unit"), self.w.name("end")
        origin = self.w.block
        if (low, high) != ("0", str(self.layout.extent)):
            self.w.branch(self.w.ins(f"icmp slt i64 {low}, {high}"), head, end)
        else:
            self.w.jump(head)
        self.w.place(head)
        phi: Lines = []
        self.w.lines.append(phi)
        lane32 = Value(self.w.ins(f"trunc nuw nsw i64 {lane} to i32"), i32)
        linear64 = lane if start == "0" else self.w.ins(f"add nuw nsw i64 {start}, {lane}")
        linear = lane32 if start == "0" else Value(self.w.ins(f"trunc nuw nsw i64 {linear64} to i32"), i32)
        self.frame = Frame(
            "unit", self._units(row, lane32, linear), linear, linear64, lane, first, before, group=group
        )
        self._enter(node)
        self.body(body)
        self._exit(node)
        self.w.add(f"{after} = add nuw nsw i64 {lane}, 1")
        more = self.w.ins(f"icmp slt i64 {after}, {high}")
        phi.append(f"  {lane} = phi i64 [ {low}, %{origin} ], [ {after}, %{self.w.block} ]")
        self.w.branch(more, head, end, self._loop_metadata(group))
        self.w.place(end)
        self.frame = self.group_frame

    def _loop_metadata(self, group: str | None) -> str:
        if group is None:
            return ""
        accesses = self.w.meta(f'!{{!"llvm.loop.parallel_accesses", {group}}}')
        whole = self.w.meta(
            '!{!"llvm.loop.unroll.disable"}'
        )  # short loops would unroll before they vectorise
        return ", !llvm.loop " + self.w.meta(f"distinct !{{{{self}}, {accesses}, {whole}}}")

    # Guards as bounds --------------------------------------------------------------------------

    def _bounds(self, body: ir.Body) -> tuple[str, str, ir.Body]:
        """First unit, one past the last, and what they run: a guard around all of it becomes bounds."""
        low, high = "0", str(self.layout.extent)
        while body and isinstance(body[-1], ir.If) and not body[-1].orelse:
            guard = body[-1]
            lets = body[:-1]
            if not all(isinstance(s, ir.Let) and s.symbol not in self.kept for s in lets):
                break
            rest: ir.Expr | None = None
            found = False
            for term in self._terms(guard.cond):
                limits = self._limits(term)
                if limits is None:
                    rest = term if rest is None else ir.Logic(term.type, term.span, "and", rest, term)
                    continue
                found = True
                low, high = self._max(low, limits[0]), self._min(high, limits[1])
            if not found:
                break
            inner = guard.then if rest is None else (ir.If(guard.span, rest, guard.then),)
            body = (*lets, *inner)
            if rest is not None:
                break
        return low, high, body

    def _terms(self, e: ir.Expr) -> list[ir.Expr]:
        if isinstance(e, ir.Ref) and not e.symbol.mutable and e.symbol in self.plan.lets:
            inner = self.plan.lets[e.symbol]
            if isinstance(inner, (ir.Logic, ir.Compare)):
                return self._terms(inner)
        if isinstance(e, ir.Logic) and e.op == "and":
            return self._terms(e.a) + self._terms(e.b)
        return [e]

    def _limits(self, term: ir.Expr) -> tuple[str, str] | None:
        """Bounds of the lane for which a comparison of a position with a steady value holds."""
        if not isinstance(term, ir.Compare) or term.op not in _TURNED or not term.a.type.is_integer:
            return None
        if term.a.type != term.b.type:
            return None
        a, b = self._let_strides(term.a), self._let_strides(term.b)
        if a == 1 and b == 0 and self.is_position(term.a):
            op, position, limit = term.op, term.a, term.b
        elif a == 0 and b == 1 and self.is_position(term.b):
            op, position, limit = _TURNED[term.op], term.b, term.a
        else:
            return None
        with self.for_first():
            start = self._wide64(self.expr(position))
            end = self._wide64(self.expr(limit))
            far = self.w.ins(f"sub i64 {end}, {start}")
            past = self.w.ins(f"add i64 {far}, 1")
        none = str(self.layout.extent)
        return {
            "<": ("0", far),
            "<=": ("0", past),
            ">": (past, none),
            ">=": (far, none),
            "==": (far, past),
        }[op]

    def _wide64(self, value: Value) -> str:
        return self.cast(value, BY_NAME["i64"], raw=True).text

    def _let_strides(self, e: ir.Expr) -> int | None:
        """`stride`, through the values of symbols that the region has not reached yet."""
        for sym in (x.symbol for x in (e, *expressions(e)) if isinstance(x, ir.Ref)):
            if sym not in self.strides and sym not in self.plan.group:
                self._let_stride(sym)
        return self.stride(e)

    def _let_stride(self, symbol: ir.Symbol) -> int | None:
        if symbol in self.plan.group:
            return 0
        if symbol not in self.strides:
            value = self.plan.lets.get(symbol)
            if value is None:
                return None
            self.strides[symbol] = self._let_strides(value)
        return self.strides[symbol]

    def _max(self, a: str, b: str) -> str:
        return self._choose("smax", a, b)

    def _min(self, a: str, b: str) -> str:
        return self._choose("smin", a, b)

    def _choose(self, name: str, a: str, b: str) -> str:
        if a == b:
            return a
        with self.for_first():
            return self.w.call("i64", f"llvm.{name}.i64", ("i64", a), ("i64", b))

    # A strip at a time -------------------------------------------------------------------------

    def _strip_region(self, node: Region) -> None:
        layout = self.layout
        self.escaping = escaping(node.body)
        self.strip = Variance(
            node.body,
            self._varies_in_strip,
            lambda array: False,
            assume=[*self.plan.kept, *self._varying_remade(node), *self.escaping],
            strip=True,
        )
        strips = -(-layout.extent // WIDTH)
        self._counted(
            layout.rows, lambda r: self._counted(strips, lambda s: self._strip(node, *self._row(r), s))
        )
        self.strip, self.escaping = None, frozenset()
        self.frame = self.group_frame

    def _varies_in_strip(self, e: ir.Builtin) -> bool:
        if e.name not in ("unit_pos", "absolute_pos"):
            return False
        if e.axis is None or self.layout.axis == e.axis:
            return True
        return self.layout.axis is None and self.function.dim[e.axis] > 1

    def _varying_remade(self, node: Region) -> list[ir.Symbol]:
        """Symbols of other regions, made again here, that vary in the strip."""
        memo: dict[ir.Symbol, bool] = {}

        def varies(symbol: ir.Symbol) -> bool:
            if symbol not in memo:
                memo[symbol] = False
                value = self.plan.lets.get(symbol)
                if value is not None and symbol not in self.plan.group:
                    memo[symbol] = any(
                        isinstance(e, ir.Builtin)
                        and self._varies_in_strip(e)
                        or isinstance(e, ir.Ref)
                        and varies(e.symbol)
                        for e in (value, *expressions(value))
                    )
            return memo[symbol]

        for symbol in self._outside(node):
            if symbol not in self.plan.group:
                varies(symbol)
        return [s for s, yes in memo.items() if yes]

    def _strip(self, node: Region, row: list[Value], start: str, s: str) -> None:
        extent = self.layout.extent
        at = self.w.ins(f"mul nuw nsw i64 {s}, {WIDTH}")
        linear64 = self.w.ins(f"add nuw nsw i64 {start}, {at}")
        lane = Value(self.w.ins(f"trunc nuw nsw i64 {at} to i32"), i32)
        linear = Value(self.w.ins(f"trunc nuw nsw i64 {linear64} to i32"), i32)
        first = Frame("first", self._units(row, lane, linear), linear, linear64, lane=at)
        lanes, linears = self._spread(lane), self._spread(linear)
        frame = Frame("strip", self._units(row, lanes, linears), linears, linear64, at, first)
        if extent % WIDTH:
            limit = f"splat (i32 {extent})"
            frame.mask = self.w.ins(f"icmp ult {self.ty(lanes)} {lanes.text}, {limit}")
        self.frame = frame
        self._enter(node)
        self.strip_body(node.body)
        self._exit(node)

    def _spread(self, first: Value) -> Value:
        wide = self.widen(first)
        return Value(self.w.ins(f"add nuw nsw {self.ty(wide)} {wide.text}, <{_IOTA}>"), i32, True)

    # What comes from and goes to other regions ---------------------------------------------------

    def _outside(self, node: Region) -> list[ir.Symbol]:
        """Symbols that the region uses and does not bind, in order."""
        bound = {getattr(s, "symbol", None) for s in walk(node.body) if not isinstance(s, ir.Assign)}
        used: dict[ir.Symbol, None] = {}
        for stmt in walk(node.body):
            used.update(dict.fromkeys(symbols_of(stmt)))
        return [s for s in used if s not in bound]

    def _enter(self, node: Region) -> None:
        """Bring in what other regions left: variables, kept values, values made again."""
        for symbol in self._outside(node):
            if symbol in self.plan.group:
                continue
            if symbol.mutable:
                self._enter_variable(symbol)
            elif symbol in self.kept:
                self.env[symbol] = self.load_kept(symbol)
            else:
                self._make(symbol)
        for stmt in walk(node.body):
            if isinstance(stmt, ir.Assign) and stmt.symbol not in self.cells:
                self._enter_variable(stmt.symbol)
        for symbol in self.escaping:
            self.cells[symbol] = self.strip_variable(symbol)

    def _enter_variable(self, symbol: ir.Symbol) -> None:
        cell = self.strip_variable(symbol) if self.frame.kind == "strip" else self.variable(symbol)
        self.cells[symbol] = cell
        if symbol in self.kept:
            value = self.load_kept(symbol)
            self.w.add(f"store {self.ty(value)} {value.text}, ptr {cell.pointer}")
            return
        t = self.type_of(symbol.type.scalar, cell.wide)
        zero = "zeroinitializer" if cell.wide else constant_text(symbol.type.scalar, 0)
        self.w.add(f"store {t} {zero}, ptr {cell.pointer}")  # no unit sees what another left

    def _make(self, symbol: ir.Symbol) -> None:
        if symbol in self.env or symbol in self.plan.group:
            return
        value = self.plan.lets[symbol]
        for e in (value, *expressions(value)):
            if isinstance(e, ir.Ref):
                self._make(e.symbol)
        self.note_stride(symbol, value)
        self.env[symbol] = self.expr(value)

    def _exit(self, node: Region) -> None:
        assigned = dict.fromkeys(s.symbol for s in walk(node.body) if isinstance(s, ir.Assign))
        for symbol in assigned:
            if symbol in self.kept and symbol in self.cells:
                cell = self.cells[symbol]
                t = self.type_of(symbol.type.scalar, cell.wide)
                text = self.w.ins(f"load {t}, ptr {cell.pointer}")
                self.keep(symbol, Value(text, symbol.type.scalar, cell.wide))
