"""OpenCL C 1.2: tables, and what differs from the C base. Bool vectors are chars, 0 or -1 each."""

from __future__ import annotations

import re
from types import MappingProxyType

from ruda_core.artifact import ParameterLayout
from ruda_core.capabilities import ATOMIC_OPS, Target
from ruda_core.codegen import CLikeDialect, CRenderer, native_math
from ruda_core.codegen.scopes import used_dtypes
from ruda_core.codegen.writer import bare
from ruda_core.dtypes import DType, ValueType, VecType, bf16, f16, i32, u32, unsigned, vec
from ruda_core.ir import nodes as ir
from ruda_opencl.gathering import ABSENT, APART, gathers, jumps, some_leave

_WHOLE = re.compile(r"\d+u?")
_SHORTEST_WALK, _LONGEST_WALK = 3, 4095
"""Masks of indices: `& 1` and `& 65535` are of bits."""

INTEGERS = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")

_UNARY = """rsqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh erf sqrt
floor ceil trunc"""
_RENAMED = """arcsin=asin arccos=acos arctan=atan arcsinh=asinh arccosh=acosh arctanh=atanh round=rint
abs=fabs"""
_BINARY = "hypot=hypot pow=pow copysign=copysign fmin=fmin fmax=fmax arctan2=atan2"

FUNCTIONS: dict[str, str] = {
    **{f"{name}:float": f"{name}({{0}})" for name in _UNARY.split()},
    **{f"{a}:float": f"{b}({{0}})" for a, b in (row.split("=") for row in _RENAMED.split())},
    **{f"{a}:float": f"{b}({{0}}, {{1}})" for a, b in (row.split("=") for row in _BINARY.split())},
    # Not of 16 bits and fewer: beside a division of those NVIDIA's compiler (580) has been seen to go wrong.
    **{
        f"{a}:{dtype}": f"{a[-3:]}({{0}}, {{1}})"
        for a in ("min", "max", "fmin", "fmax")
        for dtype in ("i32", "u32", "i64", "u64")
    },
    **{f"{name}:{kind}": f"{name}({{0}})" for name in ("popcount", "clz") for kind in ("int", "uint")},
    "fma:float": "fma({0}, {1}, {2})",
    "abs:uint": "{0}",
    # Not fabs: NVIDIA's assembler (seen in CUDA 13) takes `|x| > -1` for true, which it is not of NaN.
    "abs:f32": "as_float(as_uint({0}) & 0x7fffffffu)",
    "mulhi:uint": "mul_hi({0}, {1})",
}

_NOT_WHOLE = {
    key: text
    for key, text in FUNCTIONS.items()
    if key.partition(":")[0] not in ("round", "floor", "ceil", "trunc")
}

SEMANTICS = frozenset({"nan_compare", "round_even", "lazy_select", "return", "nonfinite", "views"})

WIDEN = 16
"""Measured on a GPU (3.2 TB/s of 4-byte accesses, 4.3 of 16-byte ones) and on PoCL, where it halves the time."""

BASELINE = Target(
    storage=frozenset({*INTEGERS, "f16", "bf16", "f32"}),
    arithmetic=frozenset({"bool", *INTEGERS, "f32"}),
    atomics=MappingProxyType({"i32": ATOMIC_OPS, "u32": ATOMIC_OPS}),
    vectors=frozenset({2, 3, 4, 8, 16}),
    semantics=SEMANTICS,
    math=native_math(FUNCTIONS, (*INTEGERS, "f32")),
    fma=True,
    contract_control=True,
    widen=WIDEN,
)
"""A full-profile device with no optional extension."""

_SPACES = {"global": "__global", "shared": "__local", "local": "__private", "constant": "__constant"}
_ATOMICS = {"exchange": "xchg", "compare_exchange": "cmpxchg"}


def target_with(
    *,
    f64: bool,
    atomics64: bool,
    exact_div_sqrt: bool,
    f32_subnormals: bool,
    timestamps: bool,
    pinned: bool,
    whole: bool,
) -> Target:
    """The target of a device with these extensions. `whole`: its rint, floor, ceil and trunc can be trusted
    with every value, those that its compiler knows included."""
    floats = ("f32", "f64") if f64 else ("f32",)
    words = ("i32", "u32", "i64", "u64") if atomics64 else ("i32", "u32")
    return Target(
        storage=BASELINE.storage | set(floats),
        arithmetic=BASELINE.arithmetic | set(floats),
        atomics=MappingProxyType(dict.fromkeys(words, ATOMIC_OPS)),
        vectors=BASELINE.vectors,
        semantics=SEMANTICS if whole else SEMANTICS - {"round_even"},
        math=native_math(FUNCTIONS if whole else _NOT_WHOLE, (*INTEGERS, *floats)),
        fma=True,
        contract_control=True,
        exact_div_sqrt=exact_div_sqrt,
        f32_subnormals=f32_subnormals,
        index64=True,
        timestamps=timestamps,
        pinned=pinned,
        widen=WIDEN,
    )


class OpenCLRenderer(CRenderer):
    """One kernel in OpenCL C."""

    types = {
        "bool": "bool",
        "i8": "char",
        "u8": "uchar",
        "i16": "short",
        "u16": "ushort",
        "i32": "int",
        "u32": "uint",
        "i64": "long",
        "u64": "ulong",
        "f32": "float",
        "f64": "double",
    }
    functions = FUNCTIONS
    builtins = {
        "native_workgroup_pos": ("get_group_id(0)", "get_group_id(1)", "get_group_id(2)"),
        "native_workgroup_count": ("get_num_groups(0)", "get_num_groups(1)", "get_num_groups(2)"),
        "unit_pos": ("get_local_id(0)", "get_local_id(1)", "get_local_id(2)"),
    }
    barriers = {"workgroup": "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"}

    def __init__(self, function: ir.Function, layout: ParameterLayout, entry: str) -> None:
        super().__init__(function, layout, entry)
        self._gathers = gathers(function.body)
        """Whether conditions must say that units may go different ways by them."""
        self._left = False
        """Whether units may leave the loop whose head comes next one by one."""

    # The module -----------------------------------------------------------------------------------

    def module(self) -> None:
        f, line = self.function, self.w.line
        used = used_dtypes(f)
        if "f64" in used:
            line("#pragma OPENCL EXTENSION cl_khr_fp64 : enable")
        if any(self.stored(array).bits == 64 for array in self.atomic):
            line("#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable")
            line("#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable")
        line(f"#pragma OPENCL FP_CONTRACT {'ON' if f.fp_contract else 'OFF'}")
        line()
        arguments = [f"__global {self.memory_type(b.dtype)} *{self.names.of(b)}" for b in f.bindings]
        if self.layout.slots:
            with self.w.braces("struct parameters", "};"):
                for field in self.parameter_fields():
                    line(field)
            line()
            arguments.append("const struct parameters p")
        self.helpers()
        for array in f.in_space("constant"):
            values = ", ".join(self.constant(array.dtype.scalar, value) for value in array.values)
            line(f"__constant {self._array(array)} = {{{values}}};")
        line(f"__kernel __attribute__((reqd_work_group_size({', '.join(map(str, f.dim))})))")
        with self.w.braces(f"void {self.entry}({', '.join(arguments)})"):
            for array in f.in_space("shared"):
                line(f"__local {self._array(array)};")
            for array in f.in_space("local"):
                line(f"{self._array(array)}{' = {0}' if f.mode == 'validate' else ''};")
            self.body(f.body)

    def _array(self, array: ir.Array) -> str:
        """The declaration of an array that is not a parameter; vectors keep their alignment."""
        elements = array.dtype.lanes
        for extent in array.shape:
            elements *= extent
        name, memory = self.names.of(array), self.memory_type(array.dtype)
        aligned = isinstance(array.dtype, VecType) and array.dtype.lanes != 3
        attribute = f" __attribute__((aligned({array.dtype.itemsize})))" if aligned else ""
        return f"{memory} {name}[{elements}]{attribute}"

    # Memory ---------------------------------------------------------------------------------------

    def _pointer(self, array: ir.Array, pointed: str) -> str:
        return f"(({_SPACES[array.space]} {pointed} *){self.memory(array)})"

    def load_f16(self, array: ir.Array, index: str) -> str:
        return f"vload_half({index}, {self._pointer(array, 'half')})"

    def store_f16(self, array: ir.Array, index: str, value: str) -> str:
        return f"vstore_half_rte({value}, {index}, {self._pointer(array, 'half')});"

    def load_vector(self, array: ir.Array, element: VecType, index: str, value_type: ValueType) -> str:
        lanes = element.lanes
        if element.scalar is f16:
            return f"vload_half{lanes}({index}, {self._pointer(array, 'half')})"
        memory = f"{self.memory_type(element)}{lanes}"
        if lanes == 3:
            value = f"vload3({index}, {self.memory(array)})"
        else:
            value = f"{self._pointer(array, memory)}[{bare(index)}]"
        if element.scalar is bf16:
            return f"as_float{lanes}(convert_uint{lanes}({value}) << 16)"
        return self.convert(value_type, element, value)

    def store_vector(
        self, array: ir.Array, element: VecType, index: str, value: str, value_type: ValueType
    ) -> str:
        lanes = element.lanes
        if element.scalar is f16:
            return f"vstore_half{lanes}_rte({value}, {index}, {self._pointer(array, 'half')});"
        memory = f"{self.memory_type(element)}{lanes}"
        if element.scalar is bf16:
            whole = self.temporary(value_type, value)
            parts = (f"ruda_bf16({whole}.s{part:x})" for part in range(lanes))
            value = f"({memory})({', '.join(parts)})"
        else:
            value = self.convert(element, value_type, value)
        if lanes == 3:
            return f"vstore3({value}, {index}, {self.memory(array)});"
        return f"{self._pointer(array, memory)}[{bare(index)}] = {value};"

    def atomic_call(self, op: str, array: ir.Array, index: str, args: list[str]) -> str:
        element = self.stored(array)
        place = f"{self.memory(array)}[{bare(index)}]"
        if op in ("load", "store"):
            whole = f"*(volatile {_SPACES[array.space]} {self.type_name(element)} *)&{place}"
            return whole if op == "load" else f"{whole} = {args[0]}"
        prefix = "atom_" if element.bits == 64 else "atomic_"
        return f"{prefix}{_ATOMICS.get(op, op)}({', '.join([f'&{place}', *args])})"

    def native(self, value_type: ValueType, text: str) -> str:
        cast = f"(({self.type_name(value_type)}){text})"
        if value_type is i32:
            self.words[cast] = f"(uint){text}"
        return cast

    # Control flow ---------------------------------------------------------------------------------

    def condition(self, text: str) -> str:
        return f"({text} & {APART})" if self._gathers else text

    def taken(self, s: ir.If) -> str:
        if not self._gathers or not jumps(s.then):
            return super().taken(s)
        # A loop that could go on for units that are not there is another loop to PoCL.
        return f"({self.expr(s.cond)} | {ABSENT})"

    def stmt_For(self, s: ir.For) -> None:
        self._left = some_leave(s)
        super().stmt_For(s)

    def for_head(self, name: str, dtype: DType, start: str, cond: str, step: int) -> str:
        if self._left:
            cond = bare(self.condition(f"({cond})"))
        return super().for_head(name, dtype, start, cond, step)

    # Values ---------------------------------------------------------------------------------------

    def vector_type(self, scalar: DType, lanes: int) -> str:
        return f"{'char' if scalar.kind == 'bool' else self.types[scalar.name]}{lanes}"

    def bitcast(self, to: ValueType, of: ValueType, text: str) -> str:
        return f"as_{self.type_name(to)}({text})"

    def convert(self, to: ValueType, of: ValueType, text: str) -> str:
        if to == of:
            return text
        if not isinstance(to, VecType):
            return super().convert(to, of, text)
        if to.kind == "bool":
            return f"convert_{self.type_name(to)}({text} != {self.zero(of)})"
        mask = " & (char)1" if of.kind == "bool" else ""
        return f"convert_{self.type_name(to)}({text}{mask})"

    def comparison(self, op: str, operand: ValueType, a: str, b: str) -> str:
        text = super().comparison(op, operand, a, b)
        return f"convert_char{operand.lanes}{text}" if isinstance(operand, VecType) else text

    def logic(self, op: str, value_type: ValueType, a: str, b: str) -> str:
        if isinstance(value_type, VecType) and op == "^":
            return f"({a} ^ {b})"
        return super().logic(op, value_type, a, b)

    def inverse(self, value_type: ValueType, a: str) -> str:
        return f"(~{a})" if isinstance(value_type, VecType) else f"(!{a})"

    def select(self, cond: str, a: str, b: str, value_type: ValueType, lanes: int) -> str:
        if lanes == 1:
            text = f"({cond} ? {a} : {b})"
            narrow = not isinstance(value_type, VecType) and value_type.is_integer and value_type.bits < 32
            if narrow:  # C promotes both sides to int
                return f"(({self.type_name(value_type)}){text})"
            return text
        width = {8: "char", 16: "short", 32: "int", 64: "long"}[max(value_type.bits, 8)]
        return f"select({b}, {a}, convert_{width}{lanes}({cond}))"

    def vector(self, value_type: VecType, parts: list[str]) -> str:
        if value_type.kind == "bool":
            parts = [f"(char)(-{part})" for part in parts]
        return f"(({self.type_name(value_type)})({', '.join(parts)}))"

    def component(self, vector: VecType, text: str, index: int) -> str:
        part = f"{text}.s{index:x}"
        return f"({part} != 0)" if vector.kind == "bool" else part

    def operation(self, op: str, value_type: ValueType, a: str, b: str) -> str:
        if not isinstance(value_type, VecType):
            return super().operation(*self._wrapped(op, value_type, a, b))
        if op in ("shl", "shr"):
            b = self.convert(value_type, vec(u32, value_type.lanes), b)
        if value_type.is_float or op not in ("+", "-", "*", "shl"):
            return f"({a} {({'quo': '/', 'rem': '%', 'shr': '>>'}).get(op, op)} {b})"
        word = vec(unsigned(value_type.scalar), value_type.lanes)
        a, b = (text if value_type == word else self.bitcast(word, value_type, text) for text in (a, b))
        result = f"({a} {'<<' if op == 'shl' else op} {b})"
        return result if value_type == word else self.bitcast(value_type, word, result)

    def _wrapped(self, op: str, value_type: ValueType, a: str, b: str) -> tuple[str, ValueType, str, str]:
        """A remainder by a power of two, with a mask that only the host knows.

        LLVM (seen in PoCL 3.1, with LLVM 15) takes `(position * 5) & 31` for a walk in steps of five that never
        turns back, and reads past the array's end.
        """
        mask = int(b.rstrip("u")) if _WHOLE.fullmatch(b) and value_type in (i32, u32) else 0
        if op == "rem" and value_type is u32:
            op, mask, b = ("&", mask - 1, f"{mask - 1}u") if mask and not mask & (mask - 1) else (op, 0, b)
        if op != "&" or mask & (mask + 1) or not _SHORTEST_WALK <= mask <= _LONGEST_WALK:
            return op, value_type, a, b
        return op, value_type, a, f"({b} | {self.convert(value_type, u32, self.slot('zero'))})"

    def negation(self, value_type: ValueType, a: str) -> str:
        if isinstance(value_type, VecType) and not value_type.is_float:
            return self.operation("-", value_type, self.zero(value_type), a)
        return super().negation(value_type, a)

    def complement(self, value_type: ValueType, a: str) -> str:
        return f"(~{a})" if isinstance(value_type, VecType) else super().complement(value_type, a)


class OpenCLDialect(CLikeDialect):
    """OpenCL C for `clBuildProgram`."""

    name = "opencl"
    baseline = BASELINE
    renderer = OpenCLRenderer

    def options(self, function: ir.Function) -> tuple[str, ...]:
        return ("-cl-std=CL1.2", *(("-cl-unsafe-math-optimizations",) if function.fp_fast else ()))
