"""Scalars to the dtype that a parameter declares, as NumPy holds them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from array_driver import plan_of, scalar

from ruda_core.dtypes import BY_NAME, FLOATS, INTEGERS
from ruda_core.errors import LaunchArgumentError
from ruda_core.launcher import build_launcher, prepare_launch
from ruda_core.launcher.scalars import round_to


@pytest.fixture
def packed(client):
    """`packed(dtype, value)`: what the kernel finds in its parameter block."""
    found: list[Any] = []

    def take(s: Any, **_: Any) -> None:
        found.append(s)

    def pack(dtype: str, value: Any) -> Any:
        launch = build_launcher(client.server, plan_of(take, scalar("s", dtype)))
        launch(client, 1, value)
        prepare_launch(launch, client, (value,))(1, value)
        assert repr(found[0]) == repr(found[1])
        first = found[0]
        found.clear()
        return first

    return pack


@pytest.mark.parametrize("dtype", [d.name for d in FLOATS])
def test_floats_round_to_the_declared_dtype(packed, dtype):
    kind = BY_NAME[dtype].numpy.type
    for value in (0.1, -0.1, 1 / 3, 2, True, np.float64(0.1), np.float32(0.1), np.float16(0.1), np.int8(3)):
        assert packed(dtype, value) == float(kind(value))
    assert packed(dtype, ml_dtypes.bfloat16(1.5)) == 1.5
    assert packed(dtype, float("inf")) == np.inf and np.isnan(packed(dtype, float("nan")))
    assert str(packed(dtype, -0.0)) == "-0.0"


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
def test_rounding_is_to_nearest_even_once(dtype):
    rng = np.random.default_rng(5)
    kind = BY_NAME[dtype]
    exponents = rng.uniform(-160, 130, 4000) if dtype != "f16" else rng.uniform(-30, 16, 4000)
    for value in (rng.choice([-1, 1], 4000) * np.exp2(exponents)).tolist():
        single = np.float32(value)
        # where f32 is a tie of the narrow dtype, rounding by way of f32 may go the wrong way
        direct = float(kind.numpy.type(single if dtype == "bf16" else value))
        if np.isinf(direct):
            with pytest.raises(OverflowError):
                round_to(kind, value)
        else:
            assert round_to(kind, value) == direct


def test_bf16_is_not_rounded_twice():
    above_tie = 1 + 2.0**-8 + 2.0**-40
    assert round_to(BY_NAME["bf16"], above_tie) == 1 + 2.0**-7
    assert round_to(BY_NAME["bf16"], 1 + 2.0**-8) == 1.0


@pytest.mark.parametrize("dtype", [d.name for d in INTEGERS])
def test_integers_are_range_checked(packed, dtype):
    kind = BY_NAME[dtype]
    for value in (0, kind.min, kind.max, np.uint8(7), 7.0, np.float32(7), True, np.bool_(True)):
        assert packed(dtype, value) == int(value)
    for bad in (kind.min - 1, kind.max + 1, 0.5, float("nan"), float("inf"), "1", None, 1j, np.zeros(1)):
        with pytest.raises(LaunchArgumentError) as caught:
            packed(dtype, bad)
        assert "parameter s" in str(caught.value) and dtype in str(caught.value)


def test_bools(packed):
    for value in (True, False, 1, 0, np.bool_(True)):
        assert packed("bool", value) == int(value)
    for bad in (2, -1, 0.5, "true", None):
        with pytest.raises(LaunchArgumentError):
            packed("bool", bad)


@pytest.mark.parametrize(
    "dtype, value",
    [
        ("f32", 2**24 + 1), ("f32", 10**40), ("f32", 1e39), ("f32", np.float64(-1e39)), ("f16", 65520.0),
        ("f16", 70000), ("f16", 2049), ("bf16", 3.4e38), ("bf16", 257), ("f64", 2**53 + 1), ("f64", 10**400),
    ],
)  # fmt: skip
def test_what_a_float_cannot_hold_is_refused(packed, dtype, value):
    with pytest.raises(LaunchArgumentError) as caught:
        packed(dtype, value)
    assert dtype in str(caught.value)
