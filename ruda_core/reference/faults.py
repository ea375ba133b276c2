"""The fault record of validate mode, written by the interpreter itself.

Words (u32): the number of faults, then of the first one the program, the site, the index and the
length (low word first).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ruda_core.reference.masks import Mask, enter
from ruda_core.reference.memory import Memory

Place = tuple[Any, Any]
"""An index and the length it must stay below."""


def record_access(
    memory: Memory,
    program: int,
    site: int,
    mask: Mask,
    check: Any,
    places: tuple[Place, ...],
    shape: tuple[int, ...],
) -> None:
    """Count the units of `mask` whose `check` fails, and describe the first if it is the first ever."""
    failed = enter(mask, ~check)
    if failed is False:
        return
    lanes = np.broadcast_to(np.True_ if failed is True else failed, shape).reshape(-1)
    first = int(lanes.argmax())
    for index, length in places:
        at = int(np.broadcast_to(np.asarray(index), shape).reshape(-1)[first])
        bound = int(np.broadcast_to(np.asarray(length), shape).reshape(-1)[first])
        if not 0 <= at < bound:
            break
    else:
        at = bound = 0
    _note(memory, int(lanes.sum()), (program, site, at, at >> 32, bound, bound >> 32))


def _note(memory: Memory, faults: int, words: tuple[int, ...]) -> None:
    words_of = memory.data
    if not words_of[0]:
        words_of[1 : 1 + len(words)] = np.array([w & 0xFFFFFFFF for w in words], np.uint32)
    words_of[0] = min(int(words_of[0]) + faults, 0xFFFFFFFF)
