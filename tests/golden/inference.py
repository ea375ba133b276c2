"""Literals and locals: who takes which dtype."""

from __future__ import annotations

from typing import TypeVar

import ruda_core as ruda
from ruda_core import Array, Vec, bf16, f16, f32, f64, i8, i32, i64, u8, u32, u64

T = TypeVar("T")
SCALE = 1.5
THIRD = 1 / 3


def literals_are_weak(x: Array[f16], y: Array[u8], z: Array[bf16]):
    i = ruda.ABSOLUTE_POS
    x[i] = x[i] * 2 + SCALE
    y[i] = 255 - y[i]
    z[i] = z[i] * THIRD


def arithmetic_on_literals_is_pythons(x: Array[f32], y: Array[i64]):
    big = 2**80
    x[0] = big // 2**70 / 3
    y[0] = (1 << 62) + (1 << 62) - 1


def a_single_literal_stays_compile_time(x: Array[f32]):
    n = 4
    tile = ruda.shared(f32, (n, n + 1))
    for i in ruda.unroll(range(n)):
        tile[i, n] = n
    x[0] = tile[3, 4]


def an_accumulator_takes_the_first_typed_value(x: Array[f64], y: Array[f64]):
    acc = 0
    for i in range(len(x)):
        acc += x[i]
    y[0] = acc


def int_and_float_literals_unify(x: Array[f32]):
    acc = 0
    if ruda.ABSOLUTE_POS > 3:
        acc += 0.5
    x[0] = acc


def best_so_far(x: Array[f32], out: Array[i32]):
    best = -1
    top = 0.0
    for i in range(len(x)):
        if x[i] > top:
            top, best = x[i], i
    out[0] = best


def a_bool_never_types_a_number(x: Array[f32], out: Array[u64]):
    count = 0
    for i in range(len(x)):
        count += x[i] > 3
    out[0] = count


def a_number_that_meets_nothing_is_i32_or_f32(x: Array[f32]):
    k = 0
    s = 0.5
    while k < 10:
        k += 1
        s *= 2.0
    if k > 3 and s > 1.0:
        x[k] = 1


def the_first_operand_it_meets(n: u32, out: Array[u32]):
    k = 0
    total = 1
    while k < n:
        total *= 3
        k += 1
    out[0] = total


def one_local_types_another(x: Array[i8], y: Array[i8]):
    a = 0
    b = 0
    for _ in range(3):
        b = a + 1
        a = x[0] + 1
    y[0] = b


def flags(x: Array[f32], out: Array[u8]):
    found = False
    for i in range(len(x)):
        if x[i] < 0:
            found = True
    out[0] = found
    out[1] = found and not x[0] > 1


def flags_count(x: Array[i32], out: Array[i32]):
    i = ruda.ABSOLUTE_POS
    big = x[i] > 100
    out[0] = x[i] + big
    out[1] = big + 1
    out[2] = (x[i] > 3) == 1
    out[3] = big & (x[i] < 200)
    out[4] = big


def either_of_two_literals(x: Array[f16], n: i32):
    step = 1 if n > 0 else -1
    x[0] = x[0] * step
    x[step + 1] = 3 if n > 5 else 0.5
    sign = 0
    if n > 9:
        sign = 1
    elif n < -9:
        sign = -1
    x[1] = x[1] * sign


def index_and_i32_mix(row: i32, cols: i32, out: Array[i32], x: Array[f32]):
    i = ruda.ABSOLUTE_POS
    k = row * cols + i
    out[i] = k
    last = row
    last = i
    x[last] = f32(i)
    x[len(x) - 1] = ruda.index(row) * 1.0 if False else 2.0


def index_and_i32_mix_in_64_bits(row: i32, cols: i32, out: Array[i32], x: Array[f32]):
    i = ruda.ABSOLUTE_POS
    k = row * cols + i
    out[i] = k
    last = row
    last = i
    x[last] = f32(i)
    for j in range(row, len(x), cols):
        x[j] = f32(ruda.index(j) - row)


def any_integer_is_an_index(x: Array[f32], a: u8, b: u32, c: i64, d: u64):
    x[a] = x[b] + x[c] + x[d]


def any_integer_shifts_and_raises(x: Array[u8], y: Array[f32], h: Array[bf16], n: i64, k: u32):
    x[0] = x[0] << n
    x[1] = x[1] >> 300
    x[2] = 1 << x[2]
    x[3] = x[3] ** k
    y[0] = y[0] ** n
    y[1] = y[1] ** 2 + y[1] ** 0.5
    h[0] = h[0] ** k


def mixed_integers_compare_by_value(a: i32, b: u64, out: Array[i32]):
    if a < b:
        out[0] = 1
    i = ruda.ABSOLUTE_POS
    if i == b:
        out[1] = 1


def an_annotated_local(x: Array[f32], out: Array[u32]):
    count: u32 = 0
    scale: f64 = 0.1
    for i in range(len(x)):
        count += 1
        if f64(x[i]) > scale:
            scale = 2
    out[0] = count


def generic(x: Array[T], out: Array[T]):
    i = ruda.ABSOLUTE_POS
    limit = T(100)
    if T in (f32, f64):
        limit += 0.5
    elif u8 == T:
        limit = T(255)
    if ruda.is_float(T):
        out[i] = min(x[i], limit)
    else:
        out[i] = x[i] % limit


def generic_integer(x: Array[T], out: Array[T]):
    i = ruda.ABSOLUTE_POS
    limit = T(100)
    if T in (f32, f64):
        limit += 0.5
    elif u8 == T:
        limit = T(255)
    if ruda.is_float(T):
        out[i] = min(x[i], limit)
    else:
        out[i] = x[i] % limit


def generic_vector(a: T, x: Array[T]):
    i = ruda.ABSOLUTE_POS
    x[i] = x[i] * 2 + T(1)


def casts(x: Array[f32], n: Array[i64], out: Array[f32]):
    out[0] = f32(n[0])
    out[1] = float(n[0]) + float(x[1])
    n[0] = i64(int(x[0])) + int(n[1])
    out[2] = f32(bool(x[2]))
    n[1] = i64(ruda.bitcast(u32, x[3]))
    out[3] = ruda.bitcast(f32, u32(0x7F800000))
    n[2] = i64(i32(3.7)) + i64(u8(300.0))
    out[4] = f32(1e39)
    out[5] = -float("inf")
    out[6] = f32(2**24 + 1)


OPTIONS = {
    "index_and_i32_mix_in_64_bits": {"index64": True},
    "any_integer_is_an_index": {"mode": "checked"},
    "generic": {"typevars": {T: f32}},
    "generic_integer": {"typevars": {T: u8}},
    "generic_vector": {"typevars": {T: Vec[f32, 4]}},
}
