"""From a seed to the text of a whole kernel with its helpers."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ruda_core.conformance.random_kernels.expressions import condition, expression, index
from ruda_core.conformance.random_kernels.statements import exchange, statements
from ruda_core.conformance.random_kernels.writer import FLOATS, INTEGERS, LENGTH, Helper, Readable, Writer

ATOMICS = ("add", "max", "or", "xor")
"""What is done to each element of `count`: one operation an element, so that the order is of no account."""
_SPELLED = {"or": "or_"}


@dataclass(frozen=True)
class RandomKernel:
    """One generated kernel: `text` defines `kernel`, with the arrays `inputs`, then `out` and `count`."""

    seed: int
    text: str
    inputs: tuple[str, ...]
    """Dtypes of the input arrays in0, in1, …"""
    out: str
    """Dtype of `out`."""
    scalars: tuple[str, ...]
    """Dtypes of the scalar parameters s0, s1, …"""


class Generator:
    """Builds kernels over some dtypes."""

    def __init__(
        self,
        dtypes: Sequence[str] = ("i32", "u32", "f32", "i8", "u8", "i16", "u16"),
        *,
        flushed: Collection[str] = (),
        atomics: bool = True,
    ) -> None:
        """`dtypes`: names from `INTEGERS` and `FLOATS` that the devices under test have; i32 among them.
        `flushed`: those whose subnormals one of them does not promise to keep. `atomics`: all have `ATOMICS`
        of i32."""
        self.dtypes = tuple(dtypes)
        self.atomics = atomics
        self.flushed = frozenset(flushed)

    def kernel(self, seed: int) -> RandomKernel:
        """The kernel of a seed: the same for the same dtypes, always."""
        w = Writer(random.Random(seed), self.dtypes, flushed=self.flushed)
        for _ in range(w.rng.randint(0, 2)):
            self._helper(w)
        inputs = tuple(w.choose(self.dtypes) for _ in range(w.rng.randint(1, 3)))
        scalars = tuple(w.choose(self.dtypes) for _ in range(w.rng.randint(0, 2)))
        out = w.choose(self.dtypes)
        arrays = [f"in{i}: Array[{d}]" for i, d in enumerate(inputs)]
        values = [f"s{i}: {d}" for i, d in enumerate(scalars)]
        w.line("@ruda.kernel(fp_contract=False)")
        w.line(f"def kernel({', '.join([*arrays, *values])}, out: Array[{out}], count: Array[i32]):")
        with w.block():
            self._body(w, inputs, scalars, out)
        return RandomKernel(seed, "\n".join(w.lines) + "\n", inputs, out, scalars)

    def _body(self, w: Writer, inputs: tuple[str, ...], scalars: tuple[str, ...], out: str) -> None:
        w.line("i = ruda.ABSOLUTE_POS")
        w.constants.update({f"s{i}": d for i, d in enumerate(scalars)})
        w.arrays += [Readable(f"in{i}", d, LENGTH) for i, d in enumerate(inputs)]
        for i, dtype in enumerate(inputs):
            name = w.fresh("v")
            w.line(f"{name} = in{i}[{index(w, LENGTH)}]")
            w.variables[name] = dtype
        uniform = next((f"s{i}" for i, d in enumerate(scalars) if d in INTEGERS), None)
        shared = w.chance(0.35)
        if shared:
            exchange(w, uniform)
        statements(w, 0, 2, 5)
        if shared and w.chance(0.5):
            exchange(w, uniform)
        if w.chance(0.2):
            w.line(f"if {condition(w, 2)}:")
            with w.block():
                w.line(f"out[i] = {expression(w, out, 2)}")
                w.line("return")
            statements(w, 1, 1, 2)
        result = expression(w, out, 3)
        if self.atomics and w.chance(0.5):
            w.line(f"if {condition(w, 2)}:")
            which = w.rng.randrange(len(ATOMICS))
            w.line(
                f"    ruda.atomic_{_SPELLED.get(ATOMICS[which], ATOMICS[which])}(count, {which}, {expression(w, 'i32', 1)})"
            )
        w.line(f"out[i] = {result}")

    def _helper(self, outer: Writer) -> None:
        """A function with statements, an early return, and one or two results."""
        w = Writer(
            outer.rng,
            self.dtypes,
            helpers=list(outer.helpers),
            position="ruda.UNIT_POS",
            flushed=self.flushed,
        )
        w.names = outer.names
        name = outer.fresh("helper")
        parameters = tuple(w.choose(self.dtypes) for _ in range(w.rng.randint(1, 3)))
        results = tuple(w.choose(self.dtypes) for _ in range(w.rng.choice((1, 1, 1, 2))))
        declared = ", ".join(f"a{k}: {d}" for k, d in enumerate(parameters))
        w.line("@ruda.func")
        w.line(f"def {name}({declared}):")
        with w.block():
            w.variables.update({f"a{k}": d for k, d in enumerate(parameters)})
            statements(w, 1, 0, 2)
            if w.chance(0.5):
                w.line(f"if {condition(w, 1)}:")
                w.line(f"    return {self._results(w, results)}")
                statements(w, 1, 0, 2)
            w.line(f"return {self._results(w, results)}")
        outer.lines += [*w.lines, "", ""]
        outer.names = w.names + 1
        outer.helpers.append(Helper(name, parameters, results))

    def _results(self, w: Writer, results: tuple[str, ...]) -> str:
        return ", ".join(expression(w, d, 2, typed=True) for d in results)


__all__ = ["FLOATS", "LENGTH", "Generator", "RandomKernel"]
