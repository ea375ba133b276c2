"""Elementwise kernels do several neighbours in each unit, by one wide load or store an array.

A GPU moves memory fastest when each unit asks for 16 bytes. A kernel that does the same to each element
by itself (`elementwise` says which) gets `per_unit` positions for each unit: a launch has so many times
fewer workgroups along x, and group g does the positions of the groups that it stands for: unit u the
`per_unit` neighbours that begin at `per_unit * u`. Loads and stores are whole vectors where all
neighbours reach them; where they do not agree, at an array's end, each element goes its own way.

Rows of units must be multiples of the vector, and arrays begin on one. The launcher looks at the offsets of
those in `Function.aligned`, and asks for another variant (`Function.askew`), which is left alone here, where
they do not: units of such a launch do their elements side by side, as fast as ever.

Arrays of vectors over the parameters' memory (`Array.over`) stand for the wide accesses. Where the language
has one type for what is bound (no "views" in `Target.semantics`), memory is named by vectors alone.

Runs after `uniform_loads` and `scalars` and before `positions`: it speaks of logical positions and leaves
their meaning to that pass. A target whose driver applies offsets hides where an array begins and is left alone.
"""

from __future__ import annotations

from dataclasses import replace

from ruda_core.capabilities import Target
from ruda_core.dtypes import DType, ValueType, bool_, u8, unsigned, vec
from ruda_core.ir import build as b
from ruda_core.ir import nodes as ir
from ruda_core.passes.elementwise import Elementwise, elementwise
from ruda_core.passes.neighbours import Neighbours

_MOST = 512
"""Operators of all elements of a unit: a kernel that computes more than that is not bound by its memory."""


def widen(function: ir.Function, target: Target) -> ir.Function:
    """The function with `per_unit` positions a unit, if it qualifies and `target` gains."""
    if not target.widen or target.supports("offset") or function.askew:
        return function
    kernel = elementwise(function)
    if kernel is None:
        return function
    width = _width(kernel, target)
    return function if width == 1 else _widened(kernel, width, target)


def _width(kernel: Elementwise, target: Target) -> int:
    """Elements of the widest dtype that fill one access; 1 for a kernel to be left alone."""
    width = min(16, target.widen // max(a.dtype.itemsize for a in kernel.arrays))
    while width > 1 and (width * kernel.cost > _MOST or kernel.function.dim[0] % width):
        width //= 2
    stored = all(_stored(a.dtype, target) is not None for a in kernel.arrays)
    return width if width in target.vectors and stored else 1


def _stored(element: ValueType, target: Target) -> DType | None:
    """The dtype that vectors of these elements are loaded and stored as; None where there is none."""
    scalar = u8 if element.scalar is bool_ else element.scalar
    return scalar if scalar.name in target.storage and scalar.name in target.arithmetic else None


def _widened(kernel: Elementwise, width: int, target: Target) -> ir.Function:
    function = kernel.function
    wide = _over(kernel, width, target)
    rows = _Rows(function, width)
    neighbours = Neighbours(kernel, wide, width, views=target.supports("views"))
    body = ir.If(function.span, rows.within, neighbours.unit(rows.position))
    params = len(function.in_space("global"))
    return replace(
        function,
        arrays=(*function.arrays[:params], *wide.values(), *function.arrays[params:]),
        body=(*rows.lets, body),
        per_unit=width,
        aligned=tuple(a.name for a in kernel.arrays),
    )


def _over(kernel: Elementwise, width: int, target: Target) -> dict[ir.Array, ir.Array]:
    """The memory of the arrays by vectors."""
    found = {}
    for a in kernel.arrays:
        scalar = _stored(a.dtype, target) or a.dtype.scalar
        found[a] = ir.Array(f"{a.name}.by{width}", vec(scalar, width), "global", over=a)
    return found


class _Rows:
    """Where this unit's neighbours begin, in words as wide as the index type.

    A row of units has one y and z. Positions along x are counted unsigned: those of the last group may lie
    past the launch, and past the index type. The end of a row is the end of a vector.
    """

    def __init__(self, function: ir.Function, width: int) -> None:
        self.index = function.index
        self.word = unsigned(function.index)
        self.lets: list[ir.Stmt] = []
        units = [b.const(self.word, size) for size in function.dim]
        groups = b.binary("*", self._builtin("workgroup_pos", 0), units[0])
        unit = b.binary("+", groups, self._builtin("unit_pos", 0))
        x = self._let("first", b.binary("*", unit, b.const(self.word, width)))
        along = self._let("along", b.binary("*", self._builtin("workgroup_count", 0), units[0]))
        height = b.binary("*", self._builtin("workgroup_count", 1), units[1])
        above = b.binary("*", height, self._builtin("absolute_pos", 2))
        row = b.binary("*", along, b.binary("+", self._builtin("absolute_pos", 1), above))
        self.within = b.compare("<", x, along)
        """Whether this unit has neighbours to do: all of them are in the launch, or none."""
        self.position = b.cast(self.index, b.binary("+", x, row))
        """The first of them."""

    def _builtin(self, name: ir.BuiltinName, axis: int) -> ir.Expr:
        return b.cast(self.word, ir.Builtin(self.index, None, name, axis))

    def _let(self, name: str, value: ir.Expr) -> ir.Expr:
        symbol = ir.Symbol(name, value.type)
        self.lets.append(ir.Let(None, symbol, value))
        return b.ref(symbol)


__all__ = ["widen"]
