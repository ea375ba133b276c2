"""LLVM text, a function at a time: names, blocks, declarations and metadata."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ruda_core.dtypes import DType

REGISTER = {
    "bool": "i1",
    "i8": "i8",
    "u8": "i8",
    "i16": "i16",
    "u16": "i16",
    "i32": "i32",
    "u32": "i32",
    "i64": "i64",
    "u64": "i64",
    "f16": "i16",  # 16-bit floats are bits until they are converted
    "bf16": "i16",
    "f32": "float",
    "f64": "double",
}
MEMORY = {**REGISTER, "bool": "i8"}

Lines = list[Any]
"""Lines of text, and lists of lines that are filled in later."""


class Value(NamedTuple):
    """An operand: its text, its dtype, and whether it is one value for each unit of a strip."""

    text: str
    dtype: DType
    wide: bool = False
    const: bool = False


def constant(dtype: DType, value: int | float | bool) -> Value:
    """A constant of a scalar dtype."""
    return Value(constant_text(dtype, value), dtype, const=True)


def constant_text(dtype: DType, value: int | float | bool) -> str:
    """The constant as LLVM spells it in a register."""
    if dtype.kind == "bool":
        return "true" if value else "false"
    if dtype.is_integer:
        wrapped = int(value) & (1 << dtype.bits) - 1
        return str(wrapped - (1 << dtype.bits) if wrapped >> dtype.bits - 1 else wrapped)
    if dtype.bits == 16:
        return str(int.from_bytes(dtype.numpy.type(value).tobytes(), "little", signed=True))
    exact = float(np.float32(value)) if dtype.bits == 32 else float(value)
    return f"0x{struct.unpack('<Q', struct.pack('<d', exact))[0]:016X}"


class Writer:
    """Collects the text of one module."""

    def __init__(self) -> None:
        self.entry: Lines = []
        """Instructions of the entry block: before everything, run once a call."""
        self.lines: Lines = []
        self.block = "entry"
        """Name of the block being written, for phis."""
        self.declarations: dict[str, None] = {}
        self.globals: list[str] = []
        self.metadata: list[str] = []
        self._count = 0

    def name(self, hint: str = "t") -> str:
        self._count += 1
        return f"{hint}{self._count}"

    def ins(self, text: str) -> str:
        """An instruction with a result; its name."""
        name = "%" + self.name()
        self.lines.append(f"  {name} = {text}")
        return name

    def add(self, text: str) -> None:
        """An instruction without a result."""
        self.lines.append("  " + text)

    def place(self, label: str) -> None:
        """Begin a block."""
        self.lines.append(f"{label}:")
        self.block = label

    def jump(self, label: str, metadata: str = "") -> None:
        self.add(f"br label %{label}{metadata}")

    def branch(self, condition: str, then: str, otherwise: str, metadata: str = "") -> None:
        self.add(f"br i1 {condition}, label %{then}, label %{otherwise}{metadata}")

    @contextmanager
    def into(self, lines: Lines) -> Iterator[None]:
        """Write straight-line code elsewhere for a while."""
        outer, self.lines = self.lines, lines
        try:
            yield
        finally:
            self.lines = outer

    def variable(self, llvm_type: str) -> str:
        """A variable of the function, in a register once optimised."""
        name = "%" + self.name("v")
        self.entry.append(f"  {name} = alloca {llvm_type}, align 64")
        return name

    def call(self, result: str, function: str, *args: tuple[str, str]) -> str:
        """A call of an intrinsic or library function, declared on first use; the result's name, or ""."""
        self.declarations.setdefault(f"declare {result} @{function}({', '.join(t for t, _ in args)})")
        text = f"call {result} @{function}({', '.join(f'{t} {v}' for t, v in args)})"
        if result == "void":
            self.add(text)
            return ""
        return self.ins(text)

    def meta(self, text: str) -> str:
        """A numbered metadata node; `{self}` in the text becomes its own name."""
        name = f"!{len(self.metadata)}"
        self.metadata.append(text.replace("{self}", name))
        return name

    def text_of(self, lines: Lines) -> str:
        out: list[str] = []
        stack = [iter(lines)]
        while stack:
            for item in stack[-1]:
                if isinstance(item, str):
                    out.append(item)
                else:
                    stack.append(iter(item))
                    break
            else:
                stack.pop()
        return "\n".join(out)
