"""Compiling with no device present."""

from __future__ import annotations

from typing import Any

from ruda_core.artifact import Mode
from ruda_core.compiler import Compiler
from ruda_core.errors import ConfigError, LaunchArgumentError
from ruda_core.kernel import CompiledKernel, Kernel
from ruda_core.registry import dialect_named
from ruda_core.source_kernel import SourceKernel


def compile_for(
    dialect: str, kernel: Kernel, dim: Any = 64, /, *arg_types: Any, mode: Mode = "checked"
) -> CompiledKernel:
    """Render a kernel for what every device of a dialect can do; `arg_types` as in `Kernel.compile`.

    Raises LaunchArgumentError for what is no kernel of Python, BackendNotFound for a dialect that no installed backend brings, and CompileError.
    """
    if not isinstance(dialect, str):
        raise ConfigError(f"a dialect is named by a text such as 'wgsl', not by {dialect!r}")
    if not isinstance(kernel, Kernel):
        raise LaunchArgumentError(f"compile_for takes a kernel, not {kernel!r}: {_advice(kernel)}")
    found = dialect_named(dialect)
    compiler = Compiler(found, found.baseline, backend=dialect)
    return kernel.compile_with(compiler, dim, arg_types, mode)


def _advice(thing: Any) -> str:
    if isinstance(thing, SourceKernel):
        return (
            "a SourceKernel is written in the target's language already, its text is kernel.sources[dialect]"
        )
    if isinstance(getattr(thing, "kernel", None), Kernel):
        return "a tuned kernel's own is its .kernel"
    return "put @ruda.kernel above the function"
