"""From a Python function and a signature to a `KernelSource`: the only module that knows the order.

The work has two halves. `lowered` gives the typed function that the language defines, checked for
uniformity and with its bounds checks in place; the reference interpreter runs exactly that. `legalised`
rewrites it into what a target's language has, each step switched by the target's capabilities; a
dialect renders the result.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ruda_core.artifact import (
    BindingSpec,
    KernelSource,
    Mode,
    ParameterLayout,
    ScalarParam,
    Slot,
    SlotKind,
    VariantFacts,
)
from ruda_core.capabilities import Features, Requirement, Target, features_of, missing
from ruda_core.codegen.dialect import Dialect
from ruda_core.dtypes import ValueType, f64
from ruda_core.errors import KernelTypeError, LaunchLimitError, UnsupportedFeature
from ruda_core.frontend import Lowered, lower
from ruda_core.ir import nodes as ir
from ruda_core.ir.functions import MATH
from ruda_core.ir.rewrite import expressions, walk
from ruda_core.ir.span import Span, error_at
from ruda_core.ir.text import show
from ruda_core.ir.verify import verify
from ruda_core.passes.accesses import accesses
from ruda_core.passes.atomics import atomics
from ruda_core.passes.bind import bind
from ruda_core.passes.bounds import bounds
from ruda_core.passes.casts import casts
from ruda_core.passes.checks import checks
from ruda_core.passes.dead_code import dead_code
from ruda_core.passes.exits import exits
from ruda_core.passes.faults import FAULTS, faults
from ruda_core.passes.fences import fences
from ruda_core.passes.flatten import flatten
from ruda_core.passes.floats import floats
from ruda_core.passes.fold import fold, fold_legal
from ruda_core.passes.integers import integers
from ruda_core.passes.math import math as math_functions
from ruda_core.passes.narrow import narrow
from ruda_core.passes.nesting import nesting
from ruda_core.passes.positions import positions
from ruda_core.passes.scalars import SLOTS, scalars
from ruda_core.passes.storage import storage
from ruda_core.passes.tables import tables
from ruda_core.passes.trips import trips
from ruda_core.passes.uniform_loads import uniform_loads
from ruda_core.passes.uniformity import refuse_racing_barriers, uniformity
from ruda_core.passes.vectors import vectors
from ruda_core.passes.widen import widen
from ruda_core.passes.zeroing import zeroing

Anywhere = Callable[[ir.Function], ir.Function]
ForTarget = Callable[[ir.Function, Target], ir.Function]

LANGUAGE: tuple[Anywhere, ...] = (fold, uniformity, bounds, dead_code, faults, trips)
"""What every function goes through: it is then what the language defines, all of it explicit."""

LEGALISE: tuple[Anywhere | ForTarget, ...] = (
    uniform_loads,
    scalars,
    widen,
    positions,
    vectors,
    math_functions,
    integers,
    casts,
    floats,
    flatten,
    zeroing,
    bind,
    storage,
    narrow,
    tables,
    atomics,
    exits,
    checks,
    fences,
    nesting,
    fold_legal,
    dead_code,
)
"""What gives a target with a language of its own only what it has; each docstring says why it stands here."""

FORMAT = 1
"""Part of every digest: raised when the meaning of a `KernelSource` changes."""


@dataclass(frozen=True)
class KernelSpec:
    """One specialisation of a kernel: everything that its code depends on, save captured values."""

    fn: Any
    """The Python function."""
    name: str
    arguments: Mapping[str, Any]
    """For each parameter: a dtype (run-time scalar), an `ArrayParam`, or a compile-time value."""
    typevars: Mapping[TypeVar, ValueType]
    dim: tuple[int, int, int]
    mode: Mode
    fp_contract: bool = True
    fp_exact: bool = False
    fp_fast: bool = False


class Compiler:
    """Compiles for one device, or for a dialect's baseline where there is none."""

    def __init__(self, dialect: Dialect | None, target: Target, *, backend: str) -> None:
        """`dialect` None: the driver takes the function itself. `backend` is named in errors."""
        self.dialect = dialect
        self.target = target
        self.features = features_of(target)
        self.backend = backend

    @property
    def dialect_name(self) -> str:
        """What `KernelSource.dialect` says of its sources."""
        return "ir" if self.dialect is None else self.dialect.name

    def lower(self, spec: KernelSpec, *, index64: bool = False) -> Lowered:
        """The typed function of a specialisation, refused where the device lacks what it needs.

        A text that only 64-bit indices type, for a literal such as that of `x[2**31]`, has them whatever
        `index64` says, where the device has them.
        """
        try:
            return self._lower(spec, index64)
        except KernelTypeError:
            if index64 or not self.features.index64:
                raise
        return self._lower(spec, index64=True)

    def _lower(self, spec: KernelSpec, index64: bool) -> Lowered:
        lowered = lower(
            spec.fn,
            spec.arguments,
            typevars=spec.typevars,
            dim=spec.dim,
            index64=index64,
            mode=spec.mode,
            name=spec.name,
            fp_contract=spec.fp_contract,
            fp_exact=spec.fp_exact,
            fp_fast=spec.fp_fast,
        )
        verify(lowered.function)
        require(lowered.function, self.features, self.backend)
        _limit_local_memory(lowered.function)
        return lowered

    def compile(self, spec: KernelSpec, lowered: Lowered, facts: VariantFacts) -> KernelSource:
        """The source of one variant. `lowered` is what `lower` gave for the same spec and index width."""
        function = replace(
            lowered.function,
            groups=facts.groups,
            equal_lengths=facts.equal_lengths,
            spread=facts.spread,
            askew=facts.askew,
        )
        for step in LANGUAGE:
            function = step(function)
            verify(function, after=step.__name__)
        refuse_racing_barriers(function)
        return self._source(spec, function, facts)

    def _source(self, spec: KernelSpec, language: ir.Function, facts: VariantFacts) -> KernelSource:
        final = bind(language, self.target) if self.dialect is None else legalised(language, self.target)
        layout = ParameterLayout.of(_slots(final, trimmed=self.dialect is not None))
        entry = f"ruda_{_identifier(spec.name)}"
        text = "" if self.dialect is None else self.dialect.render(final, layout, entry)
        options = () if self.dialect is None else self.dialect.options(final)
        span = language.span or Span("<unknown>", 0, 0, 0)
        source = KernelSource(
            name=spec.name,
            entry=entry,
            dialect=self.dialect_name,
            text=text,
            layout=layout,
            bindings=tuple(_bindings(language, final)),
            params=language.params,
            dim=language.dim,
            mode=language.mode,
            shared_memory=_shared_bytes(final),
            spread=facts.spread,
            per_unit=final.per_unit,
            aligned=final.aligned,
            sites=final.sites,
            options=options,
            file=span.file,
            line=span.line,
            program=final,
        )
        return replace(source, digest=_digest(source, text or show(final)))


def legalised(function: ir.Function, target: Target) -> ir.Function:
    """The function with nothing left that `target` lacks."""
    for step in LEGALISE:
        function = step(function, target) if step in _FOR_TARGET else step(function)  # type: ignore[call-arg]  # by its arity
        verify(function, after=step.__name__)
    return function


_FOR_TARGET = frozenset(step for step in LEGALISE if step.__code__.co_argcount == 2)


_LONGEST = 80
"""Characters of a kernel's name that its entry keeps: drivers name files after entries, and PoCL ends the process
when a path is too long. What an entry is told apart by is its program's digest."""


def _identifier(name: str) -> str:
    """The beginning of `name`, with what some target cannot spell left out."""
    kept = "".join(c for c in name if c.isascii() and c.isalnum())
    return kept[:_LONGEST] or "kernel"


def _digest(source: KernelSource, text: str) -> str:
    parts = (
        FORMAT,
        source.dialect,
        source.entry,
        text,
        source.layout.slots,
        source.bindings,
        source.dim,
        source.mode,
        source.spread,
        source.per_unit,
        source.aligned,
        source.options,
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()


# What a function needs ----------------------------------------------------------------------------

LOCAL_MEMORY = 512 << 10
"""Bytes of `ruda.local` arrays that a unit may have, on every device: the most that CUDA gives a thread.
Compilers of other targets do not refuse more; they run for minutes or out of memory."""


def _limit_local_memory(function: ir.Function) -> None:
    nbytes = sum(a.dtype.itemsize * math.prod(a.shape) for a in function.in_space("local"))
    if nbytes > LOCAL_MEMORY:
        place = f" ({function.span.file}:{function.span.line})" if function.span else ""
        raise LaunchLimitError(
            f"{function.name}{place}: local memory of {nbytes} bytes for each unit is over the limit of "
            f"{LOCAL_MEMORY}: use smaller arrays, or pass an array that the units share out",
            what="local memory",
            requested=nbytes,
            limit=LOCAL_MEMORY,
        )


_WIDE_NUMBERS = {
    f"storage of {wide}": (
        f"  a list of Python's numbers becomes {wide}: client.tensor(values, dtype=ruda.{narrow})",
    )
    for wide, narrow in (("f64", "f32"), ("i64", "i32"))
}
"""What to do about a dtype that nobody asked for by name."""


def require(function: ir.Function, features: Features, backend: str) -> None:
    """Raise UnsupportedFeature, at the source line, for the first thing that the features lack."""
    granted: set[Requirement] = set()
    for requirement, span in requirements(function):
        if requirement in granted:
            continue
        if missing(features, (requirement,)):
            raise error_at(
                UnsupportedFeature,
                f"{requirement} is not supported by backend {backend!r}",
                span or function.span,
                (
                    f"  in kernel {function.name}; client.features() lists what the device can do",
                    *_WIDE_NUMBERS.get(str(requirement), ()),
                ),
            )
        granted.add(requirement)


def requirements(function: ir.Function) -> Iterator[tuple[Requirement, Span | None]]:
    """What the function uses that a device may lack, with the place of each use."""
    for array in function.arrays:
        if array.space != "constant":
            yield Requirement("dtype", array.dtype.scalar.name, "storage"), function.span
    for param in function.params:
        if isinstance(param, ScalarParam):
            yield Requirement("dtype", param.dtype, "storage"), function.span
    for stmt in walk(function.body):
        if isinstance(stmt, ir.Atomic):
            yield Requirement("atomic", stmt.array.dtype.scalar.name, stmt.op), stmt.span
        elif isinstance(stmt, ir.Subgroup):
            yield Requirement("flag", "subgroup"), stmt.span
        for expr in expressions(stmt):
            yield Requirement("dtype", expr.type.scalar.name, "arithmetic"), expr.span or stmt.span
            if isinstance(expr, ir.Math):
                yield from _math_requirements(expr, stmt)


def _math_requirements(expr: ir.Math, stmt: ir.Stmt) -> Iterator[tuple[Requirement, Span | None]]:
    span = expr.span or stmt.span
    if expr.fn == "fma":
        yield Requirement("flag", "fma"), span
        if expr.type.scalar is f64:  # the flag stands for f32, whose functions every device has
            yield Requirement("dtype", "f64", "functions"), span
    elif expr.type.is_float and not MATH[expr.fn].exact:
        yield Requirement("dtype", expr.type.scalar.name, "functions"), span


# What the run column is told ----------------------------------------------------------------------


def _bindings(language: ir.Function, final: ir.Function) -> Iterator[BindingSpec]:
    used = accesses(final)
    for binding in final.bindings:
        names = tuple(array.name for array in binding.arrays if array.name != FAULTS and array.over is None)
        found = [used[array] for array in binding.arrays if array in used]
        yield BindingSpec(
            name=binding.name,
            dtype=binding.dtype.name,
            arrays=names,
            reads=any(access.reads for access in found),
            writes=any(access.writes for access in found),
        )


_ARRAY_SLOTS: tuple[SlotKind, ...] = ("length", "offset")
_AXIS_SLOTS: tuple[SlotKind, ...] = ("shape", "stride")


def _slots(function: ir.Function, *, trimmed: bool) -> Iterator[Slot]:
    """The slots of the parameter block; `trimmed` leaves out hidden ones that the body does not use."""
    index = function.index.name
    used = _hidden_uses(function) if trimmed else None

    def wanted(kind: str, name: str = "", axis: int = 0) -> bool:
        return used is None or (kind, name, axis) in used

    for axis in range(3):
        if wanted("count", "", axis):
            yield Slot("count", index, axis=axis)
    yield Slot("zero", "u32")
    if function.mode == "validate":
        yield Slot("program", "u32")
    for array in function.in_space("global"):
        if array.name == FAULTS or array.over is not None:
            continue
        for kind in _ARRAY_SLOTS:
            if wanted(kind, array.name):
                yield Slot(kind, index, array.name)
        for axis in range(array.rank or 0):
            for kind in _AXIS_SLOTS:
                if wanted(kind, array.name, axis):
                    yield Slot(kind, index, array.name, axis)
    for param in function.params:
        if isinstance(param, ScalarParam):
            yield Slot("scalar", SLOTS.get(param.dtype, param.dtype), param.name)


def _hidden_uses(function: ir.Function) -> set[tuple[str, str, int]]:
    used: set[tuple[str, str, int]] = set()
    for stmt in walk(function.body):
        for e in expressions(stmt):
            match e:
                case ir.Length() | ir.Offset():
                    used.add((type(e).__name__.lower(), e.array.name, 0))
                case ir.Shape() | ir.Stride():
                    used.add((type(e).__name__.lower(), e.array.name, e.axis))
                case ir.Builtin(name="workgroup_count"):
                    used.update(
                        ("count", "", axis) for axis in ((e.axis,) if e.axis is not None else (0, 1, 2))
                    )
    return used


def _shared_bytes(function: ir.Function) -> int:
    return sum(a.dtype.itemsize * math.prod(a.shape) for a in function.in_space("shared"))
