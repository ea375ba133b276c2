"""What is no client, kernel, mode, type or compile-time value is refused before anything is queued."""

from __future__ import annotations

import numpy as np
import pytest

import ruda_core as ruda
from ruda_core import Array, Comptime, f32, i32
from ruda_core.errors import KernelSyntaxError, LaunchArgumentError, LaunchLimitError


@ruda.kernel
def add(x: Array[f32], n: Comptime[int]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        x[i] = x[i] + n


@ruda.kernel
def plain(x: Array[f32]):
    x[0] = 1.0


@pytest.fixture
def zeros(client):
    return client.zeros(8, np.float32)


@pytest.mark.parametrize("wrong", [None, "cpu:0"], ids=repr)
def test_a_launch_takes_a_client_first(client, zeros, wrong):
    plain.launch(client, 1, 1, zeros)
    for use in (
        lambda: plain.launch(wrong, 1, 1, zeros),
        lambda: plain.launch_unchecked(wrong, 1, 1, zeros),
        lambda: plain.launch_over(wrong, 1, zeros),
        lambda: plain.compile(wrong, 1),
        lambda: plain.prepare(wrong, 1, zeros),
    ):
        with pytest.raises(LaunchArgumentError, match="client"):
            use()


@pytest.mark.parametrize("value", [1.5, "a", np.float32(2)], ids=repr)
def test_a_compile_time_int_is_an_int(client, zeros, value):
    with pytest.raises(LaunchArgumentError, match=r"Comptime\[int\]"):
        add.launch(client, 1, 8, zeros, value)
    add.launch(client, 1, 8, zeros, np.int64(3))
    assert zeros.tolist() == [3.0] * 8


@pytest.mark.parametrize("units", [-1, (1, -1), 1.5, "a", None, (), (1, 2, 3, 4)], ids=repr)
def test_units_are_counted(client, zeros, units):
    with pytest.raises(LaunchArgumentError):
        plain.launch_over(client, units, zeros)


@pytest.mark.parametrize("dim", [0, (1, 0), 1.5, (1.5,), "b"], ids=repr)
def test_a_dim_counts_from_one(client, zeros, dim):
    with pytest.raises(LaunchArgumentError):
        plain.launch_over(client, 8, zeros, dim=dim)
    with pytest.raises(LaunchArgumentError):
        plain.launch(client, 1, dim, zeros)


def test_modes_are_known(client, zeros):
    with pytest.raises(LaunchArgumentError, match="'validate'"):
        plain.prepare(client, 1, zeros, mode="foo")
    with pytest.raises(LaunchArgumentError, match="'validate'"):
        plain.compile(client, 1, mode="foo")


@pytest.mark.parametrize("given", [3, i32, Array[i32], "x"], ids=repr)
def test_a_kernel_is_compiled_for_its_own_types(client, given):
    with pytest.raises(LaunchArgumentError, match=r"Array\[f32\]"):
        plain.compile(client, 1, given)


def test_a_sample_stands_for_its_type(client, zeros):
    client.launch(plain.compile(client, 1, zeros), 1, [zeros])
    assert zeros.tolist()[:2] == [1.0, 0.0]


def test_a_count_beyond_64_bits_is_refused(client, zeros):
    with pytest.raises(LaunchLimitError, match="count"):
        plain.launch(client, 2**70, 1, zeros)


NOT_FUNCTIONS = {
    "a number": 3,
    "a builtin": len,
    "a class": int,
    "a kernel": plain,
    "a static method": staticmethod(len),
}


@pytest.mark.parametrize("what", NOT_FUNCTIONS)
def test_kernels_and_helpers_are_functions(what):
    for decorator in (ruda.kernel, ruda.kernel(fp_contract=False), ruda.func):
        with pytest.raises(KernelSyntaxError, match="takes a Python function"):
            decorator(NOT_FUNCTIONS[what])


def test_a_kernel_is_named_by_text():
    with pytest.raises(KernelSyntaxError, match="name"):
        ruda.kernel(plain.fn, name=3)
    with pytest.raises(KernelSyntaxError, match="name"):
        ruda.kernel(name=3)


@ruda.kernel
def roomy(x: Array[f32], n: Comptime[int]):
    own = ruda.local(f32, n)
    own[0] = x[0]
    x[0] = own[0] + 1.0


def test_local_memory_has_a_limit(client, zeros):
    roomy.launch(client, 1, 1, zeros, 64)
    with pytest.raises(LaunchLimitError, match="local memory") as failure:
        roomy.launch(client, 1, 1, zeros, 10**8)
    assert failure.value.requested == 4 * 10**8
    assert zeros.tolist()[:2] == [1.0, 0.0]


def test_more_workgroups_than_the_device_counts_are_refused(client):
    most = client.properties().max_workgroups
    if most is None:
        pytest.skip("the device limits each axis only")
    x = client.zeros(1, np.float32)
    for count in (most + 1, 2**40, (2**20, 2**20, 1)):
        with pytest.raises(ruda.LaunchLimitError, match=f"max_workgroups.*{most}") as caught:
            plain.launch(client, count, 1, x)
        assert caught.value.limit == most
    plain.launch(client, 1, 1, x)
