"""A wrong variable is refused by its name, at the first use that it matters to."""

from __future__ import annotations

import pytest

ASK = """
    import json
    import ruda_core as ruda

    try:
        print(json.dumps(["none", repr(ruda.client())]))
    except ruda.RudaError as error:
        print(json.dumps([type(error).__name__, str(error)]))
"""


@pytest.mark.parametrize(
    "wanted, error",
    [
        ("nope", "BackendNotFound"),
        ("reference:9", "BackendUnavailable"),
        ("reference:x", "ConfigError"),
        ("reference:", "ConfigError"),
        (":", "ConfigError"),
        ("nope:1", "BackendNotFound"),
    ],
)
def test_a_wrong_device_is_named_with_its_variable_and_those_there_are(script, wanted, error):
    kind, message = script(ASK, env={"RUDA_DEVICE": wanted, "RUDA_NO_PLUGINS": "1"})
    assert kind == error
    assert message.startswith(f"RUDA_DEVICE sets the device to {wanted!r}: ")
    assert "(reference:0)" in message


def test_a_wrong_device_of_a_file_is_named_with_the_file(script):
    (script.folder / "ruda.toml").write_text('device = "nope"\nno_plugins = true\n')
    kind, message = script(ASK)
    assert kind == "BackendNotFound" and "ruda.toml sets the device to 'nope'" in message


def test_a_device_of_the_call_has_nothing_to_do_with_the_variable(script):
    printed = script(ASK.replace("client()", "client('reference')"), env={"RUDA_DEVICE": "nope"})
    assert printed == ["none", "ComputeClient('reference:0')"]


@pytest.mark.parametrize(
    "variable, value, takes",
    [
        ("RUDA_BACKENDS", ",", "one name or more"),
        ("RUDA_BACKENDS", "nope", "RUDA_BACKENDS names 'nope', which is not installed"),
        ("RUDA_NO_PLUGINS", "maybe", "1 or 0"),
        ("RUDA_BOUNDS_CHECK", "always", "auto, enforce or validate"),
        ("RUDA_POOL_LIMIT", "nan", "number of bytes"),
        ("RUDA_POOL_LIMIT", "-1", "number of bytes"),
        ("RUDA_LOG", "loud", "one of debug"),
        ("RUDA_TRACEBACK", "long", "short or full"),
        ("RUDA_DEVCE", "cpu", "did you mean 'device'"),
    ],
)
def test_every_variable_says_what_it_takes(script, variable, value, takes):
    kind, message = script(ASK, env={"RUDA_NO_PLUGINS": "1", variable: value})
    assert kind in ("ConfigError", "BackendUnavailable")
    assert variable in message and takes in message
