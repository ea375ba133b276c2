"""Tensors of Python's lists, with the dtype that a kernel takes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ruda_core as ruda
from ruda_core import Array, Tensor, Vec, bf16, f32, i32


@pytest.fixture(scope="module")
def client() -> Any:
    return ruda.client("reference")


@pytest.mark.parametrize("dtype", [ruda.f32, np.float32, "f32", "float32", np.dtype("f4")])
def test_a_dtype_is_ruda_s_or_numpy_s(client: Any, dtype: object) -> None:
    made = client.tensor([1.5, 2], dtype=dtype)
    assert made.dtype is ruda.f32
    np.testing.assert_array_equal(made.numpy(), np.array([1.5, 2], np.float32))


def test_without_one_it_is_what_numpy_takes(client: Any) -> None:
    assert client.tensor([1.0]).dtype is ruda.f64
    assert client.tensor([[1], [2]]).dtype is ruda.i64
    assert client.tensor(np.ones(2, np.float16)).dtype is ruda.f16


def test_arrays_and_tensors_are_converted_as_numpy_does(client: Any) -> None:
    assert client.tensor(np.array([-1.5, 300]), dtype=ruda.i32).tolist() == [-1, 300]
    made = client.tensor(client.tensor([1.0, 2.0]), dtype=bf16)
    assert made.dtype is bf16 and made.numpy().dtype == ml_dtypes.bfloat16
    array = np.ones(3, np.float32)
    assert client.tensor(array, dtype=ruda.f32).tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("data", "dtype", "words"),
    [
        ([300], ruda.u8, "array of u8"),
        ([-1], ruda.u32, "array of u32"),
        ([[1], [1, 2]], None, "array of numbers"),
        ([[1], [1, 2]], ruda.f32, "array of f32"),
        (["a"], ruda.f32, "array of f32"),
        ([1.0], "f33", "no ruda dtype"),
        ([1.0], Vec[f32, 4], "a dtype of scalars"),
        ([1j], None, "complex128"),
    ],
)
def test_what_are_no_such_numbers_is_refused(client: Any, data: Any, dtype: object, words: str) -> None:
    with pytest.raises(ruda.LaunchArgumentError, match=words):
        client.tensor(data, dtype=dtype)


@ruda.kernel
def one(x: Array[f32]):
    x[0] = 1


@ruda.kernel
def flags(x: Tensor[bool]):
    x[0] = True


@ruda.kernel
def vectors(x: Array[Vec[f32, 4]]):
    x[0] = x[1]


@ruda.kernel
def whole(x: Array[i32]):
    x[0] = 1


@pytest.mark.parametrize(
    ("kernel", "make", "advice"),
    [
        (one, lambda c: c.tensor([1.0]), r"dtype=ruda\.f32\), or tensor\.astype\(ruda\.f32\)"),
        (one, lambda c: [1.0], r"client\.tensor\(array, dtype=ruda\.f32\)"),
        (one, lambda c: np.ones(3), r"client\.tensor\(array, dtype=ruda\.f32\)"),
        (one, lambda c: np.ones(3, np.float32), r"client\.tensor\(array\)"),
        (whole, lambda c: c.tensor([1, 2]), r"dtype=ruda\.i32\)"),
        (flags, lambda c: c.tensor([1]), r"dtype=ruda\.bool_\)"),
        (vectors, lambda c: c.tensor([1.0] * 8), r"dtype=ruda\.f32\)"),
        (vectors, lambda c: c.tensor([1.0] * 8, dtype=f32), r"tensor\.vectorized\(4\)"),
        (one, lambda c: c.zeros(8, np.float32)[::2], r"not contiguous .pass tensor\.contiguous\(\)"),
    ],
)
def test_a_launch_says_which_dtype_to_pass(client: Any, kernel: Any, make: Any, advice: str) -> None:
    with pytest.raises(ruda.LaunchArgumentError, match=advice):
        kernel.launch(client, 1, 1, make(client))
