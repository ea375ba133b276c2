"""Index tuples, strides, flat indices and offsets become one element index."""

from __future__ import annotations

import math

import numpy as np
import pytest
from building import Kernel, const
from evaluate import Buffer, run

from ruda_core.capabilities import Target
from ruda_core.dtypes import f32, i32, i64, u8
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import walk
from ruda_core.ir.text import show
from ruda_core.ir.verify import verify
from ruda_core.passes.bounds import bounds
from ruda_core.passes.faults import faults
from ruda_core.passes.flatten import flatten

PLAIN = Target(storage=frozenset(), arithmetic=frozenset())
OFFSET = Target(storage=frozenset(), arithmetic=frozenset(), semantics=frozenset({"offset"}))
NATIVE = Target(storage=frozenset(), arithmetic=frozenset(), semantics=frozenset({"offset", "tensor_index"}))


def tensor_kernel(flat: bool) -> Kernel:
    """out[k] = element k of a tensor of rank 3 in row-major order."""
    k = Kernel()
    t, out = k.array("t", i32, rank=3), k.array("out", i32)
    i = k.let(k.builtin("absolute_pos"))
    if flat:
        k.store(out, i, k.load(t, i, flat=True))
    else:
        b, c = k.shape(t, 1), k.shape(t, 2)
        k.store(out, i, k.load(t, i // (b * c), i // c % b, i % c))
    return k


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("target", [PLAIN, OFFSET])
def test_tensors_through_their_strides(flat: bool, target: Target) -> None:
    data = np.arange(200, dtype=np.int32)
    view = data[7:].reshape(-1)[: 4 * 6 * 8].reshape(4, 6, 8)[:, 1:4, ::2].transpose(2, 0, 1)
    strides = tuple(s // 4 for s in view.strides)
    offset = (view.__array_interface__["data"][0] - data.__array_interface__["data"][0]) // 4
    t = Buffer(data, offset=offset, shape=view.shape, strides=strides)
    out = np.zeros(view.size, np.int32)
    function = flatten(bounds(tensor_kernel(flat).function()), target)
    verify(function)
    run(function, t=t, out=out, count=(view.size + 3, 1, 1), flattened=True)
    assert np.array_equal(out, view.ravel())


def test_a_flat_index_into_an_empty_tensor_divides_by_nothing() -> None:
    out = np.full(1, 5, np.int32)
    t = Buffer(np.zeros(1, np.int32), shape=(2, 0, 3), strides=(0, 3, 1))
    run(flatten(bounds(tensor_kernel(True).function()), PLAIN), t=t, out=out, flattened=True)
    assert out[0] == 0


@pytest.mark.parametrize("space", ["shared", "local"])
def test_memory_of_several_axes_is_row_major(space: ir.Space) -> None:
    k = Kernel()
    out, s = k.array("out", i32), k.memory(space, "s", i32, (2, 3, 4))
    with k.range(0, 2) as a, k.range(0, 3) as b, k.range(0, 4) as c:
        k.store(s, (a, b, c), a * 100 + b * 10 + c)
    with k.range(0, 24) as i:
        k.store(out, i, k.load(s, i, flat=True))
    data = np.zeros(24, np.int32)
    run(flatten(bounds(k.function()), PLAIN), out=data, flattened=True)
    assert data.tolist() == [a * 100 + b * 10 + c for a in range(2) for b in range(3) for c in range(4)]


def test_constant_indices_become_one_constant() -> None:
    k = Kernel()
    s = k.memory("shared", "s", i32, (4, 5))
    k.store(s, (const(i32, 2), const(i32, 3)), 1)
    assert "store s[13:i32]" in show(flatten(bounds(k.function()), PLAIN))


def test_offsets_of_global_arrays_only() -> None:
    k = Kernel(mode="validate")
    x, s, n = k.array("x", f32), k.memory("shared", "s", f32, (4,)), k.scalar("n", i64)
    k.store(x, n, k.load(s, n.to(u8).to(i32)))
    function = flatten(faults(bounds(k.function())), PLAIN)
    verify(function)
    text = show(function)
    assert "x[(offset(x) + i32(n))]" in text
    assert "offset(s)" not in text and "offset(faults)" not in text
    assert "offset" not in show(flatten(bounds(k.function()), OFFSET))


def test_targets_that_index_tensors_keep_the_tuples() -> None:
    function = bounds(tensor_kernel(True).function())
    assert flatten(function, NATIVE) is function


def test_every_access_has_one_index() -> None:
    function = flatten(bounds(tensor_kernel(False).function()), PLAIN)
    found = [s for s in walk(function.body) if isinstance(s, (ir.Load, ir.Store))]
    assert (
        all(len(s.index) == 1 and not s.flat for s in found) and math.prod(len(s.index) for s in found) == 1
    )
