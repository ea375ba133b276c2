"""`ruda show MODULE:KERNEL --dialect NAME`: the code that a kernel becomes."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from ruda_core.dtypes import BY_NAME, Vec
from ruda_core.errors import ConfigError
from ruda_core.ir.types import Array, Tensor
from ruda_core.offline import compile_for


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`MODULE:KERNEL [TYPE …] --dialect NAME [--dim X,Y,Z] [--mode MODE]`."""
    parser.add_argument(
        "kernel", metavar="MODULE:KERNEL", help="a module's name or a file's path, and the kernel in it"
    )
    parser.add_argument(
        "types",
        nargs="*",
        metavar="TYPE",
        help="types of the arguments where the kernel is generic, such as 'Array[f32]'",
    )
    parser.add_argument("--dialect", required=True, metavar="NAME", help="cuda, opencl, wgsl …")
    parser.add_argument("--dim", default="64", metavar="X[,Y[,Z]]", help="units per workgroup (default 64)")
    parser.add_argument("--mode", default="checked", choices=["checked", "validate", "unchecked"])


def run(arguments: argparse.Namespace) -> int:
    """Print the text. Raises ConfigError for a kernel or type that is not there."""
    kernel = load_kernel(arguments.kernel)
    types = [_type(text) for text in arguments.types]
    compiled = compile_for(arguments.dialect, kernel, _dim(arguments.dim), *types, mode=arguments.mode)
    print(compiled.source)
    return 0


def load_kernel(path: str) -> Any:
    """The kernel that "package.module:name" or "path/to/file.py:name" names."""
    place, _, name = path.rpartition(":")
    if not place or not name:
        raise ConfigError(f"{path!r} names no kernel: write MODULE:KERNEL, such as examples/saxpy.py:saxpy")
    module = _file(Path(place)) if place.endswith(".py") else _module(place)
    kernel = getattr(module, name, None)
    if not hasattr(kernel, "launch"):
        there = sorted(key for key, value in vars(module).items() if hasattr(value, "launch"))
        raise ConfigError(f"{place} has no kernel {name!r}; it has {', '.join(there) or 'none'}")
    return kernel


def _module(name: str) -> ModuleType:
    if "" not in sys.path:
        sys.path.insert(0, "")  # as `python -m` does: a console script does not see the working directory
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"there is no module {error.name!r}; a file is named by its path, with .py"
        ) from error


def _file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ConfigError(f"there is no file {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # postponed annotations are looked up by the module's name
    sys.path.insert(0, str(path.parent))
    spec.loader.exec_module(module)
    return module


def _dim(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if not 1 <= len(parts) <= 3 or not all(part.strip().isdecimal() and int(part) for part in parts):
        raise ConfigError(f"--dim takes 1 to 3 positive numbers, such as 16,16, not {text!r}")
    return tuple(int(part) for part in parts)


def _type(text: str) -> Any:
    """A dtype or array type by what one writes in a kernel: "f32", "Array[f32]", "Tensor[Vec[f32, 4], 2]"; or a number."""
    names = {**BY_NAME, "Array": Array, "Tensor": Tensor, "Vec": Vec}
    try:
        return eval(text, {"__builtins__": {}}, names)  # the user's own command line, over these names only
    except Exception as error:
        raise ConfigError(f"{text!r} is no type; write f32, Array[f32] or Tensor[f32, 2]") from error
