"""Random programs give on every device what they give on the reference."""

from __future__ import annotations

import random
import zlib

import pytest

import ruda_core as ruda
from ruda_core.conformance.compare import Comparison, Difference
from ruda_core.conformance.random_kernels import ATOMICS, Generator, RandomKernel
from ruda_core.conformance.random_kernels.expressions import operator
from ruda_core.conformance.random_kernels.writer import Writer
from ruda_core.conformance.shrink import defined, shorter, shrunk

KERNELS = 75
"""For each device."""
BATCH = 25


@pytest.mark.parametrize("batch", range(KERNELS // BATCH))
def test_device_agrees_with_the_reference(client, batch):
    comparison = Comparison(ruda.client("reference"), [client])
    first = zlib.crc32(str(client.device).encode()) + batch * BATCH
    found = [d for seed in range(first, first + BATCH) for _, d in comparison.check(seed)]
    if found:
        short = shorter(comparison, found[0], attempts=60)
        pytest.fail("\n\n".join([*map(str, found), f"The first, made shorter:\n{short}"]), pytrace=False)


def test_seed_gives_the_same_kernel_again():
    generator = Generator()
    assert generator.kernel(7) == Generator().kernel(7)
    assert generator.kernel(7).text != generator.kernel(8).text


def test_flushed_dtypes_get_no_bits_of_integers():
    def texts(*flushed: str) -> str:
        return "\n".join(Generator(flushed=flushed).kernel(seed).text for seed in range(200))

    assert "bitcast(f32" in texts()
    assert "bitcast(f32" not in texts("f32")
    assert "bitcast(i32" in texts("f32")


def test_flushed_dtypes_do_not_shrink_in_loops():
    """A value that is squared in a loop is soon subnormal."""
    writer = Writer(random.Random(1), ("f32", "i32"), flushed=frozenset({"f32"}))

    def drawn(dtype: str) -> set[str]:
        return {operator(writer, dtype) for _ in range(100)}

    assert "*" in drawn("f32")
    for kind in ({"loop": True}, {"repeated": True}):
        with writer.block(**kind), writer.block():
            assert drawn("f32") == {"+", "-"} and "*" in drawn("i32")
    assert "*" in drawn("f32")


def test_devices_without_atomics_get_none():
    def texts(*, atomics: bool) -> str:
        return "\n".join(Generator(atomics=atomics).kernel(seed).text for seed in range(200))

    assert all(f"atomic_{op}" in texts(atomics=True) for op in ATOMICS)
    assert "atomic_" not in texts(atomics=False)


def test_kernels_use_the_whole_language():
    texts = "\n".join(Generator(("i32", "u32", "f32", "u8")).kernel(seed).text for seed in range(200))
    for part in (
        "@ruda.func",
        "Vec[",
        "ruda.local",
        "ruda.shared",
        "barrier",
        "return\n",
        "bitcast",
        "unroll",
    ):
        assert part in texts


class OneByte(Comparison):
    """A comparison with a device that gets every kernel wrong that has a product."""

    def differences(self, made: RandomKernel):
        super().differences(made)
        return [(self.reference, Difference(made, "out[0] is 1, the reference gives 2"))] * (
            " * " in made.text
        )


def test_difference_becomes_shorter_and_stays_one():
    reference = ruda.client("reference")
    comparison = OneByte(reference, [reference])
    seed = next(s for s in range(100) if comparison.check(s))
    (_, difference), *_ = comparison.check(seed)
    short = shorter(comparison, difference)
    assert " * " in short.kernel.text
    assert len(short.kernel.text) < len(difference.kernel.text) / 2
    assert str(seed) in str(short)


def test_shrinking_gives_up_after_its_attempts():
    made = Generator().kernel(3)
    tried = []
    assert shrunk(made, lambda candidate: bool(tried.append(candidate)), attempts=10) == made
    assert len(tried) < 10


def test_shortened_kernel_still_fills_the_memory_that_it_reads():
    generator = Generator()
    assert all(defined(generator.kernel(seed).text) for seed in range(300))
    shared = (
        "    tile = ruda.shared(i32, 32)\n"
        "    for k in range(2):\n"
        "        tile[ruda.UNIT_POS] = 1\n"
        "        ruda.barrier()\n"
        "        v = tile[(ruda.UNIT_POS + 1) % 32]\n"
        "        ruda.barrier()\n"
    )
    local = (
        "    scratch = ruda.local(i32, 3)\n"
        "    for k in range(3):\n"
        "        scratch[k] = 1\n"
        "    v = scratch[2]\n"
    )
    counted = "    n = i32(3)\n    while n > 0 and v < 2:\n        n -= 1\n        v += 1\n"
    for text, line in ((shared, 2), (shared, 3), (shared, 5), (local, 2), (counted, 2)):
        lines = text.splitlines(keepends=True)
        assert defined(text)
        assert not defined("".join([*lines[:line], *lines[line + 1 :]]))
