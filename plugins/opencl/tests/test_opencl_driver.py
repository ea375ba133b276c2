"""The driver, against what the server expects of every driver."""

from __future__ import annotations

import pytest
from contract import DriverContract
from ruda_opencl.dialect import OpenCLDialect

import ruda_core as ruda
from ruda_core import Array, f32
from ruda_core.errors import ServerError


class TestDriver(DriverContract):
    dialect = OpenCLDialect()

    def test_native_objects_cover_the_bytes(self, driver):
        storage = driver.allocate(4096)
        assert driver.native(storage, 0, 4096) is storage
        step = driver.properties.alignment
        part = driver.native(storage, step, 100)
        assert (part.offset, part.size) == (step, 100)
        with pytest.raises(ServerError, match="copy it first"):
            driver.native(storage, 4, 100)


TWO = "kernel void two(global float *x, global float *y, global float *z) {} kernel void other(global float *x) {}"


@pytest.mark.parametrize(
    ("name", "params", "said"),
    [
        ("three", {"x": Array[f32]}, "has no kernel three; it has (two, other|other, two)"),
        (
            "two",
            {"x": Array[f32]},
            "two that takes 3 arguments, and is given 1 buffers and a block of parameters",
        ),
    ],
)
def test_text_that_is_not_of_its_signature_is_refused(name, params, said):
    client = ruda.client("opencl")
    kernel = ruda.SourceKernel(name, params, {"opencl": TWO})
    with pytest.raises(ruda.BackendCompileError, match=f"the OpenCL text of {name} .*{said}"):
        kernel.launch(client, 1, 1, client.zeros(4, f32))
    assert client.zeros(2, f32).tolist() == [0, 0]
