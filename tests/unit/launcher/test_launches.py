"""Generated launchers, over a driver that runs Python functions on real arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from array_driver import array, plan_of, scalar

from ruda_core.artifact import RudaCount, VariantFacts
from ruda_core.errors import (
    DeviceMismatch,
    LaunchArgumentError,
    LaunchLimitError,
    ServerError,
    UnsupportedFeature,
)
from ruda_core.launcher import build_launcher, enqueue_bindings, prepare_launch, refuse_call
from ruda_core.tensor import ArrayArg, TensorArg


def saxpy(a: float, x: Any, y: Any, **_: Any) -> None:
    n = min(len(x), len(y))
    y[:n] = np.float32(a) * x[:n] + y[:n]


SAXPY = (scalar("a"), array("x"), array("y"))


def saxpy_launcher(client: Any, seen: list[VariantFacts] | None = None) -> Any:
    return build_launcher(client.server, plan_of(saxpy, *SAXPY, writes="y", seen=seen))


def tensors(client: Any, *lengths: int) -> list[Any]:
    return [client.tensor(np.arange(n, dtype=np.float32)) for n in lengths]


def test_a_launch_computes_and_returns_nothing(client):
    x, y = tensors(client, 100, 100)
    launch = saxpy_launcher(client)
    assert launch(client, 4, 2.0, x, y) is None
    assert launch(client, (4, 1), y=y, a=1, x=x) is None
    np.testing.assert_array_equal(y.numpy(), np.arange(100, dtype=np.float32) * 4)


def test_facts_are_compiled_once_each(client):
    seen: list[VariantFacts] = []
    launch = saxpy_launcher(client, seen)
    x, y, short = tensors(client, 8, 8, 4)
    for _ in range(3):
        launch(client, 1, 1.0, x, y)
        launch(client, 1, 1.0, short, y)
        launch(client, 1, 1.0, y, y)
        launch(client, 1, 1.0, y[:4], y[2:6])
        launch(client, 1, 1.0, y[:4], y[2:])
    assert seen == [
        VariantFacts(equal_lengths=(("x", "y"),)),
        VariantFacts(),
        VariantFacts(groups=(("x", "y"),), equal_lengths=(("x", "y"),)),
        VariantFacts(groups=(("x", "y"),)),
    ]


def test_shared_storage_is_bound_once_with_offsets(client):
    y = client.tensor(np.arange(8, dtype=np.float32))
    saxpy_launcher(client)(client, 1, 1.0, y[:4], y[4:])
    assert y.tolist() == [0, 1, 2, 3, 4, 6, 8, 10]


def test_many_arrays_take_the_pattern_path(client):
    def total(out: Any, **given: Any) -> None:
        out[:] = sum(float(given[f"x{k}"][0]) for k in range(6))

    params = [array(f"x{k}") for k in range(6)] + [array("out")]
    launch = build_launcher(client.server, plan_of(total, *params, writes=("out",)))
    inputs = [client.tensor(np.full(3, k, np.float32)) for k in range(6)]
    for out in (client.zeros(3, "f32"), client.zeros(1, "f32")):
        launch(client, 1, *inputs, out)
        assert out.tolist() == [15.0] * out.size
    launch(client, 1, *inputs[:5], inputs[0], out)
    assert out.item() == 10.0


@pytest.mark.parametrize("names", [("x", "q"), ("lock", "client"), ("type", "r_x"), ("self", "count")])
def test_any_parameter_name_works(client, names):
    first, second = names

    def double(**given: Any) -> None:
        given[second][:] = given[first] * 2

    launch = build_launcher(client.server, plan_of(double, array(first), array(second), writes=(second,)))
    a, b = tensors(client, 3, 3)
    launch(client, 1, **{first: a, second: b})
    assert b.tolist() == [0, 2, 4]
    prepared = prepare_launch(launch, client, (a, a))
    prepared(1, a, second_tensor := client.zeros(3, "f32"))
    assert second_tensor.tolist() == [0, 2, 4]


def test_a_keyword_of_the_python_language_is_no_obstacle_for_the_prefix(client):
    def f(r_: Any, r1_: Any, **_: Any) -> None:
        r1_[:] = r_

    launch = build_launcher(client.server, plan_of(f, array("r_"), array("r1_"), writes=("r1_",)))
    a, b = tensors(client, 3, 3)
    launch(client, 1, a, b)
    assert b.tolist() == [0, 1, 2]


BAD = {
    "missing": lambda c, x, y: (1.0, x),
    "too many": lambda c, x, y: (1.0, x, y, y),
    "host array": lambda c, x, y: (1.0, np.zeros(4, np.float32), y),
    "host list": lambda c, x, y: (1.0, [1.0], y),
    "text": lambda c, x, y: ("1", x, y),
    "array for a scalar": lambda c, x, y: (np.zeros(1), x, y),
    "dtype": lambda c, x, y: (1.0, c.tensor(np.zeros(4, np.int32)), y),
    "transposed": lambda c, x, y: (1.0, c.zeros((4, 4), "f32").T, y),
    "too long": lambda c, x, y: (1.0, ArrayArg(x.handle, 5), y),
    "negative length": lambda c, x, y: (1.0, ArrayArg(x.handle, -1), y),
    "misaligned": lambda c, x, y: (1.0, ArrayArg(x.handle.slice(1, 16), 2), y),
    "bare handle": lambda c, x, y: (1.0, x.handle, y),
    "none": lambda c, x, y: (None, x, y),
    "complex": lambda c, x, y: (1j, x, y),
    "too large": lambda c, x, y: (1e39, x, y),
}


@pytest.mark.parametrize("case", BAD)
def test_what_does_not_fit_is_refused_before_anything_is_queued(client, case):
    x, y = tensors(client, 4, 4)
    launch = saxpy_launcher(client)
    prepared = prepare_launch(launch, client, (1.0, x, y))
    for call in (lambda *a: launch(client, 1, *a), lambda *a: prepared(1, *a)):
        with pytest.raises(LaunchArgumentError) as caught:
            call(*BAD[case](client, x, y))
        assert "saxpy (kernels.py:7)" in str(caught.value) and "expected" in str(caught.value)
    assert y.tolist() == [0, 1, 2, 3] and not client.server.driver.launches
    if case.startswith("host"):
        assert "client.tensor(array" in str(caught.value)


def test_calls_that_do_not_bind_are_explained():
    plan = plan_of(saxpy, *SAXPY)
    for args, kwargs, word in [
        ((1, 2), {"z": 3}, "z"),
        ((1, 2, 3), {"a": 1}, "twice|name"),
        ((1,), {}, "x, y"),
    ]:
        with pytest.raises(LaunchArgumentError, match=word):
            refuse_call(plan, args, kwargs)


def test_another_devices_tensor_names_both(client, make_client):
    other = make_client()
    x, y = tensors(client, 4, 4)
    foreign = other.zeros(4, "f32")
    launch = saxpy_launcher(client)
    for args in ((1.0, foreign, y), (1.0, x, foreign)):
        with pytest.raises(DeviceMismatch) as caught:
            launch(client, 1, *args)
        assert str(client.device) in str(caught.value) and str(other.device) in str(caught.value)
        with pytest.raises(DeviceMismatch):
            prepare_launch(launch, client, (1.0, x, y))(1, *args)
    assert not client.server.driver.launches


def test_counts(client):
    x, y = tensors(client, 4, 4)
    launch = saxpy_launcher(client)
    for nothing in (0, (3, 0), (0, 1, 1), RudaCount(0)):
        launch(client, nothing, 1.0, x, y)
    assert not client.server.driver.launches
    for count in (2, np.int64(2), (2,), [2, 1], RudaCount(2)):
        launch(client, count, 1.0, x, y)
    assert {grid for _, _, grid in client.server.driver.launches} == {(2, 1, 1)}
    for bad in (-1, "2", 1.5, True, (1, 2, 3, 4), None, (1, -1)):
        with pytest.raises(LaunchArgumentError):
            launch(client, bad, 1.0, x, y)
    with pytest.raises(UnsupportedFeature):
        launch(client, client.empty(12), 1.0, x, y)


def test_a_long_count_is_folded_and_keeps_its_logical_value(client):
    found: list[Any] = []

    def look(x: Any, grid: Any, slots: Any, **_: Any) -> None:
        found.append((grid, slots["count_0"], slots["count_1"], slots["count_2"]))

    seen: list[VariantFacts] = []
    launch = build_launcher(client.server, plan_of(look, array("x"), seen=seen))
    (x,) = tensors(client, 4)
    for count in (65536, 65535 * 3 + 1, 2**31 - 1):
        launch(client, count, x)
        (gx, gy, gz), *logical = found.pop()
        assert logical == [count, 1, 1]
        assert count <= gx * gy * gz <= count * 1.01 + 65535 and max(gx, gy, gz) <= 65535
    assert seen == [VariantFacts(spread=True)]
    with pytest.raises(LaunchLimitError) as caught:
        launch(client, (65536, 2), x)
    assert (caught.value.requested, caught.value.limit) == (65536, 65535)
    assert "65536" in str(caught.value) and "65535" in str(caught.value)


def test_more_units_than_32_bits_count(client, make_client):
    def nothing(**_: Any) -> None:
        return None

    wide = make_client(index64=True)
    for each, has in ((client, False), (wide, True)):
        seen: list[VariantFacts] = []
        plan = plan_of(nothing, array("x"), dim=(256, 1, 1), seen=seen)
        launch = build_launcher(each.server, plan)
        (x,) = tensors(each, 4)
        if has:
            launch(each, (4096, 4096), x)
            assert seen == [VariantFacts(index64=True)]
            continue
        with pytest.raises(LaunchLimitError) as caught:
            launch(each, (4096, 4096), x)
        assert (caught.value.requested, caught.value.limit) == (2**32, 2**31 - 1)
        assert not each.server.driver.launches


@pytest.mark.parametrize(
    "options, what",
    [
        ({"dim": (257, 1, 1)}, "max_workgroup_dim"),
        ({"dim": (32, 32, 1)}, "max_units_per_workgroup"),
        ({"shared": 1 << 15}, "max_shared_memory"),
    ],
)
def test_limits_of_a_workgroup(client, options, what):
    (x,) = tensors(client, 4)
    with pytest.raises(LaunchLimitError, match=what):
        build_launcher(client.server, plan_of(saxpy, array("x"), **options))(client, 1, x)
    assert not client.server.driver.launches


def test_more_arrays_than_the_device_binds(make_client):
    client = make_client(max_bindings=2)
    params = [array(n) for n in "abc"]
    launch = build_launcher(client.server, plan_of(lambda **_: None, *params))
    x, y, z = tensors(client, 4, 4, 4)
    with pytest.raises(LaunchLimitError) as caught:
        launch(client, 1, x, y, z)
    assert (caught.value.requested, caught.value.limit) == (3, 2)
    launch(client, 1, x, y, y)


def test_tensors_carry_shape_strides_and_offset(client):
    def transpose(x: Any, out: Any, **_: Any) -> None:
        out[...] = x.T

    params = (array("x", rank=2), array("out", rank=2))
    launch = build_launcher(client.server, plan_of(transpose, *params, writes=("out",)))
    host = np.arange(20, dtype=np.float32).reshape(4, 5)
    x, out = client.tensor(host), client.zeros((3, 2), "f32")
    launch(client, 1, x[::2, ::-2], out)
    np.testing.assert_array_equal(out.numpy(), host[::2, ::-2].T)
    launch(client, 1, TensorArg(x.handle, (2, 3), (5, 2)), out)
    np.testing.assert_array_equal(out.numpy(), host[:2, ::2].T)
    for bad in (
        x[0],
        TensorArg(x.handle, (9, 3), (5, 2)),
        TensorArg(x.handle, (2, 3), (-5, 2)),
        ArrayArg(x.handle, 4),
    ):
        with pytest.raises(LaunchArgumentError):
            launch(client, 1, bad, out)


@pytest.mark.parametrize("lanes", [2, 3, 4])
def test_vectors_count_as_elements(client, lanes):
    lengths: list[int] = []

    def double(v: Any, slots: Any, **_: Any) -> None:
        lengths.append(slots["length_v_0"])
        v *= 2

    launch = build_launcher(client.server, plan_of(double, array("v", lanes=lanes), writes=("v",)))
    keep = client.zeros(7, "f32")
    t = client.tensor(np.arange(24, dtype=np.float32))
    launch(client, 1, t.vectorized(lanes))
    assert lengths == [24 // lanes] and keep.size == 7
    np.testing.assert_array_equal(t.numpy(), np.arange(24) * 2)
    with pytest.raises(LaunchArgumentError):
        launch(client, 1, t)


def test_empty_arrays_can_be_launched(client):
    x, y = client.zeros(0, "f32"), client.zeros(0, "f32")
    launch = saxpy_launcher(client)
    launch(client, 1, 1.0, x, y)
    launch(client, 1, 1.0, x, client.zeros(3, "f32"))
    assert len(client.server.driver.launches) == 2


def test_prepared_launches_follow_their_arguments(client):
    seen: list[VariantFacts] = []
    launch = saxpy_launcher(client, seen)
    x, y = tensors(client, 8, 8)
    prepared = prepare_launch(launch, client, (1.0, x, y))
    prepared(1, 1.0, x, y)
    prepared(1, 1.0, x=x, y=y)
    prepared(1, 1.0, client.tensor(np.ones(4, np.float32)), y)
    prepared(1, 0.0, y, y)
    prepared(65536, 0.0, x, y)
    prepared(0, 5.0, x, y)
    expected = np.arange(8, dtype=np.float32) * 3
    expected[:4] += 1
    np.testing.assert_array_equal(y.numpy(), expected)
    assert seen[0] == VariantFacts(equal_lengths=(("x", "y"),)) and len(seen) == 4


def test_bindings_in_parameter_order(client):
    launch = saxpy_launcher(client)
    x, y = tensors(client, 4, 4)
    enqueue_bindings(launch, client, 1, [1.0, x.handle, ArrayArg(y.handle, 4)])
    assert y.tolist() == [0, 2, 4, 6]
    with pytest.raises(LaunchArgumentError):
        enqueue_bindings(launch, client, 1, [1.0, x.handle])


def test_a_failing_launch_is_wrapped_once_and_spoils_nothing(client):
    x, y = tensors(client, 4, 4)
    launch = saxpy_launcher(client)
    launch(client, 1, 1.0, x, y)
    client.server.driver.fail_next = OSError("broken wire")
    with pytest.raises(ServerError, match="broken wire") as caught:
        launch(client, 1, 1.0, x, y)
    assert isinstance(caught.value.__cause__, OSError) and "saxpy (kernels.py:7)" in str(caught.value)
    launch(client, 1, 1.0, x, y)
    assert y.tolist() == [0, 3, 6, 9]
