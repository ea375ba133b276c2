"""Prepared launches: everything that does not change between launches is done once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ruda_core.checks import InProcess
from ruda_core.launcher.arguments import check_owner
from ruda_core.launcher.build import Launcher
from ruda_core.launcher.plan import LaunchPlan, refuse_call
from ruda_core.launcher.variants import facts_of


class PreparedLaunch(InProcess):
    """A launch with kernel, client, stream and facts fixed; call it with `(count, *args)`.

    It runs on the stream that its client resolved to when it was prepared. Arguments that no
    longer show the facts of then (other lengths equal, storage shared, a folded count) are launched
    all the same, through the ordinary path. Raises what an ordinary launch raises.
    """

    __slots__ = ("client", "plan")

    _instead = "send the kernel, which is pickled by its name, and prepare it there"

    def __init__(self, client: Any, plan: LaunchPlan) -> None:
        self.client = client
        self.plan = plan

    def __call__(self, count: Any, /, *args: Any, **kwargs: Any) -> None:
        """Launch; each prepared launch has a generated method of its own in this one's place."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"PreparedLaunch({self.plan.location}, dim={tuple(self.plan.dim)}, mode={self.plan.mode})"


def prepare_launch(launch: Launcher, client: Any, args: Sequence[Any]) -> PreparedLaunch:
    """Check these arguments, compile what they need, and give the launch that takes their like."""
    builder = launch.builder
    plan = builder.plan
    if len(args) != len(plan.params):
        refuse_call(plan, tuple(args), {})
    names = builder.names()
    arrays = [
        names[f"resolve_{p.name}"](a) for p, a in zip(plan.params, args, strict=True) if p in plan.arrays
    ]
    for param, value in zip(plan.params, args, strict=True):
        if param not in plan.arrays:
            names[f"convert_{param.name}"](value)
    array_names = [p.name for p in plan.arrays]
    check_owner(plan, client.server, [array._block for array in arrays], array_names)
    pinned = client.fixed_execution_queue()
    call = builder.prepared(pinned, facts_of(array_names, arrays), launch)
    made = type("PreparedLaunch", (PreparedLaunch,), {"__slots__": (), "__call__": call})
    prepared: PreparedLaunch = made(pinned, plan)
    return prepared
