"""Running generated kernels on two devices and comparing every bit that is defined."""

from __future__ import annotations

import importlib.util
import itertools
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import ruda_core as ruda
from ruda_core.conformance.random_kernels import ATOMICS, Generator, RandomKernel
from ruda_core.conformance.random_kernels.writer import FLOATS, INTEGERS, LENGTH, UNITS
from ruda_core.dtypes import BY_NAME, as_dtype

_HEAD = (
    "import ruda_core as ruda\n"
    "from ruda_core import Array, Vec, bf16, f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64\n\n\n"
)

_LINES = 10
"""Lines of an error that are kept."""
_numbers = itertools.count()

Results = dict[str, np.ndarray[Any, Any]]
"""What the arrays that a kernel writes hold, by parameter."""


@dataclass(frozen=True)
class Difference:
    """A kernel on which a device and the reference disagree, or that a device does not run."""

    kernel: RandomKernel
    what: str

    def __str__(self) -> str:
        return f"seed {self.kernel.seed}: {self.what}\n{self.kernel.text}"


def dtypes_of(*clients: ruda.ComputeClient) -> tuple[str, ...]:
    """The dtypes of the generator that all these devices compute with."""
    return tuple(n for n in (*INTEGERS, *FLOATS) if all(c.features().dtypes[n].arithmetic for c in clients))


def flushed_by(*clients: ruda.ComputeClient) -> frozenset[str]:
    """The dtypes whose subnormals one of these devices does not promise to keep; bf16 is computed as f32."""
    features = [c.features() for c in clients]
    narrow = () if all(f.f16_subnormals for f in features) else ("f16",)
    wide = () if all(f.f32_subnormals for f in features) else ("f32", "bf16")
    return frozenset((*narrow, *wide))


def _has_atomics(client: ruda.ComputeClient) -> bool:
    return client.features().atomics.get("i32", frozenset()).issuperset(ATOMICS)


class Comparison:
    """Compares devices with a reference client, one kernel after another."""

    def __init__(self, reference: ruda.ComputeClient, clients: list[ruda.ComputeClient]) -> None:
        self.reference = reference
        self.clients = clients
        self.generator = Generator(
            dtypes_of(reference, *clients),
            flushed=flushed_by(*clients),
            atomics=all(map(_has_atomics, clients)),
        )
        self._folder = tempfile.TemporaryDirectory()

    def check(self, seed: int) -> list[tuple[ruda.ComputeClient, Difference]]:
        """The differences on the kernel of a seed, with the client that differs."""
        return self.differences(self.generator.kernel(seed))

    def differences(self, made: RandomKernel) -> list[tuple[ruda.ComputeClient, Difference]]:
        """The same for any text. Raises what the reference raises, for a text that is no kernel."""
        kernel = self._load(made)
        host = _inputs(made)
        expected = _run(kernel, self.reference, made, host)
        found = []
        for client in self.clients:
            what = self._difference(kernel, client, made, host, expected)
            if what:
                found.append((client, Difference(made, what)))
        return found

    def _difference(
        self, kernel: Any, client: ruda.ComputeClient, made: RandomKernel, host: list[Any], expected: Results
    ) -> str:
        try:
            got = _run(kernel, client, made, host)
        except ruda.RudaError as error:
            said = str(error).splitlines()[:_LINES]  # a compiler's log may have the whole source under it
            return "\n".join([f"{type(error).__name__}: {said[0] if said else ''}", *said[1:]])
        return _first_difference(expected, got)

    def _load(self, made: RandomKernel) -> Any:
        name = f"ruda_random_{made.seed}_{next(_numbers)}"
        path = Path(self._folder.name) / f"{name}.py"
        path.write_text(_HEAD + made.text)
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None  # a file that has just been written
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        finally:
            del sys.modules[name]
        return module.kernel


def _inputs(made: RandomKernel) -> list[Any]:
    rng = np.random.default_rng(made.seed)
    return [_values(rng, d, LENGTH) for d in made.inputs] + [_values(rng, d, 1)[0] for d in made.scalars]


def _values(rng: np.random.Generator, dtype: str, n: int) -> np.ndarray[Any, Any]:
    """Half corners of the dtype, half random."""
    numpy = BY_NAME[dtype].numpy
    if dtype in FLOATS:
        corners = np.array([0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 1e-3, 3e9, -7e4, 0.5, 2.5])
        random = rng.standard_normal(n) * 10.0 ** rng.integers(-6, 7, n)
    else:
        low, high = BY_NAME[dtype].min, BY_NAME[dtype].max
        corners = np.array([0, 1, 2, 3, low, low + 1, high, high - 1, high // 2], numpy)
        random = rng.integers(low, high, n, numpy, endpoint=True)
    with np.errstate(over="ignore"):  # what is beyond f16 is infinite
        return np.where(rng.random(n) < 0.5, rng.choice(corners, n), random).astype(numpy)


def _run(kernel: Any, client: ruda.ComputeClient, made: RandomKernel, host: list[Any]) -> Results:
    out = client.zeros(LENGTH, BY_NAME[made.out])
    count = client.zeros(4, np.int32)
    arguments = [client.tensor(a) if isinstance(a, np.ndarray) else a for a in host]
    kernel.launch(client, LENGTH // UNITS, UNITS, *arguments, out, count)
    return {"out": out.numpy(), "count": count.numpy()}


def _first_difference(expected: Results, got: Results) -> str:
    for name, want in expected.items():
        have = got[name]
        same = np.asarray(want == have)
        if as_dtype(want.dtype).is_float:
            same |= np.isnan(want) & np.isnan(have)
        if not same.all():
            at = int(np.argmin(same))
            return f"{name}[{at}] is {have[at]}, the reference gives {want[at]}"
    return ""
