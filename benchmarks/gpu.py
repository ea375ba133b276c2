"""What a large GPU gives through ruda, against CuPy in the same run.

    python benchmarks/gpu.py

Bandwidths and rates are from device times where the device has a clock (`client.profile`), else from host
time over many launches. Runs on every discrete GPU that a backend shows; CuPy's rows need CuPy.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import kernels
import numpy as np
from timing import Row, ratio_row, show

import ruda_core as ruda

ELEMENTS = 1 << 28
MATRIX = 4096
TRANSFER = 64 << 20


def seconds(
    client: ruda.ComputeClient, launch: Callable[[], object], repeat: int = 9, number: int = 5
) -> float:
    """Median seconds of one launch."""

    def batch() -> None:
        for _ in range(number):
            launch()

    batch()
    client.sync().result()
    samples = []
    for _ in range(repeat):
        start = time.perf_counter()
        _, duration = client.profile(batch)
        client.sync().result()
        host = time.perf_counter() - start
        samples.append((duration.device if duration.device else host) / number)
    return median(samples)


def rate(what: str, value: float, unit: str, goal: float | None = None) -> Row:
    """A rate of ours alone, to be at least `goal`."""
    wanted = "" if goal is None else f">= {goal} {unit}"
    return Row(what, f"{value:.2f} {unit}", "", None, wanted, None if goal is None else value >= goal)


def at_least(what: str, ours: float, peer: float, goal: float, unit: str) -> Row:
    """Our rate over the peer's, to be at least `goal`."""
    return Row(
        what, f"{ours:.2f} {unit}", f"{peer:.2f} {unit}", ours / peer, f">= {goal}x", ours / peer >= goal
    )


def bandwidths(client: ruda.ComputeClient) -> list[Row]:
    """saxpy, checked: of scalars, of which the compiler makes wide accesses, of such that it cannot, of vectors."""
    elements = min(ELEMENTS, client.properties().max_allocation // 4)
    elements -= elements % 1024
    x, y = client.zeros(elements, np.float32), client.zeros(elements, np.float32)
    x4, y4 = x.vectorized(4), y.vectorized(4)
    plain = seconds(client, lambda: kernels.saxpy.launch_over(client, elements, 2.0, x, y))
    askew_x, askew_y = x[1:], y[1:]
    askew = seconds(client, lambda: kernels.saxpy.launch_over(client, elements - 1, 2.0, askew_x, askew_y))
    wide = seconds(client, lambda: kernels.saxpy4.launch_over(client, elements // 4, 2.0, x4, y4))
    moved = 12 * elements / 1e12
    return [
        rate(f"saxpy, automatic, {elements:,} f32, checked", moved / plain, "TB/s", 4.0),
        rate("saxpy of arrays that begin off 16 bytes", moved / askew, "TB/s"),
        rate("saxpy by Vec[f32, 4], checked", moved / wide, "TB/s", 4.1),
    ]


def reduction(client: ruda.ComputeClient, cupy: Any) -> list[Row]:
    """Sum of ELEMENTS f32: partial sums, then their sum."""
    elements = min(ELEMENTS, client.properties().max_allocation // 4)
    x = client.tensor(np.ones(elements, np.float32))
    x4 = x.vectorized(4)
    groups = 16 * (client.properties().multiprocessors or 64)
    partial, out = client.zeros(groups, np.float32), client.zeros(1, np.float32)
    partial4 = partial.vectorized(4)

    def launch() -> None:
        kernels.total.launch(client, groups, kernels.UNITS, x4, partial)
        kernels.total.launch(client, 1, kernels.FEW_UNITS, partial4, out)

    ours = 4 * elements / 1e12 / seconds(client, launch)
    right = out.item() == elements
    if cupy is None:
        return [rate(f"sum of {elements:,} f32{'' if right else ' (WRONG)'}", ours, "TB/s")]
    peer = 4 * elements / 1e12 / cupy_seconds(cupy, lambda a: a.sum(), cupy.ones(elements, cupy.float32))
    return [at_least(f"sum of {elements:,} f32{'' if right else ' (WRONG)'}", ours, peer, 1.0, "TB/s")]


def matmul(client: ruda.ComputeClient, cupy: Any) -> list[Row]:
    """f32 matrices of MATRIX rows."""
    n = MATRIX
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, (n, n)).astype(np.float32) for _ in range(2))
    device_a, device_b = client.tensor(a), client.tensor(b)
    out = client.zeros((n, n), np.float32)
    b4, out4 = device_b.vectorized(4), out.vectorized(4)
    count = (n // kernels.BLOCK, n // kernels.BLOCK)
    time_ours = seconds(client, lambda: kernels.matmul.launch(client, count, 256, n, device_a, b4, out4))
    ours = 2e-12 * n**3 / time_ours
    right = np.array_equal(out.numpy()[:64], a[:64] @ b)
    name = f"matmul, {n} x {n} f32{'' if right else ' (WRONG)'}"
    if cupy is None:
        return [rate(name, ours, "TFLOP/s")]
    x, y = cupy.asarray(a), cupy.asarray(b)
    peer = 2e-12 * n**3 / cupy_seconds(cupy, lambda m: m @ y, x)
    return [at_least(name + " against cuBLAS", ours, peer, 0.6, "TFLOP/s")]


def cupy_seconds(cupy: Any, function: Callable[[Any], object], argument: Any) -> float:
    """Median seconds of CuPy's own, by its events."""
    for _ in range(3):
        function(argument)
    samples: list[float] = []
    for _ in range(9):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        for _ in range(5):
            function(argument)
        end.record()
        end.synchronize()
        samples.append(cupy.cuda.get_elapsed_time(begin, end) / 5e3)
    return median(samples)


def transfers(client: ruda.ComputeClient, cupy: Any) -> list[Row]:
    """64 MiB to the host, and from staging memory to the device."""
    handle = client.create_from_slice(np.ones(TRANSFER, np.uint8))
    read = _host_seconds(lambda: client.read_one(handle))
    staged = client.staging(TRANSFER)
    staged[:] = 1

    def create() -> None:
        client.create(staged)
        client.sync().result()

    created = _host_seconds(create)
    gigabytes = TRANSFER / 1e9
    if cupy is None:
        return [
            rate("64 MiB read_one", gigabytes / read, "GB/s"),
            rate("64 MiB staging then create", gigabytes / created, "GB/s"),
        ]
    peer = cupy.ones(TRANSFER, cupy.uint8)
    host = np.ones(TRANSFER, np.uint8)
    get = _host_seconds(peer.get)

    def put() -> None:
        peer.set(host)
        cupy.cuda.runtime.deviceSynchronize()

    return [
        at_least("64 MiB read_one against .get()", gigabytes / read, gigabytes / get, 5.0, "GB/s"),
        at_least(
            "64 MiB staged create against .set()",
            gigabytes / created,
            gigabytes / _host_seconds(put),
            5.0,
            "GB/s",
        ),
    ]


def _host_seconds(function: Callable[[], object], repeat: int = 15) -> float:
    function()
    samples = []
    for _ in range(repeat):
        start = time.perf_counter()
        function()
        samples.append(time.perf_counter() - start)
    return median(samples)


def launches(client: ruda.ComputeClient, cupy: Any) -> list[Row]:
    """Host time of a launch with 2 arrays and 2 scalars against CuPy's RawKernel."""
    from launch import measure

    text = (
        'extern "C" __global__ void scale(float a, int n, const float* x, float* y)'
        "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = a * x[i]; }"
    )
    kernel = cupy.RawKernel(text, "scale")
    x, y = cupy.zeros(1024, cupy.float32), cupy.zeros(1024, cupy.float32)
    a, n = np.float32(2.0), np.int32(1024)

    def by_cupy() -> None:
        kernel((16,), (64,), (a, n, x, y))

    generic, prepared, raw = measure(
        client, 400, repeat=31, peer=(by_cupy, cupy.cuda.runtime.deviceSynchronize)
    )
    return [
        ratio_row("launch against RawKernel", generic, raw, 0.85),
        ratio_row("prepared against RawKernel", prepared, raw, 0.85),
    ]


def main() -> None:
    try:
        cupy = importlib.import_module("cupy")
        cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # CuPy raises its own kinds where there is no driver
        print(f"no CuPy peer: {error}")
        cupy = None
    for device in ruda.devices():
        if device.kind != "discrete":
            continue
        client = ruda.client(device)
        peer = cupy if device.backend == "cuda" else None
        rows = bandwidths(client)
        for measure in (reduction, matmul, transfers):
            rows += measure(client, peer)
        if peer is not None:
            rows += launches(client, peer)
        show(f"{device}: {device.name}", rows)


if __name__ == "__main__":
    main()
