"""Bit counts, bit reversal and the high half of a product, from shifts, masks and multiplication.

Counts of 8- and 16-bit values go through u32; those of 64-bit values through their two halves.
The methods are the well-known ones of H. S. Warren, Hacker's Delight, chapters 5, 7 and 8.
"""

from __future__ import annotations

from collections.abc import Callable

from ruda_core.dtypes import u32, u64, unsigned
from ruda_core.passes.software.expr import Value


def word(x: Value) -> Value:
    """A value of at most 32 bits, zero-extended to u32."""
    return x.to(unsigned(x.dtype)).to(u32)


def halves(x: Value) -> tuple[Value, Value]:
    """Low and high u32 of a 64-bit value."""
    wide = x.to(u64)
    return wide.to(u32), (wide >> 32).to(u32)


def popcount32(x: Value, native: bool = False) -> Value:
    """Bits set in a u32."""
    if native:
        return x.fn("popcount")
    x = x - ((x >> 1) & 0x55555555)
    x = (x & 0x33333333) + ((x >> 2) & 0x33333333)
    x = (x + (x >> 4)) & 0x0F0F0F0F
    return (x * 0x01010101) >> 24


def clz32(x: Value, native: bool = False) -> Value:
    """Zeros above the highest bit set of a u32; 32 for zero."""
    if native:
        return x.fn("clz")
    for k in (1, 2, 4, 8, 16):
        x = x | (x >> k)
    return popcount32(~x)


def ctz32(x: Value, native: bool = False) -> Value:
    """Zeros below the lowest bit set of a u32; 32 for zero."""
    return x.fn("ctz") if native else popcount32(~x & (x - 1))


def reverse32(x: Value, native: bool = False) -> Value:
    """The bits of a u32 in reverse."""
    if native:
        return x.fn("reverse_bits")
    for k, mask in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF)):
        x = ((x >> k) & mask) | ((x & mask) << k)
    return (x >> 16) | (x << 16)


def high_product(x: Value, y: Value) -> Value:
    """The upper half of the product of two unsigned values, by quarters (32 or 64 bits)."""
    half = x.dtype.bits // 2
    mask = (1 << half) - 1
    x0, x1, y0, y1 = x & mask, x >> half, y & mask, y >> half
    middle = x1 * y0 + ((x0 * y0) >> half)
    low = (middle & mask) + x0 * y1
    return x1 * y1 + (middle >> half) + (low >> half)


def _popcount(args: list[Value], native: bool, double: bool) -> Value:
    (x,) = args
    if x.dtype.bits == 64:
        low, high = halves(x)
        return (popcount32(low, native) + popcount32(high, native)).to(x.dtype)
    return popcount32(word(x), native).to(x.dtype)


def _clz(args: list[Value], native: bool, double: bool) -> Value:
    (x,) = args
    if x.dtype.bits == 64:
        low, high = halves(x)
        return high.eq(0).where(clz32(low, native) + 32, clz32(high, native)).to(x.dtype)
    return (clz32(word(x), native) - (32 - x.dtype.bits)).to(x.dtype)


def _ctz(args: list[Value], native: bool, double: bool) -> Value:
    (x,) = args
    if x.dtype.bits == 64:
        low, high = halves(x)
        return low.eq(0).where(ctz32(high, native) + 32, ctz32(low, native)).to(x.dtype)
    wide = word(x)
    if x.dtype.bits < 32:
        wide = wide | (1 << x.dtype.bits)
    return ctz32(wide, native).to(x.dtype)


def _reverse(args: list[Value], native: bool, double: bool) -> Value:
    (x,) = args
    if x.dtype.bits == 64:
        low, high = halves(x)
        return (reverse32(low, native).to(u64) << 32) | reverse32(high, native).to(u64)
    return (reverse32(word(x), native) >> 32 - x.dtype.bits).to(x.dtype)


def _mulhi(args: list[Value], native: bool, double: bool) -> Value:
    x, y = args
    bits = x.dtype.bits
    if bits < 32:
        return ((word(x) * word(y)) >> bits).to(x.dtype)
    if bits == 32 and native:
        return x.fn("mulhi", y)
    if bits == 32 and double:
        return ((x.to(u64) * y.to(u64)) >> 32).to(u32)
    return high_product(x, y)


BITS: dict[str, Callable[[list[Value], bool, bool], Value]] = {
    "popcount": _popcount,
    "clz": _clz,
    "ctz": _ctz,
    "reverse_bits": _reverse,
    "mulhi": _mulhi,
}
"""By name: (arguments, the target has the function for u32, it has u64) -> the result, of the arguments' dtype."""
