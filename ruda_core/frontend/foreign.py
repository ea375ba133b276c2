"""Python's and NumPy's functions that mean an intrinsic, and what intrinsics give for compile-time numbers."""

from __future__ import annotations

import builtins
import math
import sys
from collections.abc import Callable
from functools import cache, wraps
from types import FunctionType
from typing import Any

import numpy as np

from ruda_core.frontend.intrinsics import EXPORTS, Intrinsic

_BUILTINS = "abs min max round pow".split()
_MATH = {
    **{
        name: name
        for name in "sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh".split()
    },
    **{name: name for name in "erf hypot fma copysign isnan isinf isfinite floor ceil trunc pow".split()},
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "atan2": "arctan2",
    "asinh": "arcsinh",
    "acosh": "arccosh",
    "atanh": "arctanh",
    "fabs": "abs",
}
_NUMPY = {
    **{
        name: name
        for name in "sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh".split()
    },
    **{name: name for name in "arcsin arccos arctan arctan2 arcsinh arccosh arctanh hypot copysign".split()},
    **{name: name for name in "isnan isinf isfinite floor ceil trunc sign minimum maximum fmin fmax".split()},
    "absolute": "abs",
    "fabs": "abs",
    "rint": "round",
    "power": "pow",
    "where": "select",
}


@cache
def _table() -> dict[Any, Intrinsic]:
    found: dict[Any, Intrinsic] = {}
    for module, names in ((math, _MATH), (np, _NUMPY), (builtins, {name: name for name in _BUILTINS})):
        for theirs, ours in names.items():
            function = getattr(module, theirs, None)  # math.cbrt, exp2 and fma came with later Pythons
            if function is not None:
                target = {"min": "minimum", "max": "maximum"}.get(ours, ours)
                found[function] = EXPORTS[target]
    return found


def intrinsic_of(function: Any) -> Intrinsic | None:
    """The intrinsic that a host function means in a kernel, or None."""
    if isinstance(function, Intrinsic):
        return function
    try:
        return _table().get(function)
    except TypeError:  # not hashable: no function of ours
        return None


def _numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    def evaluate(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*(np.float64(a) for a in args)).item()

    return evaluate


def _extreme(function: Callable[..., Any], fallback: Callable[..., Any]) -> Callable[..., Any]:
    """For whole numbers Python's own, which keeps their type; for floats NumPy's rule for NaN."""

    def evaluate(*args: Any) -> Any:
        if not any(isinstance(a, float) for a in args):
            return function(*args)
        result = args[0]
        for more in args[1:]:
            result = _numpy(fallback)(result, more)
        return result

    return evaluate


def _nan_first(function: Callable[..., Any]) -> Callable[..., Any]:
    """Python's own min or max, which keep each number's type, save that NaN wins from every place."""

    @wraps(function)
    def evaluate(*args: Any) -> Any:
        among = args[0] if len(args) == 1 else args
        unordered = [a for a in among if isinstance(a, float) and math.isnan(a)]
        return unordered[0] if unordered else function(among)

    return evaluate


def _whole(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: function(x) if isinstance(x, float) else int(x)


def _sign(x: Any) -> Any:
    if isinstance(x, float):
        return _numpy(np.sign)(x)
    return (x > 0) - (x < 0)


def _div_trunc(a: int, b: int) -> int:
    if b == 0:
        return 0
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _is_float(x: Any) -> bool:
    return bool(x.is_float) if hasattr(x, "is_float") else isinstance(x, float)


HOST: dict[str, Callable[..., Any]] = {
    **{ours: _numpy(getattr(np, ours)) for ours in set(_NUMPY.values()) - {"pow"} if hasattr(np, ours)},
    "rsqrt": _numpy(lambda x: 1.0 / np.sqrt(x)),
    "erf": lambda x: math.erf(x),
    "abs": abs,
    "sign": _sign,
    "floor": _whole(_numpy(np.floor)),
    "ceil": _whole(_numpy(np.ceil)),
    "trunc": _whole(_numpy(np.trunc)),
    "round": _whole(_numpy(np.rint)),
    "minimum": _extreme(min, np.minimum),
    "maximum": _extreme(max, np.maximum),
    "fmin": _extreme(min, np.fmin),
    "fmax": _extreme(max, np.fmax),
    "clamp": lambda x, low, high: HOST["minimum"](HOST["maximum"](x, low), high),
    "select": lambda cond, a, b: a if cond else b,
    "div_trunc": _div_trunc,
    "rem_trunc": lambda a, b: a - b * _div_trunc(a, b) if b else 0,
    "is_float": _is_float,
}
"""What an intrinsic gives when all arguments are compile-time.

Not here: what depends on the dtype (`fma`, `popcount`, `clz`, …), and `pow`, which is the operator.
"""

PYTHON: dict[Any, Callable[..., Any]] = {min: _nan_first(min), max: _nan_first(max)}
"""What a function of Python gives when all arguments are compile-time, where that is not its own result."""

COMPILE_TIME_BUILTINS: frozenset[Any] = frozenset(
    {
        sum,
        enumerate,
        zip,
        reversed,
        sorted,
        any,
        all,
        divmod,
        tuple,
        isinstance,
        len,
        range,
        abs,
        min,
        max,
        round,
        pow,
    }
)
"""Built-in functions that may be called with compile-time arguments only."""


_LOOP = "write for i in range(len(x)) and read x[i]"
_AT_RUN_TIME: dict[Any, str] = {
    enumerate: _LOOP,
    zip: _LOOP,
    reversed: "write for i in range(len(x) - 1, -1, -1) and read x[i]",
    sum: "write a loop that adds",
    any: "write a loop, or join the tests by or",
    all: "write a loop, or join the tests by and",
    sorted: "examples/bitonic_sort.py sorts",
    divmod: "write a // b and a % b",
    tuple: "write the items out, with commas",
    isinstance: "dtypes are compared: x.dtype == f32",
}
_ARRAYS = frozenset("array asarray empty full ones zeros empty_like full_like ones_like zeros_like".split())


def at_run_time(function: Any) -> str:
    """What to write instead of a host function that was called with run-time values."""
    name = getattr(function, "__name__", "this")
    known = _AT_RUN_TIME.get(function) if getattr(function, "__hash__", None) else None
    if known is not None:
        return known
    home = (getattr(function, "__module__", None) or "").partition(".")[0]
    if isinstance(function, FunctionType) and home not in _LIBRARIES:
        return f"decorate {name} with @ruda.func to call it with run-time values"
    if home == "numpy" and name in _ARRAYS:
        return "arrays are made by ruda.local(f32, n) or ruda.shared(f32, n), or are parameters"
    return "it runs on the host only; write it with operators, loops and ruda's functions"


_LIBRARIES = sys.stdlib_module_names - {"__main__"} | {"numpy", "ml_dtypes", "scipy"}
"""Modules whose functions no user would decorate."""
