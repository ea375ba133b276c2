"""What is no size, stream, handle, shape or dtype is refused by name, and the client works on."""

from __future__ import annotations

import numpy as np
import pytest

import ruda_core as ruda
from ruda_core import CopyDescriptor, StreamId
from ruda_core.errors import (
    BufferTooBig,
    ConfigError,
    InvalidHandle,
    LaunchArgumentError,
    OutOfMemory,
    RudaError,
    ServerError,
)

ELEMENTS = np.arange(10, dtype=np.float32)

REFUSED = {
    "a fraction of a byte": (lambda c, h: c.empty(1.5), ServerError, "1.5"),
    "a size in words": (lambda c, h: c.empty("100"), ServerError, "'100'"),
    "a negative staging size": (lambda c, h: c.staging(-1), ServerError, "-1"),
    "more host memory than there is": (lambda c, h: c.staging(1 << 50), OutOfMemory, str(1 << 50)),
    "than there can be": (lambda c, h: c.staging(1 << 63), OutOfMemory, str(1 << 63)),
    "text as data": (lambda c, h: c.create_from_slice("abc"), ServerError, "encode"),
    "text to write": (lambda c, h: c.write(h, "abc"), ServerError, "encode"),
    "one handle for several": (lambda c, h: c.read(h), InvalidHandle, r"\[handle\]"),
    "one handle for several, later": (lambda c, h: c.read_async(h), InvalidHandle, r"\[handle\]"),
    "a slice at a fraction": (lambda c, h: h.slice(0.5, 4), InvalidHandle, "0.5"),
    "a slice without an end": (lambda c, h: h.slice(None, 4), InvalidHandle, "None"),
    "a slice past the end": (lambda c, h: h.slice(0, 41), InvalidHandle, "41"),
    "no other client": (lambda c, h: c.to_client(h, None), ServerError, "client"),
    "an element of no bytes": (
        lambda c, h: c.read_tensor([CopyDescriptor(h, (3,), (1,), 0)]),
        ServerError,
        "elem_size",
    ),
    "a stream by number": (lambda c, h: c.set_stream(3), ServerError, "StreamId"),
    "a stream by name": (lambda c, h: ruda.stream("mine"), ServerError, "StreamId"),
    "a shape of fractions": (lambda c, h: c.zeros(1.5, np.float32), ServerError, "1.5"),
    "no shape": (lambda c, h: c.zeros(None, np.float32), ServerError, "None"),
    "a dtype of complex": (lambda c, h: c.zeros(3, np.complex64), LaunchArgumentError, "complex64"),
    "zeros beyond memory": (lambda c, h: c.zeros((2**40, 2**20), np.float32), BufferTooBig, "split"),
    "a cast to nothing known": (lambda c, h: c.tensor(ELEMENTS).astype("foo"), LaunchArgumentError, "foo"),
    "a copy from the host": (lambda c, h: c.tensor(ELEMENTS).copy_from(ELEMENTS), ServerError, "ndarray"),
    "a tensor to nowhere": (lambda c, h: c.tensor(ELEMENTS).to(None), ServerError, "client"),
    "vectors of seven": (lambda c, h: c.tensor(ELEMENTS).vectorized(7), LaunchArgumentError, "7"),
    "a kernel for a compiled one": (lambda c, h: c.launch(None, 1, []), LaunchArgumentError, "compile"),
}


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_it_is_refused_and_the_client_works_on(client, case):
    use, error, says = REFUSED[case]
    handle = client.create_from_slice(ELEMENTS)
    with pytest.raises(error, match=says):
        use(client, handle)
    np.testing.assert_array_equal(client.read_one(handle).view(np.float32), ELEMENTS)


def test_axes_are_named_once_each(client):
    tensor = client.tensor(ELEMENTS.reshape(2, 5))
    np.testing.assert_array_equal(tensor.permute(-1, 0).numpy(), ELEMENTS.reshape(2, 5).T)
    for axes in ((0, 2), (0, 0), (-3, 1)):
        with pytest.raises(ValueError, match="axes once"):
            tensor.permute(*axes)


def test_a_graph_is_not_replayed_into_a_recording(client):
    with client.capture() as graph, pytest.raises(ServerError, match="replay"):
        graph.replay()
    graph.replay()


def test_a_trace_that_cannot_be_written_says_so_before_the_work(client, tmp_path):
    with pytest.raises(ConfigError, match="missing"), ruda.trace(tmp_path / "missing" / "trace.json", client):
        pytest.fail("the block ran")


@pytest.mark.parametrize("device", [3, ["cpu"], 2.5], ids=repr)
def test_a_device_is_named_by_text(device):
    with pytest.raises(ConfigError, match="cuda:0"):
        ruda.client(device)


@pytest.mark.parametrize(
    "units, dim", [("a", 4), (1.5, 4), ((), 4), ((1, 2, 3, 4), 4), (-1, 4), (1, 0), (1, None)]
)
def test_a_cover_takes_whole_numbers(units, dim):
    with pytest.raises(LaunchArgumentError):
        ruda.RudaCount.cover(units, dim)


def test_streams_by_their_ids_are_taken(client):
    client.set_stream(StreamId.new())
    with ruda.stream(StreamId.new()):
        assert client.read_one(client.create_from_slice(b"abc")).tobytes() == b"abc"
    assert issubclass(ServerError, RudaError)
