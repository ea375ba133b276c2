"""What the dialect renders: compiled with no device, and run where there is one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from contract import source_of
from legal import CASES, UNITS, Legal, execute, load, make, missing, number, position, store, symbol, unit
from ruda_cuda.dialect import BASELINE, FUNCTIONS, CudaDialect

from ruda_core.dtypes import BY_NAME
from ruda_core.ir import nodes as ir
from ruda_core.ir.build import const, ref
from ruda_core.ir.functions import MATH
from ruda_core.passes.vectors import vectors

ARCHITECTURES = ("sm_75", "sm_80", "sm_90")


def legalised(name: str) -> Legal:
    """A case as the passes leave it: arithmetic on scalars, vectors only in memory."""
    legal = CASES[name]()
    lacking = missing(legal, BASELINE)
    if lacking:
        pytest.skip(f"CUDA lacks {', '.join(lacking)}")
    return replace(legal, function=vectors(legal.function, BASELINE))


@pytest.fixture
def check(strict):
    """Compiles, with warnings as errors."""

    def compile_strictly(legal: Legal) -> None:
        from ruda_cuda.compiling import compiled

        compiled(source_of(CudaDialect(), legal), ARCHITECTURES[-1], *strict)

    return compile_strictly


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", CASES)
def test_compiles_without_a_warning(strict, name, arch):
    from ruda_cuda.compiling import compiled

    assert compiled(source_of(CudaDialect(), legalised(name)), arch, *strict).startswith(b"\x7fELF")


@pytest.mark.parametrize("name", CASES)
def test_computes_what_it_says(driver, name):
    legal = legalised(name)
    for array, found in execute(driver, CudaDialect(), legal).items():
        expected = legal.after[array]
        np.testing.assert_array_equal(found, expected)
        if expected.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize(
    ("name", "loads", "stores"),
    [
        ("vectors_4_f32", "ld.global.v4", "st.global.v4"),
        ("vectors_8_i16", "ld.global.v4", "st.global.v4"),
        ("vectors_2_i32", "ld.global.v2", "st.global.v2"),
    ],
)
def test_vectors_move_in_one_transaction(nvrtc, name, loads, stores):
    from ruda_cuda.compiling import compiled

    ptx = compiled(source_of(CudaDialect(), legalised(name)), "compute_80").decode()
    assert loads in ptx and stores in ptx
    assert ".local" not in ptx


@pytest.mark.parametrize("key", FUNCTIONS)
def test_every_function_compiles(check, key):
    fn, _, name = key.partition(":")
    dtype = BY_NAME[name]
    array = ir.Array("y", dtype, "global")
    i, at = position()
    v, load_v = load(array, i)
    call = ir.Math(dtype, None, fn, (v,) * MATH[fn].arity)
    legal = make(fn, [at, load_v, store(array, i, call)], [array], {}, {})
    check(legal)


@pytest.mark.parametrize("dtype", BASELINE.atomics)
@pytest.mark.parametrize("space", ["global", "shared"])
def test_every_atomic_operation_compiles(check, dtype, space):
    array = ir.Array("y", BY_NAME[dtype], space, (UNITS,) if space == "shared" else ())
    one = number(1, BY_NAME[dtype])
    body = []
    for op in sorted(BASELINE.atomics[dtype]):
        args = {"load": (), "compare_exchange": (one, one)}.get(op, (one,))
        old = symbol("old", BY_NAME[dtype])
        body.append(ir.Atomic(None, None, op, array, (unit(),), args))
        if op != "store":
            body.append(ir.Atomic(None, old, op, array, (unit(),), args))
            body.append(store(array, unit(), ref(old)))
    check(make("atomics", body, [array], {}, {}))


@pytest.mark.parametrize("name", ["f32", "f64"])
def test_literals_may_be_infinite(check, name):
    values = (float("inf"), float("-inf"), float("nan"), 1.5)
    y = ir.Array("y", BY_NAME[name], "global")
    literals = [store(y, number(k), const(BY_NAME[name], value)) for k, value in enumerate(values)]
    check(make("constants", literals, [y], {}, {}))
