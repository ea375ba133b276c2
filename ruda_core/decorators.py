"""`@ruda.kernel` and `@ruda.func`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, overload

from ruda_core.errors import KernelSyntaxError
from ruda_core.frontend.functions import Func
from ruda_core.kernel import Kernel


def _function(fn: object, decorator: str) -> None:
    """Raise KernelSyntaxError for what is no function of Python text."""
    if isinstance(fn, FunctionType):
        return
    if isinstance(fn, Kernel | Func):
        advice = "one decorator is enough, @ruda.kernel to launch it, @ruda.func to call it from kernels"
    elif isinstance(fn, staticmethod | classmethod):
        advice = "put @staticmethod above it"
    elif isinstance(fn, type):
        advice = "write a function; a kernel has no state"
    else:
        advice = "write it with def"
    raise KernelSyntaxError(f"@ruda.{decorator} takes a Python function, not {fn!r}: {advice}")


@overload
def kernel(fn: Callable[..., Any], /) -> Kernel: ...


@overload
def kernel(
    *, name: str | None = ..., fp_contract: bool = ..., fp_exact: bool = ..., fp_fast: bool = ...
) -> Callable[[Callable[..., Any]], Kernel]: ...


def kernel(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    fp_contract: bool = True,
    fp_exact: bool = False,
    fp_fast: bool = False,
) -> Kernel | Callable[[Callable[..., Any]], Kernel]:
    """Make a kernel of a Python function; the README and `examples/` show what it may say.

    `fp_contract=False` keeps `a*b + c` from becoming one fused operation; `fp_exact` insists on
    correctly rounded division and square root; `fp_fast` lets the target's compiler do algebra.
    """
    if fn is not None:
        _function(fn, "kernel")
    if name is not None and not isinstance(name, str):
        raise KernelSyntaxError(f"the name of a kernel is a string, not {name!r}")
    scope = _postponed_scope(fn, sys._getframe(1))

    def make(function: Callable[..., Any]) -> Kernel:
        _function(function, "kernel")
        return Kernel(
            function,
            name=name,
            fp_contract=fp_contract,
            fp_exact=fp_exact,
            fp_fast=fp_fast,
            scope=scope,
        )

    return make if fn is None else make(fn)


def func(fn: Callable[..., Any], /) -> Func:
    """Make a function that kernels can call."""
    _function(fn, "func")
    return Func(fn, scope=_postponed_scope(fn, sys._getframe(1)))


def _postponed_scope(fn: Callable[..., Any] | None, frame: Any) -> Mapping[str, Any] | None:
    """The defining frame's names, when annotations may be strings that need them."""
    if frame.f_locals is frame.f_globals:
        return None
    if fn is not None and not any(isinstance(a, str) for a in fn.__annotations__.values()):
        return None
    return dict(frame.f_locals)


__all__ = ["func", "kernel"]
