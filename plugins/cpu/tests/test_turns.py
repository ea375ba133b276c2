"""Loops over what lies far apart: groups take their turns together, and every unit still makes its own."""

from __future__ import annotations

import numpy as np
import pytest
from ruda_cpu.analysis.turns import in_turns

import ruda_core as ruda
from ruda_core import Array, Comptime, f32, i32, u8, u32

UNITS = 64
GROUPS = 3
SIZE = 10 * UNITS + 37
"""Some units of a launch make one turn more than others, and one group is torn apart by that."""


@ruda.kernel
def forwards(x: Array[i32], y: Array[i32]):
    for i in range(ruda.ABSOLUTE_POS, len(x), UNITS * ruda.WORKGROUP_COUNT):
        y[i] = y[i] + 3 * x[i]


@ruda.kernel
def backwards(x: Array[i32], y: Array[i32]):
    for i in range(len(x) - 1 - ruda.ABSOLUTE_POS, -1, -UNITS * ruda.WORKGROUP_COUNT):
        y[i] = y[i] + 3 * x[i]


@ruda.kernel
def either_way(step: i32, x: Array[i32], y: Array[i32]):
    """The sign is known at run time only; one of the two loops makes no turns."""
    size = step * UNITS * ruda.WORKGROUP_COUNT
    for i in range(ruda.ABSOLUTE_POS, len(x), size):
        y[i] = y[i] + 3 * x[i]
    for i in range(len(x) - 1 - ruda.ABSOLUTE_POS, -1, size):
        y[i] = y[i] + 3 * x[i]


@ruda.kernel
def two_apart(x: Array[i32], y: Array[i32]):
    for i in range(2 * ruda.ABSOLUTE_POS, len(x), 2 * UNITS * ruda.WORKGROUP_COUNT):
        y[i] = y[i] + 3 * x[i]
        y[i + 1] = y[i + 1] + 3 * x[i + 1]


@ruda.kernel
def branching(x: Array[i32], y: Array[i32]):
    for i in range(ruda.ABSOLUTE_POS, len(x), UNITS * ruda.WORKGROUP_COUNT):
        new = y[i]
        if x[i] % 2 == 0:
            new += x[i]
        else:
            new += x[i] + 1
            new -= 1
        y[i] = new + 2 * x[i]


SAME = [forwards, backwards, two_apart, branching]


@ruda.kernel
def sums(x: Array[i32], y: Array[i32]):
    """What a unit found is used after its loop."""
    parts = ruda.shared(i32, UNITS)
    total = 0
    for i in range(ruda.ABSOLUTE_POS, len(x), UNITS * ruda.WORKGROUP_COUNT):
        total += x[i]
    parts[ruda.UNIT_POS] = total
    ruda.barrier()
    for k in range(ruda.UNIT_POS, UNITS, UNITS):
        ruda.atomic_add(y, 0, parts[k])


@ruda.kernel
def counts(x: Array[u8], y: Array[u32]):
    bins = ruda.shared(u32, 256)
    for k in range(ruda.UNIT_POS, 256, UNITS):
        bins[k] = 0
    ruda.barrier()
    for i in range(ruda.ABSOLUTE_POS, len(x), UNITS * ruda.WORKGROUP_COUNT):
        ruda.atomic_add(bins, x[i], 1)
    ruda.barrier()
    for k in range(ruda.UNIT_POS, 256, UNITS):
        ruda.atomic_add(y, k, bins[k])


@ruda.func
def count(first: i32, x: Array[i32]):
    """Starts wrap for some of the units, which then make turns that the others do not."""
    turns = 0
    for i in range(ruda.UNIT_POS + first, 2147483647, 268435461):
        turns += 1 + x[i]
    return turns


@ruda.kernel
def near_the_end(first: i32, x: Array[i32], y: Array[i32]):
    y[ruda.UNIT_POS] = count(first, x)


@ruda.kernel
def near_the_end_known(first: Comptime[int], x: Array[i32], y: Array[i32]):
    """The same, with starts that the compiler knows."""
    y[ruda.UNIT_POS] = count(first, x)


@ruda.kernel
def last_place(size: Comptime[int], x: Array[f32], y: Array[f32]):
    """A variable that the loop changes and the code before it has set."""
    best, where = -1.0, -1
    for i in range(ruda.UNIT_POS, len(x), size):
        value = x[i]
        if value > best:
            best = value
            where = i
    y[ruda.UNIT_POS] = best + f32(where)


@pytest.fixture
def client():
    return ruda.client("cpu:0")


@pytest.mark.parametrize("size", [SIZE, 12 * UNITS, 10 * UNITS + 1, UNITS - 1, 1, 0])
@pytest.mark.parametrize("kernel", SAME, ids=lambda k: k.__name__)
def test_every_element_is_met_once(client, kernel, size):
    x = np.arange(1, size + 1, dtype=np.int32)
    y = client.tensor(np.full(size, 5, np.int32))
    kernel.launch(client, GROUPS, UNITS, client.tensor(x), y)
    np.testing.assert_array_equal(y.numpy(), 5 + 3 * x)


@pytest.mark.parametrize("step", [1, -1, 2, 0])
def test_the_step_may_have_either_sign(client, step):
    x = np.arange(1, SIZE + 1, dtype=np.int32)
    y = client.zeros(SIZE, np.int32)
    either_way.launch(client, GROUPS, UNITS, step, client.tensor(x), y)
    positions = np.arange(SIZE)
    met = np.zeros(SIZE, bool) if step == 0 else positions // (UNITS * GROUPS) % abs(step) == 0
    if step < 0:
        met = met[::-1]
    np.testing.assert_array_equal(y.numpy(), np.where(met, 3 * x, 0))


def test_what_a_unit_found_outlives_its_loop(client):
    x = np.arange(SIZE, dtype=np.int32)
    y = client.zeros(1, np.int32)
    sums.launch(client, GROUPS, UNITS, client.tensor(x), y)
    assert y.numpy()[0] == x.sum()


def test_shared_counts(client):
    x = np.random.default_rng(1).integers(0, 256, SIZE, np.uint8)
    y = client.zeros(256, np.uint32)
    counts.launch(client, GROUPS, UNITS, client.tensor(x), y)
    np.testing.assert_array_equal(y.numpy(), np.bincount(x, minlength=256))


@pytest.mark.parametrize("first", [0, 2147483647 - 40, 2147483647 - 20 - 268435461, -2147483648, 2147483647])
@pytest.mark.parametrize("kernel", [near_the_end, near_the_end_known], ids=lambda k: k.__name__)
def test_starts_that_wrap(client, kernel, first):
    y = client.zeros(UNITS, np.int32)
    kernel.launch(client, 1, UNITS, first, client.zeros(4, np.int32), y)
    starts = (np.arange(UNITS) + first + 2**31) % 2**32 - 2**31
    turns = [len(range(int(start), 2147483647, 268435461)) for start in starts]
    np.testing.assert_array_equal(y.numpy(), turns)


@pytest.mark.parametrize("units", [UNITS, 33, 16, 200])
def test_variables_from_before(client, units):
    x = np.random.default_rng(2).permutation(SIZE).astype(np.float32)
    y = client.zeros(units, np.float32)
    last_place.launch(client, 1, units, units, client.tensor(x), y)
    places = [max(range(u, SIZE, units), key=lambda i: x[i]) for u in range(units)]
    np.testing.assert_array_equal(y.numpy(), [x[p] + p for p in places])


@pytest.mark.parametrize("kernel", [*SAME, sums, near_the_end], ids=lambda k: k.__name__)
def test_turns_are_taken_together(kernel, monkeypatch):
    """What the tests above are about does happen."""
    found = []

    def watched(function):
        found.append(in_turns(function))
        return found[-1]

    monkeypatch.setattr("ruda_cpu.dialect.in_turns", watched)
    ruda.compile_for("cpu", kernel, UNITS)
    assert [len(turns.jumps) for turns in found] == [1]


def test_long_chains_of_values(client, tmp_path, monkeypatch):
    """A start, and a place, that hundreds of values lead to."""
    lines = ["import ruda_core as ruda", "from ruda_core import Array, i32", "", "@ruda.kernel"]
    lines += ["def chained(x: Array[i32], y: Array[i32]):", "    a0 = ruda.ABSOLUTE_POS"]
    lines += [f"    a{k} = a{k - 1} + {k % 2}" for k in range(1, 601)]
    lines += [f"    for i in range(a600 - 300, len(x), {UNITS} * ruda.WORKGROUP_COUNT):", "        b0 = i"]
    lines += [f"        b{k} = b{k - 1} + 1" for k in range(1, 601)]
    lines += ["        y[b600 - 600] = x[i] + 1"]
    (tmp_path / "chained_kernel.py").write_text("\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    import chained_kernel as module

    x = np.arange(SIZE, dtype=np.int32)
    y = client.zeros(SIZE, np.int32)
    module.chained.launch(client, GROUPS, UNITS, client.tensor(x), y)
    np.testing.assert_array_equal(y.numpy(), x + 1)
