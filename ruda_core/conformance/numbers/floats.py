"""Batteries of floats: operators to the bit, algebra that no compiler may do, functions within bounds."""

from __future__ import annotations

import numpy as np

import ruda_core as ruda
from ruda_core.capabilities import Requirement
from ruda_core.conformance.numbers import expected, kernels, values
from ruda_core.conformance.numbers.algebra import kernels as algebra
from ruda_core.conformance.numbers.battery import CONTRACT_CONTROL, FMA, Battery, Operation, Shape
from ruda_core.conformance.numbers.integers import COMPARISONS

FLOATS = ("f32", "f64", "f16", "bf16")
WIDE_BOUND = 4.0
"""Largest error in ULP of a function of f32 or f64."""
NARROW_BOUND = 1.0
"""Of f16 and bf16, whose functions are those of f32, rounded once."""

_ARITHMETIC = (
    Operation("+", kernels.add, np.add),
    Operation("-", kernels.subtract, np.subtract),
    Operation("*", kernels.multiply, np.multiply),
    Operation("/", kernels.divide, np.divide),
    Operation("min", ruda.minimum, np.minimum, zero_signs=False),
    Operation("max", ruda.maximum, np.maximum, zero_signs=False),
    Operation("fmin", ruda.fmin, np.fmin, zero_signs=False),
    Operation("fmax", ruda.fmax, np.fmax, zero_signs=False),
    Operation("copysign", ruda.copysign, expected.copysign),
)
_DIVISION = (
    Operation("//", kernels.floor_divide, expected.float_floor, zero_signs=False),
    Operation("%", kernels.remainder, np.remainder),
)
_SINGLE = (
    Operation("copy", kernels.copied, np.copy),
    Operation("-x", kernels.negate, np.negative),
    Operation("abs", ruda.abs, np.abs),
    Operation("sign", ruda.sign, expected.sign),
    Operation("floor", ruda.floor, np.floor),
    Operation("ceil", ruda.ceil, np.ceil),
    Operation("trunc", ruda.trunc, np.trunc),
    Operation("round", ruda.round, np.rint),
    Operation("sqrt", ruda.sqrt, expected.rounded_root),
)
_TESTS = (
    Operation("isnan", ruda.isnan, np.isnan),
    Operation("isinf", ruda.isinf, np.isinf),
    Operation("isfinite", ruda.isfinite, np.isfinite),
)


def _algebra(names: str) -> tuple[Operation, ...]:
    return tuple(
        Operation(name.replace("_", " "), getattr(algebra, name), expected.on_host(getattr(algebra, name)))
        for name in names.split()
    )


_ONE = _algebra(
    "plus_zero times_zero zero_minus minus_itself over_itself there_and_back third thrice_a_third "
    "inverse_twice root_squared root_of_square polynomial"
)
_ONE_BOOL = _algebra("is_itself differs_from_itself below_successor")
_TWO = _algebra(
    "sum_minus_second difference_of_difference negated_difference product_over_second "
    "quotient_times_second difference_of_squares error_of_sum"
)
_TWO_BOOL = _algebra("not_less difference_is_zero")
_THREE = _algebra(
    "product_plus product_minus two_products product_of_sum left_sum right_sum left_product right_product "
    "sum_of_quotients product_residual"
)
_SUMS = _algebra("sum_in_order kahan_sum alternating_sum")

_FAMILIES = (
    "exp exp2 expm1", "log log2 log10 log1p", "sin cos tan", "arcsin arccos arctan", "sinh cosh tanh",
    "arcsinh arccosh arctanh", "rsqrt cbrt erf",
)  # fmt: skip


def _exactly(dtype: str) -> tuple[Requirement, ...]:
    return (CONTRACT_CONTROL,)


def _functions(dtype: str) -> tuple[Requirement, ...]:
    return (Requirement("dtype", dtype, "functions"),)


def _fused(dtype: str) -> tuple[Requirement, ...]:
    return (FMA, *_functions(dtype)) if dtype == "f64" else (FMA,)


def _strict(
    shape: Shape, group: str, operations: tuple[Operation, ...], result: str | None = None
) -> Battery:
    operands = {"unary": values.singles, "binary": values.pairs, "ternary": values.triples}
    operands["columns"] = values.matrix
    return Battery(group, shape, FLOATS, operands[shape], operations, result, False, _exactly, together=6)


def _bounded(shape: Shape, names: str, dtypes: tuple[str, ...], bound: float) -> Battery:
    operations = tuple(Operation(n, getattr(ruda, n), expected.wide(n), bound) for n in names.split())
    operands = values.function_arguments if shape == "unary" else values.function_pairs
    return Battery("functions", shape, dtypes, operands, operations, needs=_functions, together=4)


def _all_functions(dtypes: tuple[str, ...], bound: float) -> tuple[Battery, ...]:
    single = tuple(_bounded("unary", names, dtypes, bound) for names in _FAMILIES)
    return (*single, _bounded("binary", "pow arctan2 hypot", dtypes, bound))


BATTERIES = (
    _strict("binary", "arithmetic", _ARITHMETIC),
    _strict("binary", "arithmetic", _DIVISION),
    _strict("unary", "arithmetic", _SINGLE),
    Battery("arithmetic", "unary", FLOATS, values.singles, _TESTS, "bool"),
    Battery(
        "arithmetic", "ternary", FLOATS, values.triples,
        (Operation("clamp", ruda.clamp, expected.clamp, zero_signs=False),),
    ),
    Battery(
        "arithmetic", "ternary", ("f32", "f64"), values.triples,
        (Operation("fma", ruda.fma, expected.fma),), needs=_fused,
    ),
    Battery("comparisons", "binary", FLOATS, values.pairs, COMPARISONS, "bool"),
    _strict("unary", "algebra", _ONE),
    _strict("unary", "algebra", _ONE_BOOL, "bool"),
    _strict("binary", "algebra", _TWO),
    _strict("binary", "algebra", _TWO_BOOL, "bool"),
    _strict("ternary", "algebra", _THREE),
    _strict("columns", "algebra", _SUMS),
    Battery(
        "algebra, ordinary kernels", "columns", FLOATS, values.matrix, _SUMS,
    ),
    *_all_functions(("f32", "f64"), WIDE_BOUND),
    *_all_functions(("f16", "bf16"), NARROW_BOUND),
)  # fmt: skip
