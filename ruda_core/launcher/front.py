"""The launch of a kernel that nothing but its client and its dim specialises: a look-up, and the launcher.

Written out for the number of parameters: to forward `*args` costs a quarter of a launch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ruda_core.launcher.plan import MISSING
from ruda_core.tracebacks import USERS, shortened

Launch = Callable[..., None]

_made: dict[int, Callable[..., Launch]] = {}


def front(
    parameters: int, table: Mapping[Any, Launch], find: Callable[[Any, Any], Launch], general: Launch
) -> Launch:
    """`launch(client, count, dim, *args)` over `table`, whose keys are server and dim.

    `find(client, dim)` gives a launcher that is not in the table yet; `general` is the launch for calls that do
    not give every argument by its position.
    """
    make = _made.get(parameters) or _maker(parameters)
    return make(table, find, general)


def _maker(parameters: int) -> Callable[..., Launch]:
    names = [f"a{i}" for i in range(parameters)]
    declared = "".join(f"{n}=MISSING, " for n in names)
    last = f"{names[-1]} is MISSING or " if names else ""
    given = "".join(f"{n}, " for n in names)
    text = f"""
def make(table, find, general):
    def launch(client, count, dim, {declared}/, *extra, **named):
        if {last}extra or named:
            return general(client, count, dim, *[a for a in ({given}) if a is not MISSING], *extra, **named)
        try:
            try:
                go = table[client.server, dim]
            except (KeyError, TypeError, AttributeError):
                go = find(client, dim)
            go(client, count, {given})
        except USERS as error:
            raise shortened(error) from error.__cause__
    return launch
"""
    scope: dict[str, Any] = {"MISSING": MISSING, "USERS": USERS, "shortened": shortened}
    exec(compile(text, "<launch of a kernel>", "exec"), scope)
    maker: Callable[..., Launch] = scope["make"]
    _made[parameters] = maker
    return maker
