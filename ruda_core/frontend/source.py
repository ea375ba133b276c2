"""A function's source: read and parsed once for each code object, with a span for each node."""

from __future__ import annotations

import ast
import inspect
import linecache
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ruda_core.errors import KernelSyntaxError
from ruda_core.frontend.syntax import Facts, check, facts_of
from ruda_core.ir.span import Span, error_at

Spans = dict[ast.AST, Span]


@dataclass(slots=True, eq=False)
class Source:
    """One parsed function."""

    name: str
    file: str
    node: ast.FunctionDef
    offset: int
    """Added to a node's line to give the file's."""
    lines: tuple[str, ...] | None
    """The parsed text, where columns in bytes and in characters differ."""
    facts: Facts
    spans: Spans = field(default_factory=dict)
    """Spans outside of inlined calls, made when first asked for."""

    def span(self, node: ast.AST, inlined_at: Span | None = None) -> Span:
        """Where a node of this function stands; `inlined_at` is the call that it was inlined for."""
        line: int = getattr(node, "lineno", self.node.lineno)
        column: int = getattr(node, "col_offset", 0)
        end: int = getattr(node, "end_col_offset", None) or column + 1
        if getattr(node, "end_lineno", line) != line:
            end = 1 << 16  # to the end of the first line
        if self.lines is not None:
            text = self.lines[line - 1].encode()
            column, end = len(text[:column].decode()), len(text[:end].decode())
        return Span(self.file, line + self.offset, column + 1, end + 1, inlined_at, self.name)


_parsed: dict[tuple[str, types.CodeType], Source] = {}


def source_of(fn: Callable[..., Any]) -> Source:
    """The parsed source of a function. Raises KernelSyntaxError when there is none to read."""
    code = getattr(fn, "__code__", None)
    if not isinstance(code, types.CodeType):
        raise KernelSyntaxError(f"{fn!r} is not a Python function: write it with def")
    key = (code.co_filename, code)
    found = _parsed.get(key)
    if found is None:
        found = _parsed[key] = _parse(fn, code)
    return found


def _parse(fn: Callable[..., Any], code: types.CodeType) -> Source:
    where = _first_line(code)
    wrapped = getattr(fn, "__wrapped__", None)
    if wrapped is not None:
        raise error_at(
            KernelSyntaxError,
            f"{getattr(wrapped, '__name__', 'this')} is wrapped by another decorator, whose code is {code.co_name}: "
            f"put ruda's decorator directly above def, below the others",
            where,
        )
    lines = _lines(fn, code, where)
    indented = lines[0][:1].isspace()
    text = "if 1:\n" + "".join(lines) if indented else "".join(lines)
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        if code.co_name == "<lambda>":  # a piece of a longer expression
            raise error_at(KernelSyntaxError, _NO_DEF["<lambda>"], where) from None
        raise error_at(
            KernelSyntaxError, f"cannot parse the source of {code.co_name}: {error}", where
        ) from error
    statement = tree.body[0]
    node = statement.body[0] if indented and isinstance(statement, ast.If) else statement
    offset = code.co_firstlineno - 1 - indented
    if code.co_name == "<lambda>" or isinstance(node, ast.AsyncFunctionDef):
        found = next((n for n in ast.walk(node) if isinstance(n, ast.Lambda)), node)
        raise error_at(
            KernelSyntaxError,
            _NO_DEF.get(code.co_name, "async def is not in the kernel language: write def; no launch waits"),
            Span(
                code.co_filename,
                found.lineno + offset,
                found.col_offset + 1,
                1 << 16 if node is found else (found.end_col_offset or 0) + 1,
                None,
                code.co_name,
            ),
        )
    if not isinstance(node, ast.FunctionDef) or not _same(node, code):
        raise error_at(
            KernelSyntaxError,
            f"the source of {code.co_name} in {code.co_filename} is not what was imported: "
            f"has the file changed? Start the program again",
            where,
        )
    source = Source(
        name=node.name,
        file=code.co_filename,
        node=node,
        offset=offset,
        lines=None if text.isascii() else tuple(text.splitlines(keepends=True)),
        facts=facts_of(node),
    )
    check(node, source.span)
    return source


def _first_line(code: types.CodeType) -> Span:
    """The line that a function begins on: its first decorator, if it has one."""
    text = linecache.getline(code.co_filename, code.co_firstlineno)
    indent = len(text) - len(text.lstrip())
    return Span(code.co_filename, code.co_firstlineno, indent + 1, 1 << 16, None, code.co_name)


_NO_DEF = {
    "<lambda>": "a lambda is not in the kernel language: write a plain def, whose parameters have annotations"
}


def _lines(fn: Callable[..., Any], code: types.CodeType, where: Span) -> list[str]:
    linecache.checkcache(code.co_filename)
    try:
        lines, _ = inspect.getsourcelines(fn)
    except (OSError, TypeError, IndexError, SyntaxError) as error:
        raise error_at(
            KernelSyntaxError,
            f"the source of {code.co_name} cannot be read ({error}): define it in a file or a notebook cell, "
            f"not in a string given to exec or python -c",
            where,
        ) from error
    return lines


def _same(node: ast.FunctionDef, code: types.CodeType) -> bool:
    names = tuple(p.arg for p in parameters(node))
    count = code.co_argcount + code.co_kwonlyargcount
    return node.name == code.co_name and names == code.co_varnames[:count]


def parameters(node: ast.FunctionDef) -> Iterator[ast.arg]:
    """The named parameters in order."""
    yield from node.args.posonlyargs
    yield from node.args.args
    yield from node.args.kwonlyargs
