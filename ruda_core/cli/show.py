"""`ruda show MODULE:KERNEL --dialect NAME`: the code that a kernel becomes."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from ruda_core.dtypes import BY_NAME, ValueType, Vec, f32
from ruda_core.errors import CompileError, ConfigError
from ruda_core.frontend import Parameter, signature
from ruda_core.ir.types import Array, ArrayType, ComptimeType, TensorType
from ruda_core.offline import compile_for


@dataclass(frozen=True, slots=True)
class SampleTensor:
    """Stands for an argument of a `Tensor` parameter, whose annotation does not say the rank."""

    dtype: ValueType
    shape: tuple[int, ...]
    handle: None = None

    def __repr__(self) -> str:
        return f"Tensor[{self.dtype!r}, {len(self.shape)}]"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`MODULE:KERNEL [TYPE …] --dialect NAME [--dim X,Y,Z] [--mode MODE]`."""
    parser.epilog = (
        "A kernel whose annotations say everything needs no TYPE. Otherwise there is one for each parameter, in "
        "order: 'Array[f32]', 'Tensor[f32, 2]' with its rank, f32, or a value for a Comptime parameter. "
        "For example: ruda show examples/matmul.py:tiled 'Tensor[f32, 2]' 'Tensor[f32, 2]' 'Tensor[f32, 2]' 16 "
        "--dialect opencl --dim 16,16"
    )
    parser.add_argument(
        "kernel", metavar="MODULE:KERNEL", help="a module's name or a file's path, and the kernel in it"
    )
    parser.add_argument(
        "types",
        nargs="*",
        default=[],
        metavar="TYPE",
        help="the type of each argument, where the kernel is generic or takes tensors",
    )
    parser.add_argument(
        "--dialect",
        metavar="NAME",
        help="the language to show: cuda, opencl, wgsl or cpu (LLVM's), if installed",
    )
    parser.add_argument("--dim", default="64", metavar="X[,Y[,Z]]", help="units per workgroup (default 64)")
    parser.add_argument(
        "--mode",
        default="checked",
        choices=["checked", "validate", "unchecked"],
        help="what becomes of accesses out of bounds (default checked)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the text. Raises ConfigError for a kernel or type that is not there, saying what to type."""
    kernel = load_kernel(arguments.kernel)
    if arguments.dialect is None:
        raise ConfigError("say which language to show: --dialect cuda, opencl, wgsl or cpu, if installed")
    params = signature(kernel.fn).params if hasattr(kernel, "fn") else ()
    types = [_type(text) for text in arguments.types]
    if len(types) != len(params) and (types or any(map(_is_open, params))):
        why = (
            f"{arguments.kernel} has {len(params)} parameters, and {len(types)} types were given"
            if types
            else f"{arguments.kernel} does not say all of its types"
        )
        words = " ".join(shlex.quote(_example(p.annotation)) for p in params)
        raise ConfigError(
            f"{why}: write them, such as\n  ruda show {arguments.kernel} {words} --dialect {arguments.dialect}"
        )
    compiled = compile_for(arguments.dialect, kernel, _dim(arguments.dim), *types, mode=arguments.mode)
    print(compiled.source)
    return 0


def _is_open(param: Parameter) -> bool:
    """True when the annotation alone does not say what to compile."""
    annotation = param.annotation
    if isinstance(annotation, ComptimeType):
        return not param.has_default
    return isinstance(annotation, (TensorType, TypeVar)) or isinstance(
        getattr(annotation, "element", None), TypeVar
    )


def _example(annotation: Any) -> str:
    """A TYPE that fits a parameter."""
    if isinstance(annotation, ComptimeType):
        return {bool: "True", float: "1.0", tuple: "(1, 2)"}.get(annotation.python, "16")
    if isinstance(annotation, TensorType):
        return f"Tensor[{_example(annotation.element)}, 2]"
    if isinstance(annotation, ArrayType):
        return f"Array[{_example(annotation.element)}]"
    if isinstance(annotation, TypeVar):
        return repr((*annotation.__constraints__, f32)[0])
    return repr(annotation)


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


class _TensorOfRank:
    """`Tensor[f32, 2]`, as a TYPE."""

    def __class_getitem__(cls, item: Any) -> SampleTensor:
        if not (isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], int) and item[1] > 0):
            raise ConfigError("a Tensor is shown for one rank: write Tensor[f32, 2]")
        return SampleTensor(Array[item[0]].element, (2,) * item[1])  # type: ignore[attr-defined]  # a subscript makes it


_NAMES = {
    "int": int,
    "float": float,
    **BY_NAME,
    "Array": Array,
    "Tensor": _TensorOfRank,
    "Vec": Vec,
    "True": True,
    "False": False,
}


def _type(text: str) -> Any:
    """What one TYPE means: a dtype, an array type, a tensor's sample, or a compile-time value."""
    try:
        return eval(text, {"__builtins__": {}}, _NAMES)  # the user's own command line, over these names only
    except ConfigError:
        raise
    except CompileError as error:
        raise ConfigError(f"{text!r}: {error.message}") from None
    except Exception as error:
        raise ConfigError(
            f"{text!r} is no type ({error}): write f32, Array[f32], Tensor[f32, 2], or a compile-time value; "
            f"the dtypes are {', '.join(BY_NAME)}"
        ) from None
