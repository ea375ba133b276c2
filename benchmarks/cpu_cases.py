"""The programs that the processor is measured by: each as a launch, as peers write it, and its result by NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import cpu_kernels
import cpu_numba
import kernels
import numpy as np
from cpu_kernels import BINS, TILE, UNITS, WEIGHTS

import ruda_core as ruda

ELEMENTS = 1 << 24
MATRIX = 512
WIDTH, HEIGHT = 1024, 768
VIEW = (-2.25, -1.25, 3.0 / WIDTH)
"""Left, top and step of the picture."""
CAP = 200
IMAGE = 2048

Call = Callable[[], object]


@dataclass(frozen=True)
class Case:
    """One measurement: what to launch, what to compare it with, and the goals."""

    launch: Callable[[ruda.ComputeClient], tuple[Call, Callable[[], Any]]]
    """For a client: a launch, and its result on the host."""
    expected: Callable[[], Any]
    """The result by NumPy."""
    numba: Mapping[str, tuple[Callable[..., None], tuple[Any, ...]]]
    """Each good way to write it: the function and its arguments, the result last. Each gets arrays of its own: what
    one has in the caches must not serve the next."""
    same: str
    """The way that is the same program as the kernel."""
    goal: float
    """Of our time over that of the same program; shown for the fastest way, too."""
    numpy: Call | None = None
    numpy_goal: float | None = None
    reads: tuple[Any, ...] | None = None
    """Arguments of `cpu_numba.read`, where the goal is near what reading the data takes."""
    agree: float = 1.0
    """The share of the results that must be right; where rounding decides, less than all."""


def saxpy_case() -> Case:
    x, y = np.ones(ELEMENTS, np.float32), np.ones(ELEMENTS, np.float32)
    spare = np.empty_like(x)

    def launch(client: ruda.ComputeClient) -> tuple[Call, Callable[[], Any]]:
        device_x, device_y = client.tensor(x), client.tensor(x)
        first = client.tensor(x)
        groups = ELEMENTS // UNITS
        kernels.saxpy.launch(client, groups, UNITS, 2.0, device_x, first)
        return (
            lambda: kernels.saxpy.launch(client, groups, UNITS, 2.0, device_x, device_y),
            first.numpy,
        )

    def by_numpy() -> None:
        np.multiply(x, np.float32(2), out=spare)
        np.add(spare, y, out=y)

    functions = {"prange": (cpu_numba.saxpy, (np.float32(2), x, y))}
    return Case(launch, lambda: np.full(ELEMENTS, 3, np.float32), functions, "prange", 1.0, by_numpy, 1.1)


def matmul_case() -> Case:
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-4, 5, (MATRIX, MATRIX)).astype(np.float32) for _ in range(2))

    def launch(client: ruda.ComputeClient) -> tuple[Call, Callable[[], Any]]:
        arrays = (client.tensor(a), client.tensor(b), client.zeros((MATRIX, MATRIX), np.float32))
        count = (MATRIX // TILE, MATRIX // TILE)
        return lambda: cpu_kernels.matmul.launch(client, count, (TILE, TILE), MATRIX, *arrays), arrays[
            2
        ].numpy

    c = np.empty_like(a)
    functions = {
        "rows": (cpu_numba.matmul, (a, b, c)),
        "blocked": (cpu_numba.matmul_blocked, (a, b, c)),
        "tiled": (cpu_numba.matmul_tiled, (a, b, c)),
    }
    return Case(launch, lambda: a @ b, functions, "tiled", 0.3, lambda: np.matmul(a, b, out=c))


def reduce_case() -> Case:
    x = np.random.default_rng(1).integers(-4, 5, ELEMENTS).astype(np.float32)
    sums = np.empty(ELEMENTS // UNITS, np.float32)

    def launch(client: ruda.ComputeClient) -> tuple[Call, Callable[[], Any]]:
        device_x, device_sums = client.tensor(x), client.zeros(len(sums), np.float32)
        return lambda: cpu_kernels.reduce.launch(
            client, len(sums), UNITS, device_x, device_sums
        ), device_sums.numpy

    rows = x.reshape(-1, UNITS)
    functions = {
        "plain": (cpu_numba.reduce, (x, sums)),
        "lanes": (cpu_numba.reduce_lanes, (x, sums)),
        "tree": (cpu_numba.reduce_tree, (x, sums)),
    }
    by_numpy = lambda: rows.sum(1)  # noqa: E731  # used twice below
    reads = (x.copy().view(np.uint64), np.empty(64, np.uint64))
    return Case(launch, by_numpy, functions, "tree", 0.4, by_numpy, 1.1, reads)


def histogram_case() -> Case:
    data = np.random.default_rng(1).integers(0, BINS, ELEMENTS, np.uint8)

    def launch(client: ruda.ComputeClient) -> tuple[Call, Callable[[], Any]]:
        device_data = client.tensor(data)
        out, first = client.zeros(BINS, np.uint32), client.zeros(BINS, np.uint32)
        cpu_kernels.histogram.launch(client, 64, UNITS, device_data, first)
        return lambda: cpu_kernels.histogram.launch(client, 64, UNITS, device_data, out), first.numpy

    out = np.empty(BINS, np.uint32)
    functions = {
        "private": (cpu_numba.histogram, (data, out)),
        "four": (cpu_numba.histogram_four, (data, out)),
    }
    by_numpy = lambda: np.bincount(data, minlength=BINS)  # noqa: E731  # used twice below
    return Case(launch, by_numpy, functions, "private", 1.0, by_numpy)


def mandelbrot_case() -> Case:
    counts = np.empty((HEIGHT, WIDTH), np.int32)

    def launch(client: ruda.ComputeClient) -> tuple[Call, Callable[[], Any]]:
        out = client.zeros((HEIGHT, WIDTH), np.int32)
        count = (WIDTH // 64, HEIGHT // 4)
        return lambda: cpu_kernels.mandelbrot.launch(client, count, (64, 4), *VIEW, CAP, out), out.numpy

    functions = {"rows": (cpu_numba.mandelbrot, (*(np.float32(v) for v in VIEW), CAP, counts))}
    return Case(launch, mandelbrot_reference, functions, "rows", 0.3, agree=0.98)


def mandelbrot_reference() -> Any:
    left, top, step = (np.float32(v) for v in VIEW)
    rows, cols = np.indices((HEIGHT, WIDTH)).astype(np.float32)
    cx, cy = left + step * cols, top + step * rows
    x, y, counts = np.zeros_like(cx), np.zeros_like(cx), np.zeros(cx.shape, np.int32)
    for _ in range(CAP):
        inside = x * x + y * y <= 4
        counts += inside
        x, y = np.where(inside, x * x - y * y + cx, x), np.where(inside, 2 * x * y + cy, y)
    return counts


def convolve_case() -> Case:
    image = np.random.default_rng(1).integers(0, 16, (IMAGE, IMAGE)).astype(np.float32)
    padded, weights, out = np.pad(image, 2), np.array(WEIGHTS, np.float32), np.empty_like(image)

    def launch(client: ruda.ComputeClient) -> tuple[Call, Callable[[], Any]]:
        source, result = client.tensor(image), client.zeros(image.shape, np.float32)
        return lambda: cpu_kernels.convolve.launch(
            client, (IMAGE // 64, IMAGE // 4), (64, 4), source, result
        ), result.numpy

    def by_numpy() -> Any:
        total = np.zeros_like(image)
        for dy in range(5):
            for dx in range(5):
                total += weights[dy, dx] * padded[dy : dy + IMAGE, dx : dx + IMAGE]
        return total

    arguments = (padded, weights, out)
    functions = {"pixels": (cpu_numba.convolve, arguments), "rows": (cpu_numba.convolve_rows, arguments)}
    return Case(launch, by_numpy, functions, "pixels", 0.8, by_numpy)


CASES: dict[str, tuple[str, Callable[[], Case]]] = {
    "saxpy": ("saxpy, 16M", saxpy_case),
    "matmul": ("tiled matmul, 512", matmul_case),
    "reduce": ("sums of 256, 16M", reduce_case),
    "histogram": ("histogram of bytes, 16M", histogram_case),
    "mandelbrot": ("Mandelbrot, 1024 x 768", mandelbrot_case),
    "convolve": ("5 x 5 convolution, 2048 x 2048", convolve_case),
}
