"""Every device computes what NumPy and exact arithmetic give, or refuses what its features say it lacks.

The corpus is cut down here to keep the time short; `ruda conformance` runs all of it.
"""

from __future__ import annotations

import numpy as np
import pytest

from ruda_core.conformance.numbers import GROUPS, measured
from ruda_core.conformance.numbers.judge import exact, ulps, within
from ruda_core.conformance.numbers.rounding import floor_of_quotient, fused, integer_to_float, nearest
from ruda_core.conformance.numbers.values import pairs, singles
from ruda_core.dtypes import BY_NAME

DTYPES = {
    "algebra": ("i8", "u16", "i32", "i64", "f32", "bf16"),
    "functions": ("f32", "f64", "bf16"),
    "conversions": ("bool", "i8", "u8", "i32", "u32", "i64", "u64", "f32", "f64", "f16", "bf16"),
}


@pytest.mark.parametrize("group", GROUPS)
def test_device_computes_what_the_language_says(client, group):
    rows = list(measured(client, groups=(group,), dtypes=DTYPES.get(group, tuple(BY_NAME))))
    assert rows and sum(row.cases for row in rows) > 1000
    wrong = [
        f"{row.dtype} {row.operation}: {row.wrong} of {row.cases} wrong, {row.ulp} ULP: {row.example}"
        for row in rows
        if row.wrong
    ]
    assert not wrong, "\n".join(wrong)


def test_eight_bit_pairs_are_complete():
    a, b = pairs("i8")
    assert len({*zip(a.tolist(), b.tolist(), strict=True)}) == 65536
    assert singles("f16")[0].size == 65536


def test_one_wrong_bit_is_found():
    right = np.array([1.0, np.nan, -0.0, np.inf], np.float32)
    got = right.copy()
    assert exact(got, (right,), None, zero_signs=True).wrong == 0
    got[0] = np.nextafter(np.float32(1), np.float32(2))
    got[2] = 0.0
    assert exact(got, (right,), None, zero_signs=True).wrong == 2
    assert exact(got, (right,), None, zero_signs=False).wrong == 1
    assert exact(got, (right,), None, zero_signs=True).worst == 0


def test_errors_are_counted_in_units_of_the_last_place():
    got = np.array([1 + 2**-23, np.inf, 0.0, np.nan, 2**-149], np.float32)
    want = np.array([1.0, 3.5e38, -0.0, np.nan, 0.0])
    assert ulps(got, want).tolist() == [1.0, 0.0, np.inf, 0.0, 1.0]
    assert within(got[:1], want[:1], 0.5, None).wrong == 1
    assert within(got[:1], want[:1], 1.0, None).wrong == 0


def test_host_rounds_once():
    x = np.array([1 + 2**-8 + 2**-40, 1 + 2**-8, 65519.999, 65520.0, 2.0**-25, 2.0**-25 * 1.0001])
    assert nearest(x[:2], "bf16").astype(float).tolist() == [1.0078125, 1.0]
    assert nearest(x[2:], "f16").tolist() == [65504.0, np.inf, 0.0, 2.0**-24]
    big = np.array([2**63 - 1, (1 << 62) + (1 << 38) + 1, (1 << 62) + (1 << 38)], np.int64)
    assert integer_to_float(big, "f32").tolist() == [2.0**63, 2.0**62 + 2.0**39, 2.0**62]


def test_host_fuses_and_floors_exactly():
    one, tiny = np.float32(1), np.float32(2**-23)
    a = np.array([one + tiny], np.float32)
    assert fused(a, a, -np.array([1 + 2 * tiny], np.float32))[0] == np.float32(2.0**-46)
    d = np.array([1 + 2.0**-52, -88.7])
    c = np.array([-(1 + 2.0**-51), np.inf])
    assert fused(d, np.array([1 + 2.0**-52, 1.7e308]), c).tolist() == [2.0**-104, np.inf]
    quotients = floor_of_quotient(np.array([-1, 7, 1e30], np.float32), np.array([3, 2, 1], np.float32), "f32")
    assert quotients.tolist() == [-1.0, 3.0, float(np.float32(1e30))]
