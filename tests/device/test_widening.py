"""Kernels that do several neighbours in each unit give what they give one by one, bit for bit.

Every device here widens, whether or not it gains by that.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import pytest
from support import NUMPY, usable
from widening import Run, fresh, gaining, values, widens

import ruda_core as ruda
from ruda_core import Array, f32, i8, i32, u8
from ruda_core.artifact import VariantFacts

T = TypeVar("T")
R = TypeVar("R")
SIZES = (0, 1, 3, 4, 5, 63, 64, 65, 1023, 1024, 1025)
ROOM = 1 << 12


@pytest.fixture
def client(client, monkeypatch):
    return gaining(client, monkeypatch)


@ruda.kernel
def saxpy(a: T, x: Array[T], y: Array[T]):
    i = ruda.ABSOLUTE_POS
    if i < len(y):
        y[i] = a * x[i] + y[i]


@ruda.kernel
def unguarded(x: Array[f32], y: Array[f32]):
    y[ruda.ABSOLUTE_POS] = x[ruda.ABSOLUTE_POS] * 2.0


@ruda.kernel
def branches(n: i32, x: Array[f32], y: Array[f32], z: Array[i32]):
    i = ruda.ABSOLUTE_POS
    if i >= n:
        return
    v = x[i]
    if v < 0.0:
        v = -v * 3.0
    if i > 5 and i + 3 < len(y):
        y[i] = v
        z[i] = i
    else:
        z[i] = -i
        if i < len(y):
            y[i] = v + 1.0
    if not (i < 7 or i == 9):
        z[i] += i32(v)


@ruda.kernel
def convert(x: Array[T], out: Array[R]):
    i = ruda.ABSOLUTE_POS
    if i < len(out):
        out[i] = R(x[i])


@ruda.kernel
def shared_places(k: i32, x: Array[f32], table: Array[f32], y: Array[f32]):
    i = ruda.ABSOLUTE_POS
    scale = table[k]
    if k > 1:
        scale = table[0]
    if i < len(x):
        y[i] = x[i] * scale + f32(ruda.WORKGROUP_COUNT)


@ruda.kernel
def mixed(a: Array[u8], b: Array[i8], c: Array[i32], d: Array[f32], out: Array[f32], flag: Array[ruda.bool_]):
    i = ruda.ABSOLUTE_POS
    if i < len(out):
        out[i] = f32(a[i]) + f32(b[i]) * d[i] + f32(c[i])
        flag[i] = not flag[i] and a[i] > 50


@pytest.mark.parametrize("dim", [64, 100, 256])
def test_sizes(client, dim):
    run = Run(client, saxpy)
    x, y = values("f32", ROOM), values("f32", ROOM, 1)
    for size in SIZES:
        for count in {-(-size // dim), size // dim, 3}:
            run.compare(count, dim, f32(2.5), (x, 0, size), (y, 0, size))
            run.compare(count, dim, f32(2.5), (x, 0, max(size - 2, 0)), (y, 0, size))


def test_offsets(client):
    run = Run(client, saxpy)
    x, y = values("f32", ROOM), values("f32", ROOM, 1)
    for of_x in range(6):
        for of_y in range(6):
            run.compare(9, 64, f32(0.5), (x, of_x, 517), (y, of_y, 517))


@pytest.mark.parametrize("name", [*(n for n in NUMPY if n != "bool")])
def test_dtypes(client, name):
    if name not in usable(client, [name]):
        pytest.skip(f"no {name}")
    run = Run(client, saxpy)
    x, y = values(name, ROOM), values(name, ROOM, 1)
    for size, of_x, of_y in ((1025, 0, 0), (1025, 16, 32), (77, 8, 8), (1000, 1, 0), (3, 4, 4)):
        run.compare(-(-size // 64), 64, NUMPY[name](3), (x, of_x, size), (y, of_y, size))


@pytest.mark.parametrize(
    "names", [("f16", "f32"), ("bf16", "f32"), ("f32", "f16"), ("bool", "i32"), ("u8", "bool"), ("f32", "i8")]
)
def test_conversions(client, names):
    run = Run(client, convert)
    x, out = values(names[0], ROOM), np.zeros(ROOM, NUMPY[names[1]])
    for size, offset in ((1024, 0), (1001, 16), (70, 2)):
        run.compare(-(-size // 64), 64, (x, offset, size), (out, 0, size))


@pytest.mark.parametrize("dim", [64, 100])
def test_branches(client, dim):
    run = Run(client, branches)
    x, y, z = values("f32", ROOM), values("f32", ROOM, 1), values("i32", ROOM, 2)
    for size in SIZES:
        for n in {size, size - 3, size + 9}:
            run.compare(-(-size // dim) + 1, dim, n, (x, 0, size), (y, 4, size), (z, 0, size))


def test_unchecked(client):
    run = Run(client, unguarded)
    x, y = values("f32", ROOM), values("f32", ROOM, 1)
    for count, dim in ((1, 1), (5, 1), (7, 3), (3, 100), (9, 64)):
        for offset in (0, 1):
            run.compare(count, dim, (x, 0, count * dim), (y, offset, count * dim), mode="unchecked")


@pytest.mark.parametrize("dim", [(8, 4), (6, 2, 2), (64, 1)])
def test_axes(client, dim):
    run = Run(client, saxpy)
    x, y = values("f32", ROOM), values("f32", ROOM, 1)
    for count in ((3, 2), (1, 3, 2), (5, 1, 2), (4,), (6, 3)):
        for size in (700, ROOM):
            run.compare(count, dim, f32(1.5), (x, 0, size), (y, 0, size))


def test_places_that_all_units_share(client):
    run = Run(client, shared_places)
    x, table, y = values("f32", ROOM), values("f32", 7, 3), values("f32", ROOM, 1)
    for k in (0, 3, 6, 9):
        run.compare(17, 64, k, (x, 0, 1055), (table, 0, 7), (y, 0, 1055))


def test_mixed_widths(client):
    run = Run(client, mixed)
    arrays = [values(n, ROOM, k) for k, n in enumerate(("u8", "i8", "i32", "f32", "f32", "bool"))]
    for size, offset in ((1025, 0), (555, 4), (555, 3)):
        run.compare(-(-size // 64), 64, *((a, offset, size) for a in arrays))


def test_one_array_under_two_names(client):
    kernel = fresh(saxpy)
    for of_x, of_y in ((0, 0), (4, 0), (8, 300)):
        whole = values("f32", ROOM)
        here = client.tensor(whole)
        kernel.launch(client, 2, 64, f32(2.0), here[of_x : of_x + 100], here[of_y : of_y + 100])
        assert np.array_equal(here.numpy()[of_y + 100 :], whole[of_y + 100 :])
        if of_x == of_y or of_y > of_x + 100:
            wanted = whole.copy()
            wanted[of_y : of_y + 100] += 2 * whole[of_x : of_x + 100]
            assert np.array_equal(here.numpy(), wanted)


def test_folded_counts(client):
    if client.properties().max_workgroup_count[0] > 1 << 17:
        pytest.skip("no count that memory can hold is folded")
    groups = client.properties().max_workgroup_count[0] + 3
    run = Run(client, saxpy)
    x, y = values("f32", groups * 2), values("f32", groups * 2, 1)
    run.compare(groups, 2, f32(2.0), (x, 0, groups * 2 - 1), (y, 0, groups * 2 - 1))


def test_validate_mode_reports_the_element(client):
    kernel = fresh(unguarded)
    x, y = client.zeros(64, np.float32), client.zeros(61, np.float32)
    kernel.prepare(client, 64, x, y, mode="validate")(1, x, y)
    with pytest.raises(ruda.KernelFault, match="6[123]"):
        client.sync().result()


def test_wide_loads_are_in_the_text(client):
    """What the other tests compare is the widened form, where the device has one."""
    if not widens(client):
        pytest.skip("text without vectors, or none")
    facts = VariantFacts(equal_lengths=(("x", "y"),))
    made = fresh(saxpy).compile(client, 64, f32, Array[f32], Array[f32])
    assert made.plan.variant(facts).per_unit == 4
    assert made.resources["units_per_workgroup"] == 64
