"""Layouts, against NumPy's own views."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ruda_core.memory import can_read, contiguous_strides, is_contiguous, span_of


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 1, 3), (0, 3), (2, 0), (1, 1)])
def test_contiguous_strides(shape):
    strides = contiguous_strides(shape)
    assert is_contiguous(shape, strides) and can_read(shape, strides)
    if 0 not in shape:
        assert strides == tuple(s // 4 for s in np.zeros(shape, np.float32).strides)


def test_contiguity_agrees_with_numpy():
    x = np.zeros((3, 4, 5), np.float32)
    cuts = [
        slice(None),
        slice(1, None),
        slice(0, 1),
        slice(None, None, 2),
        slice(None, None, -1),
        slice(0, 0),
    ]
    for key in itertools.product(cuts, repeat=3):
        view = x[key]
        strides = tuple(s // 4 for s in view.strides)
        assert is_contiguous(view.shape, strides) == view.flags.c_contiguous, key


def test_spans():
    assert span_of((2, 3), (3, 1)) == (0, 6)
    assert span_of((2, 3), (-3, 1)) == (-3, 3)
    assert span_of((2, 0), (3, 1)) == (0, 0)
    assert span_of((4, 4), (0, 1)) == (0, 4)
    assert span_of((), ()) == (0, 1)


@pytest.mark.parametrize(
    "shape, strides, readable",
    [
        ((4, 6), (6, 1), True), ((2, 6), (12, 1), True), ((24,), (1,), True), ((2, 2, 6), (12, 6, 1), True),
        ((6, 4), (1, 6), False), ((4, 3), (6, 2), False), ((4, 4), (0, 1), False), ((4, 4), (3, 1), False),
        ((4,), (-1,), False), ((2, 3), (3,), False), ((1, 6), (0, 1), True), ((3, 0), (0, 0), True), ((), (), True),
        ((5, 1), (7, 3), True),
    ],
)  # fmt: skip
def test_what_can_be_read(shape, strides, readable):
    assert can_read(shape, strides) is readable
