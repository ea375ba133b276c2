"""What PoCL's compiler (seen in 3.1) must be told of branches in kernels that have barriers.

There it looks for blocks that all units of a workgroup reach or none. Behind a condition that is alike for all it
takes both ways for such blocks, and does not ask whether another branch leads there too: after `if a: if b: return`,
or in `if a or b:`, with an `a` that is alike for all and a `b` that is not. Around a loop in such a place it puts
barriers of its own, at which the first unit decides for all; a variable that is assigned there has the value of
one unit in all of them after the next barrier. Branches that depend on the unit's position are left alone, so each
condition does. Only heads of loops that no unit leaves before the others stay as they are: for those it is right,
and faster.
"""

from __future__ import annotations

from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import walk

APART = "(get_local_id(0) <= 4294967295u)"
"""True, of every unit. NVIDIA's compiler drops it (seen in NVRTC 13); PoCL's does after it has written out the units."""

ABSENT = "(get_local_id(0) > 4294967295u)"
"""The opposite: conditions to leave a loop are true of such units."""


def gathers(body: ir.Body) -> bool:
    """Whether units wait for each other somewhere in `body`."""
    return any(isinstance(s, ir.Barrier) for s in walk(body))


def jumps(body: ir.Body) -> bool:
    """Whether units may leave a loop or the kernel somewhere in `body`."""
    return any(isinstance(s, (ir.Break, ir.Leave)) for s in walk(body))


def some_leave(loop: ir.For) -> bool:
    """Whether units may leave a loop before others. Not where it has barriers: then the language forbids it."""
    return jumps(loop.body) and not gathers(loop.body)
