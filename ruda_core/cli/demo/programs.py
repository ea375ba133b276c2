"""The demonstration's programs: inputs, the launches, and NumPy's answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import ruda_core as ruda
from ruda_core.cli.demo import kernels

Picture = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Outcome:
    """What a program gave on a device."""

    result: np.ndarray[Any, Any]
    expected: np.ndarray[Any, Any]
    tolerance: float
    """Largest absolute difference that counts as right; 0: to the bit."""
    pictures: dict[str, Picture]
    """Name -> grey or RGB picture, uint8."""

    @property
    def largest_error(self) -> float:
        if not self.result.size:
            return 0.0
        difference = np.abs(self.result.astype(np.float64) - self.expected.astype(np.float64))
        return float(np.nanmax(difference)) if not np.isnan(difference).all() else float("nan")

    @property
    def right(self) -> bool:
        return self.result.shape == self.expected.shape and self.largest_error <= self.tolerance


Run = Callable[[], np.ndarray[Any, Any]]
"""Launches the kernels and reads the result back."""


@dataclass(frozen=True)
class Program:
    """One program, prepared on one device."""

    name: str
    run: Run
    judge: Callable[[np.ndarray[Any, Any]], Outcome]


def saxpy(client: ruda.ComputeClient, n: int = 1 << 20) -> Program:
    rng = np.random.default_rng(1)
    x = rng.random(n, np.float32)
    y = rng.random(n, np.float32)
    device_x = client.tensor(x)

    def run() -> np.ndarray[Any, Any]:
        out = client.tensor(y)
        kernels.saxpy.launch_over(client, n, 2.5, device_x, out)
        return out.numpy()

    return Program(f"saxpy, {n:,} elements", run, lambda got: Outcome(got, np.float32(2.5) * x + y, 1e-6, {}))


def matmul(client: ruda.ComputeClient, n: int = 192) -> Program:
    rng = np.random.default_rng(2)
    a = rng.integers(-4, 5, (n, n)).astype(np.float32)
    b = rng.integers(-4, 5, (n, n)).astype(np.float32)
    device_a, device_b = client.tensor(a), client.tensor(b)

    def run() -> np.ndarray[Any, Any]:
        out = client.zeros((n, n), np.float32)
        tile = (kernels.TILE, kernels.TILE)
        kernels.matmul.launch(client, ruda.RudaCount.cover((n, n), tile), tile, n, device_a, device_b, out)
        return out.numpy()

    return Program(f"tiled matmul, {n} x {n}", run, lambda got: Outcome(got, a @ b, 0.0, {}))


def mandelbrot(client: ruda.ComputeClient, width: int = 480, height: int = 320, limit: int = 100) -> Program:
    def run() -> np.ndarray[Any, Any]:
        out = client.zeros((height, width), np.int32)
        kernels.mandelbrot.launch_over(client, (width, height), width, height, limit, out)
        return out.numpy()

    def judge(got: np.ndarray[Any, Any]) -> Outcome:
        shade = (255.0 * np.sqrt(got / limit)).astype(np.uint8)
        return Outcome(got, _escape_counts(width, height, limit), 0.0, {"mandelbrot": shade})

    return Program(f"Mandelbrot, {width} x {height}", run, judge)


def _escape_counts(width: int, height: int, limit: int) -> np.ndarray[Any, Any]:
    """The same recurrence with NumPy's float32, every pixel at once."""
    f = np.float32
    px, py = np.meshgrid(np.arange(width, dtype=f), np.arange(height, dtype=f))
    cx = px * (f(3) / f(width)) - f(2)
    cy = py * (f(2) / f(height)) - f(1)
    zx, zy = np.zeros_like(cx), np.zeros_like(cx)
    counts = np.zeros(cx.shape, np.int32)
    active = np.ones(cx.shape, np.bool_)
    for _ in range(limit):
        active &= zx * zx + zy * zy <= f(4)
        next_x = zx * zx - zy * zy + cx
        next_y = f(2) * zx * zy + cy
        zx, zy = np.where(active, next_x, zx), np.where(active, next_y, zy)
        counts += active
    return counts


def histogram(client: ruda.ComputeClient, n: int = 1 << 18) -> Program:
    data = np.random.default_rng(3).integers(0, 256, n).astype(np.uint8)
    device_data = client.tensor(data)

    def run() -> np.ndarray[Any, Any]:
        bins = client.zeros(256, np.uint32)
        kernels.histogram.launch(client, 64, 256, device_data, bins)
        return bins.numpy()

    expected = np.bincount(data, minlength=256)
    return Program(f"histogram, {n:,} bytes", run, lambda got: Outcome(got, expected, 0.0, {}))


def filters(client: ruda.ComputeClient, photograph: Picture) -> Program:
    """Grey, 5x5 Gaussian, Sobel over an RGB photograph of (height, width, 3) uint8."""
    height, width, _ = photograph.shape
    device_rgb = client.tensor(photograph)
    stages: dict[str, Picture] = {}

    def run() -> np.ndarray[Any, Any]:
        luma = client.zeros((height, width), np.float32)
        smooth = client.zeros((height, width), np.float32)
        edges = client.zeros((height, width), np.uint8)
        tile = (kernels.TILE, kernels.TILE)
        cover = ruda.RudaCount.cover((width, height), tile)
        kernels.grey.launch_over(client, height * width, device_rgb, luma)
        kernels.gauss5.launch(client, cover, tile, width, height, luma, smooth)
        kernels.sobel.launch(client, cover, tile, width, height, smooth, edges)
        result = edges.numpy()
        stages["grey"] = luma.numpy().astype(np.uint8)
        stages["gauss"] = smooth.numpy().astype(np.uint8)
        stages["sobel"] = result
        return result

    def judge(got: np.ndarray[Any, Any]) -> Outcome:
        # a last bit of the float stages may move a value across an integer: one step is right
        return Outcome(got, _edges(photograph), 1.0, dict(stages))

    return Program(f"grey, Gauss, Sobel, {width} x {height}", run, judge)


def _edges(photograph: Picture) -> Picture:
    rgb = photograph.astype(np.float64)
    luma = 0.299 * rgb[..., 0] + 0.587 * rgb[..., 1] + 0.114 * rgb[..., 2]
    padded = np.pad(luma, 2, mode="edge")
    height, width = luma.shape
    smooth = sum(
        kernels.GAUSS[dy] * kernels.GAUSS[dx] * padded[dy : dy + height, dx : dx + width]
        for dy in range(5)
        for dx in range(5)
    )
    p = np.pad(np.asarray(smooth) / 256.0, 1, mode="edge")
    gx = (p[:-2, 2:] + 2 * p[1:-1, 2:] + p[2:, 2:]) - (p[:-2, :-2] + 2 * p[1:-1, :-2] + p[2:, :-2])
    gy = (p[2:, :-2] + 2 * p[2:, 1:-1] + p[2:, 2:]) - (p[:-2, :-2] + 2 * p[:-2, 1:-1] + p[:-2, 2:])
    return np.minimum(np.sqrt(gx * gx + gy * gy), 255.0).astype(np.uint8)


def all_programs(client: ruda.ComputeClient, photograph: Picture) -> list[Program]:
    """Every program of the demonstration, with its inputs on the client's device."""
    return [
        saxpy(client),
        matmul(client),
        mandelbrot(client),
        histogram(client),
        filters(client, photograph),
    ]
