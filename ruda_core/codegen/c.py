"""What the dialects of C have in common (OpenCL C, CUDA C++): scalars, wrapping arithmetic, narrow storage.

C promotes narrow operands and leaves signed overflow undefined, so integer `+ - *` are computed on
unsigned operands. Vectors are each dialect's own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from ruda_core.artifact import ParameterLayout
from ruda_core.codegen.clike import CLikeRenderer
from ruda_core.codegen.spelling import OPERATORS
from ruda_core.codegen.writer import bare
from ruda_core.dtypes import DType, ValueType, VecType, bf16, f16, f32, f64, i16, u32, u64
from ruda_core.ir import nodes as ir

_LITERAL = re.compile(r"\d+u?L*")
_WRAPPING = frozenset({"+", "-", "*", "shl"})
_NEGATING = frozenset({"+", "-", "*"})

_BF16 = """\
{qualifier}ushort ruda_bf16(float x) {{
  const uint bits = {bits};
  if ((bits & 0x7fffffffu) > 0x7f800000u) {{ return (ushort)((bits >> 16) | 0x40u); }}
  return (ushort)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}}
"""


class CRenderer(CLikeRenderer):
    """A C dialect; subclasses add the module, vectors, atomics, `bitcast` and the conversions of f16."""

    forever = "for (;;)"
    once = ("do", "} while (0);")
    long_suffix: ClassVar[str] = "L"
    """Marks a literal of 64 bits."""
    qualifier: ClassVar[str] = ""
    """Before a helper function, with a space after it."""
    memory_types: ClassVar[Mapping[str, str]] = {"f16": "ushort", "bf16": "ushort", "bool": "uchar"}
    """Scalar dtype -> its type in memory, where it is not the one in registers."""

    def __init__(self, function: ir.Function, layout: ParameterLayout, entry: str) -> None:
        super().__init__(function, layout, entry)
        self.words: dict[str, str] = {}
        """Signed text -> the unsigned expression that it was converted from."""

    # Storage --------------------------------------------------------------------------------------

    def memory_type(self, element: ValueType) -> str:
        """The type of one element of an array, of a vector's component."""
        name = self.memory_types.get(element.scalar.name)
        return name if name is not None else self.type_name(element.scalar)

    def load(self, array: ir.Array, index: str, value_type: ValueType) -> str:
        element = self.stored(array)
        if isinstance(element, VecType):
            return self.load_vector(array, element, index, value_type)
        if element is f16 and value_type is f32:
            return self.load_f16(array, index)
        place = f"{self.memory(array)}[{bare(index)}]"
        if element is bf16 and value_type is f32:
            return self.bitcast(f32, u32, f"((uint){place} << 16)")
        return place if element == value_type else self.convert(value_type, element, place)

    def store(self, array: ir.Array, index: str, value: str, value_type: ValueType) -> str:
        element = self.stored(array)
        if isinstance(element, VecType):
            return self.store_vector(array, element, index, value, value_type)
        if element is f16 and value_type is f32:
            return self.store_f16(array, index, value)
        if element is bf16 and value_type is f32:
            value = f"ruda_bf16({value})"
        elif element != value_type:
            value = self.convert(element, value_type, value)
        return f"{self.memory(array)}[{bare(index)}] = {bare(value)};"

    def load_vector(self, array: ir.Array, element: VecType, index: str, value_type: ValueType) -> str:
        """Hook: a vector element."""
        self.refuse(f"a load of {element!r}")

    def store_vector(
        self, array: ir.Array, element: VecType, index: str, value: str, value_type: ValueType
    ) -> str:
        """Hook: the statement that stores a vector element."""
        self.refuse(f"a store of {element!r}")

    def load_f16(self, array: ir.Array, index: str) -> str:
        """Hook: an f16 element as f32."""
        self.refuse("a load of f16 as f32")

    def store_f16(self, array: ir.Array, index: str, value: str) -> str:
        """Hook: the statement that stores an f32 value as f16, to nearest even."""
        self.refuse("a store of f32 as f16")

    def helpers(self) -> None:
        """Write the helper functions that this function's storage needs."""
        if any(array.dtype.scalar is bf16 for array in self.function.arrays):
            text = _BF16.format(qualifier=self.qualifier, bits=self.bitcast(u32, f32, "x"))
            for line in text.splitlines():
                self.w.line(line)

    def parameter_fields(self) -> list[str]:
        """Declarations of the parameter block's fields, padded to the layout's size."""
        slots = self.layout.slots
        fields = [f"{self.types[s.dtype]} {self.slot(s.kind, s.name, s.axis)[2:]};" for s in slots]
        padding = (self.layout.nbytes - sum(s.nbytes for s in slots)) // 4
        return fields + [f"uint padding[{padding}];"] * bool(padding)

    # Values ---------------------------------------------------------------------------------------

    def declare(self, name: str, value_type: ValueType, value: str | None, *, mutable: bool) -> str:
        head = f"{'' if mutable else 'const '}{self.type_name(value_type)} {name}"
        return head if value is None else f"{head} = {bare(value)}"

    def constant(self, dtype: DType, value: int | float | bool) -> str:
        if dtype.kind == "bool":
            return "true" if value else "false"
        if dtype.is_float:
            return self._float(dtype, float(value))
        if dtype.bits < 32:
            return f"(({self.type_name(dtype)}){int(value)})"
        suffix = ("u" if dtype.kind == "uint" else "") + (self.long_suffix if dtype.bits == 64 else "")
        if int(value) == dtype.min and value:
            return f"({int(value) + 1}{suffix} - 1)"  # C has no negative literals
        return f"({int(value)}{suffix})" if value < 0 else f"{int(value)}{suffix}"

    def _float(self, dtype: DType, value: float) -> str:
        if not math.isfinite(value):
            if dtype is f64:
                return self.bitcast(f64, u64, f"0x{np.float64(value).view(np.uint64):x}u{self.long_suffix}")
            return self.bitcast(f32, u32, f"0x{np.float32(value).view(np.uint32):x}u")
        if dtype is f64:
            text = repr(value)
        elif dtype is f32:
            short = str(np.float32(value))
            text = f"{short if '.' in short else repr(value)}f"
        else:
            return self.convert(dtype, f32, self._float(f32, value))
        return f"({text})" if text.startswith("-") else text

    def hidden_zero(self, *, negative: bool = False) -> str:
        """An f32 zero that only the host knows."""
        return self.bitcast(
            f32, u32, f"({self.slot('zero')} | 0x80000000u)" if negative else self.slot("zero")
        )

    def choice(self, e: ir.Expr) -> str:
        # NVIDIA's assembler (CUDA 13) makes `c ? -1.0f : -0.0f` a converted integer, whose zero is positive.
        match e:
            case ir.Const(type=VecType() as vector, value=value):
                return self.vector(vector, [self.choice(ir.Const(vector.scalar, e.span, value))])
            case ir.Const(type=dtype, value=0) if dtype is f32:
                return self.hidden_zero(negative=math.copysign(1.0, e.value) < 0)
            case ir.MakeVector(type=VecType() as vector, args=args):
                return self.vector(vector, [self.choice(a) for a in args])
        return self.expr(e)

    def convert(self, to: ValueType, of: ValueType, text: str) -> str:
        if to == of:
            return text
        if to.kind == "bool":
            return f"({text} != {self.constant(of.scalar, 0)})"
        return f"(({self.type_name(to)}){text})"

    def select(self, cond: str, a: str, b: str, value_type: ValueType, lanes: int) -> str:
        return f"({cond} ? {a} : {b})"

    def lazy(self, cond: str, a: str, b: str) -> str:
        return f"({cond} ? {a} : {b})"

    def for_head(self, name: str, dtype: DType, start: str, cond: str, step: int) -> str:
        return f"for ({self.types[dtype.name]} {name} = {start}; {cond}; {'++' if step > 0 else '--'}{name})"

    def operation(self, op: str, value_type: ValueType, a: str, b: str) -> str:
        symbol = OPERATORS.get(op, op)
        if value_type.is_float or (
            value_type.bits >= 32 and (op not in _WRAPPING or not value_type.is_signed)
        ):
            return f"({a} {symbol} {b})"
        name = self.type_name(value_type)
        if op not in _WRAPPING:
            return f"(({name})({a} {symbol} {b}))"
        wide = value_type.bits == 64
        word = self.types["u64" if wide else "u32"]
        right = b if op == "shl" else self._unsigned(word, b)
        inner = f"({self._unsigned(word, a)} {symbol} {right})"
        if value_type is i16 and op in _NEGATING:
            # NVIDIA's assembler (CUDA 13) does not wrap a negated -32768 of 16 bits, and its compiler makes
            # negations of sums and products: these stay in 32.
            inner = f"((int)({inner} << 16) >> 16)"
        text = f"(({name}){inner})"
        if value_type.bits >= 32:
            self.words[text] = inner
        return text

    def _unsigned(self, word: str, text: str) -> str:
        """`text`, a signed value, as the unsigned word; what was made from one is not converted twice."""
        if _LITERAL.fullmatch(text):
            return text if "u" in text else text.replace("L", "") + "u" + "L" * text.count("L")
        return self.words.get(text) or f"({word}){text}"

    def negation(self, value_type: ValueType, a: str) -> str:
        if value_type.is_float:
            return f"(-{a})"
        # From a zero that only the host knows: NVIDIA's assembler (driver 580) loses negations within min and max.
        return self.operation("-", value_type, self.slot("zero"), a)

    def complement(self, value_type: ValueType, a: str) -> str:
        return f"(({self.type_name(value_type)})(~{a}))" if value_type.bits < 32 else f"(~{a})"

    def component(self, vector: VecType, text: str, index: int) -> str:
        return f"{text}.{'xyzw'[index]}"

    def masked_store(self, array: ir.Array, index: str, shift: str, mask: int, value: str) -> None:
        """A loop of compare-exchanges: concurrent stores to other bits of the word are kept."""
        kept = f"~({mask}u << {shift})"
        self.w.line(f"uint seen = {self.memory(array)}[{index}];")
        with self.w.braces(self.forever):
            self.w.line(f"const uint wanted = (seen & {kept}) | (({value} & {mask}u) << {shift});")
            found = self.atomic_call("compare_exchange", array, index, ["seen", "wanted"])
            self.w.line(f"const uint found = {found};")
            self.w.line("if (found == seen) { break; }")
            self.w.line("seen = found;")
