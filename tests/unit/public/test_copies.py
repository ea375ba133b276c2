"""Kernels and helpers are copied and pickled as functions are: they are what their name says."""

from __future__ import annotations

import copy
import gc
import pickle

import numpy as np
import pytest

import ruda_core as ruda
from ruda_core import Array, ArrayArg, SourceKernel, bf16, f32


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


DATA = np.arange(8, dtype=np.float32)


def test_the_copy_of_a_handle_keeps_its_storage(client):
    handle = client.create_from_slice(DATA)
    twin = copy.copy(handle.slice(8, 32))
    assert (twin.offset_start, twin.size_in_use) == (8, 24)
    del handle
    gc.collect()
    others = [client.create_from_slice(-DATA) for _ in range(8)]  # would take freed storage
    np.testing.assert_array_equal(client.read_one(twin).view(np.float32), DATA[2:])
    second = copy.copy(twin)
    del second, others
    np.testing.assert_array_equal(client.read_one(twin).view(np.float32), DATA[2:])


def test_a_tensor_is_copied_as_a_view_and_deep_copied_as_data(client):
    tensor = client.tensor(DATA.reshape(2, 4))
    view, data = copy.copy(tensor), copy.deepcopy({"t": tensor})["t"]
    turned = copy.deepcopy(tensor.T)
    tensor.fill(0)
    np.testing.assert_array_equal(view.numpy(), np.zeros((2, 4)))
    np.testing.assert_array_equal(data.numpy(), DATA.reshape(2, 4))
    np.testing.assert_array_equal(turned.numpy(), DATA.reshape(2, 4).T)
    assert copy.deepcopy(client.zeros(0, f32)).shape == (0,)
    with pytest.raises(TypeError, match="to_client"):
        copy.deepcopy(ArrayArg(tensor.handle, 8))


def test_a_client_is_copied_as_another_of_its_server(client):
    for twin in (copy.copy(client), copy.deepcopy([client])[0]):
        assert twin is not client and twin.same_execution_queue(client)


def test_what_belongs_to_a_device_says_what_to_send_instead():
    client = ruda.client("reference")
    tensor = client.tensor(DATA)
    with client.capture() as graph:
        doubled.launch(client, 1, 4, tensor)
    ways = {
        tensor: r"tensor\.numpy\(\)",
        tensor.handle: "read_one",
        client: r"str\(client\.device\)",
        doubled.prepare(client, 4, tensor): "kernel",
        graph: "anew",
        client.sync(): "anew",
        client.server: "anew",
    }
    for thing, way in ways.items():
        with pytest.raises(TypeError, match=f"cannot be pickled: .*{way}"):
            pickle.dumps(thing)
    with pytest.raises(TypeError, match=r"\.source"):
        pickle.dumps(doubled.compile(client, 4))
    prepared = doubled.prepare(client, 4, tensor)
    assert copy.deepcopy(prepared) is prepared
    assert copy.copy(graph) is graph


def test_facts_go_to_other_processes():
    client = ruda.client("reference")
    for fact in (
        f32,
        bf16,
        Array[f32],
        ruda.settings(),
        client.features(),
        client.properties(),
        client.device,
    ):
        assert pickle.loads(pickle.dumps(fact)) == fact == copy.deepcopy(fact)
    assert pickle.loads(pickle.dumps(ruda.settings())).sources == ruda.settings().sources


def test_a_dtype_arrives_in_a_process_that_knows_none(script):
    data = pickle.dumps({"dtype": f32, "array": Array[bf16]})
    shown = script(f"import json, pickle; print(json.dumps(repr(pickle.loads({data!r}))))")
    assert shown == "{'dtype': f32, 'array': Array[bf16]}"


def test_a_source_kernel_is_pickled_with_its_text():
    kernel = SourceKernel("twice", {"out": Array[f32], "by": f32}, {"opencl": "text"})
    twin = pickle.loads(pickle.dumps(kernel))
    assert (twin.name, twin.params, twin.sources) == (kernel.name, kernel.params, kernel.sources)
    assert copy.deepcopy(kernel) is kernel
