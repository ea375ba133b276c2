"""Sparse matrix times vector, in compressed rows (CSR): two ways to share the work.

Shows loop bounds and indices that are data. One unit a row suits short rows; one workgroup a row suits long
ones and assumes nothing of how units run together. Empty rows give zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _common import chosen_client, report

import ruda_core as ruda
from ruda_core import Array, f32, i32

DIM = 32


@ruda.func
def strided_dot(
    values: Array[f32], columns: Array[i32], x: Array[f32], start: ruda.index, stop: ruda.index, step: i32
):
    """The sum of `values[k] * x[columns[k]]` for every `step`-th k."""
    total = f32(0)
    for k in range(start, stop, step):
        total += values[k] * x[columns[k]]
    return total


@ruda.kernel
def unit_a_row(starts: Array[i32], columns: Array[i32], values: Array[f32], x: Array[f32], y: Array[f32]):
    row = ruda.ABSOLUTE_POS
    if row < len(y):
        y[row] = strided_dot(values, columns, x, starts[row], starts[row + 1], 1)


@ruda.kernel
def workgroup_a_row(
    starts: Array[i32], columns: Array[i32], values: Array[f32], x: Array[f32], y: Array[f32]
):
    sums = ruda.shared(f32, DIM)
    row, unit = ruda.WORKGROUP_POS, ruda.UNIT_POS
    sums[unit] = strided_dot(values, columns, x, starts[row] + unit, starts[row + 1], DIM)
    half = DIM // 2
    while half > 0:
        ruda.barrier()
        if unit < half:
            sums[unit] += sums[unit + half]
        half //= 2
    if unit == 0:
        y[row] = sums[0]


def spmv(client: ruda.ComputeClient, starts: Any, columns: Any, values: Any, x: Any, long_rows: bool) -> Any:
    """The product of a CSR matrix (row starts and columns i32, values f32) and an f32 vector."""
    rows = len(starts) - 1
    y = client.tensor(np.full(rows, -1, np.float32))
    args = (*(client.tensor(part) for part in (starts, columns, values, x)), y)
    if long_rows:
        workgroup_a_row.launch(client, rows, DIM, *args)
    else:
        unit_a_row.launch_over(client, rows, *args)
    return y.numpy()


def compressed(matrix: Any) -> tuple[Any, Any, Any]:
    """Row starts, columns and values of a dense f32 matrix."""
    rows, columns = np.nonzero(matrix)
    starts = np.searchsorted(rows, np.arange(len(matrix) + 1))
    return starts.astype(np.int32), columns.astype(np.int32), matrix[rows, columns]


def main() -> None:
    client = chosen_client(__doc__)
    rng = np.random.default_rng(1)
    matrix = (rng.integers(1, 9, (50, 300)) * (rng.random((50, 300)) < 0.3)).astype(np.float32)
    matrix[[0, -1]] = 0
    x = rng.integers(-9, 9, 300).astype(np.float32)
    for long_rows in (False, True):
        got = spmv(client, *compressed(matrix), x, long_rows)
        report(client, f"CSR product, a {'workgroup' if long_rows else 'unit'} a row", got, matrix @ x)


if __name__ == "__main__":
    main()
