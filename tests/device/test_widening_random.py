"""Elementwise kernels made at random, widened on every device, give what they give on the reference."""

from __future__ import annotations

import importlib.util
import random

import numpy as np
import pytest
from support import usable
from widening import Run, gaining, values, widens

DTYPES = ("i32", "f32", "u32", "i8", "u16", "bool", "i64", "f64")
KERNELS = 8
"""For each device."""


@pytest.fixture
def client(client, monkeypatch):
    return gaining(client, monkeypatch)


class Writer:
    """Writes one kernel: guards on the position, branches on data that only compute, stores at the position."""

    def __init__(self, seed, dtypes):
        self.rng = random.Random(seed)
        pick = self.rng.choice
        self.inputs = [pick(dtypes) for _ in range(self.rng.randint(0, 3))]
        self.outputs = [pick(dtypes) for _ in range(self.rng.randint(1, 2))]
        self.lines = []
        self.values = {}

    def text(self):
        arrays = [f"in{k}: Array[{self.name(t)}]" for k, t in enumerate(self.inputs)]
        arrays += [f"out{k}: Array[{self.name(t)}]" for k, t in enumerate(self.outputs)]
        self.line(0, "@ruda.kernel")
        self.line(0, f"def kernel(n: i32, {', '.join(arrays)}):")
        self.line(1, "i = ruda.ABSOLUTE_POS")
        if self.rng.random() < 0.4:
            self.line(1, f"if {self.guard()}:")
            self.line(2, "return")
        self.block(1, 3)
        self.line(1, f"out0[i] = {self.value(self.outputs[0])}")
        return "\n".join(self.lines) + "\n"

    def name(self, dtype):
        return "bool_" if dtype == "bool" else dtype

    def line(self, depth, text):
        self.lines.append("    " * depth + text)

    def block(self, depth, size):
        known = dict(self.values)
        for _ in range(self.rng.randint(1, size)):
            self.rng.choice((self.load, self.store, self.compute, self.guarded, self.branch))(depth)
        if depth > 1:
            self.values = known  # what a branch binds is not known after it

    def load(self, depth):
        arrays = [(f"in{k}", t) for k, t in enumerate(self.inputs)]
        arrays += [(f"out{k}", t) for k, t in enumerate(self.outputs)]
        array, dtype = self.rng.choice(arrays)
        name = f"v{len(self.lines)}"
        self.line(depth, f"{name} = {array}[i]")
        self.values[name] = dtype

    def store(self, depth):
        k = self.rng.randrange(len(self.outputs))
        self.line(depth, f"out{k}[i] = {self.value(self.outputs[k])}")

    def compute(self, depth):
        dtype = self.rng.choice((*self.values.values(), "i32"))
        name = f"v{len(self.lines)}"
        self.line(depth, f"{name} = {self.value(dtype)}")
        self.values[name] = dtype

    def guarded(self, depth):
        if depth > 3:
            self.store(depth)
            return
        self.line(depth, f"if {self.guard()}:")
        self.block(depth + 1, 3)
        if self.rng.random() < 0.4:
            self.line(depth, "else:")
            self.block(depth + 1, 2)

    def branch(self, depth):
        """A branch on data that only changes a variable."""
        if not self.values:
            self.load(depth)
        name, dtype = self.rng.choice(list(self.values.items()))
        self.line(depth, f"if {self.condition()}:")
        self.line(depth + 1, f"{name} = {self.value(dtype)}")

    def condition(self):
        names = [n for n, t in self.values.items() if t != "bool"]
        return f"{self.rng.choice(names)} > 3" if names else "i > n"

    def guard(self):
        one = self.rng.choice(
            ("i < n", "i >= n", "i < len(out0)", "n > i + 2", "i - 5 <= n", "i != 6", "i > 4")
        )
        if self.rng.random() < 0.3:
            return f"{one} {self.rng.choice(('and', 'or'))} {self.guard()}"
        return one if self.rng.random() < 0.8 else f"not ({one})"

    def value(self, dtype):
        """An expression of this dtype; floats hold small multiples of a half, so that all is exact."""
        name = self.name(dtype)
        sources = [*self.values, "n", "i", "3"]
        a, b = (f"{name}({self.rng.choice(sources)})" for _ in range(2))
        if dtype == "bool":
            return f"({a} != {b})"
        return self.rng.choice((a, f"({a} + {b})", f"({a} - {b})", f"min({a}, {b})"))


def made(seed, dtypes, path):
    """The kernel of a seed, in a module of its own; its input and output dtypes; its text."""
    writer = Writer(seed, dtypes)
    text = writer.text()
    file = path / f"elementwise_{seed}.py"
    file.write_text("import ruda_core as ruda\nfrom ruda_core import *\n\n\n" + text)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel, (*writer.inputs, *writer.outputs), text


def differences(client, seed, path):
    kernel, dtypes, text = made(seed, usable(client, DTYPES), path)
    run = Run(client, kernel)
    rng = np.random.default_rng(seed)
    for dim, count in ((32, 5), (12, 7), (5, 3)):
        units = dim * count
        n = int(rng.integers(-3, units + 9))
        shift = int(rng.choice((0, 0, 1, 16)))
        arrays = [values(name, units + 40, seed + k) for k, name in enumerate(dtypes)]
        lengths = [units + int(rng.choice((0, 0, -2, 5))) for _ in dtypes]
        views = [(a, shift, length) for a, length in zip(arrays, lengths, strict=True)]
        try:
            run.compare(count, dim, n, *views)
        except AssertionError:
            return f"dim={dim}, count={count}, n={n}, offset={shift}, lengths={lengths}:\n{text}"
    return None


@pytest.mark.parametrize("seed", range(KERNELS))
def test_random_elementwise_kernels(client, seed, tmp_path):
    found = differences(client, seed, tmp_path)
    assert found is None, found


def test_most_of_them_are_widened(client, tmp_path):
    if not widens(client):
        pytest.skip("text without vectors, or none")
    kernels = [made(seed, usable(client, DTYPES), tmp_path)[0] for seed in range(40)]
    widths = [kernel.compile(client, 32).kernel_source.per_unit for kernel in kernels]
    assert sum(width > 1 for width in widths) > 20
