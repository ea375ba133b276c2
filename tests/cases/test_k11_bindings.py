"""Many arrays in one launch, and one array several times."""

from __future__ import annotations

import runpy

import numpy as np
import pytest
from support import T

import ruda_core as ruda
from ruda_core import Array, f32, i32, u8


@ruda.kernel
def sum_of_twelve(
    a: Array[f32], b: Array[f32], c: Array[f32], d: Array[f32], e: Array[f32], f: Array[f32],
    g: Array[f32], h: Array[f32], i: Array[f32], j: Array[f32], k: Array[f32], l: Array[f32],
    out: Array[f32],
):  # fmt: skip
    p = ruda.ABSOLUTE_POS
    if p < len(out):
        first = a[p] + b[p] + c[p] + d[p] + e[p] + f[p]
        out[p] = first + g[p] + h[p] + i[p] + j[p] + k[p] + l[p]


@ruda.kernel
def double(source: Array[T], target: Array[T]):
    i = ruda.ABSOLUTE_POS
    if i < len(target):
        target[i] = source[i] * 2


@ruda.kernel
def three(a: Array[i32], b: Array[i32], c: Array[i32]):
    i = ruda.ABSOLUTE_POS
    if i < len(c):
        c[i] = a[i] + 10 * b[i]


@ruda.kernel
def shift_left(x: Array[i32], y: Array[i32], swap: i32):
    """One unit: its own loads and stores are in order, whichever array they go through."""
    for k in range(len(y)):
        y[k] = x[k] + swap
        x[k] = y[k] * 2


def twelve(client, offset=0):
    whole = [client.tensor(np.full(5 + offset, k, np.float32)) for k in range(1, 13)]
    return [t[offset:] for t in whole]


def sum_of(count, folder):
    """A kernel that adds up so many arrays, into one more."""
    names = [f"a{k}" for k in range(count)]
    lines = [
        "import ruda_core as ruda",
        "from ruda_core import Array, f32",
        "@ruda.kernel",
        f"def total({', '.join(f'{n}: Array[f32]' for n in names)}, out: Array[f32]):",
        "    p = ruda.ABSOLUTE_POS",
        "    if p < len(out):",
        "        sum = f32(0)",
        *(f"        sum += {n}[p]" for n in names),
        "        out[p] = sum",
    ]
    file = folder / f"total{count}.py"
    file.write_text("\n".join(lines) + "\n")
    return runpy.run_path(str(file))["total"]


def test_as_many_arrays_as_the_device_takes_and_no_more(client, tmp_path):
    limit = client.properties().max_bindings
    inputs = [client.tensor(np.full(5, k + 1, np.float32)) for k in range(limit)]
    out = client.tensor(np.zeros(5, np.float32))
    with pytest.raises(ruda.LaunchLimitError) as caught:
        sum_of(limit, tmp_path).launch(client, 1, 5, *inputs, out)
    assert (caught.value.requested, caught.value.limit) == (limit + 1, limit)
    assert out.tolist() == [0] * 5
    sum_of(limit - 1, tmp_path).launch(client, 1, 5, *inputs[:-1], out)
    assert out.tolist() == [limit * (limit - 1) / 2] * 5


@pytest.mark.parametrize("offset", [0, 1, 3])
def test_thirteen_arrays_or_a_refusal_with_the_limit(client, offset):
    inputs, out = twelve(client, offset), client.tensor(np.zeros(5, np.float32))
    limit = client.properties().max_bindings
    if limit < 13:
        with pytest.raises(ruda.LaunchLimitError) as caught:
            sum_of_twelve.launch(client, 1, 5, *inputs, out)
        assert (caught.value.requested, caught.value.limit) == (13, limit)
        assert out.tolist() == [0] * 5
        return
    sum_of_twelve.launch(client, 1, 5, *inputs, out)
    assert out.tolist() == [78.0] * 5


def test_one_array_thirteen_times_is_one_binding(client):
    x = client.tensor(np.arange(5, dtype=np.float32))
    sum_of_twelve.launch(client, 1, 5, *[x] * 12, x)
    assert x.tolist() == [12.0 * k for k in range(5)]


@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.int16, np.float16])
def test_an_array_is_its_own_output(client, dtype):
    x = client.tensor(np.array([1, 2, 3, 4], dtype))
    double.launch(client, 1, 4, x, x)
    assert x.tolist() == [2, 4, 6, 8]


@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.int16])
@pytest.mark.parametrize("start", [0, 1, 3, 4, 5])
def test_disjoint_slices_of_one_handle(client, dtype, start):
    x = np.arange(12, dtype=dtype)
    whole = client.tensor(x)
    double.launch(client, 1, 3, whole[start : start + 3], whole[start + 3 : start + 6])
    x[start + 3 : start + 6] = 2 * x[start : start + 3]
    np.testing.assert_array_equal(whole.numpy(), x)


@pytest.mark.parametrize("first, second", [(0, 1), (1, 0), (2, 5), (3, 3), (0, 4)])
def test_overlapping_slices_of_one_handle(client, first, second):
    """Each unit reads and writes where no other does: only the arrays overlap."""
    x = np.arange(16, dtype=np.int32)
    whole = client.tensor(x)
    shift_left.launch(client, 1, 1, whole[first : first + 8], whole[second : second + 8], 100)
    source, target = x[first : first + 8], x[second : second + 8]
    for k in range(8):
        target[k] = source[k] + 100
        source[k] = target[k] * 2
    np.testing.assert_array_equal(whole.numpy(), x)


def test_patterns_of_sharing_are_told_apart(client):
    """The same kernel with none, some and all of its arrays shared, in turn."""
    for _ in range(2):
        a, b, c = (client.tensor(np.full(4, k, np.int32)) for k in (1, 2, 3))
        three.launch(client, 1, 4, a, b, c)
        assert c.tolist() == [21] * 4
        three.launch(client, 1, 4, a, b, a)
        assert a.tolist() == [21] * 4
        three.launch(client, 1, 4, b, b, b)
        assert b.tolist() == [22] * 4


@ruda.kernel
def bytes_and_words(words: Array[i32], octets: Array[u8]):
    i = ruda.ABSOLUTE_POS
    if i < len(octets):
        octets[i] = octets[i] + u8(words[i])


def test_one_handle_under_two_dtypes(client):
    handle = client.create_from_slice(np.array([1, 2, 3, 0x01020304, 0x05060708], np.int32))
    words = ruda.ArrayArg(handle.slice(0, 12), 3)
    octets = ruda.ArrayArg(handle.slice(12, 15), 3)
    bytes_and_words.launch(client, 1, 3, words, octets)
    got = client.read_one(handle)
    assert got[:12].view(np.int32).tolist() == [1, 2, 3]
    assert got[12:].tolist() == [5, 5, 5, 1, 8, 7, 6, 5]
