"""Linear values: the same answers as the arrays they stand for."""

from __future__ import annotations

import itertools
import operator

import numpy as np
import pytest

from ruda_core.reference.affine import Affine, affine
from ruda_core.reference.lanes import Geometry

I32 = np.dtype(np.int32)
SHAPE = (3, 2, 5)


def values() -> list:
    steps = [(10, 5, 1), (0, 5, 1), (7, 0, -2), (0, 0, 1), (4, 9, 0)]
    made = [affine(start, s, SHAPE, I32) for start, s in itertools.product((0, -6, 2**31 - 60), steps)]
    return [*made, np.int32(3), np.int32(-2), np.int32(0)]


def full(value: object) -> np.ndarray:
    return np.broadcast_to(np.asarray(value), SHAPE)


@pytest.mark.parametrize(
    "name", ["add", "sub", "mul", "lt", "le", "gt", "ge", "eq", "ne", "and_", "floordiv"]
)
def test_operators_equal_those_of_arrays(name: str) -> None:
    op = getattr(operator, name)
    with np.errstate(all="ignore"):
        for a, b in itertools.product(values(), repeat=2):
            got, wanted = op(a, b), op(full(a), full(b))
            assert (full(got) == wanted).all(), (np.asarray(a), np.asarray(b))
            assert got.dtype == wanted.dtype


def test_casts_keep_what_fits() -> None:
    position = affine(100, (10, 5, 1), SHAPE, I32)
    assert isinstance(position.astype(np.dtype(np.int64)), Affine)
    assert isinstance(position.astype(np.dtype(np.uint8)), Affine)
    for dtype in (np.int8, np.float32, np.uint64, np.bool_):
        assert (np.asarray(position.astype(np.dtype(dtype))) == position.array().astype(dtype)).all()


def test_what_is_decided_by_the_ends_needs_no_array() -> None:
    position = affine(0, (10, 5, 1), SHAPE, I32)
    assert (position < np.int32(1000)) is np.True_
    assert (position >= np.int32(1000)) is np.False_
    assert (position + np.int32(1) > position) is np.True_
    assert position._array is None
    assert isinstance(position < np.int32(7), np.ndarray)


def test_a_sum_that_leaves_the_dtype_wraps() -> None:
    position = affine(2**31 - 10, (0, 0, 2), SHAPE, I32)
    with np.errstate(over="ignore"):
        moved = position + np.int32(5)
    assert isinstance(moved, np.ndarray)
    assert moved.reshape(-1)[-1] == np.int64(2**31 - 10 + 8 + 5 - 2**32)


@pytest.mark.parametrize("dim", [(4, 1, 1), (4, 2, 1), (2, 3, 4), (1, 1, 1), (1, 5, 1)])
@pytest.mark.parametrize("count", [(1, 1, 1), (7, 1, 1), (3, 4, 1), (2, 3, 5), (1, 1, 6)])
def test_positions(dim: tuple[int, int, int], count: tuple[int, int, int]) -> None:
    """Every unit once, groups in order and units in order within each, all positions consistent."""
    (chunk,) = Geometry(dim, count, I32).chunks()
    cells = [
        (g, u)
        for g in itertools.product(*(range(n) for n in reversed(count)))
        for u in itertools.product(*(range(n) for n in reversed(dim)))
    ]

    def lanes(name: str, axis: int | None) -> list[int]:
        return np.broadcast_to(np.asarray(chunk.position(name, axis)), chunk.shape).reshape(-1).tolist()

    for axis in range(3):
        assert lanes("workgroup_pos", axis) == [g[2 - axis] for g, _ in cells]
        assert lanes("unit_pos", axis) == [u[2 - axis] for _, u in cells]
        assert lanes("absolute_pos", axis) == [g[2 - axis] * dim[axis] + u[2 - axis] for g, u in cells]
    wide = [d * c for d, c in zip(dim, count, strict=True)]
    spots = [[g[2 - a] * dim[a] + u[2 - a] for a in range(3)] for g, u in cells]
    assert lanes("absolute_pos", None) == [x + wide[0] * (y + wide[1] * z) for x, y, z in spots]
    assert lanes("unit_pos", None) == [u[2] + dim[0] * (u[1] + dim[1] * u[0]) for _, u in cells]
    assert lanes("workgroup_pos", None) == [g[2] + count[0] * (g[1] + count[1] * g[0]) for g, _ in cells]


@pytest.mark.parametrize("count", [(5000, 1, 1), (3, 2000, 1), (300, 7, 3), (1, 1, 4000), (2049, 2, 2)])
def test_chunks_cover_a_large_launch_once(count: tuple[int, int, int]) -> None:
    geometry = Geometry((32, 2, 1), count, I32)
    seen = np.zeros(np.prod(count), np.int64)
    for chunk in geometry.chunks():
        groups = np.broadcast_to(np.asarray(chunk.position("workgroup_pos")), chunk.shape)
        assert chunk.lanes <= 1 << 16
        np.add.at(seen, groups[..., 0, 0].reshape(-1), 1)
    assert (seen == 1).all()
