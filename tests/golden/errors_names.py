"""Names, captures, calls, parameters."""

# ruff: noqa

from __future__ import annotations

import numpy as np

import ruda_core as ruda
from ruda_core import Array, Comptime, Tensor, Vec, f32, i32, u32

ARRAY = np.zeros(3)
LIST = [1, 2]
DICT = {"a": 1}
TABLE = (1, 2, 3)


def _plain(a):
    return a + 1


def _fails(a):
    return a / 0


def _gives_a_list(a):
    return {1: a}


@ruda.func
def _two(a: i32, b: i32):
    return a + b


@ruda.func
def _nothing(x: Array[f32]):
    x[0] = 1


@ruda.func
def _unannotated(a):
    return a


@ruda.func
def _inner(x: Array[f32], n: i32):
    x[0] = n


@ruda.func
def _outer(x: Array[f32], n: i32):
    _inner(x, n)


def unknown_name(x: Array[f32]):
    x[0] = undefined_thing


def used_before_bound(x: Array[f32]):
    x[0] = later
    later = 1


def augmented_before_bound(x: Array[f32]):
    later += 1
    x[0] = later


def bound_on_some_paths(x: Array[f32], n: i32):
    if n > 3:
        y = x[0]
    x[0] = y


def bound_in_a_loop(x: Array[f32], n: i32):
    for i in range(n):
        y = x[i]
    x[0] = y


def loop_variable_after_the_loop(x: Array[f32], n: i32):
    for i in range(n):
        if x[i] > 1:
            break
    x[0] = f32(i)


def captured_array(x: Array[f32]):
    x[0] = ARRAY[0]


def captured_list(x: Array[f32]):
    x[0] = LIST[0]


def captured_dict(x: Array[f32]):
    x[0] = DICT


def tuple_index_out_of_range(x: Array[f32]):
    x[0] = TABLE[3]


def unpacked_wrongly(x: Array[f32]):
    a, b = TABLE
    x[0] = a + b


def unpacked_scalar(x: Array[f32]):
    a, b = x[0]
    x[0] = a


def no_attribute(x: Array[f32]):
    x[0] = ruda.SUCH_NAME


def no_attribute_of_an_array(x: Array[f32]):
    x[0] = x.size


def shape_is_called(t: Tensor[f32]):
    t[0, 0] = t.shape[0]


def shape_axis(t: Tensor[f32], n: i32):
    t[0, 0] = f32(t.shape(n))


def shape_axis_out_of_range(t: Tensor[f32]):
    t[0, 0] = f32(t.shape(2))


def plain_function_with_run_time_values(x: Array[f32]):
    x[0] = _plain(x[0])


def plain_function_that_fails(x: Array[f32]):
    x[0] = _fails(3)


def plain_function_that_gives_a_dict(x: Array[f32]):
    x[0] = _gives_a_list(3)


def builtin_that_is_not_there(x: Array[f32]):
    x[0] = hash(3)


def not_callable(x: Array[f32], n: i32):
    x[0] = n(3)


def missing_argument(n: Array[i32]):
    n[0] = _two(1)


def too_many_arguments(n: Array[i32]):
    n[0] = _two(1, 2, 3)


def unknown_keyword(n: Array[i32]):
    n[0] = _two(1, c=3)


def argument_twice(n: Array[i32]):
    n[0] = _two(1, a=3)


def nothing_to_assign(x: Array[f32]):
    y = _nothing(x)
    x[0] = y


def nothing_as_a_number(x: Array[f32]):
    x[0] = ruda.barrier() + 1


def helper_without_annotation(x: Array[f32]):
    x[0] = _unannotated(x[0])


def inside_helpers(x: Array[f32], n: i32):
    _outer(x, n)


def intrinsic_arguments(n: Array[i32]):
    ruda.atomic_add(n, 0)


def intrinsic_keyword(n: Array[i32]):
    ruda.atomic_add(n, 0, amount=1)


def cast_of_two(x: Array[f32]):
    x[0] = f32(1, 2)


def round_to_digits(x: Array[f32]):
    x[0] = round(x[0], 2)


def min_of_one(x: Array[f32]):
    x[0] = min(x[0])


def float_of_a_word(x: Array[f32]):
    x[0] = float("many")


def shared_of_run_time_shape(x: Array[f32], n: i32):
    tile = ruda.shared(f32, n)


def shared_of_nothing(x: Array[f32]):
    tile = ruda.shared(f32, 0)


def shared_without_dtype(x: Array[f32]):
    tile = ruda.shared(16, 16)


def unroll_of_run_time_bounds(x: Array[f32], n: i32):
    for i in ruda.unroll(range(n)):
        x[i] = 1


def run_time_index_of_a_tuple(x: Array[f32], n: i32):
    pair = (x[0], x[1])
    x[0] = pair[n]


def array_that_depends_on_control_flow(x: Array[f32], y: Array[f32], n: i32):
    source = x
    if n > 3:
        source = y
    source[0] = 1


def array_on_each_branch(x: Array[f32], y: Array[f32], n: i32):
    if n > 3:
        source = x
    else:
        source = y
    source[0] = 1


def division_by_zero_at_compile_time(x: Array[f32]):
    x[0] = 1 // 0


def power_too_large(x: Array[f32]):
    x[0] = 10**100000


def in_at_run_time(x: Array[f32], n: i32):
    if n in (1, 2):
        x[0] = 1


def no_annotation(x):
    x[0] = 1


def python_float_annotation(a: float, x: Array[f32]):
    x[0] = a


def bare_array_annotation(x: Array):
    x[0] = 1


def annotation_that_fails(x: Arry[f32]):
    x[0] = 1


def star_args(*x: Array[f32]):
    x[0] = 1


def subgroup_sum(x: Array[f32]):
    x[0] = ruda.subgroup_sum(x[0])


def subgroup_size(x: Array[f32]):
    x[0] = ruda.SUBGROUP_SIZE


def matrix_units(x: Array[f32]):
    a = ruda.matrix.load(x)


def debug_print(x: Array[f32]):
    ruda.debug_print("x", x[0])
