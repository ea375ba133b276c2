"""Kernels that an earlier process has compiled: found on disk without importing the compiler.

A key stands for everything that a source depends on, described without lowering anything: `shelf_for` gives
the entries of a specialisation, or None where something cannot be described for certain.
"""

from __future__ import annotations

from ruda_core.recall.outline import outline
from ruda_core.recall.shelf import Facts, Request, Shelf, digest_of, shelf_for

__all__ = ["Facts", "Request", "Shelf", "digest_of", "outline", "shelf_for"]
