"""Launch functions, written out for each number of buffers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ruda_core.driver import LaunchFunction
from ruda_wgpu.batch import BLOCK, LAUNCHES, Launch

_made: dict[int, Callable[..., LaunchFunction]] = {}


def launch_maker(buffers: int) -> Callable[..., LaunchFunction]:
    """A maker of launch functions for this many buffers, written out: a loop would cost more.

    `make(queue, pipeline, group_of, nbytes, step, site)`: `group_of(*buffers)` gives their bind group, `nbytes` is
    the size of the parameter block, `step` what it takes of the uniform buffer. The bind group of the launch
    before is taken again where the buffers are the same.
    """
    made = _made.get(buffers)
    if made is not None:
        return made
    names = [f"b{i}" for i in range(buffers)]
    listed = "".join(f"{n}, " for n in names)
    last = [f"last_{n}" for n in names]
    moved = " or ".join(f"{n} is not last_{n}" for n in names) or "group is None"
    keep = f"{', '.join(last)} = {', '.join(names)}" if names else "pass"
    text = f"""
def make(queue, pipeline, group_of, nbytes, step, site):
    {"".join(f"{n} = " for n in last)}group = None
    items, add, padding, full = queue.items, queue.items.append, bytes(step - nbytes), {BLOCK} - step
    def launch(stream, x, y, z, {listed}words):
        nonlocal {", ".join([*last, "group"])}
        if {moved}:
            group = group_of({listed})
            {keep}
        if queue.parameter_bytes > full:
            queue.submit()
        queue.parameter_bytes += step
        add(new(Launch, (pipeline, group, x, y, z, words + padding, stream, site)))
        if len(items) >= {LAUNCHES}:
            queue.submit()
    return launch
"""
    scope: dict[str, Any] = {"Launch": Launch, "new": tuple.__new__}
    exec(text, scope)
    _made[buffers] = scope["make"]
    return _made[buffers]
