"""The front half of the compiler: Python source to typed IR.

`lower` is the door; `signature` reads a kernel's parameters; `capture_key` notices changed globals.
"""

from __future__ import annotations

from ruda_core.frontend.captures import Capture, capture_key
from ruda_core.frontend.functions import Func
from ruda_core.frontend.lower import Lowered, lower
from ruda_core.frontend.signature import KernelSignature, Parameter, signature
from ruda_core.frontend.values import ComptimeValue, IndexType

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
