"""The text of a kernel while it is written: lines, and which names are in scope."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

INTEGERS = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")
FLOATS = ("f32", "f64", "f16", "bf16")
UNITS = 32
"""Units of a workgroup of every generated kernel."""
LENGTH = 96
"""Elements of every array: three workgroups."""


@dataclass(frozen=True)
class Readable:
    """An array that expressions may read."""

    name: str
    dtype: str
    length: int


@dataclass(frozen=True)
class Helper:
    """A `ruda.func` that expressions may call; it gives one value of `result`, or several."""

    name: str
    parameters: tuple[str, ...]
    """Dtypes."""
    results: tuple[str, ...]


@dataclass
class Writer:
    """Lines, and the names that may be used at this place."""

    rng: random.Random
    dtypes: tuple[str, ...]
    lines: list[str] = field(default_factory=list)
    depth: int = 0
    variables: dict[str, str] = field(default_factory=dict)
    """Mutable locals and their dtypes."""
    constants: dict[str, str] = field(default_factory=dict)
    """Names that are only read, such as scalar parameters."""
    counters: list[str] = field(default_factory=list)
    """Loop variables, of the index type."""
    arrays: list[Readable] = field(default_factory=list)
    helpers: list[Helper] = field(default_factory=list)
    position: str = "i"
    """An expression of the index type."""
    in_loop: bool = False
    """Where `break` may stand."""
    repeated: bool = False
    """In any loop, or one that is unrolled."""
    names: int = 0
    flushed: frozenset[str] = frozenset()
    """Dtypes whose subnormals may be lost, so that no integer's bits become one."""

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def fresh(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def choose(self, items: Sequence[str]) -> str:
        return self.rng.choice(items)

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def readable(self, dtype: str) -> list[str]:
        """Names of values of a dtype."""
        return [n for n, d in (*self.variables.items(), *self.constants.items()) if d == dtype]

    @contextmanager
    def block(self, *, loop: bool = False, repeated: bool = False) -> Iterator[None]:
        """Lines one level deeper; names that are bound there are gone after it."""
        kept = (
            dict(self.variables),
            dict(self.constants),
            list(self.counters),
            list(self.arrays),
            self.in_loop,
            self.repeated,
        )
        self.depth += 1
        self.in_loop = self.in_loop or loop
        self.repeated = self.repeated or loop or repeated
        yield
        self.depth -= 1
        self.variables, self.constants, self.counters, self.arrays, self.in_loop, self.repeated = kept
