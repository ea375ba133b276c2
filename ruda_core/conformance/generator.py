"""Random kernels: valid programs of the language from a seed, as source text.

The programs are closed under the language's own rules (typed expressions, bounded loops, barriers only
where all units pass) and use only operations whose result is defined to the bit, so that any difference
between two devices is a fault of one of them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

INTEGERS = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")
FLOATS = ("f32", "f64")
UNITS = 32
"""Units of a workgroup of every generated kernel."""
LENGTH = 96
"""Elements of every array: three workgroups."""


@dataclass(frozen=True)
class RandomKernel:
    """One generated kernel: `text` defines `kernel`, with the arrays `inputs`, then `out` and `count`."""

    seed: int
    text: str
    inputs: tuple[str, ...]
    """Dtypes of the input arrays in0, in1, …"""
    out: str
    """Dtype of `out`."""
    scalars: tuple[str, ...]
    """Dtypes of the scalar parameters s0, s1, …"""


@dataclass
class _Writer:
    rng: random.Random
    dtypes: tuple[str, ...]
    lines: list[str] = field(default_factory=list)
    depth: int = 1
    variables: dict[str, str] = field(default_factory=dict)
    """Mutable locals and their dtypes."""
    readable: dict[str, str] = field(default_factory=dict)
    """Loop variables and other names that are only read."""
    names: int = 0
    loops: int = 0
    """Product of the trip counts around this place, so that the whole stays short."""

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def fresh(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"


class Generator:
    """Builds kernels over some dtypes."""

    def __init__(self, dtypes: Sequence[str] = ("i32", "u32", "f32", "i8", "u8", "i16", "u16")) -> None:
        """`dtypes`: names from `INTEGERS` and `FLOATS` that the devices under test have."""
        self.dtypes = tuple(dtypes)

    def kernel(self, seed: int) -> RandomKernel:
        """The kernel of a seed: the same for the same dtypes, always."""
        rng = random.Random(seed)
        inputs = tuple(rng.choice(self.dtypes) for _ in range(rng.randint(1, 3)))
        scalars = tuple(rng.choice(self.dtypes) for _ in range(rng.randint(0, 2)))
        out = rng.choice(self.dtypes)
        w = _Writer(rng, self.dtypes)
        arrays = [f"in{i}: Array[{d}]" for i, d in enumerate(inputs)]
        values = [f"s{i}: {d}" for i, d in enumerate(scalars)]
        head = ", ".join([*arrays, *values, f"out: Array[{out}]", "count: Array[i32]"])
        w.depth = 0
        w.line("@ruda.kernel(fp_contract=False)")
        w.line(f"def kernel({head}):")
        w.depth = 1
        w.line("i = ruda.ABSOLUTE_POS")
        self.inputs = inputs
        for i, dtype in enumerate(inputs):
            name = w.fresh("v")
            w.line(f"{name} = in{i}[{self.index(w)}]")
            w.variables[name] = dtype
        for i, dtype in enumerate(scalars):
            w.readable[f"s{i}"] = dtype
        shared = rng.random() < 0.35
        if shared:
            self.exchange(w)
        for _ in range(rng.randint(2, 6)):
            self.statement(w, 0)
        if shared and rng.random() < 0.5:
            self.exchange(w)
        result = self.expression(w, out, 3)
        if rng.random() < 0.5:
            w.line(f"if {self.condition(w, 2)}:")
            w.line(f"    ruda.atomic_add(count, {rng.randrange(4)}, {self.expression(w, 'i32', 1)})")
        w.line(f"out[i] = {result}")
        return RandomKernel(seed, "\n".join(w.lines) + "\n", inputs, out, scalars)

    # Statements ----------------------------------------------------------------------------------

    def statement(self, w: _Writer, nesting: int) -> None:
        choices = [self.assign, self.augment]
        if nesting < 2:
            choices += [self.branch, self.count_loop, self.while_loop]
        w.rng.choice(choices)(w, nesting)

    def assign(self, w: _Writer, nesting: int) -> None:
        if w.variables and (nesting or w.rng.random() < 0.5):
            name = w.rng.choice(list(w.variables))
            w.line(f"{name} = {self.expression(w, w.variables[name], 3)}")
            return
        dtype = w.rng.choice(w.dtypes)
        name = w.fresh("v")
        w.line(f"{name} = {self.expression(w, dtype, 3, typed=True)}")
        w.variables[name] = dtype

    def augment(self, w: _Writer, nesting: int) -> None:
        name = w.rng.choice(list(w.variables))
        dtype = w.variables[name]
        operators = ("+", "-", "*") if dtype in FLOATS else ("+", "-", "*", "^", "&", "|")
        w.line(f"{name} {w.rng.choice(operators)}= {self.expression(w, dtype, 2)}")

    def branch(self, w: _Writer, nesting: int) -> None:
        w.line(f"if {self.condition(w, 2)}:")
        self.nested(w, nesting)
        if w.rng.random() < 0.5:
            w.line("else:")
            self.nested(w, nesting)

    def count_loop(self, w: _Writer, nesting: int) -> None:
        start, step = w.rng.randint(-3, 3), w.rng.choice((-2, -1, 1, 1, 2, 3))
        stop = start + step * w.rng.randint(0, 5)
        name = w.fresh("k")
        w.line(f"for {name} in range({start}, {stop}, {step}):")
        w.readable[name] = "index"
        self.nested(w, nesting, loop=True)
        del w.readable[name]

    def while_loop(self, w: _Writer, nesting: int) -> None:
        name = w.fresh("n")
        w.line(f"{name} = i32({w.rng.randint(1, 6)})")
        w.line(f"while {name} > 0 and {self.condition(w, 1)}:")
        w.depth += 1
        w.line(f"{name} -= 1")
        w.depth -= 1
        w.readable[name] = "i32"
        self.nested(w, nesting, loop=True)

    def nested(self, w: _Writer, nesting: int, *, loop: bool = False) -> None:
        w.depth += 1
        for _ in range(w.rng.randint(1, 3)):
            self.statement(w, nesting + 1)
        if loop and w.rng.random() < 0.3:
            w.line(f"if {self.condition(w, 1)}:")
            w.line(f"    {w.rng.choice(('break', 'continue'))}")
            self.augment(w, nesting)
        w.depth -= 1

    def exchange(self, w: _Writer) -> None:
        """Values pass between the units of a workgroup through shared memory."""
        dtype = w.rng.choice(w.dtypes)
        tile, name = w.fresh("tile"), w.fresh("v")
        w.line(f"{tile} = ruda.shared({dtype}, {UNITS})")
        w.line(f"{tile}[ruda.UNIT_POS] = {self.expression(w, dtype, 2)}")
        w.line("ruda.barrier()")
        w.line(
            f"{name} = {tile}[(ruda.UNIT_POS * {w.rng.choice((3, 5, 7))} + {w.rng.randrange(9)}) % {UNITS}]"
        )
        w.line("ruda.barrier()")
        w.variables[name] = dtype

    # Expressions ---------------------------------------------------------------------------------

    def index(self, w: _Writer) -> str:
        return w.rng.choice(
            ("i", "i", f"(i * 5 + {w.rng.randrange(96)}) % {LENGTH}", f"{LENGTH - 1} - i", "i + 90")
        )

    def condition(self, w: _Writer, depth: int) -> str:
        if depth > 0 and w.rng.random() < 0.3:
            joined = w.rng.choice((" and ", " or "))
            return f"({self.condition(w, depth - 1)}{joined}{self.condition(w, depth - 1)})"
        if w.rng.random() < 0.15:
            return f"(not {self.condition(w, depth - 1)})"
        dtype = w.rng.choice(w.dtypes)
        operator = w.rng.choice(("<", "<=", ">", ">=", "==", "!="))
        return (
            f"({self.expression(w, dtype, depth, typed=True)} {operator} {self.expression(w, dtype, depth)})"
        )

    def expression(self, w: _Writer, dtype: str, depth: int, *, typed: bool = False) -> str:
        """An expression of `dtype`; `typed`: not a bare literal."""
        if depth <= 0 or w.rng.random() < 0.15:
            return self.leaf(w, dtype, typed=typed)
        make = self.float_operation if dtype in FLOATS else self.integer_operation
        return make(w, dtype, depth - 1)

    def leaf(self, w: _Writer, dtype: str, *, typed: bool) -> str:
        names = [n for n, d in {**w.variables, **w.readable}.items() if d == dtype]
        others = [n for n, d in {**w.variables, **w.readable}.items() if d != dtype]
        if names and w.rng.random() < 0.7:
            return w.rng.choice(names)
        if others and w.rng.random() < 0.4:
            return f"{dtype}({w.rng.choice(others)})"
        same = [k for k, d in enumerate(self.inputs) if d == dtype]
        if same and w.rng.random() < 0.5:
            return f"in{w.rng.choice(same)}[{self.index(w)}]"
        literal = self.literal(w, dtype)
        return f"{dtype}({literal})" if typed else literal

    def literal(self, w: _Writer, dtype: str) -> str:
        if dtype in FLOATS:
            return w.rng.choice(("0.0", "1.0", "-1.5", "0.1", "3.0e10", "-2.5e-8", "255.0"))
        bits = int(dtype[1:])
        low, high = (0, (1 << bits) - 1) if dtype[0] == "u" else (-(1 << bits - 1), (1 << bits - 1) - 1)
        value = w.rng.choice((0, 1, 2, 3, 7, low, high, w.rng.randint(low, high)))
        return f"({value})" if value < 0 else str(value)

    def integer_operation(self, w: _Writer, dtype: str, depth: int) -> str:
        a = self.expression(w, dtype, depth, typed=True)
        b = self.expression(w, dtype, depth)
        kind = w.rng.randrange(10)
        if kind < 4:
            return f"({a} {w.rng.choice(('+', '-', '*', '&', '|', '^'))} {b})"
        if kind == 4:
            return f"({a} {w.rng.choice(('//', '%'))} {self.expression(w, dtype, depth, typed=True)})"
        if kind == 5:
            return f"({a} {w.rng.choice(('<<', '>>'))} {self.expression(w, 'i32', 0)})"
        if kind == 6:
            return f"{w.rng.choice(('min', 'max'))}({a}, {b})"
        if kind == 7:
            return f"({a} if {self.condition(w, 1)} else {b})"
        if kind == 8:
            return f"{w.rng.choice(('~', '-'))}{a}" if w.rng.random() < 0.7 else f"ruda.popcount({a})"
        other = w.rng.choice(w.dtypes)
        return f"{dtype}({self.expression(w, other, depth, typed=True)})"

    def float_operation(self, w: _Writer, dtype: str, depth: int) -> str:
        a = self.expression(w, dtype, depth, typed=True)
        b = self.expression(w, dtype, depth)
        kind = w.rng.randrange(9)
        if kind < 4:
            return f"({a} {w.rng.choice(('+', '-', '*'))} {b})"
        if kind == 4:
            return f"({a} / {b})"
        if kind == 5:
            return f"{w.rng.choice(('min', 'max'))}({a}, {b})"
        if kind == 6:
            return f"({a} if {self.condition(w, 1)} else {b})"
        if kind == 7:
            return f"ruda.{w.rng.choice(('abs', 'floor', 'trunc', 'sqrt', 'round'))}({a})"
        other = w.rng.choice(w.dtypes)
        return f"{dtype}({self.expression(w, other, depth, typed=True)})"
