"""Where in the user's source a node came from, and how an error shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from ruda_core.errors import CompileError
from ruda_core.source_text import marked


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of one source line; `inlined_at` is the call that brought it here, if any."""

    file: str
    line: int
    """From 1."""
    column: int
    """From 1."""
    end_column: int
    """One past the last column, on the same line."""
    inlined_at: Span | None = None
    function: str = ""
    """The kernel or helper that it stands in."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


UNKNOWN = Span("<unknown>", 0, 0, 0)

E = TypeVar("E", bound=CompileError)


def excerpt(span: Span) -> str:
    """The source line with carets under the span; empty when the source is not at hand."""
    return marked(span.file, span.line, span.column, span.end_column)


def error_at(cls: type[E], message: str, span: Span | None, notes: Sequence[str] = ()) -> E:
    """An error of `cls` that points at `span`, with the calls that led there."""
    span = span or UNKNOWN
    calls = []
    at = span.inlined_at
    while at is not None:
        calls.append(f"  called from {at.file}:{at.line}" + (f" in {at.function}" if at.function else ""))
        at = at.inlined_at
    return cls(
        message,
        file=span.file,
        line=span.line,
        column=span.column,
        excerpt=excerpt(span),
        notes=(*calls, *notes),
    )
