"""The front half of the compiler: Python source to typed IR.

`lower` is the door, imported when it is first used: a kernel that comes from disk needs the rest alone.
`signature` reads a kernel's parameters; `capture_key` notices changed globals.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ruda_core.frontend.arguments import ComptimeValue, IndexType
from ruda_core.frontend.captures import Capture, capture_key
from ruda_core.frontend.functions import Func
from ruda_core.frontend.signature import KernelSignature, Parameter, signature

if TYPE_CHECKING:
    from ruda_core.frontend.lower import Lowered as Lowered
    from ruda_core.frontend.lower import lower as lower

__all__ = [
    "Capture",
    "ComptimeValue",
    "Func",
    "IndexType",
    "KernelSignature",
    "Lowered",
    "Parameter",
    "capture_key",
    "lower",
    "signature",
]

_LAZY = ("Lowered", "lower")


class _Package(ModuleType):
    """This package: the module `lower` does not hide the function."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in _LAZY):
            super().__setattr__(name, value)


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module("ruda_core.frontend.lower"), name)
    globals()[name] = value
    return value


sys.modules[__name__].__class__ = _Package
