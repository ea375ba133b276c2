"""The entries of one specialisation: what its kernel reads, and the source of each variant."""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from types import CellType, FunctionType
from typing import TYPE_CHECKING, Any

from ruda_core.artifact import ArrayParam, KernelSource, Mode, RudaDim, ScalarParam, VariantFacts
from ruda_core.cache import DiskCache, shared_cache
from ruda_core.frontend.captures import Capture
from ruda_core.recall.builds import surroundings, surroundings_after_compiling
from ruda_core.recall.describe import VALUES, Describer, Description, Uncovered
from ruda_core.recall.entries import Unreadable, packed, unpacked
from ruda_core.recall.functions import FUNCTIONS, code_of, kernel
from ruda_core.recall.namespaces import NAMESPACES
from ruda_core.specialise import Specialisation

if TYPE_CHECKING:
    from ruda_core.client import ComputeClient

_FORMAT = 1
"""Raised when entries change their meaning."""
_DESCRIBERS: dict[type, Describer] = {**VALUES, **FUNCTIONS, **NAMESPACES}


@dataclass(frozen=True, slots=True)
class Request:
    """One specialisation of a kernel, before anything has been compiled."""

    fn: Any
    """The Python function."""
    scope: Mapping[str, Any] | None
    """Names of the defining function, for annotations that are strings."""
    name: str
    types: Specialisation
    dim: RudaDim
    mode: Mode
    flags: tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """What a launcher is made from, when the kernel was lowered by an earlier process."""

    line: int
    params: tuple[ScalarParam | ArrayParam, ...]
    captures: tuple[Capture, ...]


class Shelf:
    """Where one specialisation's entries stand."""

    def __init__(
        self, cache: DiskCache, request: Request, around: str, look_again: Callable[[], str | None]
    ) -> None:
        """`around` is the digest of all beside the kernel, and `look_again()` what it is at that moment.

        Raises Uncovered when no key covers what the kernel depends on.
        """
        self._cache = cache
        self._request = request
        self._around = around
        self._look_again = look_again
        self._description, self._key = self._look(around)

    def _look(self, around: str) -> tuple[Description, str]:
        """What the kernel's code depends on at this moment, and the key that stands for it."""
        request = self._request
        description, text = described(request)
        parts = (_FORMAT, around, request.name, tuple(request.dim), request.mode, request.flags, text)
        return description, hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()

    def _holds(self) -> bool:
        """Whether nothing has changed since the key was made: what was compiled since then belongs to it."""
        try:
            return self._look_again() == self._around and self._look(self._around)[1] == self._key
        except Uncovered:
            return False

    # The specialisation ------------------------------------------------------------------------

    def facts(self) -> Facts | None:
        """What an earlier process found out; None when none did, or its entry is damaged."""
        data = self._cache.get(f"kernel {self._key}")
        if data is None:
            return None
        try:
            line, params, places = unpacked(data)
            return Facts(line, params, tuple([self._capture(*place) for place in places]))
        except (Unreadable, TypeError, ValueError, IndexError, StopIteration):
            return None

    def keep_facts(self, facts: Facts) -> bool:
        """Keep them, unless something that was captured is not in the key: then nothing of the kernel is kept."""
        places = [self._place(capture) for capture in facts.captures]
        if None in places or not self._holds():
            return False
        self._cache.put(f"kernel {self._key}", packed((facts.line, facts.params, tuple(places))))
        return True

    def _place(self, capture: Capture) -> tuple[int, str, tuple[str, ...]] | None:
        """A capture as the number of a function that sees it, its name and its path; None if not described."""
        holder, name, path = capture.place
        if (id(holder), name) not in self._description.places:
            return None
        if not self._description.found.issuperset(path):
            return None
        for number, fn in enumerate(self._description.functions):
            if _holder(fn, name) is holder:
                return number, name, path
        return None

    def _capture(self, number: int, name: str, path: tuple[str, ...]) -> Capture:
        return Capture(_holder(self._description.functions[number], name), name, path)

    # Variants ----------------------------------------------------------------------------------

    def source(self, facts: VariantFacts) -> KernelSource | None:
        """The source of a variant; None when there is none, or its entry is damaged."""
        data = self._cache.get(self._variant(facts))
        if data is None:
            return None
        try:
            found = unpacked(data)
        except Unreadable:
            return None
        request = self._request
        if not isinstance(found, KernelSource) or not found.digest:
            return None
        meant = (found.name, found.dim, found.mode) == (request.name, tuple(request.dim), request.mode)
        return found if meant else None

    def keep_source(self, facts: VariantFacts, source: KernelSource) -> None:
        """Keep the source of a variant."""
        if self._holds():
            self._cache.put(self._variant(facts), packed(source))

    def _variant(self, facts: VariantFacts) -> str:
        values = [(f.name, getattr(facts, f.name)) for f in fields(facts)]
        return f"source {self._key} {values!r}"


def _holder(fn: FunctionType, name: str) -> dict[str, Any] | CellType:
    """Where a function looks a name up."""
    cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
    return cells.get(name, fn.__globals__)


def described(request: Request) -> tuple[Description, str]:
    """All that the code of a specialisation depends on beside the compiler, as text. Raises Uncovered."""
    types = request.types

    def of(description: Description) -> object:
        return (
            kernel(description, request.fn, request.scope),
            [(name, description.of(value)) for name, value in types.arguments.items()],
            [(description.of(variable), description.of(t)) for variable, t in types.typevars.items()],
        )

    return _settled(request.fn, of)


def digest_of(fn: Any, scope: Mapping[str, Any] | None) -> str:
    """What a kernel's code and what it captures come to; of its code alone where the rest cannot be described."""
    try:
        _, text = _settled(fn, lambda description: kernel(description, fn, scope))
    except Uncovered:
        text = repr(code_of(fn.__code__))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _settled(fn: Any, describe: Callable[[Description], object]) -> tuple[Description, str]:
    """A description by all the names that it turned out to need, and its text. Raises Uncovered."""
    names = frozenset(fn.__code__.co_names)
    while True:
        description = Description(names, _DESCRIBERS)
        try:
            text = repr(describe(description))
        except Uncovered:
            raise
        except Exception as error:  # the user's objects can raise anything
            raise Uncovered(f"{type(error).__name__}: {error}") from error
        if not description.namespaces or description.found <= names:
            return description, text
        names |= description.found


_around: weakref.WeakKeyDictionary[Any, str | None] = weakref.WeakKeyDictionary()
"""For each server the surroundings that this process runs in."""


def shelf_for(client: ComputeClient, request: Request) -> Shelf | None:
    """Where the entries of a specialisation stand; None when it is not kept on disk."""
    cache = shared_cache()
    if not isinstance(cache, DiskCache):
        return None
    server = client.server
    if server not in _around:
        _around[server] = surroundings(client.runtime, server.target)
    around = _around[server]
    if around is None:
        return None
    try:
        look_again = partial(surroundings_after_compiling, client.runtime, server.target)
        return Shelf(cache, request, around, look_again)
    except Uncovered:
        return None
