"""The software versions of functions by name. All take and give f32."""

from __future__ import annotations

from collections.abc import Callable

from ruda_core.passes.software import exponential, inverse, logarithm, power, trigonometric
from ruda_core.passes.software.expr import Value

FUNCTIONS: dict[str, Callable[..., Value]] = {
    name: getattr(module, name)
    for module in (exponential, inverse, logarithm, power, trigonometric)
    for name in module.__all__
}
