"""Any Python identifier works, also one that means something in a target's language."""

from __future__ import annotations

import numpy as np
import pytest
from support import launch

import ruda_core as ruda
from ruda_core import Array, f32, i32


@ruda.func
def half(float4: f32, packed: f32):
    restrict = float4 + packed
    return restrict * 0.5


@ruda.kernel
def kernel(type: Array[f32], var: f32, fn: Array[f32]):  # noqa: A002
    let = ruda.ABSOLUTE_POS
    if let < len(type):
        ptr = type[let]
        private = half(ptr, var)
        a__b = private + 1.0
        _ = a__b * 2.0
        float4, packed = _, a__b
        __leading = float4 - packed
        fn[let] = __leading


def test_words_of_target_languages_are_names_like_any(client):
    x = np.arange(5, dtype=np.float32)
    got = launch(client, kernel, x, 3.0, units=5, out=np.zeros_like(x))
    np.testing.assert_array_equal(got, (x + 3) / 2 + 1)


@ruda.kernel
def main(struct: Array[i32], workgroup: i32, override: i32, default: i32, target: Array[i32]):
    loop = ruda.ABSOLUTE_POS
    uint = workgroup * 10
    vec4 = override + default
    for threadIdx in range(2):
        uint += threadIdx
    bool_t, discard, switch = 1, 2, 3
    enable, const, volatile, double = 4, 5, 6, 7
    unsigned = bool_t + discard + switch + enable + const + volatile + double
    get_global_id, global_invocation_id, gl_Position = 8, 9, 10
    min3, NAN, INFINITY, M_PI, NULL, template, this, namespace, operator = 1, 2, 3, 4, 5, 6, 7, 8, 9  # noqa: N806
    others = min3 + NAN + INFINITY + M_PI + NULL + template + this + namespace + operator
    others += get_global_id + global_invocation_id + gl_Position
    if loop < len(target):
        target[loop] = struct[loop] + uint + vec4 + unsigned + others


def test_more_words_as_parameters_and_locals(client):
    x = np.arange(4, dtype=np.int32)
    got = launch(client, main, x, 2, 3, 4, units=4, out=np.zeros_like(x))
    np.testing.assert_array_equal(got, x + 21 + 7 + 28 + 45 + 27)


@ruda.kernel
def grüße(größe: i32, λ: Array[i32]):
    naïve = ruda.ABSOLUTE_POS
    if naïve < len(λ):
        λ[naïve] = größe + i32(naïve)


def test_letters_beyond_ascii(client):
    assert launch(client, grüße, 5, units=3, out=np.zeros(3, np.int32)).tolist() == [5, 6, 7]


@ruda.kernel
def loop_scopes(out: Array[i32]):
    i, x, y = 0, 0, 0
    for x in range(3):
        i += x
    for x in range(4, 6):
        y = x
        i += y
    y = 100
    out[0] = i + y + x


def test_one_name_in_several_scopes(client):
    assert launch(client, loop_scopes, units=1, out=np.zeros(1, np.int32)).tolist() == [117]


def test_messages_keep_the_names_of_the_user(client):
    x = client.tensor(np.zeros(2, np.float32))
    with pytest.raises(ruda.LaunchArgumentError, match="'?var'?"):
        kernel.launch(client, 1, 1, x, "no", x)
    with pytest.raises(ruda.LaunchArgumentError, match="fn"):
        kernel.launch(client, 1, 1, x, 1.0, client.tensor(np.zeros(2, np.int32)))
    launch_all = kernel.prepare(client, 1, x, 1.0, x, mode="validate")
    launch_all(1, x, 1.0, x)
    client.sync().result(timeout=60)


@ruda.kernel(name="long_" * 120)
def named_at_length(out: Array[i32]):
    out[ruda.ABSOLUTE_POS] = ruda.ABSOLUTE_POS


def test_names_longer_than_file_names(client):
    got = launch(client, named_at_length, units=5, out=np.zeros(5, np.int32))
    np.testing.assert_array_equal(got, np.arange(5))
