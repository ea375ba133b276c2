"""The kernels of the corpus: generic batteries, and the small functions that they apply.

A battery applies each of several functions to the same operands, one row of `out` a function, so that a
launch answers for many operations.
"""

from __future__ import annotations

from functools import cache
from typing import TypeVar

import ruda_core as ruda
from ruda_core import Array, Tensor

T = TypeVar("T")
U = TypeVar("U")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
R = TypeVar("R")


@cache
def unary(functions: tuple, contract: bool):
    """A kernel of one operand array: row k of `out` is `functions[k](x)`."""

    @ruda.kernel(fp_contract=contract)
    def battery(x: Array[T], out: Tensor[R]):
        i = ruda.ABSOLUTE_POS
        if i < len(x):
            for k in ruda.unroll(range(len(functions))):
                out[k, i] = functions[k](x[i])

    return battery


@cache
def binary(functions: tuple, contract: bool):
    """Two operand arrays, perhaps of different dtypes."""

    @ruda.kernel(fp_contract=contract)
    def battery(x: Array[T], y: Array[U], out: Tensor[R]):
        i = ruda.ABSOLUTE_POS
        if i < len(x):
            for k in ruda.unroll(range(len(functions))):
                out[k, i] = functions[k](x[i], y[i])

    return battery


@cache
def ternary(functions: tuple, contract: bool):
    """Three operand arrays."""

    @ruda.kernel(fp_contract=contract)
    def battery(x: Array[T], y: Array[T], z: Array[T], out: Tensor[R]):
        i = ruda.ABSOLUTE_POS
        if i < len(x):
            for k in ruda.unroll(range(len(functions))):
                out[k, i] = functions[k](x[i], y[i], z[i])

    return battery


@cache
def columns(functions: tuple, contract: bool):
    """Functions of a whole column of a matrix, which they read themselves."""

    @ruda.kernel(fp_contract=contract)
    def battery(x: Tensor[T], out: Tensor[R]):
        i = ruda.ABSOLUTE_POS
        if i < x.shape(1):
            for k in ruda.unroll(range(len(functions))):
                out[k, i] = functions[k](x, i)

    return battery


@ruda.kernel
def convert(x: Array[T], out: Array[A]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        out[i] = A(x[i])


@ruda.kernel
def convert_to_four(x: Array[T], a: Array[A], b: Array[B], c: Array[C], d: Array[D]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        a[i] = A(x[i])
        b[i] = B(x[i])
        c[i] = C(x[i])
        d[i] = D(x[i])


# Operators ----------------------------------------------------------------------------------------


@ruda.func
def add(x: T, y: T):
    return x + y


@ruda.func
def subtract(x: T, y: T):
    return x - y


@ruda.func
def multiply(x: T, y: T):
    return x * y


@ruda.func
def divide(x: T, y: T):
    return x / y


@ruda.func
def floor_divide(x: T, y: T):
    return x // y


@ruda.func
def remainder(x: T, y: T):
    return x % y


@ruda.func
def power(x: T, y: U):
    return x**y


@ruda.func
def bit_and(x: T, y: T):
    return x & y


@ruda.func
def bit_or(x: T, y: T):
    return x | y


@ruda.func
def bit_xor(x: T, y: T):
    return x ^ y


@ruda.func
def invert(x: T):
    return ~x


@ruda.func
def negate(x: T):
    return -x


@ruda.func
def copied(x: T):
    return x


@ruda.func
def shift_left(x: T, y: U):
    return x << y


@ruda.func
def shift_right(x: T, y: U):
    return x >> y


@ruda.func
def less(x: T, y: U):
    return x < y


@ruda.func
def less_equal(x: T, y: U):
    return x <= y


@ruda.func
def greater(x: T, y: U):
    return x > y


@ruda.func
def greater_equal(x: T, y: U):
    return x >= y


@ruda.func
def equal(x: T, y: U):
    return x == y


@ruda.func
def not_equal(x: T, y: U):
    return x != y
