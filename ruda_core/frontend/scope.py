"""One function body while it is lowered: its names, its loops, where `return` goes."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from ruda_core.dtypes import ValueType
from ruda_core.frontend.captures import Resolver
from ruda_core.frontend.source import Source, Spans
from ruda_core.frontend.values import Key, Value
from ruda_core.ir.span import Span

Bound = set[str] | None
"""Names bound on every path to here; None where no path leads."""


@dataclass(slots=True)
class Loop:
    """A loop around the statement at hand."""

    kind: Literal["run time", "unrolled"]
    depth: int = 0
    """Nesting at the start of an unrolled iteration."""
    break_label: int = 0
    continue_label: int = 0
    exits: list[Bound] = field(default_factory=list)
    """What is bound at each break."""
    skips: list[Bound] = field(default_factory=list)
    """What is bound at each continue."""
    broke: bool = False
    """An unrolled loop met a break that is taken for certain."""
    leaves: set[int] = field(default_factory=set)
    """Labels that were used."""


@dataclass(slots=True)
class Returns:
    """The results of a helper so far."""

    arity: int | None = None
    """How many values, -1 for one that is no tuple, 0 for none; None before the first return."""
    span: Span | None = None
    direct: Value | None = None
    """The result, when a single return ends the body."""
    left: bool = False
    """Some return leaves early, so that results travel in variables."""


@dataclass(slots=True)
class Scope:
    """The kernel's body, or one inlined call of a helper."""

    fn: Any
    source: Source
    resolver: Resolver
    path: Key
    """The calls that led here; it makes a local's key."""
    inlined_at: Span | None
    spans: Spans
    label: int
    depth: int
    """Nesting at the start of the body."""
    typevars: Mapping[TypeVar, ValueType]
    caller: Scope | None = None
    values: dict[str, Value] = field(default_factory=dict)
    """Names that stand for a value as it is: parameters, compile-time locals, locals bound once."""
    homes: dict[str, int] = field(default_factory=dict)
    """The block in which each of `values` was bound."""
    ever: set[str] = field(default_factory=set)
    """Names bound anywhere so far."""
    loops: list[Loop] = field(default_factory=list)
    unrolling: tuple[int, ...] = ()
    """Which iteration of each unrolled loop around is at hand."""
    returns: Returns = field(default_factory=Returns)
    declared: tuple[Any, ...] | None = None
    """Types of the results, where the helper is annotated with them."""

    def key(self, name: str) -> Key:
        """The key of a local."""
        return (*self.path, name)

    def span(self, node: ast.AST) -> Span:
        """Where a node stands."""
        found = self.spans.get(node)
        if found is None:
            found = self.spans[node] = self.source.span(node, self.inlined_at)
        return found


def merge(a: Bound, b: Bound) -> Bound:
    """What is bound after two paths meet."""
    if a is None:
        return b
    return a if b is None else a & b
