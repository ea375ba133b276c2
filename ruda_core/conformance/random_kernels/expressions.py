"""Random expressions of a wanted dtype."""

from __future__ import annotations

from collections.abc import Callable

from ruda_core.conformance.random_kernels.writer import FLOATS, Writer

_COMPARE = ("<", "<=", ">", ">=", "==", "!=")
_LITERALS = {
    "wide": ("0.0", "1.0", "-1.5", "0.1", "3.0e10", "-2.5e-8", "255.0"),
    "narrow": ("0.0", "1.0", "-1.5", "0.1", "300.0", "-2.5e-3", "255.0"),
}


def index(w: Writer, length: int) -> str:
    """An index, mostly within `length`, sometimes out of bounds: such a read gives zero."""
    p = w.choose((w.position, w.position, *w.counters))
    inside = (p, f"({p} * 5 + {w.rng.randrange(96)}) % {length}", f"{length - 1} - {p}")
    beyond = (f"{p} + {length - 6}", f"{p} - 3")
    return w.choose((*inside, *inside, *beyond, f"{expression(w, 'i32', 0, typed=True)} % {length}"))


def condition(w: Writer, depth: int) -> str:
    """A bool expression."""
    if depth > 0 and w.chance(0.3):
        joined = w.choose((" and ", " or "))
        return f"({condition(w, depth - 1)}{joined}{condition(w, depth - 1)})"
    if w.chance(0.12):
        return f"(not {condition(w, depth - 1)})"
    named = w.readable("bool")
    if named and w.chance(0.3):
        return w.choose(named)
    dtype = w.choose(w.dtypes)
    if dtype in FLOATS and w.chance(0.15):
        test = w.choose(("isnan", "isinf", "isfinite"))
        return f"ruda.{test}({expression(w, dtype, depth, typed=True)})"
    a, b = expression(w, dtype, depth, typed=True), expression(w, dtype, depth)
    if w.chance(0.1):
        c = expression(w, dtype, depth, typed=True)
        return f"({a} {w.choose(_COMPARE)} {b} {w.choose(_COMPARE)} {c})"
    return f"({a} {w.choose(_COMPARE)} {b})"


def expression(w: Writer, dtype: str, depth: int, *, typed: bool = False) -> str:
    """An expression of `dtype`; `typed`: not a bare literal."""
    if dtype == "bool":
        return condition(w, depth)
    if depth <= 0 or w.chance(0.15):
        return _leaf(w, dtype, typed=typed)
    helpers = [h for h in w.helpers if h.results == (dtype,)]
    if helpers and w.chance(0.25):
        helper = w.rng.choice(helpers)
        args = ", ".join(expression(w, p, depth - 1) for p in helper.parameters)
        return f"{helper.name}({args})"
    return (_float if dtype in FLOATS else _integer)(w, dtype, depth - 1)


def literal(w: Writer, dtype: str) -> str:
    """A Python literal that fits a dtype."""
    if dtype in FLOATS:
        return w.choose(_LITERALS["narrow" if dtype in ("f16", "bf16") else "wide"])
    bits = int(dtype[1:])
    low, high = (0, (1 << bits) - 1) if dtype[0] == "u" else (-(1 << bits - 1), (1 << bits - 1) - 1)
    value = w.rng.choice((0, 1, 2, 3, 7, low, high, w.rng.randint(low, high)))
    return f"({value})" if value < 0 else str(value)


def _leaf(w: Writer, dtype: str, *, typed: bool) -> str:
    names = w.readable(dtype)
    if names and w.chance(0.65):
        return w.choose(names)
    others = [n for n, d in (*w.variables.items(), *w.constants.items()) if d != dtype] + w.counters
    if others and w.chance(0.4):
        return f"{dtype}({w.choose(others)})"
    arrays = [a for a in w.arrays if a.dtype == dtype]
    if arrays and w.chance(0.5):
        array = w.rng.choice(arrays)
        inside = (w.position, str(w.rng.randrange(array.length + 2)), *w.counters)
        return f"{array.name}[{w.choose(inside)}]"
    text = literal(w, dtype)
    return f"{dtype}({text})" if typed else text


def _converted(w: Writer, dtype: str, depth: int) -> str:
    """A value of any dtype, cast; or an integer's bits as a dtype of the same width."""
    same = [d for d in w.dtypes if d not in FLOATS and d != dtype and _bits(d) == _bits(dtype)]
    if same and dtype not in w.flushed and w.chance(0.3):
        return f"ruda.bitcast({dtype}, {expression(w, w.choose(same), depth, typed=True)})"
    source = w.choose((*w.dtypes, "bool"))
    return f"{dtype}({expression(w, source, depth, typed=True)})"


def _kept(w: Writer, dtype: str, operator: str) -> str:
    """The operator; in a loop, where products and quotients get ever smaller, another for dtypes that lose
    subnormals."""
    return "-" if operator in "*/" and w.repeated and dtype in w.flushed else operator


def operator(w: Writer, dtype: str) -> str:
    """An arithmetic operator, or one on bits."""
    return _kept(w, dtype, w.choose("+-*" if dtype in FLOATS else "+-*^&|"))


def _bits(dtype: str) -> str:
    return dtype.lstrip("iufb")


def _integer(w: Writer, dtype: str, depth: int) -> str:
    return w.rng.choice(_INTEGER)(_Operands(w, dtype, depth))


def _float(w: Writer, dtype: str, depth: int) -> str:
    return w.rng.choice(_FLOAT)(_Operands(w, dtype, depth))


class _Operands:
    """What an operation is made of; each use gives another expression."""

    def __init__(self, w: Writer, dtype: str, depth: int) -> None:
        self.w = w
        self.dtype = dtype
        self.depth = depth

    @property
    def a(self) -> str:
        """An expression that has a dtype of its own."""
        return expression(self.w, self.dtype, self.depth, typed=True)

    @property
    def b(self) -> str:
        """An expression, perhaps a literal."""
        return expression(self.w, self.dtype, self.depth)

    @property
    def leaf(self) -> str:
        return expression(self.w, self.dtype, 0)

    @property
    def amount(self) -> str:
        """A shift amount of any integer dtype."""
        return expression(self.w, self.one(*(d for d in self.w.dtypes if d not in FLOATS)), 0, typed=True)

    @property
    def condition(self) -> str:
        return condition(self.w, min(1, self.depth))

    @property
    def cast(self) -> str:
        return _converted(self.w, self.dtype, self.depth)

    def one(self, *items: str) -> str:
        return self.w.choose(items)

    def operator(self, *items: str) -> str:
        """One of these arithmetic operators."""
        return _kept(self.w, self.dtype, self.w.choose(items) if len(items) > 1 else items[0])


def _signed_or_not(o: _Operands) -> str:
    if o.dtype[0] == "i":
        return f"ruda.{o.one('abs', 'sign')}({o.a})"
    return o.one(f"ruda.reverse_bits({o.a})", f"ruda.mulhi({o.a}, {o.a})")


_Operation = Callable[[_Operands], str]

_COMMON: tuple[_Operation, ...] = (
    lambda o: f"({o.a} if {o.condition} else {o.b})",
    lambda o: f"ruda.select({o.condition}, {o.a}, {o.b})",
    lambda o: o.cast,
    lambda o: o.cast,
)
_INTEGER: tuple[_Operation, ...] = (
    *_COMMON,
    lambda o: f"({o.a} {o.one(*'+-*&|^')} {o.b})",
    lambda o: f"({o.a} {o.one(*'+-*&|^')} {o.b})",
    lambda o: f"({o.a} {o.one(*'+-*')} {o.b})",
    lambda o: f"({o.a} {o.one('//', '%')} {o.a})",
    lambda o: f"ruda.{o.one('div_trunc', 'rem_trunc')}({o.a}, {o.a})",
    lambda o: f"({o.a} {o.one('<<', '>>')} {o.amount})",
    lambda o: f"{o.one('min', 'max')}({o.a}, {o.b})",
    lambda o: f"ruda.clamp({o.a}, {o.b}, {o.a})",
    lambda o: f"({o.one('~', '-')}{o.a})",
    lambda o: f"ruda.{o.one('popcount', 'clz', 'ctz')}({o.a})",
    lambda o: f"({o.a} ** {o.w.rng.randrange(5)})",
    _signed_or_not,
)
_FLOAT: tuple[_Operation, ...] = (
    *_COMMON,
    lambda o: f"({o.a} {o.operator(*'+-*')} {o.b})",
    lambda o: f"({o.a} {o.operator(*'+-*')} {o.b})",
    lambda o: f"({o.a} {o.operator('*')} {o.b} {o.one(*'+-')} {o.leaf})",
    lambda o: f"({o.a} {o.operator('/')} {o.b})",
    lambda o: f"({o.a} {o.operator('/')} {o.b})",
    lambda o: f"(-{o.a})",
    lambda o: f"({o.one('min', 'max', 'ruda.fmin', 'ruda.fmax')}({o.a}, {o.b}) + 0.0)",  # one zero, whichever
    lambda o: f"ruda.{o.one('abs', 'floor', 'ceil', 'trunc', 'sqrt', 'round')}({o.a})",
)


__all__ = ["condition", "expression", "index", "literal", "operator"]
