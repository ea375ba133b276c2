"""Elements of a strided layout, without the gaps between rows."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ruda_core.memory.host import Bytes


def pack(span: Bytes, shape: Sequence[int], strides: Sequence[int], item: int) -> Bytes:
    """The packed bytes of a layout (strides in elements of `item` bytes) over the bytes that it spans."""
    if prod(shape) * item == span.nbytes:
        return span
    steps = tuple(stride * item for stride in strides)
    window = as_strided(span, (*shape, item), (*steps, 1))
    return np.ascontiguousarray(window).reshape(-1).view(Bytes)
