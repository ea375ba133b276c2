"""What the benchmarks of the processor compare with: the same work as Numba's users write it, in every good way.

Plain functions, so that they can be read where Numba is not installed; `compiled` gives them to Numba.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

try:
    numba: Any = importlib.import_module("numba")
    prange: Any = numba.prange
except ImportError:
    numba = None
    prange = range


def compiled(function: Callable[..., None]) -> Callable[..., None]:
    """By Numba, on all threads and with exact arithmetic, as ours is."""
    result: Callable[..., None] = numba.njit(parallel=True, fastmath=False)(function)
    return result


def saxpy(a, x, y):
    for i in prange(len(y)):
        y[i] = a * x[i] + y[i]


def matmul(a, b, c):
    """Whole rows of B, in order."""
    n = a.shape[0]
    for i in prange(n):
        for j in range(n):
            c[i, j] = 0
        for k in range(n):
            factor = a[i, k]
            for j in range(n):
                c[i, j] += factor * b[k, j]


def matmul_blocked(a, b, c):
    """Four rows of the result at a time, so that a row of B is read once for four."""
    n = a.shape[0]
    for block in prange(n // 4):
        i = 4 * block
        for r in range(4):
            for j in range(n):
                c[i + r, j] = 0
        for k in range(n):
            p, q, r, s = a[i, k], a[i + 1, k], a[i + 2, k], a[i + 3, k]
            for j in range(n):
                factor = b[k, j]
                c[i, j] += p * factor
                c[i + 1, j] += q * factor
                c[i + 2, j] += r * factor
                c[i + 3, j] += s * factor


def matmul_tiled(a, b, c):
    """Tile by tile as the kernel does it, with copies of the tiles."""
    n = a.shape[0]
    across = n // 16
    for tile in prange(across * across):
        top, left = tile // across * 16, tile % across * 16
        tile_a, tile_b = np.empty((16, 16), np.float32), np.empty((16, 16), np.float32)
        total = np.zeros((16, 16), np.float32)
        for start in range(0, n, 16):
            for y in range(16):
                for x in range(16):
                    tile_a[y, x] = a[top + y, start + x]
                    tile_b[y, x] = b[start + y, left + x]
            for y in range(16):
                for k in range(16):
                    factor = tile_a[y, k]
                    for x in range(16):
                        total[y, x] += factor * tile_b[k, x]
        for y in range(16):
            for x in range(16):
                c[top + y, left + x] = total[y, x]


def reduce(x, sums):
    for row in prange(len(sums)):
        total = x[0] * 0
        for i in range(row * 256, row * 256 + 256):
            total += x[i]
        sums[row] = total


def reduce_lanes(x, sums):
    """Eight sums at a time, which may become vectors without leave to reassociate."""
    for row in prange(len(sums)):
        lanes = np.zeros(8, np.float32)
        for i in range(row * 256, row * 256 + 256, 8):
            for k in range(8):
                lanes[k] += x[i + k]
        sums[row] = lanes.sum()


def read(words, sums):
    """Every word once, in whole vectors, as sums of integers may be: what it takes to read data, and no more."""
    part = len(words) // len(sums)
    for chunk in prange(len(sums)):
        own = words[chunk * part : chunk * part + part]
        total = np.uint64(0)
        for i in range(part):
            total += own[i]
        sums[chunk] = total


def reduce_tree(x, sums):
    """By a tree of halves, as the kernel does it."""
    for row in prange(len(sums)):
        tree = np.empty(256, np.float32)
        for i in range(256):
            tree[i] = x[row * 256 + i]
        half = 128
        while half > 0:
            for i in range(half):
                tree[i] += tree[i + half]
            half //= 2
        sums[row] = tree[0]


def histogram(data, out):
    """Private counts for each thread."""
    parts = numba.get_num_threads()
    bins = np.zeros((parts, 256), np.uint32)
    size = (len(data) + parts - 1) // parts
    for part in prange(parts):
        own = bins[part]
        for i in range(part * size, min(len(data), part * size + size)):
            own[data[i]] += 1
    out[:] = bins.sum(0)


def histogram_four(data, out):
    """Four private counts for each thread, so that equal neighbours do not wait for each other."""
    parts = numba.get_num_threads()
    bins = np.zeros((parts, 4, 256), np.uint32)
    size = len(data) // parts // 4 * 4
    for part in prange(parts):
        p, q, r, s = bins[part, 0], bins[part, 1], bins[part, 2], bins[part, 3]
        for i in range(part * size, part * size + size, 4):
            p[data[i]] += 1
            q[data[i + 1]] += 1
            r[data[i + 2]] += 1
            s[data[i + 3]] += 1
    for i in range(parts * size, len(data)):
        bins[0, 0, data[i]] += 1
    out[:] = bins.sum(0).sum(0)


def mandelbrot(left, top, step, cap, counts):
    four, two = np.float32(4), np.float32(2)
    for row in prange(counts.shape[0]):
        cy = top + step * np.float32(row)
        for col in range(counts.shape[1]):
            cx = left + step * np.float32(col)
            x = y = np.float32(0)
            count = 0
            while x * x + y * y <= four and count < cap:
                x, y = x * x - y * y + cx, two * x * y + cy
                count += 1
            counts[row, col] = count


def convolve(padded, weights, out):
    """Of an image with its border of zeros in place."""
    for row in prange(out.shape[0]):
        for col in range(out.shape[1]):
            total = np.float32(0)
            for dy in range(5):
                for dx in range(5):
                    total += weights[dy, dx] * padded[row + dy, col + dx]
            out[row, col] = total


def convolve_rows(padded, weights, out):
    """One weight at a time over a whole row, which becomes vectors."""
    for row in prange(out.shape[0]):
        line = out[row]
        line[:] = 0
        for dy in range(5):
            source = padded[row + dy]
            for dx in range(5):
                weight = weights[dy, dx]
                for col in range(len(line)):
                    line[col] += weight * source[col + dx]
