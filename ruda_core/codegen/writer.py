"""Lines with indentation, and names that are safe in every target language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from ruda_core.ir import nodes as ir

_FOREIGN = re.compile(r"[^A-Za-z0-9_]")
INDENT = "  "


class Writer:
    """Collects the lines of one module."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._prefix = ""

    def line(self, text: str = "") -> None:
        """One line at the current depth."""
        self._lines.append(self._prefix + text if text else "")

    @contextmanager
    def braces(self, head: str, tail: str = "}") -> Iterator[None]:
        """`head {`, what is written meanwhile one level deeper, then `tail`."""
        self.line(f"{head} {{" if head else "{")
        outer, self._prefix = self._prefix, self._prefix + INDENT
        yield
        self._prefix = outer
        self.line(tail)

    def text(self) -> str:
        return "\n".join(self._lines) + "\n"


def identifier(text: str) -> str:
    """`text`, a Python identifier, in ASCII; what stands around it must keep it from being a keyword."""
    return _FOREIGN.sub(lambda found: f"u{ord(found[0]):x}", text)


class Names:
    """Gives each symbol, array and binding of one function its name.

    Every name ends in a number, so none is a keyword or a built-in of any target; none begins with an
    underscore.
    """

    def __init__(self, function: ir.Function) -> None:
        self._names: dict[object, str] = {}
        self._count = 0
        for number, array in enumerate(function.arrays):
            self._names[array] = f"{self._stem(array.name)}_m{number}"
        for number, binding in enumerate(function.bindings):
            self._names[binding] = f"{self._stem(binding.name)}_b{number}"

    def of(self, item: ir.Symbol | ir.Array | ir.Binding) -> str:
        """The item's name; a symbol is named when it is first met."""
        name = self._names.get(item)
        if name is None:
            name = self._names[item] = self.fresh(item.name)
        return name

    def fresh(self, stem: str) -> str:
        """A name that nothing else has."""
        self._count += 1
        return f"{self._stem(stem)}_{self._count}"

    @staticmethod
    def _stem(name: str) -> str:
        stem = identifier(name).strip("_")
        return stem if stem and stem[0].isalpha() else f"v{stem}"


def bare(text: str) -> str:
    """`text` without the brackets that enclose all of it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[1:-1] if position == len(text) - 1 else text
    return text
