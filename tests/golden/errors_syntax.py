"""Python that is not in the kernel language."""

# ruff: noqa

from __future__ import annotations

import ruda_core as ruda
from ruda_core import Array, f32, i32

_G = 1


@ruda.func
def _recursive(n: i32):
    if n > 0:
        return _recursive(n - 1)
    return 0


@ruda.func
def _ping(n: i32):
    return _pong(n)


@ruda.func
def _pong(n: i32):
    return _ping(n)


def try_(x: Array[f32]):
    try:
        x[0] = 1
    except ValueError:
        pass


def with_(x: Array[f32]):
    with open("f"):
        x[0] = 1


def lambda_(x: Array[f32]):
    f = lambda v: v + 1
    x[0] = f(x[0])


def list_comprehension(x: Array[f32]):
    y = [x[i] for i in range(3)]


def generator(x: Array[f32]):
    x[0] = sum(x[i] for i in range(3))


def dict_comprehension(x: Array[f32]):
    y = {i: 1 for i in range(3)}


def yields(x: Array[f32]):
    yield x[0]


def class_(x: Array[f32]):
    class C:
        pass


def nested_function(x: Array[f32]):
    def inner():
        return 1

    x[0] = inner()


def string(x: Array[f32]):
    name = "a string"


def f_string(x: Array[f32]):
    name = f"{x}"


def dict_(x: Array[f32]):
    y = {"a": 1}


def set_(x: Array[f32]):
    y = {1, 2}


def list_(x: Array[f32]):
    y = [1, 2]


def attribute_assignment(x: Array[f32]):
    x.y = 1


def component_assignment(x: Array[f32]):
    x[0].x, y = 1, 2


def global_(x: Array[f32]):
    global _G
    _G = 2


def raise_(x: Array[f32]):
    raise ValueError


def import_(x: Array[f32]):
    import math


def del_(x: Array[f32]):
    y = 1
    del y


def match_(x: Array[f32]):
    match x[0]:
        case 1:
            x[0] = 2


def walrus(x: Array[f32]):
    if (y := x[0]) > 1:
        x[0] = y


def starred(x: Array[f32]):
    a, *b = 1, 2, 3


def slice_(x: Array[f32]):
    x[0:2] = 1


def complex_(x: Array[f32]):
    x[0] = 1j


def while_else(x: Array[f32]):
    while x[0] > 1:
        x[0] -= 1
    else:
        x[1] = 1


def for_else(x: Array[f32]):
    for i in range(3):
        x[i] = 1
    else:
        x[1] = 1


def returns_a_value(x: Array[f32]):
    return x[0]


def assert_message(x: Array[f32], n: i32):
    assert n > 0, n


def recursion(x: Array[i32]):
    x[0] = _recursive(3)


def mutual_recursion(x: Array[i32]):
    x[0] = _ping(3)


def range_out_of_place(x: Array[f32]):
    r = range(3)


def unroll_out_of_place(x: Array[f32]):
    r = ruda.unroll(range(3))


def print_(x: Array[f32]):
    print(x[0])


def keyword_splat(x: Array[f32]):
    x[0] = max(**x)


def annotated_without_value(x: Array[f32]):
    y: f32
    x[0] = 1


def in_a_pruned_branch(x: Array[f32]):
    if False:
        try:
            x[0] = 1
        except ValueError:
            pass


def with_wide_characters(x: Array[f32]):
    größe, ñ = x[0], lambda: 1
