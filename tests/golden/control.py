"""Control flow, short circuits, order of evaluation."""

from __future__ import annotations

import ruda_core as ruda
from ruda_core import Array, Comptime, bool_, f32, i32, i64, u32

STEPS = (1, 2, 4)
PAIRS = ((0, 1.0), (1, 2.0))


def what_the_left_side_proves_holds_on_the_right(a: Array[u32], out: Array[i32]):
    i = ruda.ABSOLUTE_POS
    out[i] = 1 if i > 0 and a[i - 1] == 4 else 0
    if i < len(a) and a[i] > 3 and a[i] < 9:
        out[i] += 1
    if i >= len(a) or a[i] == 0:
        return
    out[i] = 7


def both_sides_with_else(a: Array[u32], out: Array[i32]):
    i = ruda.ABSOLUTE_POS
    if i < len(a) and a[i] > 3:
        out[i] = 1
    else:
        out[i] = 2


def only_the_taken_side_is_evaluated(x: Array[f32], out: Array[f32]):
    i = ruda.ABSOLUTE_POS
    out[i] = x[i] if i < len(x) else 0
    out[i] = ruda.select(i < len(x), x[i], 0)
    a, b = (x[0], x[1]) if i > 3 else (x[1], 0.0)
    out[i] = a - b


def chained(x: Array[i32], out: Array[bool_]):
    i = ruda.ABSOLUTE_POS
    out[i] = 1 <= x[i] < 3
    out[1] = 0 < x[0] < x[1] != x[2]
    out[2] = 5 > 3 > 1


def conditions_take_any_scalar(x: Array[f32], n: i32, out: Array[i32]):
    if n:
        out[0] = 1
    while x[0]:
        x[0] -= 1
    out[1] = 1 if n and not x[1] else 0


def ranges(n: i32, a: i64, b: u32, x: Array[f32]):
    for i in range(10, -1, -3):
        x[i] = 0
    for i in range(n):
        x[i] = 1
    for i in range(a, b, n):
        x[i] = 2


def the_variable_of_a_loop_may_change(n: i32, x: Array[f32]):
    for i in range(n):
        i += 1
        if i % 2 == 0:
            i = n - i
        x[i] = 1


def a_range_is_fixed_before_the_loop(n: i32, x: Array[f32]):
    m = n
    for i in range(m):
        m -= 1
        x[i] = f32(m)


def break_and_continue(n: i32, x: Array[f32]):
    i = 0
    while True:
        i += 1
        if i > n:
            break
        if x[i] < 0:
            continue
        y = x[i]
        if y > 100:
            break
        x[i] = y + 1
    for k in range(n):
        if x[k] == 0:
            continue
        if x[k] == 1:
            break
    x[0] = f32(i)


def bound_at_every_break(x: Array[f32]):
    i = 0
    while True:
        v = x[i]
        if v > 3:
            break
        i += 1
    x[0] = v


def early_returns(x: Array[f32]):
    i = ruda.ABSOLUTE_POS
    if i >= len(x):
        return
    for k in range(10):
        if x[i] > f32(k):
            return
        x[i] += 1
    x[i] = 0
    return


def unrolled(n: i32, x: Array[f32]):
    for k in ruda.unroll(range(0, 6, 2)):
        x[k] = k
    for step in STEPS:
        x[step] = x[step - 1]
    for k, weight in PAIRS:
        x[k] *= weight
    for k in ruda.unroll(range(3)):
        if k == 1:
            continue
        if x[k] < 0:
            continue
        if n == k:
            break
        x[k] += k
    for k in ruda.unroll(range(100)):
        if k == 2:
            break
        x[k] -= 1


def compile_time_branches(fast: Comptime[bool], n: Comptime[int], x: Array[f32]):
    if fast:
        width = 4
    else:
        width = 8
    tile = ruda.shared(f32, width)
    if n > 3 and not fast:
        tile[0] = 1
    elif n == 2:
        tile[0] = 2
    while n < 0:
        tile[1] = 3
    x[0] = tile[0] if fast or x[0] > 1 else x[1]


def swaps(x: Array[i32]):
    a, b = x[0], x[1]
    while b != 0:
        a, b = b, a % b
    x[0], x[1] = x[1], a
    c = d = x[2]
    x[c], x[d] = d, c


def augmented_assignment_evaluates_its_target_once(x: Array[i32], y: Array[i32]):
    i = ruda.ABSOLUTE_POS
    x[y[i] + 1] += y[0]
    x[i * 2] <<= 1
    n = x[0]
    n //= 3
    n **= 2
    x[0] = n


def asserts(x: Array[f32]):
    """Asserts exist in validate mode."""
    i = ruda.ABSOLUTE_POS
    assert i < len(x), "too many units"
    assert x[i] >= 0
    x[i] = 1


def asserts_elsewhere(x: Array[f32]):
    i = ruda.ABSOLUTE_POS
    assert i < len(x) and x[i] > 0, "too many units"
    x[i] = 1


def names_of_other_languages(type: i32, var: Array[f32], let: Array[f32]):
    fn = var[type]
    half = fn * 2
    float4, packed, a__b, _ = half, fn, 1.0, 2.0
    let[0] = float4 + packed + a__b + _


OPTIONS = {
    "compile_time_branches": {"comptime": {"fast": False, "n": 2}},
    "asserts": {"mode": "validate"},
}
