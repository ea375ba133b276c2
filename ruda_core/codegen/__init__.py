"""From legalised IR to a target's text: the contract of a dialect and the base that C-like ones share."""

from __future__ import annotations

from ruda_core.codegen.c import CRenderer
from ruda_core.codegen.clike import CLikeRenderer
from ruda_core.codegen.dialect import CLikeDialect, Dialect
from ruda_core.codegen.spelling import native_math

__all__ = ["CLikeDialect", "CLikeRenderer", "CRenderer", "Dialect", "native_math"]
