"""Random statements."""

from __future__ import annotations

from collections.abc import Callable

from ruda_core.conformance.random_kernels.expressions import condition, expression, index, literal, operator
from ruda_core.conformance.random_kernels.writer import FLOATS, UNITS, Readable, Writer

DEEPEST = 2
"""Levels of control flow inside one another."""


def statements(w: Writer, nesting: int, least: int, most: int) -> None:
    """Some statements at this place."""
    for _ in range(w.rng.randint(least, most)):
        statement(w, nesting)


def statement(w: Writer, nesting: int) -> None:
    """One statement; `nesting` is the levels of control flow around it."""
    simple: list[Callable[[Writer], None]] = [
        _assign,
        _assign,
        _augment,
        _augment,
        _weak,
        _swap,
        _flag,
        _several,
    ]
    nested: list[Callable[[Writer, int], None]] = [
        _branch,
        _branch,
        _count_loop,
        _count_loop,
        _unrolled_loop,
        _while_loop,
        _scratch,
        _vector,
    ]
    if nesting < DEEPEST and w.chance(0.45):
        w.rng.choice(nested)(w, nesting)
    else:
        w.rng.choice(simple)(w)


def _assign(w: Writer) -> None:
    numbers = [n for n, d in w.variables.items() if d != "bool"]
    if numbers and w.chance(0.6):
        name = w.choose(numbers)
        w.line(f"{name} = {expression(w, w.variables[name], 3)}")
        return
    dtype = w.choose(w.dtypes)
    value = expression(w, dtype, 3, typed=True)
    name = w.fresh("v")
    w.line(f"{name} = {value}")
    w.variables[name] = dtype


def _augment(w: Writer) -> None:
    numbers = [n for n, d in w.variables.items() if d != "bool"]
    if not numbers:
        _assign(w)
        return
    name = w.choose(numbers)
    dtype = w.variables[name]
    w.line(f"{name} {operator(w, dtype)}= {expression(w, dtype, 2)}")


def _weak(w: Writer) -> None:
    """A local that starts as a literal and takes its dtype from what is added."""
    dtype = w.choose(w.dtypes)
    value = expression(w, dtype, 2, typed=True)
    name = w.fresh("v")
    w.line(f"{name} = {literal(w, dtype)}")
    w.line(f"{name} += {value}")
    w.variables[name] = dtype


def _swap(w: Writer) -> None:
    by_dtype: dict[str, list[str]] = {}
    for name, dtype in w.variables.items():
        by_dtype.setdefault(dtype, []).append(name)
    pairs = [names for names in by_dtype.values() if len(names) > 1]
    if not pairs:
        _assign(w)
        return
    a, b = w.rng.sample(w.rng.choice(pairs), 2)
    w.line(f"{a}, {b} = {b}, {a}")


def _flag(w: Writer) -> None:
    value = condition(w, 2)
    name = w.fresh("b")
    w.line(f"{name} = {value}")
    w.variables[name] = "bool"


def _several(w: Writer) -> None:
    """A helper with several results."""
    helpers = [h for h in w.helpers if len(h.results) > 1]
    if not helpers:
        _augment(w)
        return
    helper = w.rng.choice(helpers)
    args = ", ".join(expression(w, p, 2) for p in helper.parameters)
    names = [w.fresh("v") for _ in helper.results]
    w.line(f"{', '.join(names)} = {helper.name}({args})")
    w.variables.update(zip(names, helper.results, strict=True))


def _branch(w: Writer, nesting: int) -> None:
    w.line(f"if {condition(w, 2)}:")
    _body(w, nesting)
    if w.chance(0.25):
        w.line(f"elif {condition(w, 1)}:")
        _body(w, nesting)
    if w.chance(0.5):
        w.line("else:")
        _body(w, nesting)


def _body(w: Writer, nesting: int, *, loop: bool = False, repeated: bool = False) -> None:
    with w.block(loop=loop, repeated=repeated):
        statements(w, nesting + 1, 1, 3)
        if w.in_loop and w.chance(0.3):
            w.line(f"if {condition(w, 1)}:")
            w.line(f"    {w.choose(('break', 'continue'))}")
            _augment(w)


def _count_loop(w: Writer, nesting: int) -> None:
    start, step = w.rng.randint(-3, 3), w.rng.choice((-2, -1, 1, 1, 2, 3))
    stop = start + step * w.rng.randint(0, 5)
    integers = [n for n, d in w.variables.items() if d[0] in "iu"]
    bounds = f"{start}, {stop}, {step}"
    if integers and w.chance(0.4):
        bounds = f"{w.choose(integers)} % 6"
    name = w.fresh("k")
    w.line(f"for {name} in range({bounds}):")
    _counted(w, name, nesting, loop=True)


def _unrolled_loop(w: Writer, nesting: int) -> None:
    """Its variable is a literal: from 0, so that it fits every dtype."""
    name = w.fresh("k")
    w.line(f"for {name} in ruda.unroll(range({w.rng.randint(1, 3)})):")
    _counted(w, name, DEEPEST, loop=False)


def _counted(w: Writer, name: str, nesting: int, *, loop: bool) -> None:
    kept = list(w.counters)
    w.counters.append(name)
    _body(w, nesting, loop=loop, repeated=True)
    w.counters = kept


def _while_loop(w: Writer, nesting: int) -> None:
    name = w.fresh("n")
    w.line(f"{name} = i32({w.rng.randint(1, 6)})")
    w.line(f"while {name} > 0 and {condition(w, 1)}:")
    w.constants[name] = "i32"
    with w.block(loop=True):
        w.line(f"{name} -= 1")
        statements(w, nesting + 1, 1, 3)
        if w.chance(0.3):
            w.line(f"if {condition(w, 1)}:")
            w.line(f"    {w.choose(('break', 'continue'))}")


def _scratch(w: Writer, nesting: int) -> None:
    """Local memory: filled by a loop, read anywhere after."""
    dtype, length = w.choose(w.dtypes), w.rng.choice((2, 3, 5, 8))
    name, counter = w.fresh("scratch"), w.fresh("k")
    w.line(f"{name} = ruda.local({dtype}, {length})")
    w.line(f"for {counter} in range({length}):")
    with w.block():
        w.counters.append(counter)
        value = expression(w, dtype, 2)
        w.line(f"{name}[{counter}] = {value}")
    if w.chance(0.6):
        w.line(f"{name}[{index(w, length)}] = {expression(w, dtype, 2)}")
    w.arrays.append(Readable(name, dtype, length))


def _vector(w: Writer, nesting: int) -> None:
    """A vector, an operation on its components, and a scalar from it."""
    dtype, lanes = w.choose(w.dtypes), w.rng.choice((2, 3, 4))
    name, other, out = w.fresh("vec"), w.fresh("vec"), w.fresh("v")
    parts = [expression(w, dtype, 1, typed=True) for _ in range(lanes)]
    w.line(f"{name} = Vec[{dtype}, {lanes}]({', '.join(parts)})")
    joined = operator(w, dtype)
    w.line(f"{other} = {name} {joined} {w.choose((name, expression(w, dtype, 1, typed=True)))}")
    results = [f"{other}.{'xyzw'[w.rng.randrange(lanes)]}", f"{other}[{w.rng.randrange(lanes)}]"]
    if dtype not in FLOATS:
        results += [f"{other}.sum()", f"ruda.dot({name}, {other})"]
    w.line(f"{out} = {w.choose(results)}")
    w.variables[out] = dtype


def exchange(w: Writer, uniform: str | None = None) -> None:
    """Values pass between the units of a workgroup through shared memory.

    `uniform`: a scalar parameter, on which a loop or branch with barriers may depend.
    """
    dtype = w.choose(w.dtypes)
    tile, name = w.fresh("tile"), w.fresh("v")
    w.line(f"{tile} = ruda.shared({dtype}, {UNITS})")
    w.line(f"{name} = {expression(w, dtype, 2, typed=True)}")
    w.variables[name] = dtype
    if uniform is not None and w.chance(0.5):
        w.line(f"if {uniform} > {uniform} // 2:")
    else:
        w.line(f"for {w.fresh('k')} in range({w.rng.randint(1, 3)}):")
    with w.block():
        w.line(f"{tile}[ruda.UNIT_POS] = {expression(w, dtype, 2)}")
        w.line("ruda.barrier()")
        place = f"(ruda.UNIT_POS * {w.rng.choice((3, 5, 7))} + {w.rng.randrange(9)}) % {UNITS}"
        w.line(f"{name} = {tile}[{w.choose((place, place, 'ruda.UNIT_POS + 20'))}]")
        w.line("ruda.barrier()")
