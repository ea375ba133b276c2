"""What the target binds: one binding for each global array, or for each group that shares an allocation.

A binding has the dtype of its arrays where the target stores it and they agree; a bool array is bytes;
else it is u32 words, and `storage` rewrites the accesses. Runs after `flatten`, before `storage`.
"""

from __future__ import annotations

from dataclasses import replace

from ruda_core.capabilities import Target
from ruda_core.dtypes import DType, u8, u32
from ruda_core.ir import nodes as ir
from ruda_core.passes.accesses import accesses


def bind(function: ir.Function, target: Target) -> ir.Function:
    """The function with `bindings` filled in, in the order of their first arrays."""
    used = accesses(function)
    atomic = {a for a, access in used.items() if access.atomic}
    bindings = []
    for arrays in _groups(function):
        dtype = _dtype(arrays, target)
        name = "_".join(a.name for a in arrays if a.over is None)
        bindings.append(ir.Binding(name, dtype, arrays, any(a in atomic for a in arrays)))
    return replace(function, bindings=tuple(bindings))


def _groups(function: ir.Function) -> list[tuple[ir.Array, ...]]:
    """The global arrays, those of one allocation together."""
    groups: dict[object, list[ir.Array]] = {}
    for array in function.in_space("global"):
        name = array.name if array.over is None else array.over.name
        mates = next((g for g in function.groups if name in g), name)
        groups.setdefault(mates, []).append(array)
    return [tuple(g) for g in groups.values()]


def _dtype(arrays: tuple[ir.Array, ...], target: Target) -> DType:
    dtypes = {_element(a.dtype.scalar, target) for a in arrays if a.over is None}
    dtype = dtypes.pop()
    return u32 if dtypes or dtype.name not in target.storage else dtype


def _element(dtype: DType, target: Target) -> DType:
    """The dtype of one stored element: bool is a byte where the target has no bool of its own."""
    return u8 if dtype.kind == "bool" and "bool" not in target.storage else dtype
