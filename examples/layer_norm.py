"""Layer norm: each row minus its mean, over its standard deviation, times a weight plus a bias.

Shows one workgroup a row, loops that stride over it, and a helper with shared memory and barriers of its
own, called twice: each call has its own storage.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _common import chosen_client, report

import ruda_core as ruda
from ruda_core import Array, Tensor, f32

DIM = 64


@ruda.func
def group_sum(value: f32):
    """The sum of `value` over the workgroup, in every unit."""
    sums = ruda.shared(f32, DIM)
    unit = ruda.UNIT_POS
    sums[unit] = value
    ruda.barrier()
    half = DIM // 2
    while half > 0:
        if unit < half:
            sums[unit] += sums[unit + half]
        ruda.barrier()
        half //= 2
    return sums[0]


@ruda.kernel
def layer_norm_kernel(x: Tensor[f32], weight: Array[f32], bias: Array[f32], epsilon: f32, out: Tensor[f32]):
    row, columns = ruda.WORKGROUP_POS, x.shape(1)
    total = 0.0
    for col in range(ruda.UNIT_POS, columns, DIM):
        total += x[row, col]
    mean = group_sum(total) / f32(columns)
    squares = 0.0
    for col in range(ruda.UNIT_POS, columns, DIM):
        squares += (x[row, col] - mean) ** 2
    scale = ruda.rsqrt(group_sum(squares) / f32(columns) + epsilon)
    for col in range(ruda.UNIT_POS, columns, DIM):
        out[row, col] = (x[row, col] - mean) * scale * weight[col] + bias[col]


def layer_norm(client: ruda.ComputeClient, x: Any, weight: Any, bias: Any, epsilon: float = 1e-5) -> Any:
    """Layer norm of the rows of an f32 matrix."""
    out = client.tensor(np.zeros_like(x))
    args = client.tensor(x), client.tensor(weight), client.tensor(bias)
    layer_norm_kernel.launch(client, len(x), DIM, *args, epsilon, out)
    return out.numpy()


def reference(x: Any, weight: Any, bias: Any, epsilon: float = 1e-5) -> Any:
    """The same in NumPy, in f64."""
    x = x.astype(np.float64)
    centred = x - x.mean(1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(1, keepdims=True) + epsilon) * weight + bias


def main() -> None:
    client = chosen_client(__doc__)
    rng = np.random.default_rng(1)
    x, weight, bias = (rng.standard_normal(shape).astype(np.float32) for shape in ((9, 300), 300, 300))
    report(
        client,
        "layer norm of 9 rows",
        layer_norm(client, x, weight, bias),
        reference(x, weight, bias),
        tolerance=2e-5,
    )


if __name__ == "__main__":
    main()
