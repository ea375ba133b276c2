"""Compiling with no device present."""

from __future__ import annotations

from typing import Any

from ruda_core.artifact import Mode
from ruda_core.compiler import Compiler
from ruda_core.kernel import CompiledKernel, Kernel
from ruda_core.registry import dialect_named


def compile_for(
    dialect: str, kernel: Kernel, dim: Any = 64, /, *arg_types: Any, mode: Mode = "checked"
) -> CompiledKernel:
    """Render a kernel for what every device of a dialect can do; `arg_types` as in `Kernel.compile`.

    Raises BackendNotFound for a dialect that no installed backend brings, and CompileError.
    """
    found = dialect_named(dialect)
    compiler = Compiler(found, found.baseline, backend=dialect)
    return kernel.compile_with(compiler, dim, arg_types, mode)
