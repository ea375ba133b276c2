"""What is no client, descriptor, layout, device or function is refused by name on every device, and the client works on."""

from __future__ import annotations

import math

import numpy as np
import pytest

import ruda_core as ruda
from ruda_core import (
    Array,
    Comptime,
    ComputeClient,
    CopyDescriptor,
    RudaCount,
    RudaDim,
    RudaTensor,
    StreamId,
    Tensor,
    TensorArg,
    f32,
)
from ruda_core.errors import (
    ConfigError,
    DeviceMismatch,
    InvalidHandle,
    LaunchArgumentError,
    RegistryError,
    ServerError,
)

ELEMENTS = np.arange(8, dtype=np.float32)
NONE_OF_ALL = (None, 3, "x", [], math.nan, -1, 2**70, True, object())


@ruda.kernel
def scaled(x: Array[f32], by: f32):
    i = ruda.ABSOLUTE_POS
    x[i] = x[i] * by


@ruda.kernel
def row(x: Tensor[f32]):
    x[0, ruda.ABSOLUTE_POS] = 1.0


@ruda.kernel
def fixed(x: Array[f32], n: Comptime[int]):
    x[0] = n


REFUSED = {
    "queue": (ServerError, "client", lambda c, h, v: c.same_execution_queue(v)),
    "empty_tensors": (ServerError, r"\(shape, elem_size\)", lambda c, h, v: c.empty_tensors([v])),
    "create_tensors": (ServerError, r"\(data, shape", lambda c, h, v: c.create_tensors_from_slices([v])),
    "read_tensor": (ServerError, "CopyDescriptor", lambda c, h, v: c.read_tensor([v])),
    "read_tensor_async": (ServerError, "CopyDescriptor", lambda c, h, v: c.read_tensor_async([v])),
    "read_one_tensor": (ServerError, "CopyDescriptor", lambda c, h, v: c.read_one_tensor(v)),
    "end_trace": (ServerError, "begin_trace", lambda c, h, v: c.end_trace(v)),
    "a tensor's handle": (InvalidHandle, "Handle", lambda c, h, v: RudaTensor(v, (8,), (1,), f32, c)),
    "a tensor's client": (ServerError, "client", lambda c, h, v: RudaTensor(h, (8,), (1,), f32, v)),
    "RudaTensor.empty": (ServerError, "client", lambda c, h, v: RudaTensor.empty(v, 8, f32)),
    "profile": (TypeError, "lambda", lambda c, h, v: c.profile(v)),
    "exclusive": (TypeError, "lambda", lambda c, h, v: c.exclusive(v)),
    "trace": (ConfigError, "client", lambda c, h, v: ruda.trace("trace.json", v).__enter__()),
    "init": (RegistryError, "ComputeServer", lambda c, h, v: ComputeClient.init(c.device, v)),
    "a client's server": (RegistryError, r"ruda\.client", lambda c, h, v: ComputeClient(v)),
    "compile_for": (LaunchArgumentError, r"@ruda\.kernel", lambda c, h, v: ruda.compile_for("wgsl", v)),
    "fingerprint": (ServerError, "client", lambda c, h, v: c.runtime.autotune_driver_fingerprint(v)),
}
"""What takes none of `NONE_OF_ALL`."""


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_it_takes_what_it_says_and_nothing_else(client, case):
    error, says, use = REFUSED[case]
    handle = client.create_from_slice(ELEMENTS)
    for value in NONE_OF_ALL:
        with pytest.raises(error, match=says):
            use(client, handle, value)
    np.testing.assert_array_equal(client.read_one(handle).view(np.float32), ELEMENTS)


SPECIAL = {
    "descriptors that are no list": (ServerError, "list", lambda c, h: c.empty_tensors(3)),
    "an element size in words": (ServerError, "elem_size", lambda c, h: c.empty_tensors([(3, "4")])),
    "one of a fraction": (ServerError, "elem_size", lambda c, h: c.empty_tensor(3, 1.5)),
    "a negative one": (ServerError, "elem_size", lambda c, h: c.empty_tensor(3, -4)),
    "none": (ServerError, "elem_size", lambda c, h: c.create_tensor_from_slice(b"abcd", 1, None)),
    "a shape of text to read": (
        ServerError,
        "shape",
        lambda c, h: c.read_tensor([CopyDescriptor(h, "ab", (1,), 4)]),
    ),
    "strides of text": (
        ServerError,
        "strides",
        lambda c, h: c.read_tensor([CopyDescriptor(h, (1,), "a", 4)]),
    ),
    "a fraction as element": (
        ServerError,
        "elem",
        lambda c, h: c.read_tensor([CopyDescriptor(h, (1,), (1,), 1.5)]),
    ),
    "a stride of NaN": (InvalidHandle, "strides", lambda c, h: RudaTensor(h, (8,), (math.nan,), f32, c)),
    "a shape of fractions": (InvalidHandle, "shape", lambda c, h: RudaTensor(h, (1.5,), (1,), f32, c)),
    "an offset in words": (
        InvalidHandle,
        "offset",
        lambda c, h: RudaTensor(h, (1,), (1,), f32, c, offset="1"),
    ),
    "a stream of no number": (ServerError, "StreamId", lambda c, h: c.set_stream(StreamId(0))),
    "a pin by number": (ServerError, "StreamId", lambda c, h: ComputeClient(c.server, c.runtime, 3)),
    "a trace to a descriptor": (ConfigError, "path", lambda c, h: ruda.trace(1, c).__enter__()),
    "a server type by number": (RegistryError, "ComputeServer", lambda c, h: ComputeClient.load(c.device, 3)),
    "a device by None": (ConfigError, "cuda:0", lambda c, h: ComputeClient.load(None)),
    "a runtime's device by None": (ConfigError, "cuda:0", lambda c, h: c.runtime.client(None)),
    "another server's device by number": (
        ConfigError,
        "cuda:0",
        lambda c, h: ComputeClient.init(3, c.server),
    ),
    "reshaping to None": (TypeError, "ints", lambda c, h: c.tensor(ELEMENTS).reshape(None)),
    "to text": (TypeError, "ints", lambda c, h: c.tensor(ELEMENTS).reshape(2, "x")),
    "to a fraction": (TypeError, "ints", lambda c, h: c.tensor(ELEMENTS[:1]).reshape((1.5,))),
    "permuting by text": (TypeError, "ints", lambda c, h: c.tensor(ELEMENTS).permute("x")),
    "assigning an element": (TypeError, r"fill\(value\)", lambda c, h: c.tensor(ELEMENTS).__setitem__(0, 1)),
    "the only of several": (ValueError, "8", lambda c, h: c.tensor(ELEMENTS).item()),
    "no layout at all": (
        LaunchArgumentError,
        "TensorArg",
        lambda c, h: row.launch(c, 1, 8, TensorArg(h, 3, 1)),
    ),
    "a layout of text": (
        LaunchArgumentError,
        "TensorArg",
        lambda c, h: row.launch(c, 1, 8, TensorArg(h, ("a", 1), (1, 1))),
    ),
    "one of fractions": (
        LaunchArgumentError,
        "TensorArg",
        lambda c, h: row.launch(c, 1, 8, TensorArg(h, (1.0, 8), (8, 1))),
    ),
    "a dict at compile time": (
        LaunchArgumentError,
        "compile-time",
        lambda c, h: fixed.launch(c, 1, 8, c.tensor(ELEMENTS), {}),
    ),
    "bindings that are none": (
        LaunchArgumentError,
        "bindings",
        lambda c, h: c.launch(scaled.compile(c, 8), 1, None),
    ),
    "a dialect by number": (ConfigError, "wgsl", lambda c, h: ruda.compile_for(3, scaled)),
    "a wait until NaN": (ValueError, "timeout", lambda c, h: c.read_async([h]).result(math.nan)),
    "a wait until text": (ValueError, "timeout", lambda c, h: c.read_async([h]).result("1")),
    "a count of text": (
        LaunchArgumentError,
        "count",
        lambda c, h: scaled.launch(c, RudaCount("x"), 8, c.tensor(ELEMENTS), 1.0),
    ),
    "a count of a fraction": (
        LaunchArgumentError,
        "count",
        lambda c, h: scaled.launch(c, RudaCount(1.5), 8, c.tensor(ELEMENTS), 1.0),
    ),
    "a dim of text": (
        LaunchArgumentError,
        "dim",
        lambda c, h: scaled.launch(c, 1, RudaDim("x"), c.tensor(ELEMENTS), 1.0),
    ),
    "a dim of a fraction": (
        LaunchArgumentError,
        "dim",
        lambda c, h: scaled.launch(c, 1, RudaDim(1.5), c.tensor(ELEMENTS), 1.0),
    ),
}


@pytest.mark.parametrize("case", SPECIAL, ids=str)
def test_it_is_refused_and_the_client_works_on(client, case):
    error, says, use = SPECIAL[case]
    handle = client.create_from_slice(ELEMENTS)
    with pytest.raises(error, match=says):
        use(client, handle)
    np.testing.assert_array_equal(client.read_one(handle).view(np.float32), ELEMENTS)


def test_a_tensor_takes_no_client_of_other_storage(client):
    other = client.runtime.create_server(client.device.index)
    tensor = client.tensor(ELEMENTS)
    with pytest.raises(DeviceMismatch, match=str(client.device)):
        RudaTensor(tensor.handle, (8,), (1,), f32, ComputeClient(other, client.runtime))


def test_a_source_kernel_is_not_compiled_for_other_languages():
    source = ruda.SourceKernel("twice", {"x": Array[f32]}, {"opencl": "text"})
    with pytest.raises(LaunchArgumentError, match=r"kernel\.sources"):
        ruda.compile_for("wgsl", source)


@pytest.mark.parametrize(
    "name, params, sources",
    [
        (3, {"x": f32}, {}),
        ("two words", {"x": f32}, {}),
        ("k", None, {}),
        ("k", [f32], {}),
        ("k", {3: f32}, {}),
        ("k", {"x": f32}, None),
        ("k", {"x": f32}, {"opencl": None}),
        ("k", {"x": f32}, "text"),
    ],
)
def test_a_source_kernel_is_made_of_names_and_texts(name, params, sources):
    with pytest.raises(LaunchArgumentError, match="name|params|sources"):
        ruda.SourceKernel(name, params, sources)


def test_a_capture_may_be_entered_again(client):
    tensor = client.tensor(ELEMENTS)
    recording = client.capture()
    for factor in (2.0, 3.0):
        with recording as graph:
            scaled.launch(client, 1, 8, tensor, factor)
        assert len(graph) == 1
    graph.replay()
    np.testing.assert_array_equal(tensor.numpy(), ELEMENTS * 3)
    with pytest.raises(RuntimeError, match="with"):
        recording.__exit__(None, None, None)


def test_a_graph_whose_block_raised_is_not_replayed(client):
    tensor = client.tensor(ELEMENTS)
    with pytest.raises(LaunchArgumentError), client.capture() as graph:
        scaled.launch(client, 1, 8, tensor, 2.0)
        scaled.launch(client, 1, 8, None, 2.0)
    with pytest.raises(ServerError, match="record it again"):
        graph.replay()
    np.testing.assert_array_equal(tensor.numpy(), ELEMENTS)
    with client.capture() as graph:
        scaled.launch(client, 1, 8, tensor, 2.0)
    graph.replay()
    np.testing.assert_array_equal(tensor.numpy(), ELEMENTS * 2)


def test_a_capture_in_a_capture_names_the_way_and_leaves_the_outer_one_whole(client):
    tensor = client.tensor(ELEMENTS)
    with client.capture() as graph:
        scaled.launch(client, 1, 8, tensor, 2.0)
        with pytest.raises(ServerError, match=r"StreamId\.new"), client.capture():
            pytest.fail("the block ran")
        scaled.launch(client, 1, 8, tensor, 2.0)
    graph.replay()
    np.testing.assert_array_equal(tensor.numpy(), ELEMENTS * 4)


def test_a_trace_may_be_written_again(client, tmp_path):
    recording = ruda.trace(tmp_path / "trace.json", client)
    for _ in range(2):
        with recording:
            scaled.launch(client, 1, 8, client.tensor(ELEMENTS), 2.0)
        assert "scaled" in (tmp_path / "trace.json").read_text()
