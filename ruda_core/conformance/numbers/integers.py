"""Batteries of integers and bool: everything equal to the bit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import ruda_core as ruda
from ruda_core.conformance.numbers import expected, kernels, values
from ruda_core.conformance.numbers.algebra import kernels as algebra
from ruda_core.conformance.numbers.battery import Battery, Operation
from ruda_core.conformance.numbers.values import Operands

SIGNED = ("i8", "i16", "i32", "i64")
UNSIGNED = ("u8", "u16", "u32", "u64")
INTEGERS = (*SIGNED, *UNSIGNED)
MIXED = (
    ("i8", "u8"), ("i16", "u32"), ("i32", "u32"), ("u32", "i32"), ("i64", "u64"), ("u8", "i64"), ("u64", "i32"),
)  # fmt: skip

COMPARISONS = tuple(
    Operation(name, function, expected.compared(python))
    for name, function, python in (
        ("<", kernels.less, "lt"),
        ("<=", kernels.less_equal, "le"),
        (">", kernels.greater, "gt"),
        (">=", kernels.greater_equal, "ge"),
        ("==", kernels.equal, "eq"),
        ("!=", kernels.not_equal, "ne"),
    )
)

_ARITHMETIC = (
    Operation("+", kernels.add, np.add),
    Operation("-", kernels.subtract, np.subtract),
    Operation("*", kernels.multiply, np.multiply),
    Operation("//", kernels.floor_divide, np.floor_divide),
    Operation("%", kernels.remainder, np.remainder),
    Operation("div_trunc", ruda.div_trunc, expected.div_trunc),
    Operation("rem_trunc", ruda.rem_trunc, expected.rem_trunc),
    Operation("&", kernels.bit_and, np.bitwise_and),
    Operation("|", kernels.bit_or, np.bitwise_or),
    Operation("^", kernels.bit_xor, np.bitwise_xor),
    Operation("min", ruda.minimum, np.minimum),
    Operation("max", ruda.maximum, np.maximum),
)
_SINGLE = (
    Operation("copy", kernels.copied, np.copy),
    Operation("-x", kernels.negate, np.negative),
    Operation("~x", kernels.invert, np.invert),
    Operation("abs", ruda.abs, np.abs),
    Operation("sign", ruda.sign, np.sign),
    Operation("popcount", ruda.popcount, expected.popcount),
    Operation("clz", ruda.clz, expected.clz),
    Operation("ctz", ruda.ctz, expected.ctz),
    Operation("reverse_bits", ruda.reverse_bits, expected.reverse_bits, only=frozenset(UNSIGNED)),
)


def _algebra(names: str, only: frozenset[str] | None = None) -> tuple[Operation, ...]:
    return tuple(
        Operation(
            name.replace("_", " "),
            getattr(algebra, name),
            expected.on_host(getattr(algebra, name)),
            only=only,
        )
        for name in names.split()
    )


_SIGNED = frozenset(SIGNED)
_CONSTANTS = (
    *_algebra(
        "thrice_by_three doubled_and_halved square_by_itself by_three modulo_three by_eight modulo_eight "
        "hundred_by hundred_modulo"
    ),
    *_algebra("by_minus_three modulo_minus_three by_minus_one", _SIGNED),
)
_ORDERED = (
    *_algebra("below_successor"),
    *_algebra("magnitude_is_negative", _SIGNED),
)


def _with(make: Callable[[str, str], Operands], second: str | None) -> Callable[[str], Operands]:
    """Operands of which the second has a dtype of its own; None: the first one's."""
    return lambda dtype: make(dtype, second or dtype)


def _shifts() -> tuple[Battery, ...]:
    operations = (
        Operation("<<", kernels.shift_left, expected.shift_left),
        Operation(">>", kernels.shift_right, expected.shift_right),
    )
    power = (Operation("**", kernels.power, expected.whole_power),)
    made = []
    for group, done, make in (("shifts", operations, values.shifts), ("powers", power, values.powers)):
        made.append(Battery(group, "binary", INTEGERS, _with(make, None), done))
        made.append(Battery(group, "binary", INTEGERS, _with(make, "i32"), done, suffix=" by i32"))
    return tuple(made)


def _mixed() -> tuple[Battery, ...]:
    return tuple(
        Battery(
            "comparisons", "binary", (first,), _with(values.pairs, second), COMPARISONS, "bool",
            suffix=f" {second}",
        )
        for first, second in MIXED
    )  # fmt: skip


_BOOL = tuple(o for o in _ARITHMETIC if o.name in "&|^")

BATTERIES = (
    Battery("arithmetic", "binary", INTEGERS, values.pairs, _ARITHMETIC),
    Battery(
        "arithmetic", "binary", UNSIGNED, values.pairs, (Operation("mulhi", ruda.mulhi, expected.mulhi),)
    ),
    Battery("arithmetic", "unary", INTEGERS, values.singles, _SINGLE),
    Battery(
        "arithmetic", "ternary", INTEGERS, values.triples, (Operation("clamp", ruda.clamp, expected.clamp),)
    ),
    Battery("arithmetic", "binary", ("bool",), values.pairs, _BOOL),
    Battery("comparisons", "binary", INTEGERS, values.pairs, COMPARISONS, "bool"),
    *_mixed(),
    *_shifts(),
    Battery("algebra", "unary", INTEGERS, values.singles, _CONSTANTS),
    Battery("algebra", "unary", INTEGERS, values.singles, _ORDERED, "bool"),
    Battery(
        "algebra", "binary", INTEGERS, values.pairs, _algebra("quotient_and_rest whole_product_over_second")
    ),
)
