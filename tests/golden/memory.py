"""Arrays of all spaces, tensors, vectors, atomics, constants."""

from __future__ import annotations

import ruda_core as ruda
from ruda_core import Array, Tensor, Vec, f32, i32, i64, u8, u32

KERNEL3 = ((1, 2, 1), (2, 4, 2), (1, 2, 1))
PRIMES = (2, 3, 5, 7)
HALVES = (0.5, 0.25)


def tensors(t: Tensor[f32], u: Tensor[f32], cube: Tensor[u8]):
    i, j = ruda.ABSOLUTE_POS_Y, ruda.ABSOLUTE_POS_X
    if i < t.shape(0) and j < t.shape(1):
        u[j, i] = t[i, j]
    if i < len(t):
        u.flat[i] = t.flat[i] * f32(t.stride(0))
    at = (i, j, 0)
    cube[at] = cube[i, j, 1] + t.rank


def shared_and_local(x: Array[f32]):
    tile = ruda.shared(f32, (4, 8))
    bytes_ = ruda.local(u8, 16)
    t = ruda.UNIT_POS
    tile[t // 8, t % 8] = x[t]
    bytes_[t] = 1
    ruda.barrier()
    x[t] = tile[0, t] + bytes_[0] * 0.0 if False else tile[0, 0]
    x[len(tile)] = tile.shape(1) + tile.stride(0)


def flat_views_of_shared(x: Array[f32]):
    tile = ruda.shared(f32, (4, 8))
    t = ruda.UNIT_POS
    tile.flat[t] = x[t]
    ruda.barrier()
    x[t] = tile.flat[t + 1]


def constant_tables(x: Array[f32], n: Array[u32], out: Array[f32]):
    i = ruda.ABSOLUTE_POS
    out[i] = x[i] * KERNEL3[1][2]
    total = 0
    for k in range(4):
        total += PRIMES[k] * n[i]
    out[i] += HALVES[i % 2] * x[i]
    n[i] = total + PRIMES[-1]


def vectors(v: Array[Vec[f32, 4]], x: Array[f32]):
    i = ruda.ABSOLUTE_POS
    a = v[i] * 2 + Vec[f32, 4](1, 2, 3, x[i])
    b = Vec[f32, 4](0)
    v[i] = ruda.select(a > b, a, x[0])
    x[i] = ruda.dot(a, b) + a.x + a[3] + v[i].y + (-a).sum()
    x[1] = a[i % 4]
    v[0] = max(a, 0)
    v[1] = ruda.sqrt(a) + b
    x[2] = ruda.index(len(a)) * 0.0 if False else 1.0


def integer_vectors(v: Array[Vec[i32, 3]], n: i32):
    i = ruda.ABSOLUTE_POS
    v[i] = (v[i] + i << n) & 0xFF
    v[1] = Vec[i32, 3](i, n, 2)
    v[2] = Vec[i32, 3](Vec[f32, 3](0.5))


def atomics(h: Array[u32], f: Array[f32], k: Array[i64]):
    i = ruda.ABSOLUTE_POS
    counts = ruda.shared(u32, (2, 2))
    ruda.atomic_add(counts, (0, i), 1)
    old = ruda.atomic_max(h, 3, u32(i))
    h[old] = ruda.atomic_exchange(h, 1, 5)
    ruda.atomic_add(f, 0, 0.25)
    ruda.atomic_compare_exchange(h, 0, expected=1, desired=2)
    ruda.atomic_store(h, 2, ruda.atomic_load(h, 1))
    ruda.atomic_and_(h, 4, 0xFF)
    ruda.atomic_sub(k, 0, i64(i))


def uniform_loads(x: Array[i32], out: Array[i32]):
    n = ruda.uniform_load(x, 0)
    for i in range(n):
        ruda.barrier()
        out[i] = x[i]


def functions(x: Array[f32], n: Array[u32], k: Array[i32]):
    i = ruda.ABSOLUTE_POS
    a = x[i]
    x[0] = ruda.sin(a) + ruda.arctan2(a, 1) + abs(a) + round(a) + ruda.hypot(a, 3)
    x[1] = ruda.fma(a, 2, 1) + ruda.copysign(a, -1) + ruda.clamp(a, 0, 1) + pow(a, 3)
    x[2] = min(a, 1, 2) + ruda.fmax(a, 0) + ruda.sqrt(2) + ruda.floor(a)
    n[0] = ruda.popcount(n[1]) + ruda.clz(n[1]) + ruda.mulhi(n[1], 3) + ruda.reverse_bits(n[2])
    k[0] = ruda.div_trunc(k[1], 3) + ruda.rem_trunc(k[1], k[2]) + ruda.sign(k[3]) + round(k[0])
    k[1] = 1 if ruda.isnan(a) or not ruda.isfinite(a) else ruda.popcount(5)
    x[3] = ruda.inf if a > 0 else ruda.nan


OPTIONS = {"tensors": {"ranks": {"cube": 3}}}
