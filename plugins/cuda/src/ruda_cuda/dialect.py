"""CUDA C++ for NVRTC, without a single header: tables, and what differs from the C base."""

from __future__ import annotations

import math
from types import MappingProxyType

from ruda_core.capabilities import ATOMIC_OPS, Target
from ruda_core.codegen import CLikeDialect, CRenderer, native_math
from ruda_core.codegen.writer import bare
from ruda_core.dtypes import DType, ValueType, VecType, f32, f64, i32, u32, u64
from ruda_core.ir import nodes as ir

INTEGERS = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")
FLOATS = ("f32", "f64")

_UNARY = """rsqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh erf sqrt
floor ceil trunc"""
_RENAMED = """arcsin=asin arccos=acos arctan=atan arcsinh=asinh arccosh=acosh arctanh=atanh round=rint
abs=fabs"""
_BINARY = "hypot=hypot pow=pow copysign=copysign arctan2=atan2"
_NAMES = {
    **{name: f"{name}{{f}}({{{{0}}}})" for name in _UNARY.split()},
    **{a: f"{b}{{f}}({{{{0}}}})" for a, b in (row.split("=") for row in _RENAMED.split())},
    **{a: f"{b}{{f}}({{{{0}}}}, {{{{1}}}})" for a, b in (row.split("=") for row in _BINARY.split())},
    "fma": "fma{f}({{0}}, {{1}}, {{2}})",
}

FUNCTIONS: dict[str, str] = {
    **{f"{fn}:f32": text.format(f="f") for fn, text in _NAMES.items()},
    **{f"{fn}:f64": text.format(f="") for fn, text in _NAMES.items()},
    # Not fabsf: NVIDIA's assembler (seen in CUDA 13) takes `|x| > -1` for true, which it is not of NaN.
    "abs:f32": "__uint_as_float(__float_as_uint({0}) & 0x7fffffffu)",
    **{
        f"{fn}:{dtype}": f"{fn[-3:]}({{0}}, {{1}})"
        for fn in ("min", "max", "fmin", "fmax")
        for dtype in ("i32", "u32", "i64", "u64")
    },
    **{f"popcount:{d}": f"({t})__popc({{0}})" for d, t in (("i32", "int"), ("u32", "uint"))},
    **{f"popcount:{d}": f"({t})__popcll({{0}})" for d, t in (("i64", "llong"), ("u64", "ullong"))},
    **{f"clz:{d}": f"({t})__clz({{0}})" for d, t in (("i32", "int"), ("u32", "uint"))},
    **{f"clz:{d}": f"({t})__clzll({{0}})" for d, t in (("i64", "llong"), ("u64", "ullong"))},
    "reverse_bits:u32": "__brev({0})",
    "reverse_bits:u64": "__brevll({0})",
    "mulhi:u32": "__umulhi({0}, {1})",
    "mulhi:u64": "__umul64hi({0}, {1})",
}
"""CUDA documents at most 4 ULP for each of its f32 functions."""

_ZEROS = ("0.0f", "(-0.0f)")
_FLOAT_ATOMICS = frozenset({"add", "sub", "exchange", "load", "store"})

BASELINE = Target(
    storage=frozenset({*INTEGERS, "f16", "bf16", *FLOATS}),
    arithmetic=frozenset({"bool", *INTEGERS, *FLOATS}),
    atomics=MappingProxyType(
        {
            **dict.fromkeys(("i32", "u32", "i64", "u64"), ATOMIC_OPS),
            **dict.fromkeys(FLOATS, _FLOAT_ATOMICS),
        }
    ),
    vectors=frozenset({2, 4, 8, 16}),
    semantics=frozenset({"nan_compare", "round_even", "lazy_select", "return", "nonfinite", "views"}),
    math=native_math(FUNCTIONS, (*INTEGERS, *FLOATS)),
    fma=True,
    exact_div_sqrt=True,
    contract_control=True,
    index64=True,
    timestamps=True,
    graphs=True,
    pinned=True,
    widen=16,
)
"""Every device that NVRTC compiles for."""

_TYPEDEFS = (
    ("signed char", "schar"),
    ("unsigned char", "uchar"),
    ("unsigned short", "ushort"),
    ("unsigned int", "uint"),
    ("long long", "llong"),
    ("unsigned long long", "ullong"),
)

_HALF = """\
__device__ __forceinline__ float ruda_from_f16(ushort h) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
  return x;
}
__device__ __forceinline__ ushort ruda_to_f16(float x) {
  ushort h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
  return h;
}
"""

_BITS = {
    ("u32", "f32"): "__float_as_uint({0})",
    ("i32", "f32"): "__float_as_int({0})",
    ("f32", "u32"): "__uint_as_float({0})",
    ("f32", "i32"): "__int_as_float({0})",
    ("u64", "f64"): "((ullong)__double_as_longlong({0}))",
    ("i64", "f64"): "__double_as_longlong({0})",
    ("f64", "u64"): "__longlong_as_double((llong){0})",
    ("f64", "i64"): "__longlong_as_double({0})",
}
"""(to, of) -> how the bits move; integers are cast."""

_ATOMICS = {
    "add": "atomicAdd",
    "min": "atomicMin",
    "max": "atomicMax",
    "and": "atomicAnd",
    "or": "atomicOr",
    "xor": "atomicXor",
    "exchange": "atomicExch",
    "compare_exchange": "atomicCAS",
}
_SIGNED_TOO = frozenset({"min", "max"})
"""What there is for `long long`; the others do the same to `unsigned long long`."""


class CudaRenderer(CRenderer):
    """One kernel in CUDA C++."""

    types = {
        "bool": "bool",
        "i8": "schar",
        "u8": "uchar",
        "i16": "short",
        "u16": "ushort",
        "i32": "int",
        "u32": "uint",
        "i64": "llong",
        "u64": "ullong",
        "f32": "float",
        "f64": "double",
    }
    long_suffix = "LL"
    qualifier = "__device__ __forceinline__ "
    functions = FUNCTIONS
    builtins = {
        "native_workgroup_pos": ("blockIdx.x", "blockIdx.y", "blockIdx.z"),
        "native_workgroup_count": ("gridDim.x", "gridDim.y", "gridDim.z"),
        "unit_pos": ("threadIdx.x", "threadIdx.y", "threadIdx.z"),
    }
    barriers = {"workgroup": "__syncthreads();", "subgroup": "__syncwarp();"}

    # The module -----------------------------------------------------------------------------------

    def module(self) -> None:
        f, line = self.function, self.w.line
        for native, name in _TYPEDEFS:
            line(f"typedef {native} {name};")
        for vector in sorted(self._vectors(), key=lambda v: (v.scalar.name, v.lanes)):
            fields = ", ".join(f"s{k:x}" for k in range(vector.lanes))
            align = min(16, vector.itemsize)
            line(f"struct __align__({align}) {vector.name} {{ {self.types[vector.scalar.name]} {fields}; }};")
        self.helpers()
        arguments = [f"{self.memory_type(b.dtype)} *{self.names.of(b)}" for b in f.bindings]
        if self.layout.slots:
            with self.w.braces("struct parameters", "};"):
                for field in self.parameter_fields():
                    line(field)
            arguments.append("const parameters p")
        for array in f.in_space("constant"):
            values = ", ".join(self.constant(array.dtype.scalar, value) for value in array.values)
            line(f"__constant__ {self._array(array)} = {{{values}}};")
        head = f'extern "C" __global__ void __launch_bounds__({f.units}) {self.entry}'
        with self.w.braces(f"{head}({', '.join(arguments)})"):
            for array in f.in_space("shared"):
                line(f"__shared__ {self._array(array)};")
            for array in f.in_space("local"):
                line(f"{self._array(array)}{' = {}' if f.mode == 'validate' else ''};")
            self.body(f.body)

    def helpers(self) -> None:
        super().helpers()
        if any(array.dtype.scalar.name == "f16" for array in self.function.arrays):
            for line in _HALF.splitlines():
                self.w.line(line)

    def _vectors(self) -> set[VecType]:
        """The vector types that memory holds as such; values of others are taken apart before they come here."""
        held = {array.dtype for array in self.function.arrays if isinstance(array.dtype, VecType)}
        return {vector for vector in held if vector.scalar.name in self.types}

    def _array(self, array: ir.Array) -> str:
        """The declaration of an array that is not a parameter; vectors keep their alignment."""
        elements = array.dtype.lanes * math.prod(array.shape)
        align = f"__align__({min(16, array.dtype.itemsize)}) " if isinstance(array.dtype, VecType) else ""
        return f"{align}{self.memory_type(array.dtype)} {self.names.of(array)}[{elements}]"

    # Memory ---------------------------------------------------------------------------------------

    def load_f16(self, array: ir.Array, index: str) -> str:
        return f"ruda_from_f16({self.memory(array)}[{bare(index)}])"

    def store_f16(self, array: ir.Array, index: str, value: str) -> str:
        return f"{self.memory(array)}[{bare(index)}] = ruda_to_f16({bare(value)});"

    def load_vector(self, array: ir.Array, element: VecType, index: str, value_type: ValueType) -> str:
        if element != value_type:
            self.refuse(f"a load of {element!r} as {value_type!r}")
        return f"(({element.name} *){self.memory(array)})[{bare(index)}]"

    def store_vector(
        self, array: ir.Array, element: VecType, index: str, value: str, value_type: ValueType
    ) -> str:
        if element != value_type:
            self.refuse(f"a store of {value_type!r} as {element!r}")
        return f"(({element.name} *){self.memory(array)})[{bare(index)}] = {bare(value)};"

    def atomic_call(self, op: str, array: ir.Array, index: str, args: list[str]) -> str:
        element = self.stored(array)
        place = f"{self.memory(array)}[{bare(index)}]"
        name = self.type_name(element)
        if op in ("load", "store"):
            whole = f"*(volatile {name} *)&{place}"
            return whole if op == "load" else f"{whole} = {args[0]}"
        if op == "sub":  # adding the negative is the same to the bit
            op, args = "add", [self.negation(element, args[0])]
        foreign = element.name == "i64" and op not in _SIGNED_TOO or element is f64 and op == "exchange"
        if not foreign:
            return f"{_ATOMICS[op]}({', '.join([f'&{place}', *args])})"
        words = [bare(self.bitcast(u64, element, a)) for a in args]
        return self.bitcast(element, u64, f"{_ATOMICS[op]}({', '.join([f'(ullong *)&{place}', *words])})")

    def native(self, value_type: ValueType, text: str) -> str:
        if value_type is u32:
            return text
        cast = f"(({self.type_name(value_type)}){text})"
        if value_type is i32:
            self.words[cast] = text
        return cast

    # Values ---------------------------------------------------------------------------------------

    def vector_type(self, scalar: DType, lanes: int) -> str:
        return f"{scalar.name}x{lanes}"

    def bitcast(self, to: ValueType, of: ValueType, text: str) -> str:
        if to == of:
            return text
        template = _BITS.get((to.name, of.name))
        if template is not None:
            return template.format(bare(text) if template.endswith("({0})") else text)
        if to.is_float or of.is_float or to.bits != of.bits:
            self.refuse(f"a bitcast from {of!r} to {to!r}")
        return f"(({self.type_name(to)}){text})"

    def comparison(self, op: str, operand: ValueType, a: str, b: str) -> str:
        if operand is f32 and op in ("<=", ">="):
            # NVIDIA's assembler (CUDA 13) takes `x * x >= 0` for true, of NaN too.
            a, b = (self.hidden_zero() if text in _ZEROS else text for text in (a, b))
        return super().comparison(op, operand, a, b)

    def vector(self, value_type: VecType, parts: list[str]) -> str:
        if len(parts) == 1:
            parts = [self.temporary(value_type.scalar, parts[0])] * value_type.lanes
        if value_type.bits < 32:  # C computes these as int, and braces do not narrow
            parts = [f"({self.types[value_type.scalar.name]}){part}" for part in parts]
        return f"{value_type.name}{{{', '.join(parts)}}}"

    def component(self, vector: VecType, text: str, index: int) -> str:
        return f"{text}.s{index:x}"


class CudaDialect(CLikeDialect):
    """CUDA C++ for NVRTC."""

    name = "cuda"
    baseline = BASELINE
    renderer = CudaRenderer

    def options(self, function: ir.Function) -> tuple[str, ...]:
        fast = ("--use_fast_math",) if function.fp_fast else ()
        return fast if function.fp_contract else (*fast, "--fmad=false")
