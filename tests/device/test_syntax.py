"""What is not in the language is refused with file, line, column, the line itself and a caret."""

from __future__ import annotations

import importlib
import inspect
import sys

import numpy as np
import pytest

import ruda_core as ruda
from ruda_core import Array, i32

# ruff: noqa: B018, C408, C416, E731, F841, SIM105, S110
# The kernels below are wrong on purpose.

counter = 0


@ruda.kernel
def handles(x: Array[i32]):
    try:  # here
        x[0] = 1
    except ValueError:
        x[0] = 2


@ruda.kernel
def manages(x: Array[i32]):
    with x:  # here
        x[0] = 1


@ruda.kernel
def defines(x: Array[i32]):
    f = lambda v: v + 1  # here
    x[0] = f(1)


@ruda.kernel
def comprehends(x: Array[i32]):
    x[0] = sum([k for k in range(3)])  # here


@ruda.kernel
def spells(x: Array[i32]):
    s = "text"  # here
    x[0] = 1


@ruda.kernel
def maps(x: Array[i32]):
    d = {1: 2}  # here
    x[0] = 1


@ruda.kernel
def declares(x: Array[i32]):
    global counter  # here
    counter = 1


@ruda.kernel
def otherwise(x: Array[i32]):
    for k in range(3):  # here
        x[0] = k
    else:
        x[1] = 1


@ruda.kernel
def gives(x: Array[i32]):
    return x[0]  # here


@ruda.kernel
def nested(x: Array[i32]):
    def inner():  # here
        return 1

    x[0] = 1


@ruda.kernel
def unknown(x: Array[i32]):
    x[0] = no_such_name + 1  # noqa: F821  # here


WRONG = [handles, manages, defines, comprehends, spells, maps, declares, otherwise, gives, nested, unknown]


@pytest.mark.parametrize("kernel", WRONG, ids=lambda k: k.name)
def test_a_refusal_points_at_the_place(kernel):
    client = ruda.client("reference")
    lines, start = inspect.getsourcelines(kernel.fn)
    offset = next(k for k, line in enumerate(lines) if "# here" in line)
    with pytest.raises(ruda.CompileError) as caught:
        kernel.launch(client, 1, 1, client.tensor(np.zeros(2, np.int32)))
    error = caught.value
    assert (error.file, error.line) == (__file__, start + offset)
    assert error.column >= 0
    message = str(error)
    assert lines[offset].split("#")[0].strip() in message and "^" in message
    if kernel is not unknown:
        assert isinstance(error, ruda.KernelSyntaxError)


def test_expressions_as_deep_as_python_reads_them(client, tmp_path, monkeypatch):
    text = "x[i]"
    for k in range(90):
        text = f"min(({text} + {k}), x[i] * {k})"
    head = "import ruda_core as ruda\nfrom ruda_core import Array, i8\n\n\n@ruda.kernel\n"
    body = f"def deep(x: Array[i8], out: Array[i8]):\n    i = ruda.ABSOLUTE_POS\n    out[i] = {text}\n"
    (tmp_path / "deep_expression.py").write_text(head + body)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "deep_expression", raising=False)
    x = np.arange(-64, 64, dtype=np.int8)
    with np.errstate(over="ignore"):
        right = x
        for k in range(90):
            right = np.minimum(right + np.int8(k), x * np.int8(k))
    out = client.zeros(128, np.int8)
    importlib.import_module("deep_expression").deep.launch(client, 2, 64, client.tensor(x), out)
    np.testing.assert_array_equal(out.numpy(), right)
