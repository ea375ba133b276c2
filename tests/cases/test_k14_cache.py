"""The compile cache: of no consequence when it cannot be used, and never stale."""

from __future__ import annotations

import os
import textwrap

import numpy as np
import pytest

import ruda_core as ruda
from ruda_core import Array, f32

PROGRAM = """
import json, sys
import numpy as np
import ruda_core as ruda
from ruda_core import Array, f32

@ruda.func
def change(x: f32):
    return x * {factor}

@ruda.kernel
def apply(x: Array[f32]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        x[i] = change(x[i]) + {offset}

client = ruda.client(sys.argv[1])
x = client.tensor(np.array([1, 2, 3], np.float32))
apply.launch(client, 1, 4, x)
print(json.dumps(x.tolist()))
"""


UNUSABLE = ("a file", "below a file", "home below a file")


@pytest.mark.parametrize("place", ["home unset", "read-only", "spaces and accents", *UNUSABLE])
def test_a_cache_that_cannot_be_used_stops_nothing(device, script, tmp_path, place):
    cache = tmp_path / ("mon cache à moi" if place == "spaces and accents" else "cache")
    env = {"RUDA_CACHE_DIR": str(cache)}
    if place == "home unset":
        env = dict.fromkeys(("HOME", "RUDA_CACHE_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"))
    elif place == "a file":
        cache.write_text("not a folder")
    elif place == "below a file":  # holds for root too, whom permission bits do not stop
        (tmp_path / "file").write_text("not a folder")
        env = {"RUDA_CACHE_DIR": str(tmp_path / "file" / "cache")}
    elif place == "home below a file":
        (tmp_path / "file").write_text("not a folder")
        env = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"), str(tmp_path / "file" / "home"))
        # PoCL has no devices without a cache directory of its own, whoever asks it
        env |= {"RUDA_CACHE_DIR": None, "POCL_CACHE_DIR": str(tmp_path / "pocl")}
    elif place == "read-only":
        cache.mkdir(mode=0o500)
    assert script(PROGRAM.format(factor=2, offset=1), device, env=env) == [3, 5, 7]
    warnings = [
        line for line in script.stderr.splitlines() if "cache" in line.lower() and "warn" in line.lower()
    ]
    assert len(warnings) <= 1, script.stderr
    if place in UNUSABLE:
        assert len(warnings) == 1 and "Exception ignored" not in script.stderr, script.stderr
    if place == "spaces and accents":
        assert script(PROGRAM.format(factor=2, offset=1), device, env=env) == [3, 5, 7]
    os.chmod(tmp_path, 0o700)


def test_a_damaged_entry_is_a_miss(device, script, tmp_path):
    program = PROGRAM.format(factor=3, offset=0)
    assert script(program, device) == [3, 6, 9]
    for path in (tmp_path / "cache").rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2] + b"\x00damaged")
    assert script(program, device) == [3, 6, 9]


def test_an_edited_body_takes_effect_with_a_warm_cache(device, script):
    for factor, offset in ((2, 0), (3, 1), (2, 0)):
        got = script(PROGRAM.format(factor=factor, offset=offset), device, name="program.py")
        assert got == [factor * v + offset for v in (1, 2, 3)]


SCALE = 2.0


@ruda.kernel
def scaled(x: Array[f32], out: Array[f32]):
    i = ruda.ABSOLUTE_POS
    if i < len(out):
        out[i] = x[i] * SCALE


def over(client, kernel):
    x, out = client.tensor(np.array([1, 2, 3], np.float32)), client.tensor(np.zeros(3, np.float32))
    kernel.launch(client, 1, 4, x, out)
    return out.tolist()


def test_a_changed_module_constant_is_used_by_the_next_launch(client, monkeypatch):
    assert over(client, scaled) == [2, 4, 6]
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert over(client, scaled) == [3, 6, 9]
    monkeypatch.setitem(globals(), "SCALE", 3)
    assert over(client, scaled) == [3, 6, 9]
    monkeypatch.setitem(globals(), "SCALE", 2.0)
    assert over(client, scaled) == [2, 4, 6]


ZERO = 0.0


@ruda.kernel
def divided(out: Array[f32], x: Array[f32]):
    out[0] = x[0] / ZERO


def test_captured_values_are_compared_by_type_and_bits(client, monkeypatch):
    x = client.tensor(np.ones(1, np.float32))
    out = client.tensor(np.zeros(1, np.float32))
    for value, expected in ((0.0, np.inf), (-0.0, -np.inf), (0, np.inf), (-0.0, -np.inf)):
        monkeypatch.setitem(globals(), "ZERO", value)
        divided.launch(client, 1, 1, out, x)
        assert out.item() == expected, repr(value)


def make(step):
    @ruda.func
    def helper(x: f32):
        return x + step

    @ruda.kernel
    def kernel(x: Array[f32], out: Array[f32]):
        i = ruda.ABSOLUTE_POS
        if i < len(out):
            out[i] = helper(x[i])

    return kernel


def test_kernels_of_a_factory_keep_their_own_closures(client):
    first, second = make(1), make(2)
    assert over(client, first) == [2, 3, 4]
    assert over(client, second) == [3, 4, 5]
    assert over(client, first) == [2, 3, 4]


def test_a_cell_that_changes_takes_effect(client):
    step = 1

    @ruda.func
    def inner(x: f32):
        return x * step

    @ruda.func
    def outer(x: f32):
        return inner(x) + step

    @ruda.kernel
    def kernel(x: Array[f32], out: Array[f32]):
        i = ruda.ABSOLUTE_POS
        if i < len(out):
            out[i] = outer(x[i])

    assert over(client, kernel) == [2, 3, 4]
    step = 10
    assert over(client, kernel) == [20, 30, 40]


def test_a_helper_that_is_replaced_takes_effect(client, monkeypatch):
    @ruda.func
    def doubled(x: f32):
        return x * 2

    @ruda.func
    def tripled(x: f32):
        return x * 3

    monkeypatch.setitem(globals(), "helper_in_use", doubled)
    assert over(client, through_helper) == [2, 4, 6]
    monkeypatch.setitem(globals(), "helper_in_use", tripled)
    assert over(client, through_helper) == [3, 6, 9]


helper_in_use = None


@ruda.kernel
def through_helper(x: Array[f32], out: Array[f32]):
    i = ruda.ABSOLUTE_POS
    if i < len(out):
        out[i] = helper_in_use(x[i])


WARM = textwrap.dedent("""
    import json, sys
    import numpy as np
    import ruda_core as ruda
    from ruda_core import Array, f32

    SCALE = 2

    @ruda.kernel
    def scaled(x: Array[f32]):
        i = ruda.ABSOLUTE_POS
        if i < len(x):
            x[i] = x[i] * SCALE

    client, got = ruda.client(sys.argv[1]), []
    for SCALE in (2, 3):
        x = client.tensor(np.array([1, 2, 3], np.float32))
        scaled.launch(client, 1, 4, x)
        got.append(x.tolist())
    print(json.dumps(got))
""")


def test_a_changed_constant_is_right_cold_and_warm(device, script):
    for _ in range(2):
        assert script(WARM, device) == [[2, 4, 6], [3, 6, 9]]
