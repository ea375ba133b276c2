"""Hand-written kernels: one signature, a text for each dialect."""

from __future__ import annotations

import numpy as np
import pytest

import ruda_core as ruda
from ruda_core import Array, f32

C_BLOCK = "struct block { int x_at, x_n, y_at, y_n; float a; };\n"
BODY = "if (i < p.y_n) y[p.y_at + i] = p.a * x[p.x_at + i] + y[p.y_at + i];"

SOURCES = {
    "cuda": C_BLOCK
    + 'extern "C" __global__ void axpy(float *x, float *y, const block p) {\n'
    + f"  int i = blockIdx.x * blockDim.x + threadIdx.x; {BODY}\n}}\n",
    "opencl": C_BLOCK
    + "__kernel void axpy(__global float *x, __global float *y, const struct block p) {\n"
    + f"  int i = get_global_id(0); {BODY}\n}}\n",
    "wgsl": """
struct Block { x_at: i32, x_n: i32, y_at: i32, y_n: i32, a: f32 }
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> p: Block;
@compute @workgroup_size($dim_x, $dim_y, $dim_z)
fn axpy(@builtin(global_invocation_id) id: vec3<u32>) {
  let i = i32(id.x);
  if (i < p.y_n) { y[p.y_at + i] = p.a * x[p.x_at + i] + y[p.y_at + i]; }
}
""",
}

axpy = ruda.SourceKernel("axpy", {"a": f32, "x": Array[f32], "y": Array[f32]}, SOURCES)


def test_text_runs_where_the_device_speaks_it(client):
    x = client.tensor(np.arange(1000, dtype=np.float32))
    y = client.tensor(np.ones(1000, np.float32))
    if getattr(client.runtime.dialect, "name", None) not in SOURCES:
        with pytest.raises(ruda.UnsupportedFeature, match="axpy"):
            axpy.launch(client, 16, 64, 2.0, x, y)
        return
    axpy.launch(client, 16, 64, 2.0, x, y)
    axpy.launch(client, 4, 32, 1.0, x[100:200], y[500:600])
    expected = 2 * np.arange(1000, dtype=np.float32) + 1
    expected[500:600] += np.arange(100, 200, dtype=np.float32)
    np.testing.assert_array_equal(y.numpy(), expected)


@pytest.mark.parametrize("dim", [None, 32, (8, 1, 1)], ids=repr)
def test_text_is_launched_over_units_and_prepared(client, dim):
    if getattr(client.runtime.dialect, "name", None) not in SOURCES:
        pytest.skip("no text for this device's dialect")
    x, y = client.tensor(np.arange(1000, dtype=np.float32)), client.tensor(np.ones(1000, np.float32))
    axpy.launch_over(client, 1000, 2.0, x, y, dim=dim)
    assert y.tolist() == [2 * i + 1 for i in range(1000)]
    prepared = axpy.prepare(client, dim or 64, 1.0, y=y, x=x)
    prepared(125, 3.0, x, y)
    assert y.tolist() == [5 * i + 1 for i in range(1000)]
    for call in (lambda: axpy.prepare(client, 64, 1.0, x), lambda: axpy.prepare(client, 64, 1.0, x, z=y)):
        with pytest.raises(ruda.LaunchArgumentError, match="axpy"):
            call()
    for bad in (0, "8", (1, 2, 3, 4), None):
        with pytest.raises(ruda.LaunchArgumentError, match="dim"):
            axpy.launch(client, 1, bad, 1.0, x, y)


def test_arguments_are_checked_like_those_of_any_kernel(client):
    if getattr(client.runtime.dialect, "name", None) not in SOURCES:
        pytest.skip("no text for this device's dialect")
    x = client.tensor(np.ones(4, np.float32))
    for bad in ((x, x), ("1", x, x), (1.0, np.ones(4, np.float32), x), (1.0, x, client.tensor(np.ones(4)))):
        with pytest.raises(ruda.LaunchArgumentError, match="axpy"):
            axpy.launch(client, 1, 64, *bad)
    assert x.tolist() == [1] * 4


def test_only_what_a_block_can_hold_is_a_parameter():
    with pytest.raises(ruda.LaunchArgumentError, match="wide"):
        ruda.SourceKernel("k", {"wide": ruda.f16}, {})


def test_what_is_no_client_is_refused():
    for none in (None, "opencl", np.zeros(4)):
        with pytest.raises(ruda.LaunchArgumentError, match="client first"):
            axpy.launch(none, 1, 64, 2.0, None, None)
