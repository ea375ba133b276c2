"""What to write instead of a name that is not there: another system's word for ours, or one misspelled."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from types import ModuleType

_POSITIONS = {
    "threadidx": "UNIT_POS_X",
    "localid": "UNIT_POS_X",
    "localinvocationid": "UNIT_POS_X",
    "localinvocationindex": "UNIT_POS",
    "getlocalid": "UNIT_POS_X",
    "blockidx": "WORKGROUP_POS_X",
    "workgroupid": "WORKGROUP_POS_X",
    "groupid": "WORKGROUP_POS_X",
    "getgroupid": "WORKGROUP_POS_X",
    "programid": "WORKGROUP_POS_X",
    "blockdim": "WORKGROUP_DIM_X",
    "workgroupsize": "WORKGROUP_DIM_X",
    "getlocalsize": "WORKGROUP_DIM_X",
    "griddim": "WORKGROUP_COUNT_X",
    "numworkgroups": "WORKGROUP_COUNT_X",
    "getnumgroups": "WORKGROUP_COUNT_X",
    "numprograms": "WORKGROUP_COUNT_X",
    "globalid": "ABSOLUTE_POS_X",
    "globalinvocationid": "ABSOLUTE_POS_X",
    "getglobalid": "ABSOLUTE_POS_X",
    "grid": "ABSOLUTE_POS",
}
_FUNCTIONS = {
    "syncthreads": "barrier()",
    "threadgroupbarrier": "barrier()",
    "workgroupbarrier": "barrier()",
    "syncblock": "barrier()",
    "sharedmemory": "shared(f32, n)",
    "sharedarray": "shared(f32, n)",
    "localarray": "local(f32, n)",
    "localmemory": "local(f32, n)",
    "clip": "clamp(x, low, high)",
    "where": "select(cond, a, b)",
    "absolute": "abs(x)",
    "fabs": "abs(x)",
    "rint": "round(x)",
    "power": "pow(x, y)",
    "popc": "popcount(x)",
    "countonebits": "popcount(x)",
    "brev": "reverse_bits(x)",
    "atan2": "arctan2(y, x)",
    "asin": "arcsin(x)",
    "acos": "arccos(x)",
    "atan": "arctan(x)",
    "atomiccas": "atomic_compare_exchange(array, index, expected, new)",
    "atomicexch": "atomic_exchange(array, index, value)",
    "atomicand": "atomic_and_(array, index, value)",
    "atomicor": "atomic_or_(array, index, value)",
    "staticrange": "unroll(range(n))",
    "constexpr": "Comptime[int] as a parameter's type",
}


def advice(name: str, known: Iterable[str] = (), *, ours: bool = False) -> str:
    """What to write for `name`, to stand behind a message; empty where nothing is near.

    `known` are the names there; `ours` says that they are the attributes of ruda itself.
    """
    from difflib import get_close_matches  # only on the way to an error

    plain = name.replace("_", "").lower()
    found = _POSITIONS.get(plain) or _FUNCTIONS.get(plain)
    if found is None and plain.startswith("atomic"):
        found = f"atomic_{plain.removeprefix('atomic')}"
        found = f"{found}(array, index, value)" if found in _ruda() else None
    if found is not None:
        return f": write ruda.{found}"
    near = get_close_matches(name, [*known, *(_ruda() if ours else ())], n=1, cutoff=0.75)
    if near:
        return f": did you mean {'ruda.' if ours else ''}{near[0]}?"
    if name in _ruda():
        return f": write ruda.{name}"
    return ""


def of_name(name: str, bound: Iterable[str], captured: Iterable[str]) -> str:
    """The same for a name alone, by what the kernel has bound and what it can capture."""
    module = {"np": "import numpy as np", "math": "import math", "ruda": "import ruda_core as ruda"}.get(name)
    if module is not None:
        return f": write {module} at the top of the module"
    return advice(name, [n for n in (*bound, *captured, *vars(builtins)) if not n.startswith("_")])


def of_attribute(holder: object, name: str) -> str:
    """The same for an attribute of a captured object."""
    ours = isinstance(holder, ModuleType) and holder.__name__ == "ruda_core"
    return advice(name, () if ours else [n for n in dir(holder) if not n.startswith("_")], ours=ours)


def axis_of(text: str, attribute: str) -> str:
    """What to write for `text.attribute`, where `text` is a position of ours and `attribute` an axis."""
    axis = f"{text.rpartition('.')[2]}_{attribute.upper()}"
    return f": write ruda.{axis}" if axis in _ruda() else ""


def _ruda() -> frozenset[str]:
    """The names of the kernel language."""
    from ruda_core.frontend.intrinsics import EXPORTS

    return frozenset(EXPORTS)


__all__ = ["advice", "axis_of", "of_attribute", "of_name"]
