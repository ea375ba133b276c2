"""Linear forms over integers and what is known about them: the prover behind bounds checks.

A `Form` is a constant plus multiples of atoms. An atom stands for an integer value that is not looked
into: a parameter, a length, the value a variable has at one place, a product. A fact is a form that is
known to be at most zero. Everything here is mathematics on unbounded integers; who makes a form must
know that the machine's arithmetic did not wrap.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

from ruda_core.ir import nodes as ir
from ruda_core.passes.intervals import Interval

_DEPTH = 3
_EFFORT = 300
"""Facts that one proof may try: a bound on compile time, never on soundness."""


@dataclass(frozen=True, slots=True)
class Form:
    """`const + sum(factor * atom)`; the terms are sorted by atom and no factor is zero."""

    const: int
    terms: tuple[tuple[int, int], ...] = ()

    def __add__(self, other: Form) -> Form:
        if not other.terms:
            return Form(self.const + other.const, self.terms)
        total = dict(self.terms)
        for atom, factor in other.terms:
            total[atom] = total.get(atom, 0) + factor
        return Form(self.const + other.const, tuple(sorted((a, f) for a, f in total.items() if f)))

    def __sub__(self, other: Form) -> Form:
        return self + other.times(-1)

    def times(self, factor: int) -> Form:
        if factor == 0:
            return Form(0)
        return Form(self.const * factor, tuple((a, f * factor) for a, f in self.terms))

    def plus(self, value: int) -> Form:
        return Form(self.const + value, self.terms)

    def factor(self, atom: int) -> int:
        return dict(self.terms).get(atom, 0)


@dataclass(slots=True)
class Scope:
    """What holds at one place. `copy` before a branch; facts never need to be taken back."""

    facts: tuple[Form, ...] = ()
    ranges: dict[int, Interval] = field(default_factory=dict)
    """Intervals of atoms, narrower than those that hold everywhere."""
    variables: dict[ir.Symbol, Form] = field(default_factory=dict)
    """The present values of mutable symbols."""
    reachable: bool = True

    def copy(self) -> Scope:
        return Scope(self.facts, dict(self.ranges), dict(self.variables), self.reachable)


class Atoms:
    """All atoms of one function, numbered in the order in which they are met."""

    def __init__(self) -> None:
        self.numbers: dict[Hashable, int] = {}
        self.base: list[Interval] = []
        self.definitions: dict[int, tuple[Form, ...]] = {}
        """Facts that follow from what an atom is."""
        self.choices: dict[int, tuple[str, Form, Form]] = {}
        """Atoms that are the "min" or "max" of two forms."""

    def get(self, key: Hashable, base: Interval) -> int:
        """The atom of this key; `base` is an interval that holds everywhere."""
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.base)
            self.base.append(base)
        return number

    def fresh(self, base: Interval) -> int:
        """An atom that equals no other."""
        return self.get(("fresh", len(self.base)), base)

    def define_extreme(self, atom: int, op: str, a: Form, b: Form) -> None:
        """`atom` is the `op` ("min" or "max") of two forms."""
        one, sign = Form(0, ((atom, 1),)), 1 if op == "min" else -1
        self.choices[atom] = (op, a, b)
        self.definitions[atom] = ((one - a).times(sign), (one - b).times(sign))

    def define_quotient(self, atom: int, a: Form, divisor: int) -> None:
        """`atom` is `a` floor-divided by a positive constant."""
        scaled = Form(0, ((atom, divisor),))
        self.definitions[atom] = (scaled - a, a - scaled.plus(divisor - 1))

    # What is known --------------------------------------------------------------------------------

    def range(self, atom: int, scope: Scope) -> Interval:
        known = scope.ranges.get(atom)
        return self.base[atom] if known is None else known

    def interval(self, form: Form, scope: Scope) -> Interval:
        lo = hi = form.const
        for atom, factor in form.terms:
            r = self.range(atom, scope)
            lo += factor * (r.lo if factor > 0 else r.hi)
            hi += factor * (r.hi if factor > 0 else r.lo)
        return Interval(lo, hi)

    def narrow(self, atom: int, interval: Interval, scope: Scope) -> None:
        scope.ranges[atom] = self.range(atom, scope).meet(interval)

    def learn(self, fact: Form, scope: Scope) -> None:
        """`fact` <= 0 holds from here on."""
        if len(fact.terms) > 1:
            scope.facts = (*scope.facts, fact)
        for atom, factor in fact.terms:
            rest = Form(fact.const, tuple(t for t in fact.terms if t[0] != atom))
            room = -self.interval(rest, scope).lo  # factor * atom <= room
            known = self.range(atom, scope)
            if factor > 0:
                limit = Interval(known.lo, max(known.lo, room // factor))
            else:
                limit = Interval(min(known.hi, -(room // -factor)), known.hi)
            self.narrow(atom, limit, scope)

    def holds(self, goal: Form, scope: Scope) -> bool:
        """True when `goal` <= 0 is proved here; False says nothing."""
        return _Proof(self, scope).holds(goal, _DEPTH)


class _Proof:
    def __init__(self, atoms: Atoms, scope: Scope) -> None:
        self.atoms = atoms
        self.scope = scope
        self.effort = _EFFORT

    def holds(self, goal: Form, depth: int) -> bool:
        if self.atoms.interval(goal, self.scope).hi <= 0:
            return True
        if depth == 0 or not goal.terms:
            return False
        return any(self.holds(rest, depth - 1) for rest in self.residues(goal)) or self.by_cases(goal, depth)

    def residues(self, goal: Form) -> Iterator[Form]:
        """Forms R with goal = R + m * fact, m > 0: goal holds where R does."""
        known = [f for atom, _ in goal.terms for f in self.atoms.definitions.get(atom, ())]
        for fact in (*reversed(self.scope.facts), *known):
            for atom, factor in fact.terms:
                wanted = goal.factor(atom)
                if wanted and wanted % factor == 0 and wanted // factor > 0:
                    self.effort -= 1
                    if self.effort < 0:
                        return
                    yield goal - fact.times(wanted // factor)

    def by_cases(self, goal: Form, depth: int) -> bool:
        """A maximum that counts up, or a minimum that counts down, is one of its two operands."""
        for atom, factor in goal.terms:
            op, a, b = self.atoms.choices.get(atom, ("", goal, goal))
            if op == ("max" if factor > 0 else "min"):
                rest = goal - Form(0, ((atom, factor),))
                return all(self.holds(rest + x.times(factor), depth - 1) for x in (a, b))
        return False
