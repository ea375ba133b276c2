"""What newcomers write, and what they are told: the class of the error, its place, and what to write instead."""

# ruff: noqa: B008, B905, E731

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import ruda_core as ruda
from ruda_core import Array, CompileError, KernelSyntaxError, KernelTypeError, Tensor, Vec, f32
from ruda_core.artifact import ArrayParam
from ruda_core.frontend import lower, signature

ANNOTATIONS: dict[str, tuple[Any, str]] = {
    "Array[int]": (lambda: Array[int], r"write Array\[i32\]"),
    "Array[float]": (lambda: Array[float], r"write Array\[f32\]"),
    "Array[np.float32]": (
        lambda: Array[np.float32],
        r"np\.float32 is no dtype of kernels: write Array\[f32\]",
    ),
    "Array[np.dtype('u2')]": (lambda: Array[np.dtype("u2")], r"write Array\[u16\]"),
    "Array['f32']": (lambda: Array["f32"], r"write Array\[f32\]"),
    "Array['float64']": (lambda: Array["float64"], r"write Array\[f64\]"),
    "Array[complex]": (lambda: Array[complex], r"bf16, f32, f64\), a Vec or a TypeVar"),
    "Array[f32, 3]": (lambda: Array[f32, 3], r"by len\(x\): write Array\[f32\]"),
    "Array[int, 3]": (lambda: Array[int, 3], r"write Array\[i32\]"),
    "Tensor[f32, 2]": (lambda: Tensor[f32, 2], r"t\.rank: write Tensor\[f32\]"),
    "Tensor[int]": (lambda: Tensor[int], r"write Tensor\[i32\]"),
    "Array[Array[f32]]": (lambda: Array[Array[f32]], r"Tensor\[f32\] for several axes"),
    "Array[Vec]": (lambda: Array[Vec], r"Array\[Vec\[f32, 4\]\]"),
    "Array[None]": (lambda: Array[None], r"write Array\[f32\]"),
    "Array[[]]": (lambda: Array[[]], r"write Array\[f32\]"),
    "Array(f32)": (lambda: Array(f32), r"with brackets: write Array\[f32\]"),
    "Tensor()": (lambda: Tensor(), r"with brackets: write Tensor\[f32\]"),
    "Vec[f32]": (lambda: Vec[f32], r"write Vec\[f32, 4\]"),
    "Vec[float, 4]": (lambda: Vec[float, 4], r"write Vec\[f32, 4\]"),
    "Vec[np.int16, 2]": (lambda: Vec[np.int16, 2], r"write Vec\[i16, 2\]"),
    "Vec[f32, 5]": (lambda: Vec[f32, 5], r"one of \(2, 3, 4, 8, 16\)"),
    "Vec[list, 4]": (lambda: Vec[list, 4], r"a dtype such as f32"),
}


@pytest.mark.parametrize("written", ANNOTATIONS)
def test_an_annotation_that_python_evaluates_points_at_its_line(written: str) -> None:
    make, message = ANNOTATIONS[written]
    with pytest.raises(KernelTypeError, match=message) as caught:
        make()
    assert caught.value.file == __file__
    source, carets = caught.value.excerpt.splitlines()
    assert source[carets.index("^") : carets.rindex("^") + 1].replace('"', "'") == written


def test_a_bool_is_a_dtype() -> None:
    assert repr(Array[bool]) == "Array[bool]" and repr(Vec[bool, 4]) == "Vec[bool, 4]"


def _signature_error(fn: Any) -> CompileError:
    with pytest.raises(CompileError) as caught:
        signature(fn)
    return caught.value


def test_a_postponed_annotation_points_at_its_parameter() -> None:
    def kernel(x: Array[f32], y: Array[int]):  # noqa: ANN202
        pass

    error = _signature_error(kernel)
    assert type(error) is KernelTypeError and error.line == kernel.__code__.co_firstlineno
    assert "Array[i32]" in error.message and "<string>" not in str(error)
    assert error.excerpt.splitlines()[1].count("^") == len("Array[int]")


def _of(annotation: Any) -> Any:
    def kernel(x):
        pass

    kernel.__annotations__["x"] = annotation
    return kernel


def test_annotations_that_are_no_parameter_types() -> None:
    def np_scalar(x: np.float32): ...
    def array(x: np.ndarray): ...
    def words(x: list[float]): ...
    def bare(x: Vec): ...
    def number(x: 3): ...
    def bare_tensor(x: Tensor): ...

    wanted = {
        np_scalar: "write f32",
        array: "Tensor[f32] for several axes",
        words: "Comptime[tuple]",
        bare: "Vec[f32, 4]",
        number: "a dtype such as f32",
        bare_tensor: "write Tensor[f32]",
    }
    for fn, advice in wanted.items():
        error = _signature_error(fn)
        assert type(error) is KernelTypeError and advice in error.message, error


class Methods:
    def kernel(self, x: Array[f32]): ...


def test_a_method_is_no_kernel() -> None:
    error = _signature_error(Methods.kernel)
    assert "@staticmethod" in error.message and error.excerpt.endswith("^^^^")


async def waits(x: Array[f32]): ...


def yields(x: Array[f32]):
    yield x[0]


def _logged(fn: Any) -> Any:
    @functools.wraps(fn)
    def wrapper(*args: Any) -> Any:
        return fn(*args)

    return wrapper


@_logged
def wrapped(x: Array[f32]): ...


def test_functions_that_are_no_kernels() -> None:
    function = lambda x: x
    wanted = {
        waits: ("async def is not", "async def waits(x: Array[f32]): ..."),
        yields: ("a generator is not", "yield x[0]"),
        function: ("a lambda is not", "lambda x: x"),
        wrapped: ("wrapped is wrapped by another decorator", "@functools.wraps(fn)"),
    }
    for fn, (message, marked) in wanted.items():
        error = _signature_error(fn)
        assert type(error) is KernelSyntaxError and message in error.message
        source, carets = error.excerpt.splitlines()
        assert source[carets.index("^") : carets.rindex("^") + 1] == marked


# In bodies ----------------------------------------------------------------------------------------


@ruda.kernel
def other(x: Array[f32]):
    x[0] = 1


def calls_a_kernel(x: Array[f32]):
    other(x)


def launches_a_kernel(x: Array[f32]):
    other.launch(None, 1, 1, x)


def enumerates(x: Array[f32]):
    for i, v in enumerate(x):
        x[i] = v + 1


def zips(x: Array[f32]):
    for a, b in zip(x, x):
        x[0] = a + b


def enumerates_a_range(x: Array[f32]):
    for i, k in enumerate(range(0, len(x), 2)):
        x[i] = f32(k)


def sums(x: Array[f32]):
    x[0] = sum(x)


def largest(x: Array[f32]):
    x[0] = max(x)


def numpy_sum(x: Array[f32]):
    x[0] = np.sum(x)


def numpy_zeros(x: Array[f32]):
    y = np.zeros(3)
    x[0] = y[0]


def size(x: Array[f32]):
    x[0] = f32(x.size)


def astype(x: Array[f32]):
    x[0] = x.astype(f32)


def sum_method(x: Array[f32]):
    x[0] = x.sum()


def numpy_dtype(x: Array[f32]):
    tile = ruda.shared(np.int16, 4)
    x[0] = f32(tile[0])


def python_dtype(x: Array[f32]):
    tile = ruda.local(int, 4)
    x[0] = f32(tile[0])


def _own(v):
    return v + 1


def plain(x: Array[f32]):
    x[0] = _own(x[0])


BODIES = {
    calls_a_kernel: ("put what both need into a @ruda.func", "make it"),
    launches_a_kernel: ("launch them one after the other", "make it"),
    enumerates: ("for i in range(len(x))", "decorate"),
    zips: ("for i in range(len(x))", "decorate"),
    enumerates_a_range: ("begin, end and step", "ruda.unroll"),
    sums: ("write a loop that adds", "decorate"),
    largest: ("write a loop over its elements", "decorate"),
    numpy_sum: ("runs on the host only", "decorate"),
    numpy_zeros: ("ruda.local(f32, n)", "decorate"),
    size: ("write len(x)", "dtype"),
    astype: ("f32(x[i])", "dtype"),
    sum_method: ("write a loop that adds", "dtype"),
    numpy_dtype: ("ruda.shared(i16, 64)", "f32"),
    python_dtype: ("ruda.local(i32, 64)", "f32"),
    plain: ("decorate _own with @ruda.func", "range"),
}


@pytest.mark.parametrize("fn", BODIES, ids=lambda fn: fn.__name__)
def test_a_body_is_told_what_to_write(fn: Any) -> None:
    advice, wrong = BODIES[fn]
    with pytest.raises(CompileError) as caught:
        lower(fn, {"x": ArrayParam("x", "f32", 1, None)}, dim=64)
    assert advice in caught.value.message and wrong not in caught.value.message


def test_a_vector_is_not_passed_by_value() -> None:
    def kernel(a: Vec[f32, 4], x: Array[f32]):
        x[0] = a.x

    with pytest.raises(KernelTypeError, match=r"a: Array\[Vec\[f32, 4\]\]"):
        lower(kernel, {"a": Vec[f32, 4], "x": ArrayParam("x", "f32", 1, None)}, dim=64)
