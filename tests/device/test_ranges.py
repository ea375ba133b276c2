"""Loops over ranges of any sign, step and dtype, with exact trip counts up to the ends of the range."""

from __future__ import annotations

import numpy as np
import pytest
from support import T, has, launch

import ruda_core as ruda
from ruda_core import Array, Comptime, i32, i64, u8

LAST = 2**31 - 1


@ruda.kernel
def walk(starts: Array[T], stops: Array[T], steps: Array[T], trips: Array[i32], last: Array[i32]):
    i = ruda.ABSOLUTE_POS
    if i < len(starts):
        count, value = 0, 0
        for k in range(starts[i], stops[i], steps[i]):
            count += 1
            value = i32(k)
        trips[i] = count
        last[i] = value


def walked(client, cases, dtype):
    columns = [np.array(column, dtype) for column in zip(*cases, strict=True)]
    out = np.zeros(len(cases), np.int32), np.zeros(len(cases), np.int32)
    trips, last = launch(client, walk, *columns, units=len(cases), out=out)
    ranges = [range(*case) if case[2] else range(0) for case in cases]
    assert trips.tolist() == [len(r) for r in ranges]
    assert last.tolist() == [r[-1] if r else 0 for r in ranges]


def test_ranges_of_any_sign_and_step(client):
    steps = (1, 2, 3, 7, -1, -2, -5, 0)
    cases = [(a, b, s) for a in (-5, 0, 1, 6) for b in (-6, -5, 0, 4, 13) for s in steps]
    walked(client, cases, np.int32)


def test_ranges_up_to_the_ends_of_the_index_type(client):
    cases = [
        (LAST - 2, LAST, 1), (LAST - 5, LAST, 3), (LAST - 3, LAST, 2), (0, LAST, LAST), (0, LAST, LAST - 1),
        (-LAST - 1, -LAST + 2, 1), (-LAST, -LAST - 1, -1), (-LAST + 5, -LAST - 1, -4), (LAST, -LAST - 1, -LAST),
        (-LAST - 1, LAST, LAST), (-LAST - 1, LAST, 2**30), (LAST, 0, -(2**31)), (5, LAST, 2**30 + 7),
    ]  # fmt: skip
    walked(client, cases, np.int32)


@pytest.mark.parametrize("dtype", ["i8", "u8", "u16", "i64"])
def test_range_bounds_of_any_integer_dtype(client, dtype):
    if not has(client, dtype):
        pytest.skip(f"no {dtype}")
    cases = [(0, 100, 7), (120, 127, 1), (3, 3, 1), (5, 2, 1), (0, 127, 127)]
    if dtype[0] == "i":
        cases += [(-128, -100, 9), (100, -128, -50)]
    else:
        cases += [(250, 255, 2), (0, 255, 254)]
    walked(client, cases, {"i8": np.int8, "u8": np.uint8, "u16": np.uint16, "i64": np.int64}[dtype])


@ruda.kernel
def forms(n: i32, out: Array[i32]):
    total = 0
    for _ in range(n):
        total += 1
    out[0] = total
    for k in range(2, n):
        total += k
    out[1] = total
    for k in range(n, 0, -3):
        total = total * 3 + k
    out[2] = total
    for k in range(10):
        if k == 2:
            continue
        if k == n:
            break
        total += 100
    out[3] = total
    for k in range(3):
        for m in range(k, 3):
            if m == 2:
                break
            total += 1000
    out[4] = total
    count = 0
    for k in range(5):
        k = k * 10  # noqa: PLW2901  changing the variable does not change the iteration
        count += k
    out[5] = count
    while True:
        count -= 7
        if count < 0:
            break
    out[6] = count


def by_python(n):
    total, out = 0, []
    for _ in range(n):
        total += 1
    out.append(total)
    for k in range(2, n):
        total += k
    out.append(total)
    for k in range(n, 0, -3):
        total = total * 3 + k
    out.append(total)
    for k in range(10):
        if k == 2:
            continue
        if k == n:
            break
        total += 100
    out.append(total)
    out += [total + 3000, 100, 100 - 7 * 15]
    return out


@pytest.mark.parametrize("n", [0, 1, 5, 9])
def test_loops_as_in_python(client, n):
    assert launch(client, forms, n, units=1, out=np.zeros(7, np.int32)).tolist() == by_python(n)


@ruda.kernel
def returns(x: Array[i32], out: Array[i32]):
    i = ruda.ABSOLUTE_POS
    if i >= len(x):
        return
    for k in range(10):
        for m in range(10):
            if k * m == x[i]:
                out[i] = 10 * k + m
                return
    out[i] = -1


def test_return_from_inside_loops(client):
    x = np.array([0, 1, 6, 81, 11, 56, 77], np.int32)
    got = launch(client, returns, x, units=64, out=np.zeros_like(x))
    assert got.tolist() == [0, 11, 16, 99, -1, 78, -1]


@ruda.kernel
def unrolled(n: Comptime[int], x: Array[i32], out: Array[i32]):
    total = 0
    for k in ruda.unroll(range(n, 0, -1)):
        if k == 2:
            continue
        total = total * 10 + k
        if total > x[0]:
            break
    out[0] = total
    for weight in (3, 5, 7):
        out[1] += weight * x[1]
    for k in ruda.unroll(range(3)):
        out[2 + k] = (10, 20, 30)[k] + x[k]


def test_unrolled_loops(client):
    x = np.array([54, 2, 3], np.int32)
    assert launch(client, unrolled, 6, x, units=1, out=np.zeros(5, np.int32)).tolist() == [65, 30, 64, 22, 33]
    x[0] = 10**6
    assert launch(client, unrolled, 4, x, units=1, out=np.zeros(5, np.int32)).tolist()[0] == 431


@ruda.kernel
def no_step(x: Array[i32]):
    for k in range(0, 10, 0):
        x[0] = k


def test_a_zero_step_that_is_known_is_an_error(client):
    with pytest.raises(ruda.CompileError, match="step"):
        no_step.launch(client, 1, 1, client.tensor(np.zeros(1, np.int32)))


BEYOND = 2**31 + 3


@ruda.kernel
def literals_beyond_32_bits(n: ruda.index, x: Array[u8], out: Array[i64]):
    x[2**31] += 5
    out[0] = i64(x[2**31])
    if len(x) > 2**31:
        out[1] = 1
    for i in range(BEYOND, len(x)):
        out[2] += 1
        out[3] = i64(i)
    out[4] = i64(n - BEYOND)


@pytest.mark.parametrize("length, expected", [(4, [0, 0, 0, 0]), (2**31 + 8, [7, 1, 5, 2**31 + 7])])
def test_literals_of_the_index_type(client, length, expected):
    """Where 32 bits do not hold one, indices have 64: in small launches too, for the literal is in the text."""
    if length > client.properties().max_allocation:
        pytest.skip("the device allocates no 2 GiB, beyond which such an index lies")
    x, out = ruda.RudaTensor.empty(client, (length,), u8), client.zeros(5, i64)
    x[2**31 : 2**31 + 1].fill(2)
    if not client.features().index64:
        with pytest.raises(ruda.KernelTypeError, match="does not fit i32"):
            literals_beyond_32_bits.launch(client, 1, 1, 2**40, x, out)
        return
    literals_beyond_32_bits.launch(client, 1, 1, 2**40, x, out)
    assert out.tolist() == [*expected, 2**40 - BEYOND]


@ruda.kernel
def index_literal(n: i32, x: Array[i32]):
    x[2**31] = n


@ruda.kernel
def own_literal(n: i32, x: Array[i32]):
    x[0] = n + 2**31


@pytest.mark.parametrize("kernel", [index_literal, own_literal], ids=lambda k: k.name)
def test_literals_that_no_width_of_indices_mends(client, kernel):
    x = client.zeros(4, i32)
    if kernel is index_literal and client.features().index64:
        kernel.launch(client, 1, 1, 1, x)
        assert x.tolist() == [0] * 4, "beyond the end"
        return
    with pytest.raises(ruda.KernelTypeError, match="does not fit i32") as caught:
        kernel.launch(client, 1, 1, 1, x)
    assert caught.value.line and "2**31" in str(caught.value) and "^^^^^" in str(caught.value)
