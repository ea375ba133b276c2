"""RudaTensor against NumPy."""

from __future__ import annotations

import itertools
import warnings
from typing import Any, TypeVar

import numpy as np
import pytest

import ruda_core as ruda
from ruda_core import Array
from ruda_core.dtypes import INTEGERS, f32, i32, u8, vec
from ruda_core.errors import InvalidHandle, LaunchArgumentError, ServerError
from ruda_core.tensor import RudaTensor

HOST = np.arange(60, dtype=np.float32).reshape(3, 4, 5)


S, T = TypeVar("S"), TypeVar("T")


@ruda.kernel
def cast(x: Array[S], out: Array[T]):
    i = ruda.ABSOLUTE_POS
    out[i] = T(x[i])


@pytest.fixture
def t(client):
    return client.tensor(HOST)


CUTS = [
    slice(None),
    slice(1, None),
    slice(None, None, 2),
    slice(None, None, -1),
    slice(3, 0, -2),
    1,
    -1,
    slice(2, 2),
]


@pytest.mark.parametrize("first", CUTS, ids=str)
def test_views_are_numpys(t, first):
    for key in itertools.product([first], CUTS, CUTS):
        expected, view = HOST[key], t[key]
        assert view.shape == expected.shape and view.is_contiguous() == expected.flags.c_contiguous, key
        np.testing.assert_array_equal(view.numpy(), expected)


KEYS = [
    (),
    (0,),
    (Ellipsis,),
    (Ellipsis, 2),
    (None, 1),
    (slice(1, 3), None, Ellipsis, 0),
    (1, Ellipsis, None),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_other_keys_are_numpys(t, key):
    np.testing.assert_array_equal(t[key].numpy(), HOST[key])
    assert t[key].shape == HOST[key].shape


def test_views_of_views_share_storage(t):
    view = t[::-1, 1:, ::-2][1:, ::2]
    expected = HOST[::-1, 1:, ::-2][1:, ::2]
    np.testing.assert_array_equal(view.numpy(), expected)
    np.testing.assert_array_equal(view.permute(2, 0, 1).numpy(), expected.transpose(2, 0, 1))
    assert view._block is t._block
    view.fill(-1)
    host = HOST.copy()
    host[::-1, 1:, ::-2][1:, ::2] = -1
    np.testing.assert_array_equal(t.numpy(), host)


def test_a_contiguous_views_handle_is_trimmed(client, t):
    assert client.read_one(t[1].handle).view(np.float32).tolist() == HOST[1].ravel().tolist()


def test_bad_keys(t):
    for key in (3, (0, 0, 0, 0), 1.5, True, "a", (Ellipsis, Ellipsis), -4):
        with pytest.raises(IndexError):
            t[key]


def test_shapes(t):
    np.testing.assert_array_equal(t.T.numpy(), HOST.T)
    np.testing.assert_array_equal(t.reshape(5, -1).numpy(), HOST.reshape(5, -1))
    np.testing.assert_array_equal(t.reshape((60,)).numpy(), HOST.ravel())
    np.testing.assert_array_equal(t.T.reshape(60).numpy(), HOST.T.reshape(60))
    assert t.reshape(60)._block is t._block and t.T.T.is_contiguous()
    for bad in ((7, -1), (61,), (-1, -1)):
        with pytest.raises(ValueError, match="shape"):
            t.reshape(bad)
    with pytest.raises(ValueError, match="axes"):
        t.permute(0, 0, 1)
    assert (t.ndim, t.size, t.nbytes, len(t)) == (3, 60, 240, 3)
    assert t.dtype is f32 and t.strides == (20, 5, 1)


def test_copies(client, t):
    packed = t.T.contiguous()
    assert packed.is_contiguous() and packed._block is not t._block and t.contiguous() is t
    np.testing.assert_array_equal(packed.numpy(), HOST.T)
    ints = t.astype("i32")
    assert ints.dtype is i32 and ints.numpy().dtype == np.int32
    other = RudaTensor.empty(client, (3, 4, 5), np.float32)
    other.copy_from(t)
    np.testing.assert_array_equal(other.numpy(), HOST)
    other[:, ::2].copy_from(t[:, 1::2])
    expected = HOST.copy()
    expected[:, ::2] = HOST[:, 1::2]
    np.testing.assert_array_equal(other.numpy(), expected)
    for bad in (ints, t[0]):
        with pytest.raises(ServerError):
            other.copy_from(bad)


@pytest.mark.parametrize("source", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("to", INTEGERS, ids=str)
def test_astype_is_a_kernels_cast(source, to):
    client = ruda.client("reference")
    host = np.array([0.0, -0.0, -3.7, 3.7, 3e9, -3e9, 1e30, -1e30, np.nan, np.inf, -np.inf, 127.5, 128.0])
    x = client.tensor(host.astype(np.float64)).astype(source)
    out = client.zeros(x.shape, to)
    cast.launch(client, 1, x.size, x, out)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = x.astype(to)
    assert got.dtype == to and got.tolist() == out.tolist()


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("i32", 1.5),
        ("i32", np.nan),
        ("i32", np.inf),
        ("u8", 300),
        ("u8", np.int64(300)),
        ("u8", -1),
        ("i8", 1e9),
    ]
    + [(d, v) for d in ("f32", "i32", "bool") for v in ("1", b"1", None, [1.0], 1j)]
    + [("bool", 2)],
)
def test_fill_refuses_what_the_dtype_does_not_hold(client, dtype, value):
    x = client.zeros((3,), dtype)
    with pytest.raises(LaunchArgumentError, match=f"is no value of {dtype}"):
        x.fill(value)
    assert x.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("i32", 2.0),
        ("i64", -(2**63)),
        ("u64", 2**64 - 1),
        ("bool", True),
        ("f16", 1),
        ("bf16", np.float32(0.5)),
    ]
    + [("f32", np.inf), ("f64", np.int8(3)), ("u8", np.uint64(255))],
)
def test_fill_takes_what_it_holds(client, dtype, value):
    x = client.zeros((3,), dtype)
    x.fill(value)
    assert x.tolist() == [value] * 3


def test_astype_rounds_once_and_keeps_shapes(client):
    two = client.tensor(np.array([1 + 2**-8 + 2**-40], np.float64)).astype("bf16")  # a tie in f32
    assert two.tolist() == [1.0078125]
    assert client.zeros((), f32).astype("i8").shape == () and client.zeros((0, 3), f32).astype(
        "f16"
    ).shape == (0, 3)
    vectors = client.tensor(np.float32([[1.5, np.nan], [-1, 300]])).vectorized(2).astype("u8")
    assert vectors.dtype == vec(u8, 2) and vectors.numpy().tolist() == [[[1, 0]], [[0, 255]]]


def test_scalars_and_empties(client):
    s = client.tensor(2.5)
    assert s.shape == () and s.item() == 2.5 and s.tolist() == 2.5
    with pytest.raises(TypeError):
        len(s)
    e = client.zeros((3, 0), "i32")
    assert e.tolist() == [[], [], []] and e.is_contiguous() and e[1:].T.shape == (0, 2)
    e.fill(1)
    with pytest.raises(ValueError):
        client.zeros(2, "f32").item()
    with pytest.raises(ServerError):
        client.zeros((-1,), "f32")


def test_no_array_by_accident(t):
    with pytest.raises(TypeError, match=r"\.numpy\(\)"):
        np.asarray(t)


@pytest.mark.parametrize("ask", [bool, lambda t: not t, lambda t: 1 if t else 0])
def test_whether_a_tensor_is_true_is_refused(client, ask):
    for tensor in (client.zeros((3,), f32), client.zeros((), f32), client.zeros((0,), f32)):
        with pytest.raises(TypeError, match=r"tensor\.item"):
            ask(tensor)


def test_tensors_are_not_compared_by_identity_silently(client, t):
    for other in (client.tensor(HOST), HOST, 0, 1.5, np.float32(0)):
        for compare in (lambda a, b: a == b, lambda a, b: a != b):
            with pytest.raises(TypeError, match=r"tensor\.numpy"):
                compare(t, other)
    assert (t == None) is False and t != "x"  # noqa: E711  # the operator is what is tested
    assert t in [t] and {t: 1}[t] == 1


def test_to_another_device(t, make_client):
    other = make_client()
    moved = t[:, ::2].to(other)
    np.testing.assert_array_equal(moved.numpy(), HOST[:, ::2])
    assert moved.device == other.device and t.to(t.client) is t
    np.testing.assert_array_equal(other.tensor(t).numpy(), HOST)


def test_dlpack_gives_the_elements(t):
    np.testing.assert_array_equal(np.from_dlpack(t), HOST)
    np.testing.assert_array_equal(np.from_dlpack(t.T), HOST.T)


def test_vectors(client, t):
    v = client.tensor(HOST[:, :, :4]).vectorized(4)
    assert v.dtype is vec(f32, 4) and v.shape == (3, 4, 1) and v.size == 12
    np.testing.assert_array_equal(v.numpy(), HOST[:, :, :4].reshape(3, 4, 1, 4))
    np.testing.assert_array_equal(v[1:, ::-1].numpy(), HOST[1:, ::-1, :4].reshape(2, 4, 1, 4))
    assert t.vectorized(3).shape == (20,)
    assert v.nbytes == 12 * 16
    v.fill(3)
    assert client.zeros(2, vec(f32, 4)).numpy().shape == (2, 4)
    for bad in (lambda: t.vectorized(8), lambda: t.T.vectorized(4), lambda: v.vectorized(4)):
        with pytest.raises(LaunchArgumentError, match="vectorized"):
            bad()
    with pytest.raises(LaunchArgumentError, match="multiple of 16"):
        t.reshape(60)[1:57].vectorized(4)


def test_layouts_that_leave_their_handle(client):
    handle = client.empty(64)
    RudaTensor(handle, (4, 4), (4, 1), f32, client)
    RudaTensor(handle, (4,), (-1,), f32, client, offset=3)
    RudaTensor(handle, (100, 4), (0, 1), f32, client)
    cases: list[Any] = [
        ((4, 5), (5, 1), 0),
        ((4,), (-1,), 2),
        ((4,), (1, 1), 0),
        ((-1,), (1,), 0),
        ((16,), (1,), 1),
    ]
    for shape, strides, offset in cases:
        with pytest.raises(InvalidHandle):
            RudaTensor(handle, shape, strides, f32, client, offset=offset)
    with pytest.raises(InvalidHandle, match="aligned"):
        RudaTensor(handle.slice(2, 64), (2,), (1,), f32, client)
