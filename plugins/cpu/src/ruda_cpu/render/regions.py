"""Regions: the loops over the units of a group, in one of two forms.

Straight code becomes a loop over a row of units that LLVM vectorises, its bounds narrowed by a guard around
the code. Code with loops of its own becomes strips of units as vectors, with the loops outside.
"""

from __future__ import annotations

from collections.abc import Callable

from ruda_core.dtypes import i32
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import expressions, walk
from ruda_cpu.analysis.forms import Forms
from ruda_cpu.analysis.plan import Region
from ruda_cpu.analysis.variance import Variance, escaping, symbols_of
from ruda_cpu.render.bounds import Bounds
from ruda_cpu.render.frame import Frame
from ruda_cpu.render.writer import Lines, Value, constant, constant_text
from ruda_cpu.target import WIDTH, strips_at_once

_BLOCK = 16
"""Units of a row that take code with or without checks together, where there are several rows."""
_LARGE = 640
"""Statements of a loop's body up to which rows run side by side."""
_MANY = 128
"""Statements of strips that run side by side, beyond which their values would not stay in registers."""
_WRITTEN_OUT = 128
"""Statements of vectors, over all units, up to which a loop is written out."""
_IOTA = ", ".join(f"i32 {k}" for k in range(WIDTH))


class Regions(Bounds):
    """Loops over units."""

    group_frame: Frame
    on_stack: dict[ir.Array, int]
    """Shared arrays that lie on the stack, and their bytes."""

    def region(self, node: Region) -> None:
        outer_env, outer_cells = dict(self.env), dict(self.cells)
        self.strides, self.exits, self.torn, self.rows = {}, [], [], {}
        statements = list(walk(node.body))
        self.lets = {symbol: self.plan.lets[symbol] for symbol in self.plan.fixed}
        self.lets |= {s.symbol: s.value for s in statements if isinstance(s, ir.Let)}
        self.forms = Forms(self.lets)
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
        proof = self.proof(node.body) if self.versions else None
        extent = self.layout.extent
        if proof is None:
            self._unit_rows(node, plain, ("0", str(extent)))
            return
        width = extent if self.layout.rows == 1 or extent % _BLOCK else _BLOCK

        def block(b: str) -> None:
            low = self.w.ins(f"mul nuw nsw i64 {b}, {width}")
            high = self.w.ins(f"add nuw nsw i64 {low}, {width}")
            inside, border, end = (self.w.name(hint) for hint in ("inside", "border", "end"))
            self.w.branch(self.holds(proof, low, width), inside, border)
            for label, self.proven in ((inside, proof.checks), (border, frozenset[ir.Expr]())):
                self.w.place(label)
                self._unit_rows(node, plain, (low, high) if width < extent else ("0", str(extent)))
                self.w.jump(end)
            self.w.place(end)

        self._counted(extent // width, block)

    def _unit_rows(self, node: Region, plain: bool, lanes: tuple[str, str]) -> None:
        """All rows, their units from one to before another; several rows at a time where that is straight code, since what they read is often the same."""
        body = self.without_guards(node.body)
        rows, straight = self.layout.rows, _is_straight(body, self.proven)
        size = sum(1 for _ in body)
        together = next(n for n in (4, 2, 1) if n == 1 or straight and rows % n == 0 and n * size <= _LARGE)
        outer = self.track()

        def some(r: str) -> None:
            first = r if together == 1 else self.w.ins(f"mul nuw nsw i64 {r}, {together}")
            numbers = [first, *(self.w.ins(f"add nuw nsw i64 {first}, {k}") for k in range(1, together))]
            self._rows_at_once(node, body, numbers, lanes, parallel=not plain)

        self.switch(outer.copy())
        self._counted(rows // together, some)
        self.switch(outer)

    def _rows_at_once(
        self, node: Region, body: ir.Body, rows: list[str], lanes: tuple[str, str], *, parallel: bool
    ) -> None:
        """A loop over the units of rows, which run side by side."""
        before: Lines = []
        starts = [self._row(r) for r in rows]
        firsts = []
        for units, start in starts:
            linear = Value(self.w.ins(f"trunc nuw nsw i64 {start} to i32"), i32)
            firsts.append(Frame("first", self._units(units, constant(i32, 0), linear), linear, start))
        self.w.lines.append(before)
        lane, after = "%" + self.w.name("l"), "%" + self.w.name("l")
        group = self.w.meta("distinct !{}") if parallel else None
        first = firsts[0]
        self.frame = Frame("unit", first.units, first.linear, first.linear64, lane, first, before)
        low, high, body, constants = self._bounds(body, *lanes)
        head, end = self.w.name("unit"), self.w.name("end")
        origin = self.w.block
        if (low, high) != lanes:
            self.w.branch(self.w.ins(f"icmp slt i64 {low}, {high}"), head, end)
        else:
            self.w.jump(head)
        self.w.place(head)
        phi: Lines = []
        self.w.lines.append(phi)
        lane32 = Value(self.w.ins(f"trunc nuw nsw i64 {lane} to i32"), i32)
        outer, tracks = self.track(), []
        for (units, start), first in zip(starts, firsts, strict=True):
            self.switch(outer.copy())
            whole = lane if start == "0" else self.w.ins(f"add nuw nsw i64 {start}, {lane}")
            linear = lane32 if start == "0" else Value(self.w.ins(f"trunc nuw nsw i64 {whole} to i32"), i32)
            own = self._units(units, lane32, linear)
            self.frame = Frame("unit", own, linear, whole, lane, first, before, group=group)
            self._enter(node)
            tracks.append(self.track())
        if len(tracks) == 1:
            self.body(body)
        else:
            self.side_by_side(body, tracks)
        for track in tracks:
            self.switch(track)
            self._exit(node)
        self.w.add(f"{after} = add nuw nsw i64 {lane}, 1")
        more = self.w.ins(f"icmp slt i64 {after}, {high}")
        phi.append(f"  {lane} = phi i64 [ {low}, %{origin} ], [ {after}, %{self.w.block} ]")
        self.w.branch(more, head, end, self._loop_metadata(group, node, len(tracks), constants))
        self.w.place(end)
        self.frame = self.group_frame

    def _loop_metadata(self, group: str | None, node: Region, rows: int, constants: bool) -> str:
        """Metadata of a loop over units; once in vectors, short ones that touch shared arrays are written
        out, so that what lies on the stack can be in registers. LLVM warns the user where it cannot: not asked
        of loops without constant bounds."""
        if group is None:
            return ""
        parts = [f'!{{!"llvm.loop.parallel_accesses", {group}}}']
        parts.append('!{!"llvm.loop.unroll.disable"}')  # short loops would unroll before they vectorise
        statements = list(walk(node.body))
        shared = any(getattr(s, "array", None) in self.on_stack for s in statements)
        if constants and shared and len(statements) * rows * self.layout.extent <= _WRITTEN_OUT * WIDTH:
            full = self.w.meta('!{!"llvm.loop.unroll.full"}')
            done = self.w.meta('!{!"llvm.loop.isvectorized", i32 1}')
            parts.append(f'!{{!"llvm.loop.vectorize.followup_vectorized", {full}, {done}}}')
        names = ", ".join(self.w.meta(part) for part in parts)
        return ", !llvm.loop " + self.w.meta(f"distinct !{{{{self}}, {names}}}")

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
        together = self._strips_together(node.body, strips)
        rows, columns = max(1, together // strips), min(strips, together)
        outer = self.track()

        def some(r: str, s: str) -> None:
            places = [
                (self._next(r, rows, y), self._next(s, columns, x))
                for y in range(rows)
                for x in range(columns)
            ]
            self._strips(node, [(*self._row(y), x) for y, x in places])

        self.switch(outer.copy())
        self._counted(layout.rows // rows, lambda r: self._counted(strips // columns, lambda s: some(r, s)))
        self.switch(outer)
        self.strip, self.escaping = None, frozenset()
        self.frame = self.group_frame

    def _next(self, at: str, of: int, k: int) -> str:
        """Number k of the `of` ones at `at`."""
        if of == 1:
            return at
        first = self.w.ins(f"mul nuw nsw i64 {at}, {of}")
        return self.w.ins(f"add nuw nsw i64 {first}, {k}") if k else first

    def _strips_together(self, body: ir.Body, strips: int) -> int:
        """How many strips run side by side, so that their loops are one and share what they read."""
        rows, size = self.layout.rows, sum(1 for _ in walk(body))
        if self.layout.extent % WIDTH or not self.is_shared(body):
            return 1
        for n in (16, 8, 4, 2):
            fits = strips % n == 0 or n % strips == 0 and rows % (n // strips) == 0
            if fits and n <= strips_at_once() and n * size <= _MANY:
                return n
        return 1

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

    def _strips(self, node: Region, places: list[tuple[list[Value], str, str]]) -> None:
        """Strips that run side by side: the row of each, the row's first linear position, and the strip's number."""
        outer, tracks = self.track(), []
        for row, start, s in places:
            self.switch(outer.copy())
            self.frame = self._strip_frame(row, start, s)
            self._enter(node)
            tracks.append(self.track())
        if len(tracks) == 1:
            self.strip_body(node.body)
        else:
            self.strips_side_by_side(node.body, tracks)
        for track in tracks:
            self.switch(track)
            self._exit(node)

    def _strip_frame(self, row: list[Value], start: str, s: str) -> Frame:
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
        return frame

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


def _is_straight(body: ir.Body, proven: frozenset[ir.Expr]) -> bool:
    """True when nothing in the body branches."""
    for stmt in body:
        check = getattr(stmt, "check", None)
        if not isinstance(stmt, (ir.Let, ir.Assign, ir.Load, ir.Store)):
            return False
        if check is not None and check not in proven and not isinstance(check, ir.Const):
            return False
    return True
