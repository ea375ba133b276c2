"""Loops that PoCL's compiler (seen in 3.1) would gather the units of a workgroup before, wrongly.

It puts barriers of its own around a loop whose condition is alike for all units, where it finds that all of them
reach it. It asks only one of the branches that lead there: after `if a: if b: return`, with an `a` that is alike
for all and a `b` that is not, it lets the first unit decide for the whole workgroup. A loop whose condition
depends on the unit's position is left alone.
"""

from __future__ import annotations

from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import bodies, walk

APART = "(get_local_id(0) != 4294967295u)"
"""True, of every unit; that is known as soon as positions are."""


def some_stay_behind(body: ir.Body, leave: int = 0, stop: int = 0) -> bool:
    """Whether units may go different ways to a place behind a branch that they all take alike.

    That takes two conditions, one in the other, or one that is made of several. `leave` and `stop`: how many there
    are around `body`, seen from the whole kernel and from the loop that a break ends.
    """
    for s in body:
        if isinstance(s, ir.Leave) and leave > 1:
            return True
        if isinstance(s, (ir.Break, ir.Continue)) and stop > 1:
            return True
        conditions = 0
        if isinstance(s, ir.If):
            conditions = 1 if isinstance(s.cond, ir.Compare) else 2
            if conditions > 1 and any(isinstance(inner, (ir.For, ir.Loop)) for inner in walk((s,))):
                return True
        repeats = isinstance(s, (ir.For, ir.Loop, ir.Block))
        if any(
            some_stay_behind(
                inner, leave + (1 if repeats else conditions), 0 if repeats else stop + conditions
            )
            for inner in bodies(s)
        ):
            return True
    return False


def gathers(loop: ir.Stmt) -> bool:
    """Whether the kernel itself has a barrier in a loop, so that all units must reach it."""
    return any(isinstance(s, ir.Barrier) for s in walk((loop,)))
