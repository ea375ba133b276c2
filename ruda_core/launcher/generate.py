"""The text of launchers: small functions that check and pack exactly one kernel's parameters.

Users pass arguments by name, so that the parameters keep their names, and Python's errors show those of `client`,
`count` and `dim`; everything else in a generated function begins with a prefix that no parameter of the kernel begins with.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from ruda_core.artifact import ArrayParam, KernelSource, ScalarParam, Slot
from ruda_core.launcher.limits import INDEX32
from ruda_core.launcher.plan import LaunchPlan

Lines = list[str]

_INLINE_KEYS = 4
"""Most arrays whose lengths and blocks are compared pair by pair; more go through `pattern`."""

_ORDINARY = {"f32": "float", "f64": "float", "i32": "int", "u32": "int", "i64": "int", "u64": "int"}
"""Python's type that needs no conversion: packing it rounds, and refuses what does not fit."""


class Writer:
    """Writes the functions of one plan."""

    def __init__(self, plan: LaunchPlan, properties: Any) -> None:
        self.plan = plan
        self.params = plan.params
        self.arrays = [p.name for p in plan.arrays]
        names = [p.name for p in plan.params]
        self.p = _free_prefix(names)
        self.client, self.counted, self.dim = (_free(name, names) for name in ("client", "count", "dim"))
        """What calls give by position, under the names that Python's own errors about missing ones show."""
        self._limits = properties.max_workgroup_count
        self._most = INDEX32 // plan.dim.units

    # Pieces ------------------------------------------------------------------------------------

    def parameters(self) -> str:
        """The kernel's parameters, each with a default that says that it is missing."""
        return "".join(f"{p.name}={self.p}missing, " for p in self.params)

    def checks(self) -> Iterator[str]:
        """Types of the arguments; what does not fit goes to its converter, which gives a value or raises.

        What has no `_array` is no tensor.
        """
        r = self.p
        plain = [p.name for p in self.params if isinstance(p, ArrayParam) and p.rank is None]
        if plain:
            odd = " or ".join(f"{n}._array is not {r}kind_{n}" for n in plain)
            yield f"try: {r}odd = {odd}"
            yield f"except {r}AttributeError: {r}odd = True"
            yield f"if {r}odd: " + "; ".join(f"{n} = {r}resolve_{n}({n})" for n in plain)
        for param in self.params:
            n = param.name
            if isinstance(param, ScalarParam):
                ordinary = _ORDINARY.get(param.dtype)
                guard = f"if {r}type({n}) is not {r}{ordinary}: " if ordinary else ""
                if param.dtype == "bool":
                    guard = f"if {n} is not True and {n} is not False: "
                yield f"{guard}{n} = {r}convert_{n}({n})"
            elif param.rank is not None:
                yield (
                    f"if {r}type({n}) is not {r}Tensor or {n}.dtype is not {r}kind_{n} "
                    f"or {r}len({n}.shape) != {param.rank}: {n} = {r}resolve_{n}({n})"
                )

    def count(self) -> Iterator[str]:
        """The count's axes, and whether they are within the ordinary limits; one axis is the usual case."""
        r = self.p
        mx, my, mz = self._limits
        yield f"if {r}type({self.counted}) is {r}int:"
        yield f" {r}x = {self.counted}; {r}y = {r}z = 1; {r}fits = 0 < {self.counted} <= {min(mx, self._most)}"
        yield "else:"
        yield f" {r}x, {r}y, {r}z = {r}count_of({self.counted})"
        yield (
            f" {r}fits = 0 < {r}x <= {mx} and 0 < {r}y <= {my} and 0 < {r}z <= {mz} "
            f"and {r}x * {r}y * {r}z <= {self._most}"
        )

    def queue(self, direct: bool) -> Iterator[str]:
        """The caller's stream and its queue."""
        r = self.p
        yield f"{r}sid = {self.client}._pin or {r}current() or {r}current_stream()"
        if direct:
            yield f"try: {r}q = {r}streams[{r}sid]"
            yield f"except {r}KeyError: {r}q = {r}server.queue_of({r}sid)"
        else:
            yield f"{r}q = None"

    def blocks(self) -> Iterator[str]:
        """The arrays' blocks."""
        for n in self.arrays:
            yield f"{self.p}b_{n} = {n}._block"

    def ordinary(self) -> str:
        """The condition that the count and all arrays are within the ordinary limits."""
        return " and ".join([f"{self.p}fits", *(f"{n}._reach <= {INDEX32}" for n in self.arrays)])

    def pairs(self) -> Iterator[tuple[str, str]]:
        return itertools.combinations(self.arrays, 2)

    def plain(self) -> str:
        """The condition for the commonest facts: all lengths equal, no storage shared."""
        names = self.arrays
        if len(names) < 2:
            return "True"
        lengths = " == ".join(f"{n}.size" for n in names)
        if len(names) <= _INLINE_KEYS:
            return " and ".join([lengths, *(f"{a}._block is not {b}._block" for a, b in self.pairs())])
        blocks = ", ".join(f"{n}._block" for n in names)
        return f"{lengths} and {self.p}len({{{blocks}}}) == {len(names)}"

    def key(self) -> str:
        """An expression that tells other facts apart."""
        if len(self.arrays) <= _INLINE_KEYS:
            same = [f"{a}.size == {b}.size, {a}._block is {b}._block" for a, b in self.pairs()]
            return f"({', '.join(same)},)" if same else "()"
        sizes = ", ".join(f"{n}.size" for n in self.arrays)
        blocks = ", ".join(f"{n}._block" for n in self.arrays)
        return f"{self.p}pattern(({sizes}), ({blocks}))"

    def holds(self, facts: Any) -> str:
        """The condition that arguments, whose blocks are at hand, still show these facts (within the ordinary
        limits)."""
        group_of = {name: group for group in facts.groups for name in group}
        terms = [" == ".join(f"{n}.size" for n in group) for group in facts.equal_lengths]
        for a, b in self.pairs():
            together = a in group_of and group_of[a] is group_of.get(b)
            terms.append(f"{self.p}b_{a} {'is' if together else 'is not'} {self.p}b_{b}")
        return " and ".join(terms) or "True"

    def enqueue(self, source: KernelSource, *, direct: bool, overtake: bool, otherwise: str) -> Iterator[str]:
        """Pack the parameters and hand the launch to the queue. The arrays' blocks are at hand.

        `otherwise`: a call for arrays that do not begin where the source has them.
        """
        r = self.p
        if source.aligned:
            starts = " | ".join(f"{n}._at" for n in source.aligned)
            yield f"if ({starts}) & {source.per_unit - 1}: return {otherwise}"
        if source.layout.slots:
            yield "try:"
            yield f" {r}words = {r}pack({', '.join(self._slot(slot) for slot in source.layout.slots)})"
            yield f"except {r}PackErrors as {r}error: {r}unpackable({r}error, {self._scalars()})"
        else:
            yield f"{r}words = b''"
        groups = f"{r}x"
        if source.per_unit > 1:
            groups = f"{r}x + {source.per_unit - 1} >> {source.per_unit.bit_length() - 1}"
        grid = f"{groups}, {r}y, {r}z"
        if source.spread:
            yield f"{r}gx, {r}gy, {r}gz = {r}fold({groups})"
            grid = f"{r}gx, {r}gy, {r}gz"
        bound = [binding.arrays[0] for binding in source.bindings if binding.arrays]
        blocks = "".join(f"{r}b_{n}, " for n in bound)
        if direct:
            yield from self._direct(source, grid, bound, overtake)
        yield f"{r}slowly({r}sid, {r}program, ({grid}), ({blocks}), {r}words)"

    def _direct(self, source: KernelSource, grid: str, bound: Lines, overtake: bool) -> Iterator[str]:
        r = self.p
        storages = [f"{r}b_{n}.storage" for n in bound]
        if source.mode == "validate":
            yield f"{r}record = {r}fault_record({r}sid, {r}q)"
            storages.append(f"{r}record.storage")
        home = " and ".join(f"{r}b_{n}.queue is {r}q and {r}b_{n}.shared is None" for n in bound) or "True"
        yield f"{r}lock = {r}q.lock"
        yield f"{r}lock.acquire()"
        yield "try:"
        yield f" if {home}:"
        arguments = ", ".join([f"{r}sid", grid, *storages, f"{r}words"])
        yield f"  try: {r}enqueue = {r}q.slots[{r}program]"
        yield f"  except {r}KeyError: {r}enqueue = None"
        yield f"  if {r}enqueue is None: {r}enqueue = {r}q.table[{r}program]"
        yield f"  {r}enqueue({arguments})"
        yield f"  {r}q.seq += 1"
        if overtake and bound:
            stamps = " = ".join(f"{r}b_{n}.stamp" for n in bound)
            yield f"  {stamps} = {r}batch({r}q.native)"
        yield "  return"
        yield f"except {r}Diverted: pass"
        yield f"except {r}Exception as {r}error: raise {r}failed({r}program, {r}error)"
        yield f"finally: {r}lock.release()"

    def _slot(self, slot: Slot) -> str:
        r = self.p
        match slot.kind:
            case "count":
                return f"{r}{'xyz'[slot.axis]}"
            case "zero":
                return "0"
            case "program":
                return f"{r}number"
            case "length":
                return f"{slot.name}.size"
            case "offset":
                return f"{slot.name}._at"
            case "shape":
                return f"{slot.name}.shape[{slot.axis}]"
            case "stride":
                return f"{slot.name}.strides[{slot.axis}]"
            case "scalar":
                return slot.name

    def _scalars(self) -> str:
        names = [p.name for p in self.params if isinstance(p, ScalarParam)]
        return "".join(f"{n}, " for n in names)

    # Functions ---------------------------------------------------------------------------------

    def generic(self, *, direct: bool) -> str:
        """`launch(client, count, /, *arguments)`."""
        r = self.p
        names = "".join(f"{p.name}, " for p in self.params)
        arrays = "".join(f"{n}, " for n in self.arrays)
        body = [f"if {r}extra: {r}too_many({r}extra)", *self.checks(), *self.count(), *self.queue(direct)]
        body.append(f"if {self.ordinary()}:")
        body.append(f" {r}key = 0 if {self.plain()} else {self.key()}")
        body += [f" try: {r}tail = {r}tails[{r}key]"]
        body += [f" except {r}KeyError: {r}tail = {r}miss({r}key, {arrays})"]
        body.append("else:")
        body.append(f" {r}tail = {r}beyond({r}x, {r}y, {r}z, {arrays})")
        body.append(f" if {r}tail is None: return")
        body.append(f"{r}tail({r}sid, {r}q, {r}x, {r}y, {r}z, {names})")
        return _function(f"launch({self.client}, {self.counted}, /, {self.parameters()}*{r}extra)", body)

    def tail(self, source: KernelSource, *, direct: bool, overtake: bool) -> str:
        """`tail(stream, queue, x, y, z, *arguments)`: no checks, one variant."""
        r = self.p
        names = "".join(f"{p.name}, " for p in self.params)
        askew = f"{r}askew({r}sid, {r}q, {r}x, {r}y, {r}z, {names})"
        body = [*self.blocks(), *self.enqueue(source, direct=direct, overtake=overtake, otherwise=askew)]
        return _function(f"tail({r}sid, {r}q, {r}x, {r}y, {r}z, {names})", body)

    def prepared(self, source: KernelSource, facts: Any, *, direct: bool, overtake: bool) -> str:
        """`call(self, count, /, *arguments)`: one variant, stream and queue; anything else goes to `generic`."""
        r = self.p
        names = "".join(f"{p.name}, " for p in self.params)
        body = [f"if {r}extra: {r}too_many({r}extra)", *self.checks(), *self.count(), *self.blocks()]
        generic = f"{r}generic({r}client, {self.counted}, {names})"
        body.append(f"if not ({self.ordinary()} and {self.holds(facts)}):")
        body.append(f" return {generic}")
        body += self.enqueue(source, direct=direct, overtake=overtake, otherwise=generic)
        return _function(f"call({r}self, {self.counted}, /, {self.parameters()}*{r}extra)", body)

    def home(self, source: KernelSource, facts: Any, *, direct: bool, overtake: bool) -> str:
        """`launch(client, count, dim, *arguments)`: one server, dim and variant at once; anything else goes to
        `elsewhere`, which takes the same, or to `generic`."""
        r = self.p
        names = "".join(f"{p.name}, " for p in self.params)
        generic = f"{r}generic({self.client}, {self.counted}, {names})"
        unusual = [f"{self.params[-1].name} is {r}missing"] if self.params else []
        body = [
            f"if {' or '.join([*unusual, f'{r}extra', f'{r}named'])}:",
            f" {r}given = [{r}a for {r}a in ({names}) if {r}a is not {r}missing]",
            f" return {r}elsewhere({self.client}, {self.counted}, {self.dim}, *{r}given, *{r}extra, **{r}named)",
            f"try: {r}other = {self.dim} != {r}home or {self.client}.server is not {r}server",
            f"except {r}NoMatch: {r}other = True",
            f"if {r}other: return {r}elsewhere({self.client}, {self.counted}, {self.dim}, {names})",
        ]
        inner = [*self.checks(), *self.count(), *self.queue(direct), *self.blocks()]
        inner += [f"if not ({self.ordinary()} and {self.holds(facts)}):", f" return {generic}"]
        inner += self.enqueue(source, direct=direct, overtake=overtake, otherwise=generic)
        body += ["try:", *(f" {line}" for line in inner)]
        body.append(f"except {r}USERS as {r}error: raise {r}shortened({r}error) from {r}error.__cause__")
        head = (
            f"launch({self.client}, {self.counted}, {self.dim}, {self.parameters()}/, *{r}extra, **{r}named)"
        )
        return _function(head, body)


def _function(head: str, body: Lines) -> str:
    return f"def {head}:\n" + "".join(f" {line}\n" for line in body)


def _free_prefix(names: Lines) -> str:
    prefixes = (f"r{number or ''}_" for number in itertools.count())
    return next(p for p in prefixes if not any(name.startswith(p) for name in names))


def _free(name: str, names: Lines) -> str:
    """The name, with underscores after it if parameters of the kernel are called so."""
    while name in names:
        name += "_"
    return name


def array_names(source: KernelSource) -> tuple[str, ...]:
    """The first parameter behind each binding."""
    return tuple(binding.arrays[0] for binding in source.bindings if binding.arrays)


def array_writes(source: KernelSource) -> tuple[bool, ...]:
    """Whether each of them is written."""
    return tuple(binding.writes for binding in source.bindings if binding.arrays)


__all__ = ["ArrayParam", "Writer", "array_names", "array_writes"]
