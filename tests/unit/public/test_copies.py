"""Kernels and helpers are copied and pickled as functions are: they are what their name says."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import ruda_core as ruda
from ruda_core import Array, f32


@ruda.func
def twice(x: f32):
    return x * 2.0


@ruda.kernel
def doubled(out: Array[f32]):
    i = ruda.ABSOLUTE_POS
    out[i] = twice(out[i])


@pytest.mark.parametrize("thing", [twice, doubled], ids=["helper", "kernel"])
def test_a_copy_is_the_thing_itself(thing):
    client = ruda.client("reference")
    out = client.tensor(np.ones(4, np.float32))
    doubled.launch(client, 1, 4, out)
    assert copy.copy(thing) is thing
    assert copy.deepcopy([thing])[0] is thing
    assert pickle.loads(pickle.dumps(thing)) is thing
    assert out.numpy().tolist() == [2, 2, 2, 2]


def test_what_has_no_name_is_not_pickled():
    @ruda.kernel
    def inner(out: Array[f32]):
        out[0] = 1.0

    with pytest.raises((pickle.PicklingError, AttributeError), match="inner"):
        pickle.dumps(inner)
    assert copy.deepcopy(inner) is inner
