"""Values at the corners of each dtype, and how results are compared."""

from __future__ import annotations

import numpy as np

from ruda_core.dtypes import DType


def corners(dtype: DType) -> np.ndarray:
    if dtype.kind == "bool":
        return np.array([False, True])
    if dtype.is_integer:
        near = [0, 1, 2, 3, 5, 7, dtype.bits - 1, dtype.bits, dtype.max, dtype.max - 1, dtype.max // 2 + 1]
        near += [] if dtype.kind == "uint" else [-1, -2, -3, -7, dtype.min, dtype.min + 1]
        return np.array(near, dtype.numpy)
    limits = {"f16": (65504.0, 6e-8), "bf16": (3.3895e38, 1e-39), "f32": (3.4028235e38, 1e-45)}
    most, least = limits.get(dtype.name, (1.7976931348623157e308, 5e-324))
    with np.errstate(over="ignore"):
        numbers = [0.0, 0.5, 1.0, 1.5, 2.5, 3.0, 1 / 3, 7.25, 100.0, most, least, np.inf, np.nan]
        return np.array([*numbers, *(-x for x in numbers)], np.float64).astype(dtype.numpy)


def pairs(dtype: DType, other: DType | None = None) -> tuple[np.ndarray, np.ndarray]:
    a, b = corners(dtype), corners(other or dtype)
    return np.repeat(a, len(b)), np.tile(b, len(a))


def python(dtype: DType, array: np.ndarray) -> list:
    if dtype.kind == "bool":
        return [bool(x) for x in array]
    return [float(x) if dtype.is_float else int(x) for x in array]


def same(dtype: DType, got: np.ndarray, wanted: list) -> None:
    with np.errstate(all="ignore"):
        expected = np.array(wanted).astype(dtype.numpy) if dtype.is_float else np.array(wanted, dtype.numpy)
    if not dtype.is_float:
        assert got.tolist() == expected.tolist()
        return
    bits = f"u{dtype.itemsize}"
    nan = np.isnan(got) & np.isnan(expected)
    assert ((got.view(bits) == expected.view(bits)) | nan).all(), (got, expected)
