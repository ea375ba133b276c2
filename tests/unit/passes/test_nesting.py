"""How deep expressions may be."""

from __future__ import annotations

import numpy as np
from lanes import run, scalar_function

from ruda_core.dtypes import i32
from ruda_core.ir import build as b
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import expressions, operands, walk
from ruda_core.ir.verify import verify
from ruda_core.passes.nesting import DEEPEST, nesting


def tower(x: ir.Expr, levels: int) -> ir.Expr:
    for k in range(levels):
        x = b.binary("^", b.binary("+", x, b.const(i32, k)), x if k == 0 else b.const(i32, 3 * k))
    return x


def depth(expr: ir.Expr) -> int:
    return 1 + max(map(depth, operands(expr)), default=0)


def deepest(function: ir.Function) -> int:
    return max(depth(e) for s in walk(function.body) for e in operands(s))


def test_deep_expressions_are_taken_apart_and_mean_the_same() -> None:
    function = scalar_function(lambda x: tower(x, 100), i32)
    shallow = nesting(function)
    verify(shallow)
    assert deepest(function) > 200
    assert deepest(shallow) <= DEEPEST + 1
    x = np.arange(64, dtype=np.int32)
    results = []
    for f in (function, shallow):
        out = np.zeros(64, np.int32)
        run(f, {"in0": x, "out": out}, 64)
        results.append(out)
    np.testing.assert_array_equal(*results)
    assert results[0].any()


def test_ordinary_ones_are_left_alone() -> None:
    function = scalar_function(lambda x: tower(x, 8), i32)
    assert nesting(function).body == function.body
    assert any(isinstance(e, ir.Binary) for s in walk(function.body) for e in expressions(s))
