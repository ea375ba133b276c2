"""The conformance kit: what a backend must answer as the language says, and what compares it with the reference.

Under pytest it is a plugin: `pytest -p ruda_core.conformance --ruda-device acme:0`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ruda_core.conformance.injection import faults as faults

pytest_plugins = ("ruda_core.conformance.plugin",)
"""Read by pytest; nobody else pays for importing it."""

__all__ = ["faults"]


def __getattr__(name: str) -> Any:
    if name != "faults":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ruda_core.conformance.injection import faults  # starts the server's modules: only for who injects

    return faults
