"""The names of the kernel language: one table, re-exported by `ruda_core`.

Each means something inside a kernel only; on the host, calling one raises RudaError. How a call is
lowered stands in `calls.py` and its neighbours, by the intrinsic's name.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NoReturn

from ruda_core.errors import RudaError, UnsupportedFeature
from ruda_core.frontend.arguments import INDEX
from ruda_core.ir.functions import MATH

if TYPE_CHECKING:
    from inspect import Signature


class Intrinsic:
    """A function of the kernel language."""

    def __init__(self, name: str, params: str, doc: str) -> None:
        self.name = name
        self.required = tuple(p for p in params.split() if not p.startswith(("*", "?")))
        """Names of the parameters, in order."""
        self.variadic = "*" in params
        self.params = tuple(p.lstrip("?") for p in params.split() if not p.startswith("*"))
        self.__name__ = self.__qualname__ = name
        self.__module__ = "ruda_core"
        self.__doc__ = doc
        if type(self) is Intrinsic:  # what is called has a signature, and its docstring begins with it
            shape = ", ".join(p.removeprefix("?") for p in params.split())
            self.__text_signature__ = f"({shape})"
            self.__doc__ = f"{name}({shape})\n\n{doc}"

    @property
    def __signature__(self) -> Signature:
        """What `inspect.signature` and `help` show."""
        from inspect import Parameter, Signature  # only when someone asks

        kinds = {False: Parameter.POSITIONAL_OR_KEYWORD, True: Parameter.VAR_POSITIONAL}
        words = getattr(self, "__text_signature__", "(*args)")[1:-1].split(", ")
        return Signature([Parameter(w.lstrip("*"), kinds[w.startswith("*")]) for w in words if w])

    def __repr__(self) -> str:
        return f"ruda.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _named, (self.name,)

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RudaError(
            f"ruda.{self.name}(...) belongs in a kernel: it stands for code on the device. "
            f"On the host, use Python's or NumPy's own"
        )


class Position(Intrinsic):
    """A position or size: a value inside a kernel, not a function."""

    def __init__(self, name: str, builtin: str, axis: int | None, doc: str) -> None:
        super().__init__(name, "", doc)
        self.builtin = builtin
        self.axis = axis

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RudaError(f"ruda.{self.name} is a value inside a kernel, not a function")


class Refused(Intrinsic):
    """A part of the language that this version does not have: named, so that the error can be."""

    def __init__(self, name: str, what: str) -> None:
        super().__init__(name, "*args", f"{what}: not supported yet.")
        self.what = what

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise UnsupportedFeature(f"ruda.{self.name}: {self.what} are not supported yet")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Refused(f"{self.__dict__['name']}.{name}", self.__dict__["what"])


EXPORTS: dict[str, Any] = {}
"""Every public name of the kernel language, and what it is."""


def _named(name: str) -> Any:
    """The intrinsic of a name, as a pickle holds it."""
    first, *rest = name.split(".")
    found = EXPORTS[first]
    for part in rest:
        found = getattr(found, part)
    return found


def _add(intrinsic: Intrinsic) -> None:
    EXPORTS[intrinsic.name] = intrinsic


_POSITIONS = {
    "ABSOLUTE_POS": ("absolute_pos", "Position of the unit in the whole launch"),
    "UNIT_POS": ("unit_pos", "Position of the unit within its workgroup"),
    "WORKGROUP_POS": ("workgroup_pos", "Position of the workgroup in the launch"),
    "WORKGROUP_DIM": ("workgroup_dim", "Units of a workgroup; a compile-time constant"),
    "WORKGROUP_COUNT": ("workgroup_count", "Workgroups of the launch"),
}
for _name, (_builtin, _doc) in _POSITIONS.items():
    _add(Position(_name, _builtin, None, f"{_doc}, all axes as one number, x fastest; index type."))
    for _axis, _letter in enumerate("XYZ"):
        _add(Position(f"{_name}_{_letter}", _builtin, _axis, f"{_doc}, axis {_letter.lower()}; index type."))

_FUNCTIONS: dict[str, tuple[str, str]] = {
    # control and memory
    "barrier": ("", "Wait for all units of the workgroup; orders their shared and global accesses."),
    "shared": ("dtype shape", "An uninitialised array that the units of a workgroup share."),
    "local": ("dtype shape", "An uninitialised array of one unit."),
    "uniform_load": ("array index", "`array[index]` loaded by one unit and given to all of the workgroup."),
    "unroll": ("iterable", "In `for i in ruda.unroll(range(n))`: repeat the body, with `i` compile-time."),
    # values
    "select": ("cond a b", "`a` where `cond`, else `b`; both are evaluated."),
    "bitcast": ("dtype x", "The bits of `x` as another dtype of the same width."),
    "is_float": ("dtype", "Whether a dtype, or a value's dtype, is a float: compile-time."),
    "clamp": ("x lo hi", "`min(max(x, lo), hi)`; NaN stays NaN."),
    "minimum": ("a b *more", "The smaller; NaN if either is NaN."),
    "maximum": ("a b *more", "The larger; NaN if either is NaN."),
    "fmin": ("a b", "The smaller; a number rather than NaN."),
    "fmax": ("a b", "The larger; a number rather than NaN."),
    "pow": ("base exponent", "`base ** exponent`: integers wrap, floats as NumPy's power."),
    "div_trunc": ("a b", "The quotient of integers, truncated as in C; 0 for a zero divisor."),
    "rem_trunc": ("a b", "The remainder of integers with the dividend's sign; 0 for a zero divisor."),
    "dot": ("a b", "The sum of the products of two vectors' components."),
    # floats
    "sqrt": ("x", "Square root, correctly rounded where features say so."),
    "rsqrt": ("x", "1 / sqrt(x)."),
    "cbrt": ("x", "Cube root."),
    "exp": ("x", "e to the power x."),
    "exp2": ("x", "2 to the power x."),
    "expm1": ("x", "exp(x) - 1, exact near 0."),
    "log": ("x", "Natural logarithm."),
    "log2": ("x", "Logarithm to base 2."),
    "log10": ("x", "Logarithm to base 10."),
    "log1p": ("x", "log(1 + x), exact near 0."),
    "sin": ("x", "Sine of radians."),
    "cos": ("x", "Cosine of radians."),
    "tan": ("x", "Tangent of radians."),
    "arcsin": ("x", "Inverse sine, in radians."),
    "arccos": ("x", "Inverse cosine, in radians."),
    "arctan": ("x", "Inverse tangent, in radians."),
    "arctan2": ("y x", "The angle of the point (x, y), in radians."),
    "sinh": ("x", "Hyperbolic sine."),
    "cosh": ("x", "Hyperbolic cosine."),
    "tanh": ("x", "Hyperbolic tangent."),
    "arcsinh": ("x", "Inverse hyperbolic sine."),
    "arccosh": ("x", "Inverse hyperbolic cosine."),
    "arctanh": ("x", "Inverse hyperbolic tangent."),
    "erf": ("x", "The error function."),
    "hypot": ("x y", "sqrt(x*x + y*y) without needless overflow."),
    "fma": ("a b c", "a * b + c, rounded once."),
    "copysign": ("x sign", "The magnitude of `x` with the sign of `sign`."),
    "isnan": ("x", "Whether a float is NaN."),
    "isinf": ("x", "Whether a float is an infinity."),
    "isfinite": ("x", "Whether a float is neither infinite nor NaN."),
    # numbers
    "abs": ("x", "The magnitude; of the smallest integer, itself."),
    "sign": ("x", "-1, 0 or 1; NaN of NaN."),
    "floor": ("x", "The largest whole number not above x; integers stay as they are."),
    "ceil": ("x", "The smallest whole number not below x; integers stay as they are."),
    "trunc": ("x", "The whole number towards zero; integers stay as they are."),
    "round": ("x", "The nearest whole number, halves to even; integers stay as they are."),
    # bits
    "popcount": ("x", "How many bits are set; the operand's dtype."),
    "clz": ("x", "Zero bits above the highest set one; the width for 0."),
    "ctz": ("x", "Zero bits below the lowest set one; the width for 0."),
    "reverse_bits": ("x", "The bits in opposite order; unsigned only."),
    "mulhi": ("a b", "The high half of the double-width product; unsigned only."),
    # atomics: all but store give the old value
    "atomic_add": ("array index value", "Add to an element; gives the old value."),
    "atomic_sub": ("array index value", "Subtract from an element; gives the old value."),
    "atomic_min": ("array index value", "Keep the smaller; gives the old value."),
    "atomic_max": ("array index value", "Keep the larger; gives the old value."),
    "atomic_and_": ("array index value", "Bitwise and; gives the old value."),
    "atomic_or_": ("array index value", "Bitwise or; gives the old value."),
    "atomic_xor": ("array index value", "Bitwise exclusive or; gives the old value."),
    "atomic_exchange": ("array index value", "Put a value; gives the old one."),
    "atomic_compare_exchange": (
        "array index expected desired",
        "Put `desired` where the element equals `expected`; gives the old value.",
    ),
    "atomic_load": ("array index", "Read an element that others change."),
    "atomic_store": ("array index value", "Write an element that others read."),
}
_FLOATS = "f16, bf16, f32, f64"
_INTEGERS = "i8 to i64, u8 to u64"
_DOMAINS = {
    "float": f"Takes {_FLOATS} and vectors of these; cast an integer first.",
    "number": f"Takes {_INTEGERS}, {_FLOATS} and vectors of these.",
    "integer": f"Takes {_INTEGERS} and vectors of these.",
    "unsigned": "Takes u8, u16, u32, u64 and vectors of these; cast a signed integer first.",
    "any": f"Takes bool, {_INTEGERS}, {_FLOATS} and vectors of these.",
}
_EXACT = "Exact to the bit."
_BOUND = "At most 4 ULP off in f32 and f64, 1 in f16 and bf16; docs/numbers.md has what was measured."
_SAME = "Its operands have one dtype, which is the result's."
_ATOMIC = """\
On global and shared arrays of i32 and u32 on every device; of i64, u64, f32 and f64
where client.features().atomics has the operation. Relaxed; out of bounds it gives
zero and changes nothing."""
_NOTES: dict[str, str] = {
    "sqrt": f"""\
{_DOMAINS["float"]}
Exact to the bit where features have `exact_div_sqrt`, else within 3 ULP, or corrected
in software in kernels that insist (`fp_exact`, `fp_contract=False`).""",
    "fma": f"""\
{_DOMAINS["float"]}
{_EXACT} Refused where the device has neither the operation nor a
software version.""",
    "pow": f"""\
{_DOMAINS["number"]}
The exponent of an integer may have any integer dtype. Integers: exact. Floats:
{_BOUND}""",
    "clamp": f"{_DOMAINS['any']}\n{_SAME}\n{_EXACT}",
    "div_trunc": f"Takes {_INTEGERS}.\n{_SAME}",
    "rem_trunc": f"Takes {_INTEGERS}.\n{_SAME}",
    "dot": "Takes two vectors of one type; added from the first component to the last, in their dtype.",
    "select": "`a` and `b` have one dtype, any; `cond` is a bool, or a vector of bools for the components.",
    "bitcast": "Both dtypes have the same width; bool is not one of them.",
    "shared": """\
`shape` is a compile-time int or tuple. Zeroed in validate mode.
LaunchLimitError over the device's limit.""",
    "local": """\
`shape` is a compile-time int or tuple, at most 512 KiB for each unit.
Zeroed in validate mode.""",
    "barrier": """\
Reached by all units of the workgroup or by none: where they may differ it is a
UniformityError.""",
    "uniform_load": "On global and shared arrays. It is a barrier too, with the same rule.",
    **dict.fromkeys((n for n in _FUNCTIONS if n.startswith("atomic_")), _ATOMIC),
}


def _note(name: str) -> str:
    """Dtypes, result and accuracy of a function."""
    if name in _NOTES:
        return _NOTES[name]
    known = MATH.get({"minimum": "min", "maximum": "max"}.get(name, name))
    if known is None:
        return ""
    rounds = name in ("floor", "ceil", "trunc", "round")
    parts = [_DOMAINS["number" if rounds else known.domain]]
    parts.append("Gives bool." if known.gives_bool else _SAME if known.arity > 1 else "Gives x's dtype.")
    parts.append(_EXACT if known.exact else _BOUND)
    return "\n".join(parts)


for _name, (_params, _doc) in _FUNCTIONS.items():
    _add(Intrinsic(_name, _params, "\n\n".join(filter(None, (_doc, _note(_name))))))

_SUBGROUP = (
    "barrier sum prod min max and_ or_ xor inclusive_sum inclusive_prod exclusive_sum exclusive_prod "
    "broadcast shuffle shuffle_xor shuffle_up shuffle_down any all ballot elect"
).split()
for _name in _SUBGROUP:
    _add(Refused(f"subgroup_{_name}", "subgroup operations"))
for _name in ("SIZE", "LANE", "ID", "COUNT"):
    _add(Refused(f"SUBGROUP_{_name}", "subgroup operations"))
_add(Refused("matrix", "matrix units"))
_add(Refused("struct", "records"))
_add(Refused("debug_print", "prints from a kernel"))

EXPORTS["index"] = INDEX
EXPORTS["inf"] = math.inf
EXPORTS["nan"] = math.nan
