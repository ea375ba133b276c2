"""Dialect: how one target language is spelled, and what it can do on a device that is not at hand."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from ruda_core.artifact import ParameterLayout
from ruda_core.capabilities import Target
from ruda_core.codegen.clike import CLikeRenderer
from ruda_core.ir import nodes as ir


class Dialect(ABC):
    """One target language. Stateless: one instance renders any number of functions, from any thread."""

    name: ClassVar[str]
    """As `compile_for`, the cache and `SourceKernel.sources` know it."""
    baseline: ClassVar[Target]
    """What every device of this language can do, for rendering with no device."""

    @abstractmethod
    def render(self, function: ir.Function, layout: ParameterLayout, entry: str) -> str:
        """The whole module as text, with one entry point called `entry`.

        `function` is legalised for a target of this dialect: one linear index an access, bindings
        filled, nothing left that the target's `semantics` lack. Raises InvalidIR for a node that
        legalisation should have removed: a defect of the passes, never of a user's kernel.
        """

    def options(self, function: ir.Function) -> tuple[str, ...]:
        """Options for the target's compiler that this function needs; part of every cache key. By default none."""
        return ()


class CLikeDialect(Dialect):
    """A dialect whose text comes from a subclass of `CLikeRenderer`."""

    renderer: ClassVar[type[CLikeRenderer]]

    def render(self, function: ir.Function, layout: ParameterLayout, entry: str) -> str:
        return self.renderer(function, layout, entry).render()
