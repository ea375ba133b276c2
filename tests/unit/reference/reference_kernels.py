"""Kernels that several tests run."""

from __future__ import annotations

from reference_harness import Body, array, below, num

from ruda_core.dtypes import f32, i32
from ruda_core.ir import build
from ruda_core.ir import nodes as ir


def axis(name: str, k: int) -> ir.Expr:
    return ir.Builtin(i32, None, name, k)


def op(sign: str, a: ir.Expr, b: ir.Expr | int) -> ir.Expr:
    return build.binary(sign, a, num(b) if isinstance(b, int) else b)


def matmul_body(*, checks: bool) -> tuple[Body, list[ir.Array]]:
    """C = A B by 16 x 16 tiles in shared memory, and its arrays."""
    tile = 16
    a, bb, c = (array(name, f32, rank=2) for name in "abc")
    tiles = [ir.Array(name, f32, "shared", (tile, tile)) for name in ("ta", "tb")]
    ux, uy = axis("unit_pos", 0), axis("unit_pos", 1)
    row, column = axis("absolute_pos", 1), axis("absolute_pos", 0)
    inner_size = ir.Shape(i32, None, a, 1)
    b = Body()
    total = b.variable(num(0.0, f32))
    t, k = ir.Symbol("t", i32), ir.Symbol("k", i32)
    step, dot = Body(), Body()
    for memory, shared, at in (
        (a, tiles[0], (row, op("+", op("*", build.ref(t), tile), ux))),
        (bb, tiles[1], (op("+", op("*", build.ref(t), tile), uy), column)),
    ):
        inside = build.both(*(below(i, ir.Shape(i32, None, memory, d)) for d, i in enumerate(at)))
        step.store(shared, (uy, ux), step.load(memory, *at, check=inside if checks else None))
    step.add(ir.Barrier(None))
    product = op("*", dot.load(tiles[0], uy, build.ref(k)), dot.load(tiles[1], build.ref(k), ux))
    dot.add(ir.Assign(None, total, op("+", build.ref(total), product)))
    step.add(ir.For(None, k, num(0), num(tile), num(1), dot.body()))
    step.add(ir.Barrier(None))
    b.add(ir.For(None, t, num(0), op("//", op("+", inner_size, tile - 1), tile), num(1), step.body()))
    inside = build.both(*(below(i, ir.Shape(i32, None, c, d)) for d, i in enumerate((row, column))))
    b.store(c, (row, column), build.ref(total), check=inside if checks else None)
    return b, [a, bb, c, *tiles]
