"""Conversions between f32 and the 16-bit floats by integer code: to nearest even, NaN stays NaN.

Values of f16 and bf16 are held as f32 that lie on the narrow type's grid; `to_f16_bits` and its kin give
and take the 16 bits in a u32. No step relies on float rounding, save additions that are exact or whose
rounding is the one asked for, taken as bits at once so that no algebra can undo them.
"""

from __future__ import annotations

from collections.abc import Callable

from ruda_core.dtypes import DType, bf16, f16, f32, f64, u32, u64
from ruda_core.passes.software.expr import Value

SIGN = 0x80000000
MAGNITUDE = 0x7FFFFFFF
INFINITY = 0x7F800000


def is_nan(x: Value) -> Value:
    """NaN by its bits; no comparison of NaN is trusted. Takes f32 or f64."""
    if x.dtype is f64:
        return (x.bits(u64) & (2**63 - 1)) > 0x7FF << 52
    return (x.bits(u32) & MAGNITUDE) > INFINITY


def to_f16_bits(x: Value) -> Value:
    """f32 to the bits of f16, subnormals kept, overflow to infinity."""
    bits = x.bits(u32)
    a = bits & MAGNITUDE
    big = (a > INFINITY).where(0x7E00, a.like(0x7C00))
    # Below 2^-14 the sum with 0.5 has f16's subnormal quantum: its rounding is the one wanted.
    small = (a.bits(f32) + 0.5).bits(u32) - 0x3F000000
    normal = (a + ((a >> 13) & 1) + 0xC8000FFF) >> 13
    magnitude = (a < 0x38800000).where(small, normal)
    return (a >= 0x47800000).where(big, magnitude) | ((bits & SIGN) >> 16)


def from_f16_bits(h: Value) -> Value:
    """The bits of f16 (in a u32, higher bits zero) to f32."""
    m = h & 0x7FFF
    normal = (m << 13) + 0x38000000
    special = (m >= 0x7C00).where(normal + 0x38000000, normal)
    small = (m.to(f32) * 2.0**-24).bits(u32)
    return ((m < 0x0400).where(small, special) | ((h & 0x8000) << 16)).bits(f32)


def to_bf16_bits(x: Value) -> Value:
    """f32 to the bits of bf16."""
    a = x.bits(u32)
    rounded = (a + 0x7FFF + ((a >> 16) & 1)) >> 16
    return is_nan(x).where((a >> 16) | 0x40, rounded)


def from_bf16_bits(h: Value) -> Value:
    """The bits of bf16 (in a u32) to f32."""
    return (h << 16).bits(f32)


def round_f16(x: Value) -> Value:
    """f32 rounded to a value that f16 holds."""
    bits = x.bits(u32)
    a = bits & MAGNITUDE
    steps = (a.bits(f32) + 0.5).bits(u32) - 0x3F000000  # as in `to_f16_bits`
    small = (steps.to(f32) * 2.0**-24).bits(u32)
    normal = (a + ((a >> 13) & 1) + 0xFFF) & 0xFFFFE000
    large = (a > INFINITY).where(a | 0x00400000, a.like(INFINITY))
    kept = (a < 0x38800000).where(small, (normal >= 0x47800000).where(large, normal))
    return (kept | (bits & SIGN)).bits(f32)


def round_bf16(x: Value) -> Value:
    """f32 rounded to a value that bf16 holds."""
    a = x.bits(u32)
    rounded = (a + 0x7FFF + ((a >> 16) & 1)) & 0xFFFF0000
    return is_nan(x).where(a | 0x00400000, rounded).bits(f32)


TO_BITS: dict[DType, Callable[[Value], Value]] = {f16: to_f16_bits, bf16: to_bf16_bits}
FROM_BITS: dict[DType, Callable[[Value], Value]] = {f16: from_f16_bits, bf16: from_bf16_bits}
ROUND: dict[DType, Callable[[Value], Value]] = {f16: round_f16, bf16: round_bf16}


def odd_f32(x: Value) -> Value:
    """f64 to f32 rounded to odd, after which rounding to a 16-bit float is as good as rounding once."""
    near = x.to(f32)
    back = near.to(f64)
    bits = near.bits(u32)
    magnitude = 2**63 - 1
    over = (back.bits(u64) & magnitude) > (x.bits(u64) & magnitude)
    odd = (over.where(bits - 1, bits) | 1).bits(f32)
    exact = back.bits(u64).eq(x.bits(u64)) | is_nan(x)
    return exact.where(near, odd)


def odd_from_unsigned(m: Value) -> Value:
    """A u32 or u64 to f32, exact up to 24 bits and else with what is cut off kept as a sticky bit."""
    result = m.to(f32)
    # Each step leaves 10 bits or more: the eight of bf16, its rounding bit and the sticky bit.
    steps = ((24, 14), (38, 28), (52, 40)) if m.dtype.bits == 64 else ((24, 14),)
    for limit, cut in steps:
        sticky = (m & ((1 << cut) - 1)).ne(0).where(1, m.like(0))
        result = (m >= 1 << limit).where(((m >> cut) | sticky).to(f32) * 2.0**cut, result)
    return result
