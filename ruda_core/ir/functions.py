"""The functions that a `Math` node may name: arity and the dtypes they take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Domain = Literal["float", "number", "integer", "unsigned", "any"]


@dataclass(frozen=True, slots=True)
class MathFunction:
    """One function; its result has the operands' type, save for `isnan` and its kin (bool)."""

    arity: int
    domain: Domain
    """float; number: integer or float; integer; unsigned; any: also bool."""
    exact: bool = False
    """Its result is defined to the bit, so that it is folded and compared exactly."""
    gives_bool: bool = False


_FLOAT_1 = (
    "rsqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh "
    "arcsinh arccosh arctanh erf"
).split()

MATH: dict[str, MathFunction] = {
    **{name: MathFunction(1, "float") for name in _FLOAT_1},
    "sqrt": MathFunction(1, "float", exact=True),
    "arctan2": MathFunction(2, "float"),
    "hypot": MathFunction(2, "float"),
    "pow": MathFunction(2, "number"),  # integer base: exact with wrap, any integer exponent
    "fma": MathFunction(3, "float", exact=True),
    "floor": MathFunction(1, "float", exact=True),
    "ceil": MathFunction(1, "float", exact=True),
    "trunc": MathFunction(1, "float", exact=True),
    "round": MathFunction(1, "float", exact=True),  # half to even
    "copysign": MathFunction(2, "float", exact=True),
    "sign": MathFunction(1, "number", exact=True),
    "abs": MathFunction(1, "number", exact=True),
    "min": MathFunction(2, "any", exact=True),  # NaN if either is NaN
    "max": MathFunction(2, "any", exact=True),
    "fmin": MathFunction(2, "any", exact=True),  # prefer the number
    "fmax": MathFunction(2, "any", exact=True),
    "isnan": MathFunction(1, "float", exact=True, gives_bool=True),
    "isinf": MathFunction(1, "float", exact=True, gives_bool=True),
    "isfinite": MathFunction(1, "float", exact=True, gives_bool=True),
    "popcount": MathFunction(1, "integer", exact=True),
    "clz": MathFunction(1, "integer", exact=True),
    "ctz": MathFunction(1, "integer", exact=True),
    "reverse_bits": MathFunction(1, "unsigned", exact=True),
    "mulhi": MathFunction(2, "unsigned", exact=True),
}
