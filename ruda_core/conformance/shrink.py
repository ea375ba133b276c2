"""A kernel on which devices differ, made shorter as long as they differ."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from ruda_core.conformance.compare import Comparison, Difference
from ruda_core.conformance.random_kernels import RandomKernel
from ruda_core.errors import RudaError

_BARRIER = r" +ruda\.barrier\(\)\n"
_FILLED = {
    "shared": rf" {{name}}\[ruda\.UNIT_POS\] = .*\n{_BARRIER}.* = {{name}}\[.*\n{_BARRIER}",
    "local": r"for (\w+) in range\(\d+\):\n +{name}\[\1\] = ",
}
"""How the generator fills memory before it is read."""


def shrunk(made: RandomKernel, differs: Callable[[RandomKernel], bool], attempts: int = 400) -> RandomKernel:
    """Without statements and operands that do not matter.

    `differs` says whether a candidate still shows the difference; one that does not compile does not.
    At most `attempts` candidates are tried.
    """
    progress = True
    while progress and attempts > 0:
        progress = False
        for text in _shorter(made.text):
            attempts -= 1
            if attempts <= 0:
                break
            candidate = replace(made, text=text)
            if defined(text) and differs(candidate):
                made, progress = candidate, True
                break
    return made


def defined(text: str) -> bool:
    """Whether the memory that a shortened kernel reads is still filled, and each loop still counts down.

    Shared memory is filled between barriers, local memory by a loop; without either, devices may differ.
    """
    for name, space in re.findall(r"(\w+) = ruda\.(shared|local)\(", text):
        if f"{name}[" in text and not re.search(_FILLED[space].format(name=name), text):
            return False
    return all(f" {name} -= 1" in text for name in re.findall(r"while (\w+) > 0", text))


def shorter(comparison: Comparison, difference: Difference, attempts: int = 400) -> Difference:
    """A difference on a kernel with less in it, of the same kind: a wrong result, or the same error."""
    kind = _kind(difference)

    def found(candidate: RandomKernel) -> Difference | None:
        try:
            differences = comparison.differences(candidate)
        except (RudaError, SyntaxError):  # no kernel any more
            return None
        return next((d for _, d in differences if _kind(d) == kind), None)

    made = shrunk(difference.kernel, lambda candidate: found(candidate) is not None, attempts)
    return found(made) or difference


def _kind(difference: Difference) -> str:
    return difference.what.partition(":")[0] if "Error: " in difference.what else ""


def _shorter(text: str) -> Iterator[str]:
    """Texts with one thing less: a statement with its block, then an operation's parentheses."""
    lines = text.splitlines()
    for start in range(len(lines) - 1, -1, -1):
        helper = lines[start].startswith("@ruda.func")
        if not (helper or lines[start].startswith(" ")):
            continue
        stop = _end_of_block(lines, start + helper)
        yield "\n".join([*lines[:start], *lines[stop:]]).strip() + "\n"
        if stop - start > 1 and not helper:  # the block without its heading
            body = [line.removeprefix("    ") for line in lines[start + 1 : stop]]
            yield "\n".join([*lines[:start], *body, *lines[stop:]]) + "\n"
    for start, stop in _operations(text):
        for operand in _operands(text[start + 1 : stop]):
            yield text[:start] + operand + text[stop + 1 :]


def _end_of_block(lines: list[str], start: int) -> int:
    depth = len(lines[start]) - len(lines[start].lstrip())
    stop = start + 1
    while stop < len(lines) and lines[stop].strip() and len(lines[stop]) - len(lines[stop].lstrip()) > depth:
        stop += 1
    return stop


def _operations(text: str) -> Iterator[tuple[int, int]]:
    """Matching parentheses, the outermost first."""
    opened: list[int] = []
    found = []
    for place, letter in enumerate(text):
        if letter == "(":
            opened.append(place)
        elif letter == ")" and opened:
            found.append((opened.pop(), place))
    yield from sorted(found)


def _operands(inside: str) -> Iterator[str]:
    """The parts of `a + b` and its kin, and the branches of a conditional expression."""
    depth, words, word = 0, [], ""
    for letter in inside:
        depth += (letter in "([") - (letter in ")]")
        if letter == " " and depth == 0:
            words.append(word)
            word = ""
        else:
            word += letter
    words.append(word)
    if len(words) > 2:
        yield words[0]
        yield words[-1]
