"""Prepared launches: everything that does not change between launches is done once."""

from __future__ import annotations

from typing import Any

from ruda_core.launcher.build import Builder
from ruda_core.launcher.plan import MISSING, LaunchPlan, binds, refuse_call
from ruda_core.launcher.variants import facts_of


class PreparedLaunch:
    """A launch with kernel, client, stream and facts fixed; call it with `(count, *args)`.

    It runs on the stream that its client resolved to when it was prepared. Arguments that no
    longer show the facts of then (other lengths equal, storage shared, a folded count) are launched
    all the same, through the ordinary path. Raises what an ordinary launch raises.
    """

    __slots__ = ("client", "plan")

    def __init__(self, client: Any, plan: LaunchPlan) -> None:
        self.client = client
        self.plan = plan

    def __call__(self, count: Any, /, *args: Any, **kwargs: Any) -> None:
        """Launch; each prepared launch has a generated method of its own in this one's place."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"PreparedLaunch({self.plan.location}, dim={self.plan.dim}, mode={self.plan.mode})"


def prepare_launch(client: Any, plan: LaunchPlan, *args: Any, **kwargs: Any) -> PreparedLaunch:
    """Check these arguments, compile what they need, and give the launch that takes their like."""
    if not binds(plan, args, kwargs):
        refuse_call(plan, args, kwargs)
    pinned = client.fixed_execution_queue()
    builder = Builder(client.server, plan)
    generic = builder.generic()
    given = dict(zip([p.name for p in plan.params], args, strict=False)) | kwargs
    names = builder._names()
    for param in plan.params:
        kind = "resolve" if param in plan.arrays else "convert"
        given[param.name] = names[f"{kind}_{param.name}"](given.get(param.name, MISSING))
    arrays = [given[p.name] for p in plan.arrays]
    facts = facts_of([p.name for p in plan.arrays], arrays)
    call = builder.prepared(pinned, facts, generic)
    made = type("PreparedLaunch", (PreparedLaunch,), {"__slots__": (), "__call__": call})
    prepared: PreparedLaunch = made(pinned, plan)
    return prepared
