"""The reference device: a saxpy of 2^24 f32 against NumPy's own expression, and what a launch costs.

    python benchmarks/reference.py

The launch leaves the interpreter's own work out: the program's generated function is replaced by one that
does nothing. The yardstick shows how fast this machine's Python is just now.
"""

from __future__ import annotations

from unittest.mock import patch

import kernels
import numpy as np
from kernels import scale
from launch import yardstick
from timing import Row, limit_row, median_each, ratio_row, show

import ruda_core as ruda
from ruda_core.artifact import KernelSource
from ruda_core.reference.program import Program

ELEMENTS = 1 << 24


def saxpy_row(client: ruda.ComputeClient) -> Row:
    """Checked, through `launch_over`."""
    rng = np.random.default_rng(0)
    host_x, host_y = (rng.random(ELEMENTS, np.float32) for _ in range(2))
    x, y = client.tensor(host_x), client.tensor(host_y)
    a = np.float32(2.5)

    def ours() -> None:
        kernels.saxpy.launch_over(client, ELEMENTS, 2.5, x, y)
        client.sync().result()

    ours()
    mine, peer = median_each([ours, lambda: a * host_x + host_y], repeat=15, number=1)
    return ratio_row("saxpy, 2^24 f32, against a*x + y", mine, peer, 6.0, scale=1e3, unit="ms")


def launch_rows(client: ruda.ComputeClient) -> list[Row]:
    """A launch of 2 arrays and 2 scalars."""
    prepare = Program.__init__

    def without_work(program: Program, source: KernelSource) -> None:
        prepare(program, source)
        program.kernel = lambda *values: None

    with patch.object(Program, "__init__", without_work):  # the program of `scale`, which this measures
        x, y = client.zeros(1024, np.float32), client.zeros(1024, np.float32)
        scale.launch(client, 16, 64, 2.0, 1024, x, y)
    fixed, ours = median_each(
        [yardstick, lambda: scale.launch(client, 16, 64, 2.0, 1024, x, y)], repeat=201, number=500
    )
    return [
        Row("this machine: 20 dict stores in a loop", f"{fixed * 1e6:.2f} µs", "", None, "", None),
        limit_row("launch, interpreter excluded", ours, 4.0),
    ]


def main() -> None:
    client = ruda.client("reference")
    show("reference", [saxpy_row(client), *launch_rows(client)])


if __name__ == "__main__":
    main()
