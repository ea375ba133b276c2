"""Elementwise kernels do several neighbours in each unit, by one wide load or store an array.

A GPU moves memory fastest when each unit asks for 16 bytes. A kernel that does the same to each element
by itself (`elementwise` says which) gets `per_unit` positions for each unit: a launch has so many times
fewer workgroups along x, and group g does the positions of the groups that it stands for. Which units do
which of them depends on what is known only then:

* all of them are in the launch, and every array begins on a multiple of the vector: unit u does the
  `per_unit` neighbours that begin at `per_unit * u`. Loads and stores are whole vectors where all
  neighbours reach them; where they do not agree (at an array's end), each element goes its own way.
* else unit u does the positions u, u + dim.x, … one by one, side by side with its neighbours.

Both tests are the same for all units of a row, so each position is done once. Arrays of vectors over the
parameters' memory (`Array.over`) stand for the wide accesses.

Where the language has one type for what is bound (no "views" in `Target.semantics`), memory is named by
vectors alone. Then arrays that do not begin on a multiple are another variant, left alone here
(`Function.askew`); the launcher looks at the offsets of those in `Function.aligned`.

Runs after `uniform_loads` and `scalars` and before `positions`: it speaks of logical positions and leaves
their meaning to that pass. A target whose driver applies offsets hides where an array begins and is left alone.
"""

from __future__ import annotations

from dataclasses import replace

from ruda_core.capabilities import Target
from ruda_core.dtypes import DType, ValueType, bool_, u8, unsigned, vec
from ruda_core.ir import build as b
from ruda_core.ir import nodes as ir
from ruda_core.passes.copies import Copy, counted
from ruda_core.passes.elementwise import Elementwise, elementwise
from ruda_core.passes.neighbours import Neighbours

_MOST = 512
"""Operators of all elements of a unit: a kernel that computes more than that is not bound by its memory."""


def widen(function: ir.Function, target: Target) -> ir.Function:
    """The function with `per_unit` positions a unit, if it qualifies and `target` gains."""
    if not target.widen or target.supports("offset"):
        return function
    kernel = elementwise(function)
    if kernel is None:
        return function
    width = _width(kernel, target)
    if width == 1:
        return function
    if target.supports("views"):
        return _widened(kernel, width, target)
    return function if function.askew or function.dim[0] % width else _by_words(kernel, width, target)


def _width(kernel: Elementwise, target: Target) -> int:
    """Elements of the widest dtype that fill one access; 1 for a kernel to be left alone."""
    width = min(16, target.widen // max(a.dtype.itemsize for a in kernel.arrays))
    while width > 1 and width * kernel.cost > _MOST:
        width //= 2
    stored = [_stored(a.dtype, target) for a in kernel.arrays]
    fits = width in target.vectors and all(dtype is not None for dtype in stored)
    return width if width > 1 and fits else 1


def _stored(element: ValueType, target: Target) -> DType | None:
    """The dtype that vectors of these elements are loaded and stored as; None where there is none."""
    scalar = u8 if element.scalar is bool_ else element.scalar
    return scalar if scalar.name in target.storage and scalar.name in target.arithmetic else None


def _widened(kernel: Elementwise, width: int, target: Target) -> ir.Function:
    """Vectors where arrays begin on multiples of them, elements where they do not."""
    wide = _over(kernel, width, target)
    rows = _Rows(kernel.function, width)
    together = b.both(rows.inside, rows.aligned(kernel.arrays))
    group = Neighbours(kernel, wide, width, views=True).unit(rows.neighbours())
    whole = ir.If(kernel.function.span, together, group, rows.one_by_one())
    return _finished(kernel, wide, (*rows.lets, whole), width)


def _by_words(kernel: Elementwise, width: int, target: Target) -> ir.Function:
    """Vectors only. A row is a multiple of them, so that its end is the end of one."""
    wide = _over(kernel, width, target)
    rows = _Rows(kernel.function, width)
    group = Neighbours(kernel, wide, width, views=False).unit(rows.neighbours())
    whole = ir.If(kernel.function.span, rows.within, group)
    function = _finished(kernel, wide, (*rows.lets, whole), width)
    return replace(function, aligned=tuple(a.name for a in kernel.arrays))


def _over(kernel: Elementwise, width: int, target: Target) -> dict[ir.Array, ir.Array]:
    """The memory of the arrays by vectors."""
    found = {}
    for a in kernel.arrays:
        scalar = _stored(a.dtype, target) or a.dtype.scalar
        found[a] = ir.Array(f"{a.name}.by{width}", vec(scalar, width), "global", over=a)
    return found


def _finished(kernel: Elementwise, wide: dict[ir.Array, ir.Array], body: ir.Body, width: int) -> ir.Function:
    arrays, params = kernel.function.arrays, len(kernel.function.in_space("global"))
    arrays = (*arrays[:params], *wide.values(), *arrays[params:])
    return replace(kernel.function, arrays=arrays, body=body, per_unit=width)


class _Rows:
    """Where the positions of a row of units begin, in words as wide as the index type.

    A row has one y and z. Its positions along x are counted unsigned: those of the last group may lie
    past the launch, and past the index type.
    """

    def __init__(self, function: ir.Function, width: int) -> None:
        self.function = function
        self.index = function.index
        self.word = unsigned(function.index)
        self.width = width
        self.lets: list[ir.Stmt] = []
        units, size = function.dim[0], width * function.dim[0]
        group = self._builtin("workgroup_pos", 0)
        self.first = self._let("first", b.binary("*", group, b.const(self.word, size)))
        along = b.binary("*", self._builtin("workgroup_count", 0), b.const(self.word, units))
        self.along = self._let("along", along)
        height = b.binary("*", self._builtin("workgroup_count", 1), b.const(self.word, function.dim[1]))
        before = b.binary(
            "+",
            self._builtin("absolute_pos", 1),
            b.binary("*", height, self._builtin("absolute_pos", 2)),
        )
        self.row = self._let("row", b.binary("*", self.along, before))
        self.inside = b.compare("<=", b.binary("+", self.first, b.const(self.word, size)), self.along)
        """All positions of the group's rows are in the launch."""
        unit = b.binary("*", self._builtin("unit_pos", 0), b.const(self.word, width))
        self.own = b.binary("+", self.first, unit)
        """Along x, the first of this unit's neighbours."""
        self.within = b.compare("<", self.own, self.along)

    def _builtin(self, name: ir.BuiltinName, axis: int) -> ir.Expr:
        return b.cast(self.word, ir.Builtin(self.index, None, name, axis))

    def _let(self, name: str, value: ir.Expr) -> ir.Expr:
        symbol = ir.Symbol(name, value.type)
        self.lets.append(ir.Let(None, symbol, value))
        return b.ref(symbol)

    def aligned(self, arrays: tuple[ir.Array, ...]) -> ir.Expr:
        """Whether the row and the arrays begin on multiples of the vector."""
        parts = [b.cast(self.word, ir.Offset(self.index, None, a)) for a in arrays]
        if self.function.dim[0] % self.width:
            parts.append(self.row)
        joined = parts[0]
        for part in parts[1:]:
            joined = b.binary("|", joined, part)
        rest = b.binary("&", joined, b.const(self.word, self.width - 1))
        return b.compare("==", rest, b.const(self.word, 0))

    def neighbours(self) -> ir.Expr:
        """The first position of this unit where it does neighbours."""
        return b.cast(self.index, b.binary("+", self.own, self.row))

    def one_by_one(self) -> ir.Body:
        """The positions of this unit, each a row of units from the last."""
        trip, x = ir.Symbol("k", self.index), ir.Symbol("x", self.word)
        i = ir.Symbol("i", self.index)
        step = b.binary("*", b.cast(self.word, b.ref(trip)), b.const(self.word, self.function.dim[0]))
        own = b.binary("+", b.binary("+", self.first, step), self._builtin("unit_pos", 0))
        position = ir.Let(None, i, b.cast(self.index, b.binary("+", b.ref(x), self.row)))
        body = (position, *Copy(b.ref(i)).body(self.function.body))
        inside = b.compare("<", b.ref(x), self.along)
        loop = (ir.Let(None, x, own), ir.If(None, inside, body))
        return (counted(self.function.span, trip, self.width, loop),)


__all__ = ["widen"]
