"""Dtypes that do not fit together."""

from __future__ import annotations

from typing import TypeVar

import ruda_core as ruda
from ruda_core import Array, Comptime, Tensor, Vec, bool_, f16, f32, f64, i8, i32, i64, u8, u32

T = TypeVar("T", f32, f64)
MIXED = (1, 2.5)


@ruda.func
def _two_dtypes(x: f32, n: i32):
    if x > 1:
        return x
    return n


@ruda.func
def _same(a: T, b: T):
    return a + b


@ruda.func
def _arity(n: i32):
    if n > 0:
        return n, n
    return n


@ruda.func
def _sometimes(n: i32):
    if n > 0:
        return n


@ruda.func
def _only_f32(x: f32):
    return x


@ruda.func
def _array(x: Array[f32]):
    x[0] = 1


@ruda.func
def _constant(n: Comptime[int]):
    return n


def mix(x: Array[f32], n: Array[i32]):
    x[0] = x[0] + n[0]


def mix_widths(x: Array[f32], y: Array[f64]):
    x[0] = x[0] * y[0]


def mix_signs(a: u32, b: i32, out: Array[u32]):
    out[0] = a + b


def mix_with_index(a: u32, out: Array[u32]):
    out[0] = a + ruda.ABSOLUTE_POS


def store(y: Array[f32], v: i32):
    y[0] = v


def store_index_in_i64(y: Array[i64]):
    y[0] = ruda.ABSOLUTE_POS


def float_literal_and_integer(n: Array[i32]):
    n[0] = n[0] + 1.5


def float_literal_stored_in_integer(n: Array[i32]):
    n[0] = 1.5


def literal_too_large(n: Array[u8]):
    n[0] = n[0] + 300


def literal_negative_for_unsigned(n: Array[u32]):
    n[0] = n[0] + -1


def float_literal_too_large(x: Array[f16]):
    x[0] = 1e6


def cast_of_literal_that_does_not_fit(n: Array[u8]):
    n[0] = u8(256)


def number_in_bool(flags: Array[bool_], n: i32):
    flags[0] = n


def literal_in_bool(flags: Array[bool_]):
    flags[0] = 2


def conflict(x: Array[f32], n: Array[i32]):
    acc = 0
    acc += x[0]
    acc = n[0]


def conflict_in_an_augmented_assignment(x: Array[f32], n: Array[i32]):
    acc = 0
    acc += n[0]
    acc += x[0]


def conflict_with_literal(n: Array[i32]):
    k = n[0]
    k = 0.5
    n[0] = k


def bool_becomes_number(x: Array[f32]):
    flag = x[0] > 1
    flag = 3
    x[0] = flag


def comparison(x: Array[f32], n: i32):
    if x[0] > n:
        x[0] = 1


def conditional(x: Array[f32], n: i32, out: Array[f32]):
    out[0] = x[0] if n > 0 else n


def integer_division(n: Array[i32]):
    n[0] = n[0] / 2


def index_division(x: Array[f32]):
    x[0] = ruda.ABSOLUTE_POS / 2


def bits_of_a_float(x: Array[f32]):
    x[0] = x[0] & 1.0


def shift_of_a_float(x: Array[f32]):
    x[0] = x[0] << 1


def shift_by_a_float(n: Array[i32], x: f32):
    n[0] = n[0] << x


def invert_a_float(x: Array[f32]):
    x[0] = ~x[0]


def two_bools_added(x: Array[f32], n: Array[i32]):
    n[0] = (x[0] > 1) + (x[1] > 1)


def minus_bool(x: Array[f32], n: Array[i32]):
    n[0] = -(x[0] > 1)


def matrix_operator(x: Array[f32]):
    x[0] = x[0] @ x[1]


def float_index(x: Array[f32]):
    x[x[0]] = 1


def float_literal_index(x: Array[f32]):
    x[1.0] = 1


def bool_index(x: Array[f32]):
    x[x[0] > 1] = 1


def indices_of_an_array(x: Array[f32]):
    x[0, 1] = 1


def indices_of_a_tensor(t: Tensor[f32]):
    t[0] = 1


def indices_of_shared(x: Array[f32]):
    tile = ruda.shared(f32, (4, 4))
    tile[0, 0, 0] = x[0]


def array_as_number(x: Array[f32]):
    x[0] = x + 1


def array_as_condition(x: Array[f32]):
    if x:
        x[0] = 1


def index_a_scalar(x: Array[f32], n: i32):
    x[0] = n[0]


def assign_a_component(v: Array[Vec[f32, 4]]):
    a = v[0]
    a[0] = 1


def vector_as_condition(v: Array[Vec[f32, 4]]):
    if v[0] > 0:
        v[0] = v[1]


def vectors_of_two_lengths(v: Array[Vec[f32, 4]], w: Array[Vec[f32, 2]]):
    v[0] = v[0] + w[0]


def vector_of_another_dtype(v: Array[Vec[f32, 4]], n: i32):
    v[0] = v[0] + n


def no_such_component(v: Array[Vec[f32, 2]], x: Array[f32]):
    x[0] = v[0].z


def component_out_of_range(v: Array[Vec[f32, 2]], x: Array[f32]):
    x[0] = v[0][2]


def vector_of_three_from_two(v: Array[Vec[f32, 3]]):
    v[0] = Vec[f32, 3](1, 2)


def vector_length(v: Array[f32]):
    v[0] = Vec[f32, 5](1).x


def dot_of_scalars(x: Array[f32]):
    x[0] = ruda.dot(x[0], x[1])


def bitcast_width(x: Array[f32], n: Array[i64]):
    n[0] = ruda.bitcast(i64, x[0])


def bitcast_bool(x: Array[f32], n: Array[u8]):
    n[0] = ruda.bitcast(u8, x[0] > 1)


def sqrt_of_integer(n: Array[i32], x: Array[f32]):
    x[0] = ruda.sqrt(n[0])


def isnan_of_integer(n: Array[i32]):
    n[0] = ruda.isnan(n[0])


def popcount_of_float(x: Array[f32]):
    x[0] = ruda.popcount(x[0])


def reverse_bits_of_signed(n: Array[i32]):
    n[0] = ruda.reverse_bits(n[0])


def mulhi_of_signed(n: Array[i32]):
    n[0] = ruda.mulhi(n[0], n[1])


def div_trunc_of_floats(x: Array[f32]):
    x[0] = ruda.div_trunc(x[0], x[1])


def min_of_two_dtypes(x: Array[f32], n: i32):
    x[0] = min(x[0], n)


def tuple_of_two_types(x: Array[f32], k: i32):
    x[0] = MIXED[k]


def results_of_two_dtypes(x: Array[f32], n: i32):
    x[0] = _two_dtypes(x[0], n)


def results_of_two_lengths(n: Array[i32]):
    n[0] = _arity(n[0])[0]


def result_on_some_paths(n: Array[i32]):
    n[0] = _sometimes(n[0])


def argument_of_another_dtype(n: Array[i32], x: Array[f32]):
    x[0] = _only_f32(n[0])


def generic_of_two_dtypes(x: Array[f32], y: Array[f64]):
    x[0] = _same(x[0], y[0])


def generic_outside_its_constraints(n: Array[i32]):
    n[0] = _same(n[0], n[1])


def array_of_another_dtype(n: Array[i32]):
    _array(n)


def scalar_for_an_array(x: Array[f32]):
    _array(x[0])


def array_of_two_axes(x: Array[f32]):
    tile = ruda.shared(f32, (2, 2))
    _array(tile)


def run_time_for_compile_time(n: Array[i32]):
    n[0] = _constant(n[0])


def float_for_compile_time_int(n: Array[i32]):
    n[0] = _constant(1.5)


def atomic_on_u8(n: Array[i8]):
    ruda.atomic_add(n, 0, 1)


def atomic_xor_on_f32(x: Array[f32]):
    ruda.atomic_xor(x, 0, 1)


def atomic_on_local(x: Array[i32]):
    mine = ruda.local(i32, 4)
    ruda.atomic_add(mine, 0, 1)


def atomic_value(n: Array[i32], k: u32):
    ruda.atomic_add(n, 0, k)


def range_of_floats(x: Array[f32]):
    for i in range(x[0]):
        x[i] = 1


def range_with_zero_step(x: Array[f32]):
    for i in range(0, 10, 0):
        x[i] = 1


def loop_over_an_array(x: Array[f32]):
    for v in x:
        x[0] = v
