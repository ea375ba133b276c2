"""Vector values become components."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from bare import TARGET, legalise
from lanes import run

from ruda_core.dtypes import VecType, f32, i32, u32, vec
from ruda_core.errors import UnsupportedFeature
from ruda_core.ir import build as b
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import expressions, walk
from ruda_core.ir.verify import verify
from ruda_core.passes.storage import storage
from ruda_core.passes.vectors import vectors

UNIT = ir.Builtin(i32, None, "absolute_pos")
F4 = vec(f32, 4)


def kernel(body: tuple[ir.Stmt, ...], *arrays: ir.Array) -> ir.Function:
    return ir.Function("f", (), arrays, body, (64, 1, 1), i32)


def lowered(f: ir.Function) -> ir.Function:
    f = vectors(f, TARGET)
    verify(f, "vectors")
    return legalise(storage(f, TARGET), TARGET)


def test_a_swizzle_of_itself_reads_before_it_writes() -> None:
    a, x, v = ir.Array("a", F4, "global"), ir.Symbol("x", F4), ir.Symbol("v", F4, mutable=True)
    turned = ir.MakeVector(F4, None, tuple(b.component(b.ref(v), k) for k in (1, 2, 3, 0)))
    body = (
        ir.Load(None, x, a, (UNIT,)),
        ir.Assign(None, v, b.ref(x)),
        ir.Assign(None, v, turned),
        ir.Store(None, a, (UNIT,), b.ref(v)),
    )
    data = np.arange(8, dtype=np.float32)
    run(lowered(kernel(body, a)), {"a": data}, 2)
    assert list(data) == [1, 2, 3, 0, 5, 6, 7, 4]


def test_operators_work_by_component() -> None:
    a, x = ir.Array("a", F4, "global"), ir.Symbol("x", F4)
    value = b.ref(x)
    small = b.compare("<", value, b.like(value, 2.5))
    cast = b.cast(f32, b.cast(i32, b.binary("*", value, b.like(value, 1.5))))
    result = b.select(small, b.math("floor", cast), b.unary("-", value))
    body = (ir.Load(None, x, a, (UNIT,)), ir.Store(None, a, (UNIT,), result))
    data = np.array([0, 1, 2, 3], np.float32)
    run(lowered(kernel(body, a)), {"a": data}, 1)
    assert list(data) == [0, 1, 3, -3]


def test_a_scalar_for_all_components_is_computed_once() -> None:
    a, x = ir.Array("a", F4, "global"), ir.Symbol("x", F4)
    costly = b.math("exp", b.cast(f32, UNIT))
    result = b.binary("*", b.ref(x), ir.MakeVector(F4, None, (costly,)))
    f = vectors(kernel((ir.Load(None, x, a, (UNIT,)), ir.Store(None, a, (UNIT,), result)), a), TARGET)
    functions = [e for s in walk(f.body) for e in expressions(s) if isinstance(e, ir.Math)]
    assert len(functions) == 1


def test_no_vector_arithmetic_remains() -> None:
    a, x = ir.Array("a", F4, "global"), ir.Symbol("x", F4)
    body = (ir.Load(None, x, a, (UNIT,)), ir.Store(None, a, (UNIT,), b.binary("+", b.ref(x), b.ref(x))))
    f = vectors(kernel(body, a), replace(TARGET, vectors=frozenset({4})))
    kinds = {type(e) for s in walk(f.body) for e in expressions(s) if isinstance(e.type, VecType)}
    assert kinds <= {ir.MakeVector, ir.Ref}
    kept = vectors(kernel(body, a), replace(TARGET, semantics=frozenset({"vector_any"})))
    assert kept.body == body


def test_three_components_lie_as_scalars() -> None:
    u3 = vec(u32, 3)
    a, x = ir.Array("a", u3, "global"), ir.Symbol("x", u3)
    body = (
        ir.Load(None, x, a, (UNIT,)),
        ir.Store(None, a, (UNIT,), b.binary("+", b.ref(x), b.like(b.ref(x), 1))),
    )
    f = lowered(kernel(body, a))
    assert f.arrays[0].dtype is u32
    data = np.arange(9, dtype=np.uint32)
    run(f, {"a": data}, 2)
    assert list(data) == [1, 2, 3, 4, 5, 6, 6, 7, 8]
    with pytest.raises(UnsupportedFeature, match="Tensor"):
        vectors(kernel((), replace(a, rank=2)), TARGET)
