"""Which architecture is compiled for, what a refusal says, and how arguments are packed: no device needed."""

from __future__ import annotations

import ctypes
import os
import struct
import subprocess
import sys
from dataclasses import replace

import pytest
from contract import adder, source_of
from ruda_cuda.dialect import CudaDialect

from ruda_core.errors import BackendCompileError, BackendUnavailable, DeviceLost, ServerError

KNOWN = (75, 80, 86, 89, 90, 100, 120)


@pytest.mark.parametrize(
    ("capability", "expected"),
    [
        ((9, 0), "sm_90"),
        ((8, 0), "sm_80"),
        ((8, 7), "sm_86"),  # machine code runs on later minor versions
        ((10, 3), "sm_100"),
        ((11, 0), "compute_100"),  # the driver compiles PTX for what NVRTC does not know
        ((13, 0), "compute_120"),
    ],
)
def test_the_nearest_older_architecture_is_compiled_for(capability, expected):
    from ruda_cuda.compiling import architecture

    assert architecture(*capability, KNOWN) == expected


def test_a_dropped_architecture_names_the_extra_that_has_it():
    from ruda_cuda.compiling import architecture

    with pytest.raises(BackendUnavailable, match=r"7\.0: .*ruda-cuda\[cu12\]"):
        architecture(7, 0, KNOWN)


def test_a_refusal_has_log_and_source(nvrtc):
    from ruda_cuda.compiling import compiled

    source = source_of(CudaDialect(), adder())
    broken = replace(source, text=source.text.replace("y_b0[", "nobody["))
    with pytest.raises(BackendCompileError) as caught:
        compiled(broken, "sm_80")
    assert "nobody" in caught.value.log and caught.value.source == broken.text
    assert (caught.value.file, caught.value.line) == ("kernels.py", 7)


def test_ptx_is_for_devices_that_are_too_new(nvrtc):
    from ruda_cuda.compiling import compiled

    assert b".entry" in compiled(source_of(CudaDialect(), adder()), "compute_80")


def test_contraction_is_switched_by_the_kernel(nvrtc):
    from ruda_cuda.compiling import compiled

    dialect, function = CudaDialect(), adder().function
    assert dialect.options(replace(function, fp_contract=False)) == ("--fmad=false",)
    assert dialect.options(replace(function, fp_contract=True)) == ()
    for fast, contract in ((True, True), (True, False)):
        options = dialect.options(replace(function, fp_fast=fast, fp_contract=contract))
        compiled(replace(source_of(dialect, adder()), options=options), "sm_80")


def test_arguments_are_packed_as_the_driver_takes_them(binding):
    from ruda_cuda.launching import Arguments

    arguments = Arguments(2, 16)
    arguments.pack(arguments.buffer, 0, 0x1122334455667788, 1 << 40)
    arguments.block.raw = bytes(range(16))
    key, pointer, size_key, size, end = (ctypes.c_void_p * 5).from_address(arguments.extra)
    assert (key, size_key, end) == (1, 2, None)
    nbytes = ctypes.c_size_t.from_address(size).value
    assert ctypes.string_at(pointer, nbytes) == struct.pack("<QQ", 0x1122334455667788, 1 << 40) + bytes(
        range(16)
    )


@pytest.mark.parametrize(("status", "expected"), [(700, DeviceLost), (719, DeviceLost), (1, ServerError)])
def test_statuses_become_errors_that_name_the_launches(binding, status, expected):
    from cupy_backends.cuda.api.runtime import CUDARuntimeError
    from ruda_cuda.failures import translated

    error = translated(CUDARuntimeError(status), ["scale (k.py:3)", "sum (k.py:9)", "scale (k.py:3)"])
    assert type(error) is expected
    assert str(error).count("scale (k.py:3)") == 1 and "sum (k.py:9)" in str(error)


def test_a_missing_compiler_names_the_extra(monkeypatch):
    from ruda_cuda import nvrtc

    monkeypatch.setitem(sys.modules, "cuda.pathfinder", None)
    nvrtc._library.cache_clear()
    with pytest.raises(BackendUnavailable, match=r"pip install 'ruda-cuda\[cu13\]'"):
        nvrtc.version()


def test_compiling_leaves_cupy_alone(nvrtc):
    code = "import sys; from ruda_cuda import nvrtc; nvrtc.version(); print('cupy' in sys.modules)"
    path = {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **path}, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip() == "False", done.stderr
