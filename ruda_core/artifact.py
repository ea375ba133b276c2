"""Frozen facts that pass from the compile column to the run column."""

from __future__ import annotations

import operator
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from ruda_core.errors import LaunchArgumentError

Mode = Literal["checked", "validate", "unchecked"]
SlotKind = Literal["count", "zero", "length", "shape", "stride", "offset", "scalar", "program"]

_SLOT_CODES = {"i32": "i", "u32": "I", "f32": "f", "i64": "q", "u64": "Q", "f64": "d"}


def _triple(value: object, what: str) -> tuple[int, int, int]:
    items = tuple(value) if isinstance(value, Iterable) else (value,)
    try:
        axes = tuple(operator.index(item) for item in items)
    except TypeError:
        axes = ()
    if not 1 <= len(axes) <= 3:
        raise LaunchArgumentError(f"{what} is an int or 1 to 3 of them, x first, not {value!r}")
    padded = axes + (1,) * (3 - len(axes))
    return padded[0], padded[1], padded[2]


@dataclass(frozen=True, slots=True)
class RudaDim:
    """Units per workgroup, x fastest."""

    x: int
    y: int = 1
    z: int = 1

    def __iter__(self) -> Any:
        return iter((self.x, self.y, self.z))

    @property
    def units(self) -> int:
        """Units of one workgroup."""
        return self.x * self.y * self.z

    @staticmethod
    def of(value: object) -> RudaDim:
        """From an int, a tuple of 1 to 3 ints, or a RudaDim."""
        return value if isinstance(value, RudaDim) else RudaDim(*_triple(value, "a workgroup dim"))


@dataclass(frozen=True, slots=True)
class RudaCount:
    """Workgroups of a launch, x fastest; zero on any axis makes the launch a no-op."""

    x: int
    y: int = 1
    z: int = 1

    def __iter__(self) -> Any:
        return iter((self.x, self.y, self.z))

    @staticmethod
    def of(value: object) -> RudaCount:
        """From an int, a tuple of 1 to 3 ints, or a RudaCount."""
        return value if isinstance(value, RudaCount) else RudaCount(*_triple(value, "a workgroup count"))

    @staticmethod
    def cover(units: int | Iterable[int], dim: int | Iterable[int] | RudaDim) -> RudaCount:
        """The count that covers `units` (an int, or x first) with workgroups of `dim`, rounded up."""
        wanted = _triple(units, "a number of units")
        sizes = tuple(RudaDim.of(dim))
        if min(wanted) < 0 or min(sizes) < 1:
            raise LaunchArgumentError(
                f"units count from 0 and a workgroup's dim from 1, got {units!r} units in workgroups of {sizes}"
            )
        return RudaCount(*(-(-n // d) for n, d in zip(wanted, sizes, strict=True)))


@dataclass(frozen=True, slots=True)
class Slot:
    """One hidden or visible scalar in the parameter block."""

    kind: SlotKind
    dtype: str
    """i32, u32, f32, i64, u64 or f64; narrower scalars travel widened (f16, bf16 as f32; i8 as i32 …)."""
    name: str = ""
    """The array or scalar parameter that the slot is about."""
    axis: int = 0

    @property
    def field(self) -> str:
        """A name for the slot that is unique in its block and an identifier in every target."""
        if self.kind == "scalar":
            return f"s_{self.name}"
        return f"{self.kind}_{self.name}_{self.axis}" if self.name else f"{self.kind}_{self.axis}"

    @property
    def nbytes(self) -> int:
        return struct.calcsize("=" + _SLOT_CODES[self.dtype])


@dataclass(frozen=True)
class ParameterLayout:
    """The parameter block: 8-byte slots first, then 4-byte slots, padded to a multiple of `multiple` bytes."""

    slots: tuple[Slot, ...]
    multiple: int = 16

    @staticmethod
    def of(slots: Iterable[Slot]) -> ParameterLayout:
        """The layout of these slots, sorted so that each is aligned; the order is otherwise kept."""
        return ParameterLayout(tuple(sorted(slots, key=lambda slot: -slot.nbytes)))

    def as_c(self) -> ParameterLayout:
        """The same slots, padded only as C pads a struct of them."""
        return replace(self, multiple=max((slot.nbytes for slot in self.slots), default=1))

    @cached_property
    def format(self) -> str:
        """For `struct.pack`: one code a slot in order, then the padding."""
        codes = "<" + "".join(_SLOT_CODES[slot.dtype] for slot in self.slots)
        return codes + f"{-struct.calcsize(codes) % self.multiple}x"

    @cached_property
    def nbytes(self) -> int:
        return struct.calcsize(self.format)

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Byte offset of each slot."""
        out, at = [], 0
        for slot in self.slots:
            out.append(at)
            at += slot.nbytes
        return tuple(out)


@dataclass(frozen=True, slots=True)
class BindingSpec:
    """One buffer that a launch binds; several array parameters share it when their storage overlaps."""

    name: str
    dtype: str
    """Element dtype as the target sees it (emulated storage: u32)."""
    arrays: tuple[str, ...]
    """Parameters behind it, in parameter order; empty for the fault record of validate mode."""
    reads: bool
    writes: bool


@dataclass(frozen=True, slots=True)
class Site:
    """A place that validate mode can report."""

    file: str
    line: int
    array: str | None
    """None: an assert."""
    message: str = ""


@dataclass(frozen=True, slots=True)
class ScalarParam:
    """A scalar parameter as the user declared it."""

    name: str
    dtype: str


@dataclass(frozen=True, slots=True)
class ArrayParam:
    """An array or tensor parameter as the user declared it."""

    name: str
    dtype: str
    """Scalar dtype of its elements."""
    lanes: int = 1
    rank: int | None = None
    """None: an `Array`, one-dimensional and contiguous; else a `Tensor` of this rank."""


@dataclass(frozen=True, slots=True)
class VariantFacts:
    """What a launch's arguments let the compiler assume beyond their types."""

    groups: tuple[tuple[str, ...], ...] = ()
    """Array parameters whose storage is one allocation, two or more names each."""
    equal_lengths: tuple[tuple[str, ...], ...] = ()
    """Array parameters of equal length, two or more names each."""
    index64: bool = False
    """Positions or lengths do not fit 32 bits."""
    spread: bool = False
    """A one-dimensional count is folded over the axes."""
    askew: bool = False
    """Some array begins where the code for other launches could not have it; see `KernelSource.aligned`."""


@dataclass(frozen=True)
class KernelSource:
    """A kernel ready for a driver: text in the target's language, or an opaque program, with its facts."""

    name: str
    """The user's name for the kernel."""
    entry: str
    """The entry point's name in the text."""
    dialect: str
    text: str
    layout: ParameterLayout
    bindings: tuple[BindingSpec, ...]
    params: tuple[ScalarParam | ArrayParam, ...]
    """Run-time parameters in the user's order."""
    dim: tuple[int, int, int]
    mode: Mode
    shared_memory: int = 0
    """Bytes of workgroup memory."""
    spread: bool = False
    """A one-dimensional count is folded over the axes; the kernel finds its linear position itself."""
    per_unit: int = 1
    """Positions along x that each unit does, a power of two: the launcher divides a count's x by it, rounding up."""
    aligned: tuple[str, ...] = ()
    """Arrays that must begin on a multiple of `per_unit` elements; `VariantFacts.askew` asks for code without."""
    sites: tuple[Site, ...] = ()
    options: tuple[str, ...] = ()
    """Options for the target's compiler, part of the cache key."""
    file: str = "<unknown>"
    line: int = 0
    digest: str = ""
    """Full-length digest of all that the compiled code depends on; the key of every cache."""
    program: Any = field(default=None, compare=False, repr=False)
    """For a driver that takes IR instead of text."""

    @property
    def location(self) -> str:
        """`name (file:line)`, as errors name a kernel."""
        return f"{self.name} ({self.file}:{self.line})"


__all__ = [
    "ArrayParam",
    "BindingSpec",
    "KernelSource",
    "Mode",
    "ParameterLayout",
    "RudaCount",
    "RudaDim",
    "ScalarParam",
    "Site",
    "Slot",
    "VariantFacts",
]
