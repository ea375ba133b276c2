"""Programs that people run."""

from __future__ import annotations

import ruda_core as ruda
from ruda_core import Array, Comptime, f16, f32, i32, u8, u32

TILE = 16
RADIUS = 2
WEIGHTS = (0.0625, 0.25, 0.375, 0.25, 0.0625)
HALO = 64 + 2 * RADIUS
ROUNDS = 2  # ten, for the real generator


def saxpy(a: f32, x: Array[f32], y: Array[f32]):
    i = ruda.ABSOLUTE_POS
    if i < len(y):
        y[i] = a * x[i] + y[i]


def matmul_naive(n: i32, k: i32, m: i32, a: Array[f16], b: Array[f16], c: Array[f32]):
    col = ruda.ABSOLUTE_POS_X
    row = ruda.ABSOLUTE_POS_Y
    if row < n and col < m:
        acc = 0
        for p in range(k):
            acc += f32(a[row * k + p]) * f32(b[p * m + col])
        c[row * m + col] = acc


def matmul_tiled(n: i32, k: i32, m: i32, a: Array[f32], b: Array[f32], c: Array[f32]):
    ta = ruda.shared(f32, (TILE, TILE))
    tb = ruda.shared(f32, (TILE, TILE))
    tx, ty = ruda.UNIT_POS_X, ruda.UNIT_POS_Y
    row = ruda.WORKGROUP_POS_Y * TILE + ty
    col = ruda.WORKGROUP_POS_X * TILE + tx
    acc = 0.0
    for p in range(0, k, TILE):
        ta[ty, tx] = a[row * k + p + tx] if row < n and p + tx < k else 0.0
        tb[ty, tx] = b[(p + ty) * m + col] if p + ty < k and col < m else 0.0
        ruda.barrier()
        for q in range(TILE):
            acc += ta[ty, q] * tb[q, tx]
        ruda.barrier()
    if row < n and col < m:
        c[row * m + col] = acc


def convolution(w: i32, h: i32, image: Array[f32], out: Array[f32]):
    x = ruda.ABSOLUTE_POS_X
    y = ruda.ABSOLUTE_POS_Y
    if x >= w or y >= h:
        return
    total = 0
    for dy in range(-RADIUS, RADIUS + 1):
        for dx in range(-RADIUS, RADIUS + 1):
            sx, sy = x + dx, y + dy
            if 0 <= sx < w and 0 <= sy < h:
                total += image[sy * w + sx]
    out[y * w + x] = total


def convolution_row(image: Array[f32], out: Array[f32]):
    tile = ruda.shared(f32, HALO)
    t = ruda.UNIT_POS
    start = ruda.WORKGROUP_POS * ruda.WORKGROUP_DIM - RADIUS
    k = t
    while k < HALO:
        tile[k] = image[start + k]
        k += ruda.WORKGROUP_DIM
    ruda.barrier()
    total = 0
    for j in range(len(WEIGHTS)):
        total += WEIGHTS[j] * tile[t + j]
    out[ruda.ABSOLUTE_POS] = total


@ruda.func
def _workgroup_sum(value: f32):
    scratch = ruda.shared(f32, 64)
    t = ruda.UNIT_POS
    scratch[t] = value
    ruda.barrier()
    s = 32
    while s > 0:
        if t < s:
            scratch[t] += scratch[t + s]
        ruda.barrier()
        s //= 2
    total = scratch[0]
    ruda.barrier()
    return total


def layer_norm(n: i32, eps: f32, x: Array[f32], gain: Array[f32], out: Array[f32]):
    row = ruda.WORKGROUP_POS * n
    acc = 0
    for i in range(ruda.UNIT_POS, n, ruda.WORKGROUP_DIM):
        acc += x[row + i]
    mean = _workgroup_sum(acc) / f32(n)
    acc = 0
    for i in range(ruda.UNIT_POS, n, ruda.WORKGROUP_DIM):
        d = x[row + i] - mean
        acc += d * d
    scale = ruda.rsqrt(_workgroup_sum(acc) / f32(n) + eps)
    for i in range(ruda.UNIT_POS, n, ruda.WORKGROUP_DIM):
        out[row + i] = (x[row + i] - mean) * scale * gain[i]


def reduce_tree(x: Array[u32], out: Array[u32]):
    tile = ruda.shared(u32, 64)
    t = ruda.UNIT_POS
    i = ruda.ABSOLUTE_POS
    acc = 0
    while i < len(x):
        acc += x[i]
        i += ruda.WORKGROUP_COUNT * ruda.WORKGROUP_DIM
    tile[t] = acc
    ruda.barrier()
    s = ruda.WORKGROUP_DIM // 2
    while s > 0:
        if t < s:
            tile[t] += tile[t + s]
        ruda.barrier()
        s //= 2
    if t == 0:
        out[ruda.WORKGROUP_POS] = tile[0]


def scan_blelloch(x: Array[i32], out: Array[i32]):
    tile = ruda.shared(i32, 128)
    t = ruda.UNIT_POS
    tile[2 * t] = x[2 * t]
    tile[2 * t + 1] = x[2 * t + 1]
    offset = 1
    d = 64
    while d > 0:
        ruda.barrier()
        if t < d:
            a = offset * (2 * t + 1) - 1
            b = offset * (2 * t + 2) - 1
            tile[b] += tile[a]
        offset <<= 1
        d >>= 1
    if t == 0:
        tile[127] = 0
    d = 1
    while d < 128:
        offset >>= 1
        ruda.barrier()
        if t < d:
            a = offset * (2 * t + 1) - 1
            b = offset * (2 * t + 2) - 1
            tile[a], tile[b] = tile[b], tile[a] + tile[b]
        d *= 2
    ruda.barrier()
    out[2 * t] = tile[2 * t]
    out[2 * t + 1] = tile[2 * t + 1]


def compact(x: Array[i32], place: Array[i32], out: Array[i32]):
    i = ruda.ABSOLUTE_POS
    if i < len(x) and x[i] > 0:
        out[place[i]] = x[i]


def histogram(x: Array[u8], bins: Array[u32]):
    counts = ruda.shared(u32, 256)
    t = ruda.UNIT_POS
    for b in range(t, 256, ruda.WORKGROUP_DIM):
        counts[b] = 0
    ruda.barrier()
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        ruda.atomic_add(counts, x[i], 1)
    ruda.barrier()
    for b in range(t, 256, ruda.WORKGROUP_DIM):
        ruda.atomic_add(bins, b, counts[b])


def histogram_words(words: Array[u32], bins: Array[u32]):
    i = ruda.ABSOLUTE_POS
    if i < len(words):
        for k in ruda.unroll(range(4)):
            ruda.atomic_add(bins, words[i] >> 8 * k & 0xFF, 1)


def bitonic(x: Array[u32], j: u32, k: u32):
    i = u32(ruda.ABSOLUTE_POS)
    partner = i ^ j
    if partner > i and partner < len(x):
        up = i & k == 0
        if (x[i] > x[partner]) == up:
            x[i], x[partner] = x[partner], x[i]


@ruda.func
def _pull(dx: f32, dy: f32, dz: f32, mass: f32):
    inverse = ruda.rsqrt(dx * dx + dy * dy + dz * dz + 1e-6)
    s = mass * inverse * inverse * inverse
    return dx * s, dy * s, dz * s


def nbody(n: i32, x: Array[f32], y: Array[f32], z: Array[f32], m: Array[f32], ax: Array[f32]):
    i = ruda.ABSOLUTE_POS
    tile = ruda.shared(f32, (4, 64))
    t = ruda.UNIT_POS
    fx, fy, fz = 0.0, 0.0, 0.0
    for base in range(0, n, 64):
        tile[0, t], tile[1, t], tile[2, t] = x[base + t], y[base + t], z[base + t]
        tile[3, t] = m[base + t]
        ruda.barrier()
        for j in range(min(64, n - base)):
            px, py, pz = _pull(tile[0, j] - x[i], tile[1, j] - y[i], tile[2, j] - z[i], tile[3, j])
            fx, fy, fz = fx + px, fy + py, fz + pz
        ruda.barrier()
    if i < n:
        ax[i] = fx + fy + fz


def mandelbrot(w: i32, h: i32, limit: Comptime[int], out: Array[i32]):
    px = ruda.ABSOLUTE_POS_X
    py = ruda.ABSOLUTE_POS_Y
    if px < w and py < h:
        cx = f32(px) * 3.0 / f32(w) - 2.0
        cy = f32(py) * 2.0 / f32(h) - 1.0
        zx, zy, n = 0.0, 0.0, 0
        while n < limit:
            if zx * zx + zy * zy > 4.0:
                break
            zx, zy = zx * zx - zy * zy + cx, 2 * zx * zy + cy
            n += 1
        out[py * w + px] = n


def spmv(rows: Array[i32], columns: Array[i32], values: Array[f32], x: Array[f32], y: Array[f32]):
    row = ruda.ABSOLUTE_POS
    if row < len(y):
        acc = 0
        for k in range(rows[row], rows[row + 1]):
            acc += values[k] * x[columns[k]]
        y[row] = acc


def jacobi(w: i32, h: i32, old: Array[f32], new: Array[f32]):
    tile = ruda.shared(f32, (TILE + 2, TILE + 2))
    tx, ty = ruda.UNIT_POS_X, ruda.UNIT_POS_Y
    x, y = ruda.ABSOLUTE_POS_X, ruda.ABSOLUTE_POS_Y
    tile[ty + 1, tx + 1] = old[y * w + x]
    if tx == 0:
        tile[ty + 1, 0] = old[y * w + x - 1]
    if tx == TILE - 1:
        tile[ty + 1, TILE + 1] = old[y * w + x + 1]
    if ty == 0:
        tile[0, tx + 1] = old[(y - 1) * w + x]
    if ty == TILE - 1:
        tile[TILE + 1, tx + 1] = old[(y + 1) * w + x]
    ruda.barrier()
    if 0 < x < w - 1 and 0 < y < h - 1:
        around = tile[ty, tx + 1] + tile[ty + 2, tx + 1] + tile[ty + 1, tx] + tile[ty + 1, tx + 2]
        new[y * w + x] = around * 0.25


@ruda.func
def _round(c0: u32, c1: u32, c2: u32, c3: u32, k0: u32, k1: u32):
    hi0, lo0 = ruda.mulhi(u32(0xD2511F53), c0), 0xD2511F53 * c0
    hi1, lo1 = ruda.mulhi(u32(0xCD9E8D57), c2), 0xCD9E8D57 * c2
    return hi1 ^ c1 ^ k0, lo1, hi0 ^ c3 ^ k1, lo0


def philox(seed: u32, out: Array[f32], raw: Array[u32]):
    i = ruda.ABSOLUTE_POS
    c0, c1, c2, c3 = u32(i), u32(0), u32(0), u32(0)
    k0, k1 = seed, u32(0)
    for _ in ruda.unroll(range(ROUNDS)):
        c0, c1, c2, c3 = _round(c0, c1, c2, c3, k0, k1)
        k0 += 0x9E3779B9
        k1 += 0xBB67AE85
    raw[i] = c0 ^ c1 ^ c2 ^ c3
    out[i] = f32(c0 >> 8) * 5.9604644775390625e-08


OPTIONS = {
    "matmul_tiled": {"dim": (16, 16)},
    "convolution": {"dim": (8, 8)},
    "jacobi": {"dim": (16, 16)},
    "mandelbrot": {"dim": (8, 8), "comptime": {"limit": 100}},
}
