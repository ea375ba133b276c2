"""The dtypes of locals, worked out over several rounds of lowering.

A round lowers the whole function with what is known so far. Types only ever become more definite, so
the rounds end; most kernels need one or two.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from ruda_core.dtypes import DType, VecType
from ruda_core.frontend.values import WBOOL, Key, Type, Weak, settle
from ruda_core.ir.span import Span


class Conflict(Exception):
    """A local is given a value that its dtype does not take; `since` is where it got that dtype."""

    def __init__(self, old: Type, since: Span) -> None:
        self.old = old
        self.since = since


@dataclass(slots=True)
class Inference:
    """What is known of all locals of one lowering, kept between its rounds."""

    types: dict[Key, Type] = field(default_factory=dict)
    variables: set[Key] = field(default_factory=set)
    """Locals that need a mutable symbol: bound in several places, or used outside of their block."""
    changed: bool = False
    """This round learnt something, so that another is due."""
    _since: dict[Key, Span] = field(default_factory=dict)
    _binder: dict[Key, ast.AST] = field(default_factory=dict)
    _met: dict[Key, Type] = field(default_factory=dict)
    _fed_by: dict[Key, set[Key]] = field(default_factory=dict)

    def begin(self) -> None:
        """Start a round."""
        self.changed = False
        self._met.clear()
        self._fed_by.clear()

    def is_variable(self, key: Key, binder: ast.AST, single: bool) -> bool:
        """Whether a binding makes a mutable symbol.

        `single`: the local may do without, as long as one place binds it.
        """
        if key in self.variables:
            return True
        if single and self._binder.setdefault(key, binder) is binder:
            return False
        self.make_variable(key)
        return True

    def make_variable(self, key: Key) -> None:
        """From the next round on, the local is mutable."""
        if key not in self.variables:
            self.variables.add(key)
            self.changed = True

    def assign(self, key: Key, new: Type, origins: tuple[Key, ...], span: Span) -> Type:
        """The dtype of a local that is given a value of type `new`. Raises Conflict."""
        old = self.types.get(key)
        if old is None:
            joined, self._since[key] = new, span
        else:
            settled = settle(old, new)
            if settled is None:
                raise Conflict(old, self._since[key])
            joined = settled
            if joined != old:
                self.changed = True
                self._since[key] = span
        self.types[key] = joined
        if isinstance(joined, Weak) and origins:
            self._fed_by.setdefault(key, set()).update(o for o in origins if o != key)
        return joined

    def since(self, key: Key) -> tuple[Type, Span] | None:
        """The dtype of a mutable local, and where it got it."""
        known = self.types.get(key)
        return None if known is None else (known, self._since[key])

    def declare(self, key: Key, declared: Type, span: Span) -> None:
        """Fix the dtype of a local that was annotated with one."""
        if key not in self.types:
            self.types[key] = declared
            self._since[key] = span

    def meet(self, origins: tuple[Key, ...], other: Type) -> None:
        """Locals without a dtype meet a typed operand: the first one counts, unless it is bool."""
        if isinstance(other, Weak) or other.scalar.kind == "bool":
            return
        scalar = other.scalar if isinstance(other, VecType) else other
        for key in origins:
            self._met.setdefault(key, scalar)

    def finish(self) -> bool:
        """After a round that changed nothing: decide some of what is open. False when nothing is."""
        weak = [key for key, known in self.types.items() if isinstance(known, Weak)]
        if not weak:
            return False
        met = [key for key in weak if key in self._met]
        if met:
            for key in [k for k in met if not self._waits(k)] or met[:1]:
                self.types[key] = self._met[key]
            return True
        again = False
        for key in weak:
            known = self.types[key]
            assert isinstance(known, Weak)
            self.types[key] = known.default
            again = again or known is not WBOOL  # which has been read as bool all along
        return again

    def _waits(self, key: Key) -> bool:
        """Another local, whose dtype is about to be known, is assigned to this one."""
        seen, todo = {key}, [*self._fed_by.get(key, ())]
        while todo:
            other = todo.pop()
            if other in self._met and isinstance(self.types.get(other), Weak):
                return True
            if other not in seen:
                seen.add(other)
                todo.extend(self._fed_by.get(other, ()))
        return False


def placeholder(known: Type, index: DType) -> DType | VecType:
    """The IR's type for a type of the frontend."""
    if isinstance(known, Weak):
        return known.default
    return known if isinstance(known, (DType, VecType)) else index
