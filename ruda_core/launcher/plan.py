"""LaunchPlan: what a launcher is generated from, and how it refuses."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from ruda_core.artifact import ArrayParam, KernelSource, Mode, RudaDim, ScalarParam, VariantFacts
from ruda_core.dtypes import BY_NAME, ValueType, bool_, vec
from ruda_core.errors import LaunchArgumentError
from ruda_core.tensor import ArrayArg, RudaTensor, TensorArg


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """One specialisation of a kernel, as its launchers need it."""

    kernel: str
    """The user's name for the kernel."""
    file: str
    line: int
    params: tuple[ScalarParam | ArrayParam, ...]
    """Run-time parameters in the user's order."""
    dim: RudaDim
    mode: Mode
    variant: Callable[[VariantFacts], KernelSource]
    """Compiles for these facts. The launcher asks once for each facts that its arguments show."""

    @property
    def location(self) -> str:
        """`name (file:line)`, as errors name a kernel."""
        return f"{self.kernel} ({self.file}:{self.line})"

    @property
    def arrays(self) -> tuple[ArrayParam, ...]:
        """The array and tensor parameters in order."""
        return tuple(p for p in self.params if isinstance(p, ArrayParam))


class Missing:
    """The value of an argument that was not given."""

    def __repr__(self) -> str:
        return "nothing"


MISSING = Missing()


def element_of(param: ArrayParam) -> ValueType:
    """The element type that an array parameter declares."""
    scalar = BY_NAME[param.dtype]
    return scalar if param.lanes == 1 else vec(scalar, param.lanes)


def declared(param: ScalarParam | ArrayParam) -> str:
    """A parameter's annotation, as users write it."""
    if isinstance(param, ScalarParam):
        return param.dtype
    kind = "Array" if param.rank is None else "Tensor"
    rank = "" if param.rank is None else f" of rank {param.rank}"
    return f"{kind}[{element_of(param)!r}]{rank}"


def described(value: object, wanted: ValueType | None = None) -> str:
    """An argument, as an error shows it; for an array parameter, with the way to elements of the `wanted` type."""
    if isinstance(value, RudaTensor):
        way = _way(value, wanted)
        gap = "" if value.is_contiguous() else ", not contiguous"
        if gap and not way and wanted is not None:
            way = " (pass tensor.contiguous(), a copy, or declare a Tensor)"
        return f"a tensor of {value.dtype!r} with shape {value.shape} on {value.device}{gap}{way}"
    if isinstance(value, np.ndarray | list | tuple | bytes | bytearray | memoryview):
        what = f"NumPy array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
        return f"a {what} in host memory (pass client.tensor(array{_dtype_for(value, wanted)}))"
    if isinstance(value, ArrayArg | TensorArg):
        return repr(value)
    return f"{reprlib.repr(value)} ({type(value).__name__})" if value is not MISSING else "nothing"


def _way(value: RudaTensor, wanted: ValueType | None) -> str:
    """How the tensor becomes one of `wanted` elements; nothing where its elements are not what is wrong."""
    if wanted is None or value.dtype == wanted:
        return ""
    name = wanted.scalar.name + ("_" if wanted.scalar is bool_ else "")
    if value.dtype.scalar == wanted.scalar:
        return f" (pass tensor.vectorized({wanted.lanes}))" if wanted.lanes > 1 else ""
    return f" (pass client.tensor(array, dtype=ruda.{name}), or tensor.astype(ruda.{name}))"


def _dtype_for(value: object, wanted: ValueType | None) -> str:
    if wanted is None or (isinstance(value, np.ndarray) and value.dtype == wanted.numpy):
        return ""
    return f", dtype=ruda.{wanted.scalar.name}{'_' if wanted.scalar is bool_ else ''}"


def refuse(plan: LaunchPlan, param: ScalarParam | ArrayParam, got: str, expected: str = "") -> NoReturn:
    """Raise LaunchArgumentError with kernel, parameter, expected and got."""
    raise LaunchArgumentError(
        f"{plan.location}: parameter {param.name}: expected {expected or declared(param)}, got {got}"
    )


def signature(plan: LaunchPlan) -> str:
    """The parameters as users declared them."""
    return ", ".join(f"{p.name}: {declared(p)}" for p in plan.params)


def misfit(
    names: Sequence[str], args: tuple[Any, ...], kwargs: Mapping[str, Any], optional: Collection[str] = ()
) -> str | None:
    """Why arguments do not bind to parameters: too many, missing, unknown or twice; None where they bind."""
    unknown = [name for name in kwargs if name not in names]
    if unknown:
        from difflib import get_close_matches  # only on the way to an error

        near = get_close_matches(unknown[0], [n for n in names if n not in kwargs], n=1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        return f"there is no parameter {', '.join(unknown)}{hint}"
    twice = [name for name in names[: len(args)] if name in kwargs]
    if twice:
        return f"{', '.join(twice)} was given by position and by name"
    if len(args) > len(names):
        return f"{len(args)} arguments for {len(names)} parameters"
    missing = [name for name in names[len(args) :] if name not in kwargs and name not in optional]
    return f"no argument for {', '.join(missing)}" if missing else None


def refuse_call(plan: LaunchPlan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> NoReturn:
    """Raise LaunchArgumentError for arguments that do not bind; see `misfit`."""
    what = misfit([p.name for p in plan.params], args, kwargs) or "the arguments do not bind"
    raise LaunchArgumentError(
        f"{plan.location}: {what}; expected ({signature(plan)}), got {len(args) + len(kwargs)} arguments"
    )
