"""The one table of types: scalar dtypes and vectors of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal

import numpy as np

from ruda_core.errors import KernelTypeError
from ruda_core.source_text import running

Kind = Literal["bool", "int", "uint", "float"]


@dataclass(frozen=True)
class DType:
    """A scalar type of the kernel language. There is one instance of each: compare with `is` or `==`."""

    name: str
    kind: Kind
    bits: int
    """Width of the value; bool is stored in one byte."""

    def __repr__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, DType) and other.name == self.name)

    def __call__(self, value: Any) -> Any:
        """On the host: `value` as a NumPy scalar of this dtype. In a kernel: the cast."""
        return self.numpy.type(value)

    def __reduce__(self) -> tuple[Any, ...]:
        return _named, (self.name,)

    @property
    def itemsize(self) -> int:
        """Bytes that one element takes in storage."""
        return max(self.bits, 8) // 8

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_integer(self) -> bool:
        """Signed or unsigned integer; bool is neither."""
        return self.kind in ("int", "uint")

    @property
    def is_signed(self) -> bool:
        return self.kind in ("int", "float")

    @property
    def min(self) -> int:
        """Smallest value of an integer dtype (bool: 0)."""
        return -(1 << self.bits - 1) if self.kind == "int" else 0

    @property
    def max(self) -> int:
        """Largest value of an integer dtype (bool: 1)."""
        return (1 << self.bits - 1) - 1 if self.kind == "int" else (1 << self.bits) - 1

    @cached_property
    def numpy(self) -> np.dtype[Any]:
        """NumPy's dtype; asking bf16 for it imports ml_dtypes."""
        if self.name == "bf16":
            import ml_dtypes  # costs more than numpy itself: only for who uses bf16

            brain_float: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
            return brain_float
        return np.dtype(_NUMPY[self.name])

    @property
    def lanes(self) -> int:
        """Components: 1 (see `VecType.lanes`)."""
        return 1

    @property
    def scalar(self) -> DType:
        """The component type: itself."""
        return self


@dataclass(frozen=True)
class VecType:
    """`Vec[scalar, lanes]`: 2, 3, 4, 8 or 16 components, stored one after the other."""

    scalar: DType
    lanes: int

    def __repr__(self) -> str:
        return f"Vec[{self.scalar.name}, {self.lanes}]"

    @property
    def name(self) -> str:
        return f"{self.scalar.name}x{self.lanes}"

    @property
    def itemsize(self) -> int:
        """Bytes in storage; a vector of three takes three elements, not four."""
        return self.scalar.itemsize * self.lanes

    @property
    def kind(self) -> Kind:
        return self.scalar.kind

    @property
    def bits(self) -> int:
        return self.scalar.bits

    @property
    def is_float(self) -> bool:
        return self.scalar.is_float

    @property
    def is_integer(self) -> bool:
        return self.scalar.is_integer

    @property
    def is_signed(self) -> bool:
        return self.scalar.is_signed

    @property
    def numpy(self) -> np.dtype[Any]:
        """NumPy's dtype of one component."""
        return self.scalar.numpy


ValueType = DType | VecType
"""What an expression of the IR may have as its type."""

VECTOR_LANES = (2, 3, 4, 8, 16)


class Vec:
    """`Vec[f32, 4]` names a vector type; in a kernel it constructs one, `Vec[f32, 4](a, b, c, d)`."""

    def __class_getitem__(cls, item: Any) -> VecType:
        if not (isinstance(item, tuple) and len(item) == 2):
            raise KernelTypeError("Vec takes a dtype and a length: write Vec[f32, 4]", **running())
        scalar, lanes = item
        meant = spelled(scalar)
        if meant is not None and not isinstance(scalar, DType) and scalar is not bool:
            what = shown(scalar)
            raise KernelTypeError(
                f"Vec[{what}, {lanes}]: {what} is no dtype of kernels: write Vec[{meant}, {lanes}]",
                **running(),
            )
        try:
            return vec(bool_ if scalar is bool else scalar, lanes)
        except TypeError as error:
            raise KernelTypeError(str(error), **running()) from None


@cache
def vec(scalar: DType, lanes: int) -> VecType:
    """The vector type of `lanes` components; raises TypeError for what the language lacks."""
    if not isinstance(scalar, DType):
        raise TypeError(f"Vec's first argument is a dtype such as f32, not {scalar!r}")
    if lanes not in VECTOR_LANES:
        raise TypeError(f"Vec[{scalar.name}, {lanes}]: the length is one of {VECTOR_LANES}")
    return VecType(scalar, lanes)


bool_ = DType("bool", "bool", 1)
i8 = DType("i8", "int", 8)
i16 = DType("i16", "int", 16)
i32 = DType("i32", "int", 32)
i64 = DType("i64", "int", 64)
u8 = DType("u8", "uint", 8)
u16 = DType("u16", "uint", 16)
u32 = DType("u32", "uint", 32)
u64 = DType("u64", "uint", 64)
f16 = DType("f16", "float", 16)
bf16 = DType("bf16", "float", 16)
f32 = DType("f32", "float", 32)
f64 = DType("f64", "float", 64)

ALL: tuple[DType, ...] = (bool_, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64)
BY_NAME: dict[str, DType] = {d.name: d for d in ALL}
INTEGERS: tuple[DType, ...] = tuple(d for d in ALL if d.is_integer)
FLOATS: tuple[DType, ...] = tuple(d for d in ALL if d.is_float)

_NUMPY: dict[str, type] = {
    "bool": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "u8": np.uint8,
    "u16": np.uint16,
    "u32": np.uint32,
    "u64": np.uint64,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
}
_PYTHON: dict[type, str] = {int: "i32", float: "f32", bool: "bool"}
_BY_NUMPY: dict[str, DType] = {np.dtype(t).str: BY_NAME[name] for name, t in _NUMPY.items()}


def unsigned(dtype: DType) -> DType:
    """The unsigned integer as wide as `dtype`."""
    return BY_NAME[f"u{dtype.itemsize * 8}"]


def shown(value: object) -> str:
    """A type or dtype as a program spells it: `int`, `np.float32`."""
    if not isinstance(value, type):
        return repr(value)
    return f"np.{value.__name__}" if value.__module__ == "numpy" else value.__name__


def spelled(value: object) -> str | None:
    """The name to write for what means a dtype elsewhere (`int`, `np.float32`, `"f32"`); None for what means none."""
    if isinstance(value, type):
        if value in _PYTHON or not issubclass(value, np.generic):
            return _PYTHON.get(value)
    elif not isinstance(value, (DType, str, np.dtype)):
        return None
    try:
        return as_dtype(value).name
    except TypeError:
        return None


def _named(name: str) -> DType:
    """The module's own instance of a dtype that was pickled."""
    return BY_NAME[name]


def as_dtype(value: object) -> DType:
    """ruda's dtype of a ruda or NumPy dtype, or of anything that `numpy.dtype` takes.

    Raises TypeError, naming the dtypes there are, for one that the language lacks.
    """
    if isinstance(value, DType):
        return value
    if value is bool:
        return bool_
    if isinstance(value, str) and value in BY_NAME:
        return BY_NAME[value]
    try:
        numpy_dtype = np.dtype(value)  # type: ignore[call-overload]  # any object: refused below
    except TypeError:
        numpy_dtype = None
    if numpy_dtype is not None:
        found = _BY_NUMPY.get(numpy_dtype.newbyteorder("=").str)
        if found is not None:
            return found
        if numpy_dtype.name == "bfloat16":
            return bf16
    raise TypeError(f"no ruda dtype for {value!r}; there are {', '.join(BY_NAME)}")
