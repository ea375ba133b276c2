"""The variants of one launcher: which facts a launch's arguments show, and the code for them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any

from ruda_core.artifact import KernelSource, VariantFacts
from ruda_core.launcher.limits import Triple, check_source, is_spread, needs_index64
from ruda_core.launcher.plan import LaunchPlan

Tail = Callable[..., None]


def facts_of(
    names: Sequence[str], arrays: Sequence[Any], *, index64: bool = False, spread: bool = False
) -> VariantFacts:
    """What these array arguments let the compiler assume."""
    return VariantFacts(
        groups=_grouped(names, [id(a._block) for a in arrays]),
        equal_lengths=_grouped(names, [a.size for a in arrays]),
        index64=index64,
        spread=spread,
    )


def _grouped(names: Sequence[str], keys: Sequence[Hashable]) -> tuple[tuple[str, ...], ...]:
    groups: dict[Hashable, list[str]] = {}
    for name, key in zip(names, keys, strict=True):
        groups.setdefault(key, []).append(name)
    return tuple(tuple(group) for group in groups.values() if len(group) > 1)


def pattern(sizes: Sequence[int], blocks: Sequence[object]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A key that is equal when the same sizes and the same blocks are equal to each other."""
    first_size: dict[int, int] = {}
    first_block: dict[object, int] = {}
    return (
        tuple([first_size.setdefault(size, i) for i, size in enumerate(sizes)]),
        tuple([first_block.setdefault(block, i) for i, block in enumerate(blocks)]),
    )


class Variants:
    """Tails by key, made when first needed. A tail packs the parameters and enqueues."""

    def __init__(self, plan: LaunchPlan, server: Any, make: Callable[[Any, Any, Tail], Tail]) -> None:
        """`make(source, program, askew)` generates a tail; `askew` launches what it must not."""
        self._plan = plan
        self._server = server
        self._make = make
        self._names = tuple(p.name for p in plan.arrays)
        self._units = plan.dim.units
        self._lock = threading.RLock()
        self._by_facts: dict[VariantFacts, Tail] = {}
        self.loaded: dict[VariantFacts, tuple[KernelSource, Any]] = {}
        """Source and program of each variant."""
        self.tails: dict[Hashable, Tail] = {}
        self.first: VariantFacts | None = None
        """The facts of the first ordinary launch, once its variant is loaded."""

    def miss(self, key: Hashable, *arrays: Any) -> Tail:
        """The tail for arguments within all limits, from now on found under `key`."""
        facts = facts_of(self._names, arrays)
        tail = self.tails[key] = self.of(facts)
        if self.first is None:
            self.first = facts
        return tail

    def of(self, facts: VariantFacts) -> Tail:
        """The tail for these facts: compiled, checked against the limits, loaded."""
        with self._lock:
            tail = self._by_facts.get(facts)
            if tail is None:
                source = self._plan.variant(facts)
                check_source(self._plan, source, self._server.properties)
                program = self._server.load(source)
                self.loaded[facts] = source, program
                tail = self._by_facts[facts] = self._make(source, program, self._askew(facts))
            return tail

    def _askew(self, facts: VariantFacts) -> Tail:
        """The tail for arrays that begin anywhere, found when it is first called."""

        other = replace(facts, askew=True)
        found: list[Tail] = []

        def launch(*arguments: Any) -> None:
            if not found:
                found.append(self.of(other))
            found[0](*arguments)

        return launch

    def beyond(self, x: int, y: int, z: int, *arrays: Any) -> Tail | None:
        """The tail for a count or arrays outside the ordinary limits; None for a launch of nothing.

        Raises LaunchLimitError and LaunchArgumentError.
        """
        count: Triple = (x, y, z)
        spread = is_spread(self._plan, count, self._server.properties)
        if 0 in count:
            return None
        units = x * y * z * self._units
        reach = max((a._reach for a in arrays), default=0)
        index64 = needs_index64(self._plan, units, reach, self._server.features.index64)
        key = ("beyond", spread, index64, *pattern([a.size for a in arrays], [a._block for a in arrays]))
        tail = self.tails.get(key)
        if tail is None:
            facts = facts_of(self._names, arrays, index64=index64, spread=spread)
            tail = self.tails[key] = self.of(facts)
        return tail
