"""Signatures: annotations of every kind, evaluated where they were written."""

from __future__ import annotations

from typing import Any, TypeVar

import pytest

import ruda_core as ruda
from ruda_core import Array, Comptime, KernelSyntaxError, KernelTypeError, Tensor, Vec, f16, f32, i32
from ruda_core.dtypes import bool_
from ruda_core.frontend import Func, signature
from ruda_core.frontend.values import INDEX
from ruda_core.ir.types import ArrayType, ComptimeType, TensorType

T = TypeVar("T")


def many(a: f32, b: Array[T], c: Tensor[Vec[f32, 4]], d: Comptime[int], e: ruda.index, f: bool, *, g: T = 1):
    pass


def test_every_kind_of_annotation() -> None:
    sig = signature(many)
    assert sig.name == "many"
    assert [p.name for p in sig.params] == list("abcdefg")
    wanted = [f32, ArrayType(T), TensorType(Vec[f32, 4]), ComptimeType(int), INDEX, bool_, T]
    assert [p.annotation for p in sig.params] == wanted
    assert [p.has_default for p in sig.params] == [False] * 6 + [True]
    assert sig.params[6].default == 1
    assert sig.typevars == (T,)
    assert sig.file == __file__
    assert sig.line == many.__code__.co_firstlineno


def test_it_is_worked_out_once() -> None:
    assert signature(many) is signature(many)


def test_names_of_the_closure_and_of_the_defining_function() -> None:
    element = f16
    only_in_annotations = Array[i32]

    def kernel(x: Array[element], y: only_in_annotations):  # type: ignore[valid-type]
        return element

    sig = signature(kernel, {"only_in_annotations": only_in_annotations})
    assert [p.annotation for p in sig.params] == [ArrayType(f16), ArrayType(i32)]


def test_arrays_of_pythons_bool_hold_bools() -> None:
    def kernel(flags: Array[bool]):
        pass

    assert signature(kernel).params[0].annotation == ArrayType(bool_)


def test_a_return_annotation_is_kept_where_it_names_dtypes() -> None:
    def one() -> f32: ...
    def two() -> tuple[f32, i32]: ...
    def none() -> None: ...

    assert signature(one).returns is f32
    assert signature(two).returns == (f32, i32)
    assert signature(none).returns is None


def test_a_lambda_has_no_signature() -> None:
    with pytest.raises(KernelSyntaxError, match="plain def"):
        signature(lambda x: x)


def test_what_is_no_function_has_none() -> None:
    with pytest.raises(KernelSyntaxError, match="not a Python function"):
        signature(len)


def test_code_without_source_says_what_to_do() -> None:
    namespace: dict[str, Any] = {}
    exec("def kernel(x):\n    pass\n", namespace)
    with pytest.raises(KernelSyntaxError, match="define it in a file"):
        signature(namespace["kernel"])


def test_code_whose_source_is_known_to_linecache_works() -> None:
    import linecache

    text = "def kernel(x: Array[f32]):\n    x[0] = 1\n"
    name = "<a cell of a notebook>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"Array": Array, "f32": f32}
    exec(compile(text, name, "exec"), namespace)
    assert signature(namespace["kernel"]).params[0].annotation == ArrayType(f32)


def test_a_changed_file_is_noticed(tmp_path: Any) -> None:
    path = tmp_path / "kernels.py"
    path.write_text("def kernel(x):\n    pass\n")
    namespace: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    path.write_text("def other(x):\n    pass\n")
    with pytest.raises(KernelSyntaxError, match="Start the program again"):
        signature(namespace["kernel"])


def test_the_error_of_a_bad_annotation_is_at_its_place() -> None:
    def kernel(x: Array[f32], n: list):
        pass

    with pytest.raises(KernelTypeError) as caught:
        signature(kernel)
    assert caught.value.line == kernel.__code__.co_firstlineno
    assert "n: list" in str(caught.value)
    assert "Comptime[tuple]" in str(caught.value)


def test_helpers_are_called_from_kernels_only() -> None:
    helper = Func(many)
    with pytest.raises(ruda.RudaError, match=r"many\.fn"):
        helper(1)
    assert helper.__name__ == "many"
