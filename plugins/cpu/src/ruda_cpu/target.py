"""What LLVM on a processor does natively, and the C library's functions that kernels may call."""

from __future__ import annotations

import functools
import platform
from typing import Any

import llvmlite.binding as llvm

from ruda_core.capabilities import ATOMIC_OPS, Target

WIDTH = 16
"""Units that one strip of a vectorised region holds."""

_PAUSES: dict[str, tuple[Any, ...]] = {
    "x86_64": ("llvm.x86.sse2.pause",),
    "aarch64": ("llvm.aarch64.hint", ("i32", "1")),
}
PAUSE = _PAUSES.get(platform.machine())
"""What a waiting loop calls between two looks, where the processor has something for that: name and arguments."""

_INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")

_REGISTERS = {"avx512f": (32, 64), "avx": (16, 32), "neon": (32, 16)}
"""Vector registers of a processor with a feature, and bytes of each."""


@functools.cache
def strips_at_once() -> int:
    """Strips of 32-bit values that half of this processor's vector registers hold."""
    features = llvm.get_host_cpu_features()
    count, size = next((r for name, r in _REGISTERS.items() if features.get(name)), (16, 16))
    return max(1, count * size // (8 * WIDTH))


FLOAT_INTRINSICS = {
    "sqrt": "sqrt",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "round": "roundeven",
    "abs": "fabs",
    "copysign": "copysign",
    "fma": "fma",
}
"""Functions that LLVM has exactly, for f32 and f64."""

FLOAT_TESTS = ("isnan", "isinf", "isfinite")
INTEGER_FUNCTIONS = ("min", "max", "fmin", "fmax", "abs", "popcount", "clz", "ctz", "reverse_bits", "mulhi")

LIBRARY = {
    "exp": "exp",
    "exp2": "exp2",
    "expm1": "expm1",
    "log": "log",
    "log2": "log2",
    "log10": "log10",
    "log1p": "log1p",
    "sin": "sin",
    "cos": "cos",
    "tan": "tan",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arctan2": "atan2",
    "sinh": "sinh",
    "cosh": "cosh",
    "tanh": "tanh",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
    "erf": "erf",
    "cbrt": "cbrt",
    "hypot": "hypot",
    "pow": "pow",
}
"""f64 functions of the C library; f32 ones are core's, which vectorise."""


def _math() -> frozenset[str]:
    names = [f"{fn}:{d}" for fn in (*FLOAT_INTRINSICS, *FLOAT_TESTS) for d in ("f32", "f64")]
    names += [f"{fn}:{d}" for fn in INTEGER_FUNCTIONS for d in _INTEGERS]
    names += [f"{fn}:f64" for fn in (*LIBRARY, "rsqrt")]
    return frozenset(names)


BASELINE = Target(
    storage=frozenset({"bool", *_INTEGERS, "f16", "bf16", "f32", "f64"}),
    arithmetic=frozenset({"bool", *_INTEGERS, "f32", "f64"}),
    atomics={
        **dict.fromkeys(("i32", "u32", "i64", "u64"), ATOMIC_OPS),
        **{
            name: frozenset({"add", "sub", "exchange", "compare_exchange", "load", "store"})
            for name in ("f32", "f64")
        },
    },
    semantics=frozenset({"nan_compare", "round_even", "nonfinite", "lazy_select", "checked"}),
    math=_math(),
    fma=True,
    exact_div_sqrt=True,
    contract_control=True,
    index64=True,
)
"""The same on every processor that LLVM knows; what differs is speed."""
