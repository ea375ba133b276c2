"""Parts of the language that are not there yet, refused by name."""

from __future__ import annotations

import ast
from typing import NoReturn

from ruda_core.errors import UnsupportedFeature
from ruda_core.frontend.context import Context
from ruda_core.frontend.intrinsics import Refused


def refuse_unsupported(low: Context, what: Refused, node: ast.AST) -> NoReturn:
    """Raise UnsupportedFeature at the place that asks for it."""
    raise low.error(f"ruda.{what.name}: {what.what} are not supported yet", node, UnsupportedFeature)
