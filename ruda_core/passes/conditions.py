"""What a condition says about integers, and how a scope learns it."""

from __future__ import annotations

from typing import Any

from ruda_core.passes.linear import Atoms, Form, Scope

Condition = tuple[str, Any, Any] | None
"""(comparison, Form, Form), ("and" or "or", Condition, Condition), or None: nothing is known."""

_OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "==", "and": "or", "or": "and"}


def negated(condition: Condition) -> Condition:
    """The condition that holds where this one does not."""
    if condition is None:
        return None
    op, a, b = condition
    if op in ("and", "or"):
        a, b = negated(a), negated(b)
    return (_OPPOSITE[op], a, b)


def learn(condition: Condition, scope: Scope, atoms: Atoms) -> None:
    """The condition holds from here on."""
    if condition is None or condition[0] == "or":
        return
    op, a, b = condition
    if op == "and":
        learn(a, scope, atoms)
        learn(b, scope, atoms)
        return
    for fact in _facts(op, a - b, scope, atoms):
        atoms.learn(fact, scope)


def _facts(op: str, difference: Form, scope: Scope, atoms: Atoms) -> list[Form]:
    """Forms that are at most zero where `difference op 0` holds."""
    below, above = difference, difference.times(-1)
    match op:
        case "<":
            return [below.plus(1)]
        case "<=":
            return [below]
        case ">":
            return [above.plus(1)]
        case ">=":
            return [above]
        case "==":
            return [below, above]
    known = atoms.interval(difference, scope)
    if known.lo == 0:
        return [above.plus(1)]
    return [below.plus(1)] if known.hi == 0 else []
