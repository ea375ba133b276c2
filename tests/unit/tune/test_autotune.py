"""What `@ruda.autotune` goes over, and the name that its records go by."""

from __future__ import annotations

import pytest

import ruda_core as ruda
from ruda_core import Array, f32
from ruda_core.errors import TuneError


def _scale_by(factor):
    @ruda.autotune(configs=[{"dim": 64}, {"dim": 32}])
    @ruda.kernel(name="scale")
    def scale(x: Array[f32]):
        x[0] = x[0] * factor

    return scale


@ruda.autotune(configs=[{"dim": 64}])
@ruda.kernel
def scale(x: Array[f32]):
    x[0] = x[0] * 2.0


@pytest.mark.parametrize("what", [3, None, lambda x: x], ids=["a number", "nothing", "a function"])
def test_it_goes_over_a_kernel(what):
    with pytest.raises(TuneError, match="kernel"):
        ruda.autotune(configs=[{"dim": 64}])(what)


def test_kernels_of_one_name_have_records_of_their_own():
    assert scale._operation != _scale_by(3.0)._operation
    assert scale._operation.startswith(__name__)
