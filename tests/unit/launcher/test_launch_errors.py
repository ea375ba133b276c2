"""What is wrong with a kernel or a call leaves the library by one frame, and says what to write."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import pytest

import ruda_core as ruda
from ruda_core import Array, f32, f64, i32

T = TypeVar("T")


@ruda.kernel
def mixed(x: Array[f32], n: i32):
    x[0] = x[0] * n


@ruda.kernel
def good(x: Array[f32], n: i32):
    x[0] = f32(n)


@ruda.kernel
def uneven(x: Array[f32], n: i32):
    if x[ruda.UNIT_POS] > 1:
        ruda.barrier()


@ruda.kernel
def generic(x: Array[T]):
    x[0] = T(1)


WRONG = {
    "a compile error": lambda c, x: mixed.launch(c, 1, 4, x, 1),
    "of launch_over": lambda c, x: mixed.launch_over(c, 1, x, 1),
    "of launch_unchecked": lambda c, x: mixed.launch_unchecked(c, 1, 4, x, 1),
    "of compile": lambda c, x: mixed.compile(c, 4),
    "a barrier": lambda c, x: uneven.launch(c, 1, 4, x, 1),
    "an argument": lambda c, x: good.launch(c, 1, 4, x, 1.5),
    "a missing argument": lambda c, x: good.launch(c, 1, 4, x),
    "a dim": lambda c, x: good.launch(c, 1, "x", x, 1),
    "a limit": lambda c, x: good.launch(c, 1, 1 << 20, x, 1),
}


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("again", [False, True])
def test_one_frame_of_ours_and_no_context(case: str, again: bool) -> None:
    client = ruda.client("reference")
    x = client.zeros(4, np.float32)
    if again:
        good.launch(client, 1, 4, x, 1)
    with pytest.raises(ruda.RudaError) as caught:
        WRONG[case](client, x)
    own = [e for e in caught.traceback if "ruda_core" in str(e.path) or str(e.path).startswith("<")]
    assert len(own) == 1, own
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


def test_brackets_are_told_apart_from_a_launch() -> None:
    with pytest.raises(ruda.RudaError, match=r"good\.launch\(client, count, dim"):
        good[1, 1](3)


@pytest.mark.parametrize(
    ("what", "advice"),
    [(good, "one decorator"), (ruda.func(lambda x: x), "one decorator"), (int, "no state")],
)
def test_what_is_no_function_is_told_what_to_do(what: Any, advice: str) -> None:
    with pytest.raises(ruda.KernelSyntaxError, match=advice):
        ruda.kernel(what)


def test_a_wide_dtype_that_nobody_asked_for() -> None:
    from ruda_core.capabilities import Target
    from ruda_core.compiler import Compiler

    names = frozenset({"f32", "i32", "u32", "bool"})
    compiler = Compiler(None, Target(storage=names, arithmetic=names), backend="narrow")
    with pytest.raises(ruda.UnsupportedFeature, match=r"dtype=ruda\.f32"):
        generic.compile_with(compiler, 1, (Array[f64],), "checked")


@pytest.mark.parametrize("client", [None, 1, "reference"])
def test_a_forgotten_client_is_what_is_said(client: Any) -> None:
    with pytest.raises(ruda.LaunchArgumentError, match="takes a client first"):
        generic.launch(client, 4, 1)


UNBOUND = {
    "a name alike": (lambda c, x: good.launch(c, 1, 4, y=x, n=1), "no parameter y; expected"),
    "a misspelt name": (
        lambda c, x: scaled.launch(c, 1, 4, x, facter=1.0),
        "no parameter facter .did you mean factor",
    ),
    "a misspelt default": (
        lambda c, x: scaled.launch(c, 1, 4, x, 1.0, tims=2),
        "no parameter tims .did you mean times",
    ),
    "twice": (lambda c, x: good.launch(c, 1, 4, x, 1, n=1), "n was given by position and by name"),
    "too many": (lambda c, x: good.launch(c, 1, 4, x, 1, 2), "3 arguments for 2 parameters"),
    "missing": (lambda c, x: scaled.launch(c, 1, 4), "no argument for x, factor;"),
    "of prepare": (lambda c, x: good.prepare(c, 4, x, m=1), "no parameter m;"),
    "of launch_unchecked": (lambda c, x: good.launch_unchecked(c, 1, 4, x, m=1), "no parameter m;"),
    "of launch_over": (lambda c, x: good.launch_over(c, 4, x, m=1), "no parameter m;"),
}


@ruda.kernel
def scaled(x: Array[f32], factor: f32, times: ruda.Comptime[int] = 1):
    x[0] = x[0] * factor * times


@pytest.mark.parametrize("case", UNBOUND)
@pytest.mark.parametrize("before", [0, 1, 2])
def test_arguments_that_do_not_bind(case: str, before: int) -> None:
    """Also where earlier launches have made faster ways, which know less."""
    client = ruda.client("reference")
    x = client.zeros(4, np.float32)
    for _ in range(before):
        good.launch(client, 1, 4, x, 1)
        scaled.launch(client, 1, 4, x, 1.0)
    call, message = UNBOUND[case]
    with pytest.raises(ruda.LaunchArgumentError, match=rf"test_launch_errors.py:\d+\): .*{message}"):
        call(client, x)


@ruda.kernel
def own_names(client: Array[f32], count: f32, dim: i32):
    client[dim] = count


@pytest.mark.parametrize("launches", [0, 1, 3], ids=["new", "known", "at home"])
def test_what_is_missing_has_the_names_that_users_know(launches: int) -> None:
    client = ruda.client("reference")
    x = client.zeros(4, np.float32)
    for _ in range(launches):
        good.launch(client, 1, 4, x, 1)
    for given, missing in (
        ((), "'client', 'count', and 'dim'"),
        ((client,), "'count' and 'dim'"),
        ((client, 1), "'dim'"),
    ):
        with pytest.raises(TypeError, match=f"launch.*missing.* {missing}$"):
            good.launch(*given)


def test_a_prepared_launch_names_what_it_misses() -> None:
    client = ruda.client("reference")
    x = client.zeros(4, np.float32)
    prepared = good.prepare(client, 4, x, 1)
    with pytest.raises(TypeError, match=r"good\.prepare.* missing .*'count'$"):
        prepared()
    with pytest.raises(TypeError, match=r"good\.prepare.* 'm'$"):
        prepared(1, x, m=1)
    for arguments in ((1, x), (1, x, 1, 1)):
        with pytest.raises(ruda.LaunchArgumentError, match="good .*(parameter n|3 arguments for 2)"):
            prepared(*arguments)


def test_parameters_may_be_called_as_what_a_launch_takes_by_position() -> None:
    client = ruda.client("reference")
    x = client.zeros(4, np.float32)
    for place in range(3):
        own_names.launch(client, 1, 1, client=x, count=2.0, dim=place)
    own_names.prepare(client, 1, x, 1.0, 0)(1, client=x, dim=3, count=4.0)
    assert x.tolist() == [2, 2, 2, 4]
