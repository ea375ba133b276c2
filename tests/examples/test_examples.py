"""Every example on every device."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import bitonic_sort
import convolution
import heat
import histogram
import layer_norm
import mandelbrot
import matmul
import nbody
import numpy as np
import philox
import pytest
import reduction
import saxpy
import scan
import spmv

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAMS = sorted(path.stem for path in EXAMPLES.glob("*.py") if not path.stem.startswith("_"))


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_prints_what_agrees(device, name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, str(device)])
    importlib.import_module(name).main()
    lines = capsys.readouterr().out.splitlines()
    assert lines and all(
        line.startswith(f"{device}: ") and line.endswith("agrees with NumPy") for line in lines
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_help_says_what_it_does(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    program = importlib.import_module(name)
    with pytest.raises(SystemExit) as done:
        program.main()
    shown = capsys.readouterr().out
    assert done.value.code == 0 and program.__doc__.splitlines()[0] in shown and "DEVICE" in shown


def test_a_device_that_is_not_there_is_one_message(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["saxpy", "nonesuch"])
    with pytest.raises(SystemExit):
        saxpy.main()
    shown = capsys.readouterr().err
    assert "no backend 'nonesuch' is installed" in shown and "usage:" in shown


@pytest.mark.parametrize("n", [1, 63, 64, 65, 1_000_003])
def test_saxpy_of_any_length(client, n):
    x = (np.arange(n) % 1000).astype(np.float32)
    y = np.ones_like(x)
    np.testing.assert_array_equal(saxpy.saxpy(client, 3.0, x, y), 3 * x + 1)


@pytest.mark.parametrize("dtype", ["f4", "f2"])
@pytest.mark.parametrize("tile", [None, 4, 8, 16])
def test_matmul_with_ragged_edges(client, rng, tile, dtype):
    a, b = rng.integers(-9, 9, (33, 17)).astype(dtype), rng.integers(-9, 9, (17, 65)).astype(dtype)
    expected = a.astype(np.float32) @ b.astype(np.float32)
    np.testing.assert_array_equal(matmul.matmul(client, a, b, tile), expected)


def test_convolution_of_ones_counts_the_pixels_inside(client):
    got = convolution.convolve(client, np.ones((12, 19), np.float32))
    assert got[5, 9] == 25 and (got[2:-2, 2:-2] == 25).all()
    assert got[[0, 0, -1, -1], [0, -1, 0, -1]].tolist() == [9] * 4
    assert (convolution.convolve(client, np.ones((12, 19), np.float32), clamp=True) == 25).all()


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (8, 8), (17, 9)], ids=str)
def test_convolution_of_any_shape(client, rng, shape):
    image = rng.integers(0, 99, shape).astype(np.float32)
    for clamp in (False, True):
        expected = convolution.reference(image, clamp)
        np.testing.assert_array_equal(convolution.convolve(client, image, clamp), expected)


@pytest.mark.parametrize("columns", [1, 63, 300])
def test_layer_norm_of_large_values_with_small_noise(client, rng, columns):
    x = (1e4 + rng.standard_normal((3, columns))).astype(np.float32)
    weight, bias = np.full(columns, 2, np.float32), np.full(columns, 0.5, np.float32)
    expected = layer_norm.reference(x, weight, bias)
    # The mean of values near 1e4 is off by up to some 1e-3 in f32: so is what is centred on it.
    np.testing.assert_allclose(layer_norm.layer_norm(client, x, weight, bias), expected, atol=1e-2)


@pytest.mark.parametrize("subgroups", [False, True], ids=["tree", "subgroups"])
def test_sum_wraps_at_the_width(client, subgroups):
    if subgroups and not client.features().subgroup:
        pytest.skip("no subgroups")
    x = np.arange(100_000, dtype=np.uint32)
    assert reduction.total(client, x, subgroups) == 704_982_704
    assert reduction.total(client, x.astype(np.int32), subgroups) == 704_982_704
    assert reduction.total(client, (x % 8).astype(np.float32), subgroups) == 350_000
    assert reduction.total(client, x[:3], subgroups) == 3


@pytest.mark.parametrize("n", [1, 127, 128, 129, 16_385])
def test_scan_of_any_length(client, rng, n):
    x = rng.integers(-(2**30), 2**30, n).astype(np.int32)
    np.testing.assert_array_equal(scan.scan(client, x), np.cumsum(x, dtype=np.int32))


@pytest.mark.parametrize("n", [1, 500, 5001])
def test_compaction_keeps_the_order(client, rng, n):
    x = rng.integers(-50, 50, n).astype(np.int32)
    np.testing.assert_array_equal(scan.keep_positive(client, x), x[x > 0])
    assert scan.keep_positive(client, np.full(n, -1, np.int32)).tolist() == []


def test_histogram_counts_every_byte(client, rng):
    pixels = rng.integers(0, 256, 10_004).astype(np.uint8)
    expected = np.bincount(pixels, minlength=256)
    for data in (pixels, pixels.view(np.uint32)):
        got = histogram.histogram(client, data)
        assert got.sum() == pixels.size
        np.testing.assert_array_equal(got, expected)
    one_bin = histogram.histogram(client, np.full(1001, 255, np.uint8))
    assert one_bin[255] == one_bin.sum() == 1001


@pytest.mark.parametrize("n", [1, 100, 128, 4096])
def test_sort_with_duplicates(client, rng, n):
    keys = rng.integers(0, 50, n).astype(np.uint32)
    np.testing.assert_array_equal(bitonic_sort.sort(client, keys), np.sort(keys))


def test_two_equal_bodies_pull_each_other_alike(client):
    bodies = np.array([[0.25, -1, 2, 3], [1.5, 0.5, -0.75, 3]], np.float32)
    moved, speeds = nbody.simulate(client, bodies, np.zeros_like(bodies), 0.125, 1)
    assert np.abs(speeds[:, :3]).min() > 0
    np.testing.assert_array_equal(speeds[0, :3], -speeds[1, :3])
    np.testing.assert_array_equal(moved[:, 3], bodies[:, 3])


def test_mandelbrot_at_known_points(client):
    counts, shades = mandelbrot.mandelbrot(client, 0.0, 0.0, 1.0, 100, (1, 3))
    assert counts[0, 0] == 100, "zero never leaves"
    expected = mandelbrot.reference(0.0, 0.0, 1.0, 100, (1, 3))
    np.testing.assert_array_equal(counts, expected)
    np.testing.assert_array_equal(shades, (255 * expected // 100).astype(np.uint8))


@pytest.mark.parametrize("long_rows", [False, True], ids=["unit", "workgroup"])
def test_sparse_product_with_empty_rows(client, rng, long_rows):
    matrix = np.zeros((9, 200), np.float32)
    matrix[1:4] = rng.integers(1, 9, (3, 200))
    matrix[6, 5] = 2
    x = rng.integers(-9, 9, 200).astype(np.float32)
    got = spmv.spmv(client, *spmv.compressed(matrix), x, long_rows)
    np.testing.assert_array_equal(got, matrix @ x)
    assert got[0] == got[-1] == 0


@pytest.mark.parametrize("shape", [(2, 2), (3, 3), (8, 8), (20, 33), (3, 3, 3), (5, 9, 18)], ids=str)
def test_heat_after_64_steps(client, rng, shape):
    start = rng.random(shape).astype(np.float32)
    got = heat.diffuse(client, start, 0.125, 64)
    np.testing.assert_allclose(got, heat.reference(start, 0.125, 64), atol=1e-5)


def test_philox_gives_the_published_words(client):
    counters = np.array([[0] * 4, [0xFFFFFFFF] * 4], np.uint32)
    zeros = philox.words(client, counters[:1], (0, 0))
    ones = philox.words(client, counters[1:], (0xFFFFFFFF, 0xFFFFFFFF))
    assert zeros.tolist() == [[0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]]
    assert ones.tolist() == [[0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]]


def test_philox_floats_lie_in_the_unit_interval(client):
    values = philox.uniform(client, 10_001, seed=1)
    assert values.shape == (10_001,) and 0 <= values.min() < 0.01 < 0.99 < values.max() < 1
    assert abs(values.mean() - 0.5) < 0.01
    assert np.unique(values).size > 9_900
