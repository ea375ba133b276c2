"""y = a * x + y: one unit an element, and a guard for the units past the end.

Shows the smallest kernel, a scalar argument, and a launch that only says how many units it needs. The
guard proves every access in bounds, so the checks of a checked launch cost nothing here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _common import chosen_client, report

import ruda_core as ruda
from ruda_core import Array, f32


@ruda.kernel
def saxpy_kernel(a: f32, x: Array[f32], y: Array[f32]):
    i = ruda.ABSOLUTE_POS
    if i < len(y):
        y[i] = a * x[i] + y[i]


def saxpy(client: ruda.ComputeClient, a: float, x: Any, y: Any) -> Any:
    """`a * x + y` of two f32 vectors of one length."""
    device_x, device_y = client.tensor(x), client.tensor(y)
    saxpy_kernel.launch_over(client, len(y), a, device_x, device_y)
    return device_y.numpy()


def main() -> None:
    client = chosen_client(__doc__)
    x = np.arange(1_000_003, dtype=np.float32)
    y = np.ones_like(x)
    report(client, "saxpy of 1,000,003 elements", saxpy(client, 2.0, x, y), 2 * x + y)


if __name__ == "__main__":
    main()
