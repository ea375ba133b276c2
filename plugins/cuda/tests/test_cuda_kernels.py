"""Real kernels, as the whole compiler leaves them for CUDA: each compiled by NVRTC with no device."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TypeVar

import pytest
from ruda_cuda.dialect import BASELINE, CudaDialect

import ruda_core as ruda
from ruda_core import Array, f32, i16, i32
from ruda_core.artifact import VariantFacts
from ruda_core.compiler import Compiler
from ruda_core.conformance.random_kernels import Generator
from ruda_core.conformance.random_kernels.writer import FLOATS, INTEGERS, UNITS
from ruda_core.dtypes import BY_NAME

EXAMPLES = Path(__file__).parents[3] / "examples"
PROGRAMS = sorted(path.stem for path in EXAMPLES.glob("*.py") if not path.stem.startswith("_"))
ARCHITECTURES = ("sm_75", "sm_80", "sm_90")
SEEDS = range(16)
V = TypeVar("V")


@pytest.fixture
def compiler():
    return Compiler(CudaDialect(), BASELINE, backend="cuda")


@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_of_the_examples_compile(nvrtc, strict, compiler, name, monkeypatch, capsys):
    """Whatever an example launches on the reference device is compiled for CUDA as well."""
    from ruda_cuda.compiling import compiled

    seen = []
    original = Compiler.compile

    def recorded(self, spec, lowered, facts):
        seen.append((spec, facts))
        return original(self, spec, lowered, facts)

    monkeypatch.setattr(Compiler, "compile", recorded)
    monkeypatch.setattr(sys, "argv", [name, "reference"])
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.delitem(
        sys.modules, name, raising=False
    )  # kernels that have run before keep what they were compiled to
    importlib.import_module(name).main()
    assert seen
    for spec, facts in seen:
        lowered = compiler.lower(spec, index64=facts.index64)
        source = original(compiler, spec, lowered, facts)
        for arch in ARCHITECTURES:
            compiled(source, arch, *strict)


@ruda.kernel
def saxpy(a: f32, x: Array[f32], y: Array[f32]):
    i = ruda.ABSOLUTE_POS
    if i < len(y):
        y[i] = a * x[i] + y[i]


def test_elementwise_kernels_move_16_bytes_at_a_time(nvrtc, strict, compiler):
    from ruda_cuda.compiling import compiled

    plan = saxpy.compile_with(compiler, 256, (), "checked").plan
    source = plan.variant(VariantFacts(equal_lengths=(("x", "y"),)))
    text = compiled(source, "compute_90", *strict).decode()
    assert (text.count("ld.global.v4.f32"), text.count("st.global.v4.f32")) == (2, 1)


@ruda.kernel
def summed(x: Array[V], y: Array[V], out: Array[V]):
    i = ruda.ABSOLUTE_POS
    out[i] = x[i] + y[i]


@pytest.mark.parametrize("lanes", [2, 4])
@pytest.mark.parametrize("dtype", (*INTEGERS, *FLOATS))
def test_vectors_of_every_dtype_compile(nvrtc, strict, compiler, dtype, lanes):
    from ruda_cuda.compiling import compiled

    types = [Array[ruda.Vec[BY_NAME[dtype], lanes]]] * 3
    compiled(summed.compile_with(compiler, 64, tuple(types), "checked").kernel_source, "sm_80", *strict)


@pytest.mark.parametrize("mode", ["checked", "validate", "unchecked"])
@pytest.mark.parametrize("seed", SEEDS)
def test_random_kernels_compile(nvrtc, compiler, seed, mode, tmp_path):
    from ruda_cuda.compiling import compiled

    kernel = loaded(Generator((*INTEGERS, *FLOATS)).kernel(seed).text, tmp_path / f"random_{seed}.py")
    source = kernel.compile_with(compiler, UNITS, (), mode).kernel_source
    compiled(source, ARCHITECTURES[-1])  # warnings are in order: what is made at random may be pointless


def loaded(text, path):
    """The kernel that a module of this text defines; its source stays at hand for errors."""
    path.write_text("import ruda_core as ruda\nfrom ruda_core import *\n\n\n" + text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


TABLE = (float("inf"), float("-inf"), float("nan"), -0.0)


@ruda.kernel
def from_a_table(at: Array[i32], out: Array[V]):
    i = ruda.ABSOLUTE_POS
    out[i] = TABLE[at[i]]


@pytest.mark.parametrize("dtype", FLOATS)
def test_constant_arrays_may_hold_infinities(nvrtc, strict, compiler, dtype):
    from ruda_cuda.compiling import compiled

    types = (Array[i32], Array[BY_NAME[dtype]])
    compiled(from_a_table.compile_with(compiler, 64, types, "checked").kernel_source, "sm_80", *strict)


@ruda.kernel
def negated(x: Array[i16], y: Array[i16], out: Array[i32]):
    i = ruda.ABSOLUTE_POS
    v = -x[i]
    w = x[i] * -1
    z = ~x[i] + 1
    out[i] = i32(v >> y[i]) + (1 if v <= y[i] else 0) + i32(0 - x[i]) + i32(w >> y[i]) + i32(z >> y[i])


def test_halfwords_are_negated_in_32_bits(nvrtc, strict, compiler):
    from ruda_cuda.compiling import compiled

    source = negated.compile_with(compiler, 64, (), "checked").kernel_source
    assert "neg.s16" not in compiled(source, "compute_90", *strict).decode()
