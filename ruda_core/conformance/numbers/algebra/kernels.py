"""The expressions. All but those that read columns, and `not_less`, mean the same over NumPy arrays."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

import ruda_core as ruda
from ruda_core import Tensor

T = TypeVar("T")


# Floats of one operand ----------------------------------------------------------------------------


@ruda.func
def plus_zero(x: T):
    return x + 0.0


@ruda.func
def times_zero(x: T):
    return x * 0.0


@ruda.func
def zero_minus(x: T):
    return 0.0 - x


@ruda.func
def minus_itself(x: T):
    return x - x


@ruda.func
def over_itself(x: T):
    return x / x


@ruda.func
def there_and_back(x: T):
    return (x + 1000.0) - 1000.0


@ruda.func
def third(x: T):
    return x / 3.0


@ruda.func
def thrice_a_third(x: T):
    return x / 3.0 * 3.0


@ruda.func
def inverse_twice(x: T):
    return 1.0 / (1.0 / x)


@ruda.func
def root_squared(x: T):
    return np.sqrt(x) * np.sqrt(x)


@ruda.func
def root_of_square(x: T):
    return np.sqrt(x * x)


@ruda.func
def polynomial(x: T):
    return ((x * 0.1 + 0.3) * x - 0.7) * x + 1.1


@ruda.func
def is_itself(x: T):
    return x == x


@ruda.func
def differs_from_itself(x: T):
    return x != x


@ruda.func
def below_successor(x: T):
    return x < x + 1


# Floats of two operands ---------------------------------------------------------------------------


@ruda.func
def sum_minus_second(x: T, y: T):
    return (x + y) - y


@ruda.func
def difference_of_difference(x: T, y: T):
    return x - (x - y)


@ruda.func
def negated_difference(x: T, y: T):
    return -(x - y)


@ruda.func
def product_over_second(x: T, y: T):
    return x * y / y


@ruda.func
def quotient_times_second(x: T, y: T):
    return x / y * y


@ruda.func
def difference_of_squares(x: T, y: T):
    return x * x - y * y


@ruda.func
def error_of_sum(x: T, y: T):
    total = x + y
    part = total - x
    return (x - (total - part)) + (y - part)


@ruda.func
def not_less(x: T, y: T):
    return not (x < y)


@ruda.func
def difference_is_zero(x: T, y: T):
    return x - y == 0


# Floats of three operands -------------------------------------------------------------------------


@ruda.func
def product_plus(x: T, y: T, z: T):
    return x * y + z


@ruda.func
def product_minus(x: T, y: T, z: T):
    return x * y - z


@ruda.func
def two_products(x: T, y: T, z: T):
    return x * y + z * x


@ruda.func
def product_of_sum(x: T, y: T, z: T):
    return x * (y + z)


@ruda.func
def left_sum(x: T, y: T, z: T):
    return (x + y) + z


@ruda.func
def right_sum(x: T, y: T, z: T):
    return x + (y + z)


@ruda.func
def left_product(x: T, y: T, z: T):
    return (x * y) * z


@ruda.func
def right_product(x: T, y: T, z: T):
    return x * (y * z)


@ruda.func
def sum_of_quotients(x: T, y: T, z: T):
    return x / z + y / z


@ruda.func
def product_residual(x: T, y: T, z: T):
    product = x * y
    return (x * y - product) + z


# Whole columns ------------------------------------------------------------------------------------


@ruda.func
def sum_in_order(x: Tensor[T], column: ruda.index):
    total = x[0, column]
    for row in range(1, x.shape(0)):
        total = total + x[row, column]
    return total


@ruda.func
def kahan_sum(x: Tensor[T], column: ruda.index):
    total = x[0, column]
    lost = total - total
    for row in range(1, x.shape(0)):
        term = x[row, column] - lost
        larger = total + term
        lost = (larger - total) - term
        total = larger
    return total


@ruda.func
def alternating_sum(x: Tensor[T], column: ruda.index):
    total = x[0, column]
    for row in range(1, x.shape(0)):
        total = (total + x[row, column]) - x[row - 1, column]
    return total


# Integers -----------------------------------------------------------------------------------------


@ruda.func
def thrice_by_three(x: T):
    return x * 3 // 3


@ruda.func
def doubled_and_halved(x: T):
    return (x << 1) >> 1


@ruda.func
def square_by_itself(x: T):
    return x * x // x


@ruda.func
def by_three(x: T):
    return x // 3


@ruda.func
def modulo_three(x: T):
    return x % 3


@ruda.func
def by_eight(x: T):
    return x // 8


@ruda.func
def modulo_eight(x: T):
    return x % 8


@ruda.func
def hundred_by(x: T):
    return 100 // x


@ruda.func
def hundred_modulo(x: T):
    return 100 % x


@ruda.func
def by_minus_three(x: T):
    return x // -3


@ruda.func
def modulo_minus_three(x: T):
    return x % -3


@ruda.func
def by_minus_one(x: T):
    return x // -1


@ruda.func
def magnitude_is_negative(x: T):
    return abs(x) < 0


@ruda.func
def quotient_and_rest(x: T, y: T):
    return x // y * y + x % y


@ruda.func
def whole_product_over_second(x: T, y: T):
    return x * y // y
