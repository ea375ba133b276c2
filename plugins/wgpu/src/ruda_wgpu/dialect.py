"""WGSL: tables, and what differs from the C-like base.

Narrow types, bool arrays, `!=` on NaN, checked accesses and inexact functions are expanded by core's
passes before anything comes here; the target says so.
"""

from __future__ import annotations

from math import prod
from types import MappingProxyType

import numpy as np

from ruda_core.artifact import ParameterLayout
from ruda_core.capabilities import ATOMIC_OPS, Target
from ruda_core.codegen import CLikeDialect, CLikeRenderer, native_math
from ruda_core.codegen.scopes import used_dtypes
from ruda_core.codegen.writer import bare
from ruda_core.dtypes import BY_NAME, DType, ValueType, VecType, f32, u32, u64, vec
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import walk
from ruda_core.passes.accesses import accesses

FUNCTIONS: dict[str, str] = {
    **{f"{name}:float": f"{name}({{0}})" for name in ("floor", "ceil", "trunc", "round", "abs", "sqrt")},
    **{
        f"{a}:{kind}": f"{a[-3:]}({{0}}, {{1}})"
        for a in ("min", "max", "fmin", "fmax")
        for kind in ("int", "uint")
    },
    "rsqrt:f32": "inverseSqrt({0})",
    "fma:f32": "fma({0}, {1}, {2})",
    "abs:uint": "{0}",  # of signed ones not: NVIDIA's compiler takes it that none is negative, which the least one is
    **{
        f"{fn}:{dtype}": f"{name}({{0}})"
        for fn, name in (
            ("popcount", "countOneBits"),
            ("clz", "countLeadingZeros"),
            ("ctz", "countTrailingZeros"),
        )
        for dtype in ("i32", "u32")
    },
    "reverse_bits:u32": "reverseBits({0})",
}

_UNFUSED = "fma"
"""Listed natively only where the device fuses it."""

SEMANTICS = frozenset({"round_even", "return"})
_SUFFIXES = {"i32": "i", "u32": "u", "i64": "li", "u64": "lu", "f16": "h", "f32": "f", "f64": "lf"}


def target_with(
    *,
    i64: bool = False,
    f64: bool = False,
    f16: bool = False,
    atomics64: bool = False,
    fma: bool = False,
    exact_div_sqrt: bool = False,
    contract_control: bool = False,
    reassociates: bool = True,
    follows_parameters: bool = False,
    f16_subnormals: bool = True,
    f32_subnormals: bool = True,
    timestamps: bool = False,
) -> Target:
    """The target of an adapter with these features; what is false is what no adapter must have."""
    wide = (*(("i64", "u64") if i64 else ()), *(("f64",) if f64 else ()))
    plain = ("i32", "u32", "f32", *wide)
    atomics = ("i32", "u32", *(("i64", "u64") if atomics64 else ()))
    functions = FUNCTIONS if fma else {k: v for k, v in FUNCTIONS.items() if not k.startswith(_UNFUSED)}
    return Target(
        storage=frozenset({*plain, *(("f16",) if f16 else ())}),
        arithmetic=frozenset({"bool", *plain}),
        atomics=MappingProxyType(dict.fromkeys(atomics, ATOMIC_OPS)),
        vectors=frozenset({2, 3, 4}),
        semantics=SEMANTICS,
        math=native_math(functions, plain),
        fma=fma,
        exact_div_sqrt=exact_div_sqrt,
        contract_control=contract_control,
        reassociates=reassociates,
        follows_parameters=follows_parameters,
        f16_subnormals=f16_subnormals,
        f32_subnormals=f32_subnormals,
        timestamps=timestamps,
        widen=16,
    )


class WGSLRenderer(CLikeRenderer):
    """One kernel in WGSL."""

    types = {name: name for name in ("bool", "i32", "u32", "i64", "u64", "f16", "f32", "f64")}
    functions = FUNCTIONS
    builtins = {
        "native_workgroup_pos": ("group.x", "group.y", "group.z"),
        "native_workgroup_count": ("groups.x", "groups.y", "groups.z"),
        "unit_pos": ("unit.x", "unit.y", "unit.z"),
    }
    forever = "loop"
    once = ("switch 0u { default:", "} }")

    def __init__(self, function: ir.Function, layout: ParameterLayout, entry: str) -> None:
        super().__init__(function, layout, entry)
        self._accessed = accesses(function)
        """Memory is of the type that it is accessed by, which need not be a parameter's own."""

    # The module -----------------------------------------------------------------------------------

    def module(self) -> None:
        f, line = self.function, self.w.line
        if "f16" in used_dtypes(f) and any(self.stored(a).scalar.name == "f16" for a in f.arrays):
            line("enable f16;")
        if self.layout.slots:
            with self.w.braces("struct Parameters", "}"):
                for slot in self.layout.slots:
                    line(f"{self.slot(slot.kind, slot.name, slot.axis)[2:]}: {slot.dtype},")
                for number in range((self.layout.nbytes - sum(s.nbytes for s in self.layout.slots)) // 4):
                    line(f"padding{number}: u32,")
        for number, binding in enumerate(f.bindings):
            kept = self._kept_in(next(filter(self._accessed.__contains__, binding.arrays), binding.arrays[0]))
            line(
                f"@group(0) @binding({number}) var<storage, read_write> {self.names.of(binding)}: array<{kept}>;"
            )
        if self.layout.slots:
            line(f"@group(0) @binding({len(f.bindings)}) var<uniform> p: Parameters;")
        for array in f.in_space("shared"):
            line(
                f"var<workgroup> {self.names.of(array)}: array<{self._kept_in(array)}, {self._extent(array)}>;"
            )
        for array in f.in_space("constant"):
            kind = f"array<{self.type_name(array.dtype)}, {self._extent(array)}>"
            values = ", ".join(self.constant(array.dtype.scalar, value) for value in array.values)
            line(f"const {self.names.of(array)} = {kind}({values});")
        line(f"@compute @workgroup_size({', '.join(map(str, f.dim))})")
        places = (
            "@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, "
            "@builtin(local_invocation_id) unit: vec3<u32>"
        )
        with self.w.braces(f"fn {self.entry}({places})"):
            for array in f.in_space("local"):
                line(f"var {self.names.of(array)}: array<{self._kept_in(array)}, {self._extent(array)}>;")
            self.body(f.body)

    def barrier(self, scope: str) -> str:
        """Both barriers wait; each orders one kind of memory, and only what the kernel has is paid for."""
        if scope != "workgroup":
            return super().barrier(scope)
        read, written = set(), set()
        for stmt in walk(self.function.body):
            if isinstance(stmt, (ir.Load, ir.Atomic, ir.MaskedStore)):
                read.add(self.memory(stmt.array))
            if isinstance(stmt, (ir.Store, ir.Atomic, ir.MaskedStore)):
                written.add(self.memory(stmt.array))
        exchanged = {self.names.of(binding) for binding in self.function.bindings} & read & written
        if not exchanged:
            return "workgroupBarrier();"
        return (
            "storageBarrier(); workgroupBarrier();"
            if self.function.in_space("shared")
            else "storageBarrier();"
        )

    def _kept_in(self, array: ir.Array) -> str:
        """The type of what one index selects in the memory behind `array`."""
        element = self._unit(array)
        name = self.type_name(element)
        return f"atomic<{name}>" if self.is_atomic(array) else name

    def _extent(self, array: ir.Array) -> int:
        """What an array that is no parameter counts in the units it is kept in."""
        return prod(array.shape) * array.dtype.lanes // self._unit(array).lanes

    def _unit(self, array: ir.Array) -> ValueType:
        """Vectors of three are kept as scalars: an array pads them to four. So are arrays that share."""
        element = self.stored(array)
        if not isinstance(element, VecType):
            return element
        binding = self.bindings.get(array)
        alone = binding is None or all(
            self.stored(other) == element for other in binding.arrays if other in self._accessed
        )
        return element if alone and element.lanes != 3 and not self.is_atomic(array) else element.scalar

    # Memory ---------------------------------------------------------------------------------------

    def load(self, array: ir.Array, index: str, value_type: ValueType) -> str:
        element, unit = self.stored(array), self._unit(array)
        if isinstance(element, VecType) and unit != element:
            first = self.temporary(u32, f"u32({index}) * {element.lanes}u")
            parts = [self._read(array, f"{first} + {part}u") for part in range(element.lanes)]
            return self.convert(value_type, element, self.vector(element, parts))
        return self.convert(value_type, element, self._read(array, index))

    def store(self, array: ir.Array, index: str, value: str, value_type: ValueType) -> str:
        element, unit = self.stored(array), self._unit(array)
        value = self.convert(element, value_type, value)
        if isinstance(element, VecType) and unit != element:
            first = self.temporary(u32, f"u32({index}) * {element.lanes}u")
            whole = self.temporary(element, value)
            parts = [
                self._write(array, f"{first} + {part}u", self.component(element, whole, part))
                for part in range(element.lanes)
            ]
            return " ".join(parts)
        return self._write(array, index, value)

    def _read(self, array: ir.Array, index: str) -> str:
        place = f"{self.memory(array)}[{bare(index)}]"
        return f"atomicLoad(&{place})" if self.is_atomic(array) else place

    def _write(self, array: ir.Array, index: str, value: str) -> str:
        place = f"{self.memory(array)}[{bare(index)}]"
        return f"atomicStore(&{place}, {value});" if self.is_atomic(array) else f"{place} = {bare(value)};"

    def atomic_call(self, op: str, array: ir.Array, index: str, args: list[str]) -> str:
        place = f"&{self.memory(array)}[{bare(index)}]"
        if op == "compare_exchange":
            return self._compare_exchange(self.stored(array), place, *args)
        return f"atomic{op.capitalize()}({', '.join([place, *args])})"

    def _compare_exchange(self, dtype: ValueType, place: str, expected: str, desired: str) -> str:
        """WGSL's own may fail for no reason; this one fails only when the value differs."""
        place = f"&{place[1:]}"
        old, wanted = self.names.fresh("old"), self.temporary(dtype, expected, "expected")
        self.w.line(f"var {old} = {wanted};")
        with self.w.braces(self.forever):
            self.w.line(f"let tried = atomicCompareExchangeWeak({place}, {wanted}, {desired});")
            self.w.line(f"{old} = tried.old_value;")
            self.w.line(f"if (tried.exchanged || {old} != {wanted}) {{ break; }}")
        return old

    def masked_store(self, array: ir.Array, index: str, shift: str, mask: int, value: str) -> None:
        """A loop of compare-exchanges: concurrent stores to other bits of the word are kept."""
        place = f"&{self.memory(array)}[{bare(index)}]"
        self.w.line(f"var seen = atomicLoad({place});")
        with self.w.braces(self.forever):
            self.w.line(f"let wanted = (seen & ~({mask}u << {shift})) | (({value} & {mask}u) << {shift});")
            self.w.line(f"let tried = atomicCompareExchangeWeak({place}, seen, wanted);")
            self.w.line("if (tried.exchanged) { break; }")
            self.w.line("seen = tried.old_value;")

    # Values ---------------------------------------------------------------------------------------

    def vector_type(self, scalar: DType, lanes: int) -> str:
        return f"vec{lanes}<{self.types[scalar.name]}>" if lanes <= 4 else self.refuse(f"a vector of {lanes}")

    def declare(self, name: str, value_type: ValueType, value: str | None, *, mutable: bool) -> str:
        head = f"{'var' if mutable else 'let'} {name}: {self.type_name(value_type)}"
        return head if value is None else f"{head} = {bare(value)}"

    def constant(self, dtype: DType, value: int | float | bool) -> str:
        if dtype.kind == "bool":
            return "true" if value else "false"
        suffix = _SUFFIXES[dtype.name]
        if dtype.is_float:
            if not np.isfinite(value):
                self.refuse(f"the constant {value}")
            text = f"{str(dtype.numpy.type(value)) if dtype is f32 else repr(float(value))}{suffix}"
        elif value == dtype.min and value:
            return (
                "i32(-2147483648)" if dtype.bits == 32 else f"(~{dtype.max}{suffix})"
            )  # a literal cannot say it
        else:
            text = f"{int(value)}{suffix}"
        return f"({text})" if text.startswith("-") else text

    def convert(self, to: ValueType, of: ValueType, text: str) -> str:
        if to == of:
            return text
        if to.kind == "bool":
            return f"(!({text} == {self.zero(of)}))"
        if of.kind == "bool":
            one = self.constant(to.scalar, 1)
            whole = self.vector(to, [one]) if isinstance(to, VecType) else one
            return f"select({self.zero(to)}, {whole}, {text})"
        return f"{self.type_name(to)}({text})"

    def bitcast(self, to: ValueType, of: ValueType, text: str) -> str:
        return f"bitcast<{self.type_name(to)}>({text})"

    def select(self, cond: str, a: str, b: str, value_type: ValueType, lanes: int) -> str:
        return f"select({b}, {a}, {cond})"

    def vector(self, value_type: VecType, parts: list[str]) -> str:
        return f"{self.type_name(value_type)}({', '.join(parts)})"

    def component(self, vector: VecType, text: str, index: int) -> str:
        return f"{text}.{'xyzw'[index]}"

    def fence(self, value_type: ValueType, text: str, *, firm: bool = False) -> str:
        """Through bits to which a zero is added that only the host knows; twice that zero for a firm one.

        Added, since two fences by exclusive or would undo each other and show what is behind them. Part of the
        zero is the sign of a count of workgroups, which is no parameter: see `follows_parameters`.
        """
        word = u64 if value_type.bits == 64 else u32
        slot = next((s for s in self.layout.slots if s.kind == "zero"), None)
        if slot is None:
            self.refuse("a fence without the hidden zero")
        given = self.convert(u32, BY_NAME[slot.dtype], self.slot("zero", slot.name, slot.axis))
        zero = self.convert(word, u32, f"({given} | (groups.x >> 31u))")
        if firm:
            zero = f"({zero} << 1u)"
        if value_type.kind == "bool":
            return f"((select(0u, 1u, {text}) + {zero}) != 0u)"
        bits: ValueType = word
        if isinstance(value_type, VecType):
            bits = vec(word, value_type.lanes)
            zero = self.vector(bits, [zero])
        return self.bitcast(value_type, bits, f"({self.bitcast(bits, value_type, text)} + {zero})")

    def negation(self, value_type: ValueType, a: str) -> str:
        if value_type.is_float:
            return super().negation(value_type, a)
        # From a hidden zero: NVIDIA's compiler (driver 580) loses negations within min and max.
        return f"({self.fence(value_type, self.zero(value_type))} - {a})"

    def for_head(self, name: str, dtype: DType, start: str, cond: str, step: int) -> str:
        move = f"{name} = {name} {'+' if step > 0 else '-'} {self.constant(dtype, 1)}"
        return f"for (var {name}: {dtype.name} = {start}; {cond}; {move})"


class WGSLDialect(CLikeDialect):
    """WGSL for `createShaderModule`."""

    name = "wgsl"
    baseline = target_with()
    renderer = WGSLRenderer
