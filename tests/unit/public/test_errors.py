"""Every error goes from process to process whole: a pool's workers raise them, and its owner waits for them."""

from __future__ import annotations

import copy
import inspect
import pickle

import pytest

import ruda_core as ruda
from ruda_core import errors

KINDS = [
    kind
    for kind in vars(errors).values()
    if inspect.isclass(kind) and issubclass(kind, errors.RudaError) and kind.__module__ == errors.__name__
]
WHERE = {"file": "k.py", "line": 3, "column": 5, "excerpt": "x\n^", "notes": ("write y",)}
GIVEN = {
    "KernelFault": {"kernel": "k", "file": "k.py", "line": 3, "array": "x", "index": -1, "length": 4},
    "LaunchLimitError": {"what": "units", "requested": (1, 2), "limit": 3},
    "BackendCompileError": {"log": "no", "source": "a\nb", **WHERE},
}


def made(kind):
    if kind is errors.ServerUnhealthy:
        return kind([errors.ServerError("one"), made(errors.KernelFault)])
    if issubclass(kind, errors.OutOfMemory):
        return kind("the message", requested=1 << 40, limit=7)
    if issubclass(kind, errors.CompileError):
        return kind("the message", **GIVEN.get(kind.__name__, WHERE))
    return kind("the message", **GIVEN.get(kind.__name__, {}))


def facts(error):
    state = {
        name: list(map(facts, value)) if name == "errors" else value for name, value in vars(error).items()
    }
    return type(error), str(error), error.args, state


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("through", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy, copy.deepcopy])
def test_errors_keep_what_they_say(kind, through):
    error = made(kind)
    assert facts(through(error)) == facts(error)


def test_one_of_a_backend_that_needs_more_goes_too():
    class Strange(ruda.ServerError):
        def __init__(self, code: int, *, unit: str) -> None:
            self.code, self.unit = code, unit
            super().__init__(f"{code} in {unit}")

    assert facts(copy.copy(Strange(7, unit="a"))) == facts(Strange(7, unit="a"))
