"""A renderer that lacks a method says so by a typed error that names it."""

from __future__ import annotations

import pytest

import ruda_core as ruda
from ruda_core import Array, i32
from ruda_core.capabilities import ATOMIC_OPS, Target
from ruda_core.codegen import CLikeDialect, CLikeRenderer
from ruda_core.compiler import Compiler


class Bare(CLikeRenderer):
    types = {"bool": "bool", "i32": "int", "u32": "uint"}
    functions = {}
    builtins = dict.fromkeys(("native_workgroup_pos", "native_workgroup_count", "unit_pos"), ("x", "y", "z"))
    forever = "for (;;)"
    once = ("do {", "} while (0);")

    def module(self) -> None:
        self.body(self.function.body)


class BareDialect(CLikeDialect):
    name = "bare"
    renderer = Bare
    baseline = Target(
        storage=frozenset({"i32", "u32"}),
        arithmetic=frozenset({"bool", "i32", "u32"}),
        atomics={"i32": ATOMIC_OPS},
    )


@ruda.kernel
def counted(x: Array[i32]):
    ruda.atomic_add(x, 0, 1)


def test_the_method_that_is_missing_is_named() -> None:
    compiler = Compiler(BareDialect(), BareDialect.baseline, backend="bare")
    with pytest.raises(ruda.UnsupportedFeature, match="counted: Bare cannot write this yet.*method constant"):
        counted.compile_with(compiler, 1, (), "checked")
