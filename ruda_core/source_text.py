"""Lines of the user's program, as errors show them."""

from __future__ import annotations

import itertools
import linecache
import os
import sys
from types import FrameType
from typing import TypedDict

_OWN = os.path.dirname(__file__) + os.sep


class Place(TypedDict):
    """Where an error points; the keywords of `CompileError`."""

    file: str
    line: int
    column: int
    excerpt: str


def marked(file: str, line: int, column: int, end_column: int) -> str:
    """A source line with carets under its columns; empty when the source is not at hand."""
    text = linecache.getline(file, line).rstrip("\n")
    if not text:
        return ""
    width = max(1, min(end_column, len(text) + 1) - column)
    lead = "".join("\t" if c == "\t" else " " for c in text[: column - 1])
    return f"    {text}\n    {lead}{'^' * width}"


def running() -> Place:
    """The place in the user's program that is being run: for what Python itself evaluates, such as annotations."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_OWN):
        frame = frame.f_back
    if frame is None:
        return Place(file="<unknown>", line=0, column=0, excerpt="")
    file, line = frame.f_code.co_filename, frame.f_lineno
    column, end_column = _columns(frame, line)
    return Place(file=file, line=line, column=column, excerpt=marked(file, line, column, end_column))


def _columns(frame: FrameType, line: int) -> tuple[int, int]:
    """The columns, from 1, of what a frame is doing; the text of its whole line where that is not known."""
    text = linecache.getline(frame.f_code.co_filename, line)
    _, last, begin, end = next(
        itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), (None,) * 4
    )
    if begin is None or end is None:
        indent = len(text) - len(text.lstrip())
        return indent + 1, len(text.rstrip()) + 1
    data = text.encode()
    stop = len(data[:end].decode(errors="replace")) if last == line else len(text.rstrip())
    return len(data[:begin].decode(errors="replace")) + 1, stop + 1
