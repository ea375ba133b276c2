"""Functions: a kernel or helper by its file's text and all that its names mean, a plain one by its code.

A kernel's text is lowered, so its file is part of the description, whole: with the line that the function
begins on it says what is parsed and where every error and report points. What plain functions give at
compile time is worked out by Python, so they must be seen to depend on nothing but what is described here.
"""

from __future__ import annotations

import builtins
import hashlib
import linecache
import opcode
import os
import re
from collections.abc import Iterable, Iterator
from types import BuiltinFunctionType, CodeType, FunctionType
from typing import Any

import numpy as np

from ruda_core.frontend.functions import Func
from ruda_core.recall.builds import changed_since
from ruda_core.recall.describe import Describer, Description, Uncovered
from ruda_core.recall.outline import evaluated, outline

PURE_BUILTINS = frozenset(
    "abs all any bool dict divmod enumerate filter float int isinstance issubclass len list map max min pow "
    "range reversed round sorted sum tuple zip".split()
)
"""Built-in names whose results depend on their arguments alone. Not `hash`, `id`, `set`, `str` and `repr`,
which tell one process from another."""

_OPAQUE = frozenset({"fn", "scope", "ctypes"})
"""Attributes of a helper that lead to what only a plain function should run, and of an array to its address."""

_EFFECTS = frozenset(
    opcode.opmap[name]
    for name in "IMPORT_NAME STORE_GLOBAL DELETE_GLOBAL STORE_ATTR DELETE_ATTR LOAD_BUILD_CLASS".split()
    if name in opcode.opmap
)
"""Instructions by which a plain function reaches beyond its names, or changes what they mean."""


def language(d: Description, value: Func) -> object:
    """A helper."""
    return kernel(d, value.fn, value.scope)


def kernel(d: Description, fn: Any, scope: Any) -> object:
    """A function of the kernel language. Raises Uncovered."""
    return d.once("language", fn, lambda: _language(d, fn, scope))


def _language(d: Description, fn: Any, scope: Any) -> object:
    code = fn.__code__
    signature = outline(fn, scope)
    if signature is None:
        raise Uncovered(f"{code.co_name} has a signature that only its source explains")
    d.functions.append(fn)
    params = [
        (p.name, d.of(p.annotation), d.of(p.default) if p.has_default else "") for p in signature.params
    ]
    returns = d.of(evaluated(fn, scope).get("return"))
    lines, digest = source_lines(fn)
    where = code.co_filename, code.co_firstlineno, digest
    names = code.co_names + tuple(name for name in _declared(code, lines) if name in fn.__globals__)
    return where, params, returns, code_of(code), list(_cells(d, fn)), list(_globals(d, fn, names))


_DECLARATION = re.compile(r"^\s*[^\W\d]\w*\s*:([^=#]*)")
_NAME = re.compile(r"[^\W\d]\w*")


def _declared(code: CodeType, lines: list[str]) -> Iterator[str]:
    """Names in the dtypes of locals (`acc: f32 = 0`), of which Python's code knows nothing."""
    last = max((line for _, _, line in code.co_lines() if line), default=code.co_firstlineno)
    for line in lines[code.co_firstlineno : last]:
        found = _DECLARATION.match(line)
        if found is not None:
            yield from _NAME.findall(found[1])


def host(d: Description, fn: FunctionType) -> object:
    """A plain function, which the compiler may call. Raises Uncovered."""
    return d.once("host", fn, lambda: _host(d, fn))


def _host(d: Description, fn: FunctionType) -> object:
    if vars(fn):
        raise Uncovered(f"{fn.__qualname__} has attributes")
    codes = list(_nested(fn.__code__))
    names = [name for code in codes for name in code.co_names]
    for code in codes:
        if not _EFFECTS.isdisjoint(code.co_code[::2]):
            raise Uncovered(f"{fn.__qualname__} imports, or changes more than its own variables")
    d.functions.append(fn)
    keywords = sorted((fn.__kwdefaults__ or {}).items())
    defaults = [d.of(v) for v in fn.__defaults__ or ()], [(name, d.of(v)) for name, v in keywords]
    return code_of(fn.__code__), defaults, list(_cells(d, fn)), list(_globals(d, fn, names))


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _nested(const)


# Names --------------------------------------------------------------------------------------------


def _cells(d: Description, fn: FunctionType) -> Iterator[object]:
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
        d.places.add((id(cell), name))
        try:
            content = cell.cell_contents
        except ValueError:
            yield name, "unbound"
        else:
            yield name, d.of(content)


def _globals(d: Description, fn: FunctionType, names: Iterable[str]) -> Iterator[object]:
    """What the code's names mean in its module. Names of attributes are among them: that is more than needed."""
    space = fn.__globals__
    if space.get("__builtins__", builtins) not in (builtins, vars(builtins)):
        raise Uncovered(f"{fn.__qualname__} has built-in names of its own")
    for name in sorted(set(names)):
        if name.startswith("__") or name in _OPAQUE:
            raise Uncovered(f"{fn.__qualname__} looks into {name}")
        d.found.add(name)
        if name in space:
            d.places.add((id(space), name))
            yield name, d.of(space[name])
        elif name in vars(builtins):
            _check_builtin(name, vars(builtins)[name])


def _check_builtin(name: str, value: Any) -> None:
    if getattr(value, "__module__", None) != "builtins" or getattr(value, "__name__", "") != name:
        raise Uncovered(f"the built-in name {name} is not Python's own")
    if name not in PURE_BUILTINS and not (isinstance(value, type) and issubclass(value, BaseException)):
        raise Uncovered(f"{name} may give something else in another process")


def builtin(d: Description, value: BuiltinFunctionType) -> object:
    """A function of Python's own, by its name."""
    module = getattr(value, "__module__", None)
    if module == "builtins":
        _check_builtin(value.__name__, value)
    elif module != "math":
        raise Uncovered(f"{value!r} is not known to depend on its arguments alone")
    return module, value.__name__


def ufunc(d: Description, value: np.ufunc) -> object:
    """A ufunc of NumPy's own."""
    if getattr(np, value.__name__, None) is not value:
        raise Uncovered(f"{value!r} is not NumPy's own")
    return "ufunc", value.__name__


# Code ---------------------------------------------------------------------------------------------


def code_of(code: CodeType) -> object:
    """Everything about a code object that its behaviour depends on; lines are not."""
    return (
        code.co_name,
        code.co_flags,
        (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount),
        (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars),
        code.co_code,
        getattr(code, "co_exceptiontable", b""),
        tuple([_const(const) for const in code.co_consts]),
    )


def _const(const: Any) -> object:
    if isinstance(const, CodeType):
        return code_of(const)
    if isinstance(const, tuple):
        return tuple([_const(item) for item in const])
    if isinstance(const, frozenset):
        return "set", sorted([repr(_const(item)) for item in const])
    return type(const).__name__, repr(const)


_digests: dict[str, tuple[list[str], str]] = {}
"""For each file the lines that were read, and their digest."""


def source_lines(fn: FunctionType) -> tuple[list[str], str]:
    """The lines of a function's file, as errors quote them, and their digest.

    Raises Uncovered for a function without a file, and for a file that has changed since this process began:
    what was parsed earlier may then be another text.
    """
    name = fn.__code__.co_filename
    linecache.checkcache(name)
    lines = linecache.getlines(name, fn.__globals__)
    if not lines:
        raise Uncovered(f"there is no source of {fn.__qualname__}")
    entry: Any = linecache.cache[name]
    if entry[1] is not None and changed_since(os.stat(entry[3])):  # not a notebook's cell, which stays
        raise Uncovered(f"{name} has changed since this process began")
    known = _digests.get(name)
    if known is None or known[0] is not lines:
        text = "".join(lines).encode("utf-8", "surrogatepass")
        known = _digests[name] = lines, hashlib.sha256(text).hexdigest()
    return known


FUNCTIONS: dict[type, Describer] = {
    Func: language,
    FunctionType: host,
    BuiltinFunctionType: builtin,
    np.ufunc: ufunc,
}
