"""Literals that meet a dtype: rounded once, exactly as NumPy rounds, or refused."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ruda_core.dtypes import BY_NAME, FLOATS, DType, bf16, bool_, f16, f32, f64, i8, i32, u8, u32
from ruda_core.frontend.constants import Unfit, calculate, convert, fit, round_to

NUMBERS = [
    *(s * v for s in (1, -1) for v in (0.0, 0.1, 1 / 3, 1.0, 2.5, 1e-8, 1e-40, 1e-45, 6e-8, 3e-8, 2.98e-8)),
    *(65504.0, 65519.0, 65520.0, 3.4e38, 3.39e38, 3.4028236e38, math.inf, -math.inf),
    *(1.00390625, 1.01171875, 1.005859375, 257.0, 258.0, 259.0),
]


@pytest.mark.parametrize("dtype", [f16, f32, f64, bf16], ids=repr)
@pytest.mark.parametrize("number", NUMBERS)
def test_floats_round_as_numpy_rounds(dtype: DType, number: float) -> None:
    """Through float32 for bf16: every number here is far from a double rounding."""
    with np.errstate(all="ignore"):
        wanted = float(dtype.numpy.type(number))
    got = round_to(number, dtype)
    assert got == wanted
    assert math.copysign(1, got) == math.copysign(1, wanted)


@pytest.mark.parametrize("dtype", FLOATS, ids=repr)
def test_a_rounded_number_is_the_nearest(dtype: DType) -> None:
    random = np.random.default_rng(1)
    for number in ((1 + random.random(200)) * 2.0 ** random.integers(-14, 14, 200)).tolist():
        got = Fraction(round_to(number, dtype))
        step = abs(Fraction(number)) / 2 ** {f16: 11, bf16: 8, f32: 24, f64: 53}[dtype]
        assert abs(got - Fraction(number)) <= step


def test_integers_are_rounded_once() -> None:
    assert round_to(2**24 + 1, f32) == 2.0**24
    assert round_to(2**60 + 2**36 + 1, f32) == 2.0**60 + 2.0**37, "not through a float64 that ends in a tie"
    assert round_to(2**53 + 1, f64) == 2.0**53
    assert round_to(2**200, f32) == math.inf


def test_bf16_is_not_rounded_through_f32() -> None:
    just_above_a_tie = 1 + 2.0**-8 + 2.0**-40
    assert round_to(just_above_a_tie, bf16) == 1 + 2.0**-7
    assert round_to(1 + 2.0**-8, bf16) == 1.0


def test_nan_stays_nan() -> None:
    assert all(math.isnan(round_to(math.nan, dtype)) for dtype in FLOATS)


REFUSED: list[tuple[Any, DType]] = [
    (256, u8),
    (-1, u8),
    (128, i8),
    (2**32, u32),
    (2**31, i32),
    (1.0, i32),
    (2, bool_),
    (0.5, bool_),
    (1e39, f32),
    (70000, f16),
    (70000.0, f16),
]


@pytest.mark.parametrize(("value", "dtype"), REFUSED)
def test_what_does_not_fit_is_refused(value: Any, dtype: DType) -> None:
    with pytest.raises(Unfit, match=dtype.name):
        fit(value, dtype)


def test_what_fits() -> None:
    assert fit(255, u8) == 255
    assert fit(-128, i8) == -128
    assert fit(math.inf, f16) == math.inf
    assert fit(3, f32) == 3.0 and isinstance(fit(3, f32), float)
    assert fit(1, bool_) is True
    assert fit(True, f32) == 1.0


def test_casts_truncate_and_saturate() -> None:
    assert convert(-3.7, i32) == -3
    assert convert(3e9, i32) == 2**31 - 1
    assert convert(-1.0, u32) == 0
    assert convert(math.nan, i32) == 0
    assert convert(-math.inf, i8) == -128
    assert convert(1e39, f32) == math.inf
    assert convert(0.1, bool_) is True


def test_pythons_arithmetic_and_its_limits() -> None:
    assert calculate("//", -7, 2) == -4
    assert calculate("/", 1, 3) == 1 / 3
    for op, a, b in (
        ("//", 1, 0),
        ("<<", 1, -1),
        ("&", 1.0, 2),
        ("**", 10, 10**9),
        ("<<", 1, 10**9),
        ("**", -1, 0.5),
    ):
        with pytest.raises(Unfit):
            calculate(op, a, b)


def test_every_dtype_is_covered() -> None:
    for dtype in BY_NAME.values():
        assert fit(1, dtype) == 1
