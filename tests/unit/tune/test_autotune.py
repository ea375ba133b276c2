"""What `@ruda.autotune` goes over, and the name that its records go by."""

from __future__ import annotations

import runpy

import numpy as np
import pytest

import ruda_core as ruda
from ruda_core import Array, Comptime, Tensor, Vec, f32, i32
from ruda_core.errors import LaunchArgumentError, TuneError
from ruda_core.tune import Candidate, StackPolicy, StackTuner, enable_stack_autotune, stack_autotuner


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


TWO = [{"dim": 64}, {"dim": 32}]


@ruda.autotune(configs=TWO, key=["x"])
@ruda.kernel
def more(x: Array[f32]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        x[i] += 1.0


@ruda.autotune(configs=TWO)
@ruda.kernel
def more_vectors(x: Array[Vec[f32, 4]]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        x[i] = x[i] + 1.0


@ruda.autotune(configs=TWO)
@ruda.kernel
def more_of_tensor(x: Tensor[f32]):
    i = ruda.ABSOLUTE_POS
    if i < x.shape(0):
        x[i] += 1.0


@ruda.autotune(configs=TWO, key=["n"])
@ruda.kernel
def defaulted(x: Array[f32], n: Comptime[int] = 3):
    x[0] = n


@pytest.fixture
def client():
    return ruda.client("reference")


@pytest.fixture(autouse=True)
def tuner(tmp_path):
    before = stack_autotuner()
    yield enable_stack_autotune(StackPolicy(), tmp_path)
    enable_stack_autotune(before.policy if before else StackPolicy())


@pytest.mark.parametrize(
    ("kernel", "argument"),
    [
        (more, lambda x: x),
        (more, lambda x: ruda.ArrayArg(x.handle, 8)),
        (more_vectors, lambda x: x.vectorized(4)),
        (more_of_tensor, lambda x: x[::-2]),
        (more_of_tensor, lambda x: ruda.TensorArg(x.handle, (8,), (1,))),
    ],
    ids=["tensor", "array", "vectors", "strided", "bare tensor"],
)
def test_measuring_leaves_the_arguments_alone(client, tuner, kernel, argument):
    x = client.zeros(8, f32)
    kernel.launch_over(client, 8, argument(x))
    once = (
        [0, 1] * 4 if isinstance(argument(x), ruda.RudaTensor) and argument(x).strides == (-2,) else [1] * 8
    )
    assert x.tolist() == once
    assert tuner.stats().explored == 1 and tuner.stats().rejected in (0, 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: more.launch_over(c, 8, c.zeros(8, i32)), "expected Array.f32., got a tensor of i32"),
        (lambda c: more.launch_over(c, 8, np.zeros(8, np.float32)), "host memory"),
        (lambda c: more.launch_over(c, 8), "no argument for x"),
        (lambda c: more.launch_over(c, 8, y=c.zeros(8, f32)), "no parameter y"),
        (lambda c: more.launch_over(c, 8, c.zeros(8, f32), dim=64), "dim is chosen by measurement"),
    ],
)
def test_a_wrong_call_is_refused_as_the_kernel_refuses_it(client, call, message):
    with pytest.raises(LaunchArgumentError, match=message):
        call(client)


def test_a_key_may_name_a_default(client):
    x = client.zeros(1, f32)
    defaulted.launch_over(client, 1, x)
    assert x.item() == 3


def test_an_edited_kernel_has_records_of_its_own(tmp_path, monkeypatch):
    operations = []
    for number, body in enumerate(("x[0] + 1.0", "x[0] + 2.0", "x[0] + 2.0")):
        (tmp_path / str(number)).mkdir()
        file = tmp_path / str(min(number, 1)) / "edited.py"
        file.write_text(
            "import ruda_core as ruda\nfrom ruda_core import Array, f32\n"
            "@ruda.autotune(configs=[{'dim': 1}])\n@ruda.kernel\n"
            f"def k(x: Array[f32]):\n    x[0] = {body}\n"
        )
        operations.append(runpy.run_path(str(file), run_name="edited")["k"]._operation)
    assert operations[0] != operations[1] == operations[2]


def test_a_candidate_that_fails_in_python_is_rejected(client):
    good = Candidate("good", lambda: client.zeros(3, f32))
    bad = Candidate("bad", lambda: 1 / 0)
    tuner = StackTuner()
    assert tuner.select(client, "op", 1, [good, bad]) is good
    assert "ZeroDivisionError" in tuner.reports()[0].comparisons[0].reason


@pytest.mark.parametrize("wrong", [None, 3, "cpu", []], ids=repr)
def test_what_is_no_client_is_refused_as_the_kernel_refuses_it(wrong):
    with pytest.raises(LaunchArgumentError, match="client"):
        more.launch_over(wrong, 8, None)
