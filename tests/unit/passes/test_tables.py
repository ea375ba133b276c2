"""Constant arrays with infinities or NaN: arrays of bits, which load the same values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from evaluate import run

from ruda_core.dtypes import BY_NAME, DType, bf16, f16, f32, f64, i32, unsigned, vec
from ruda_core.ir import build as b
from ruda_core.ir import nodes as ir
from ruda_core.ir.verify import verify
from ruda_core.passes.tables import tables

VALUES = (math.inf, -math.inf, math.nan, -0.0, 1.5, -2.0)


def reading(dtype: DType, values: tuple[int | float, ...], *, lanes: int = 1) -> ir.Function:
    """out[k] = table[k] of every element."""
    element = vec(dtype, lanes) if lanes > 1 else dtype
    count = len(values) // lanes
    table = ir.Array("table", element, "constant", (count,), values=values)
    out = ir.Array("out", element, "global")
    body: list[ir.Stmt] = []
    for k in range(count):
        x, at = ir.Symbol("x", element), (b.const(i32, k),)
        body += [ir.Load(None, x, table, at), ir.Store(None, out, at, b.ref(x))]
    return ir.Function("f", (), (table, out), tuple(body), (1, 1, 1), i32)


@pytest.mark.parametrize("dtype", [f16, bf16, f32, f64], ids=str)
def test_bits_in_the_array_and_the_same_values_out_of_it(dtype: DType) -> None:
    function = tables(reading(dtype, VALUES))
    verify(function, "tables")
    table = function.arrays[0]
    assert table.dtype is unsigned(dtype)
    assert all(isinstance(value, int) for value in table.values)
    out = np.zeros(len(VALUES), dtype.numpy)
    run(function, out=out)
    expected = np.array(VALUES).astype(dtype.numpy).astype(float)
    np.testing.assert_array_equal(out.astype(float), expected)
    assert math.copysign(1, out[3]) == -1


def test_vectors_keep_their_lanes() -> None:
    function = tables(reading(f32, VALUES, lanes=2))
    verify(function, "tables")
    assert function.arrays[0].dtype == vec(unsigned(f32), 2)


@pytest.mark.parametrize("name", ["f32", "i64", "bool"])
def test_what_has_a_spelling_stays(name: str) -> None:
    values = (True, False) if name == "bool" else (1.5, -0.0) if name == "f32" else (1, -2)
    function = reading(BY_NAME[name], values)
    assert tables(function) is function
