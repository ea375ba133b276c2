"""`ruda demo`: what fails on one device hides nothing of the others."""

from __future__ import annotations

import json
from argparse import Namespace

import numpy as np
import pytest

import ruda_core as ruda
from ruda_core.cli import demo
from ruda_core.cli.demo.programs import Outcome, Program


def raising(error):
    def run():
        raise error

    return run


def program(name, run):
    return Program(name, run, lambda got: Outcome(got, np.arange(3), 0.0, {}))


@pytest.fixture
def shown(monkeypatch, tmp_path, capsys):
    """Run the demonstration over programs: the exit code, and what is printed."""

    def run(programs, *, as_json=False):
        monkeypatch.setattr(demo, "photograph", lambda image: (np.zeros((2, 2)), "none"))
        monkeypatch.setattr(demo, "all_programs", lambda client, picture: programs)
        code = demo.run(Namespace(device="reference", image=None, output=str(tmp_path), json=as_json))
        return code, capsys.readouterr().out

    return run


GOOD = program("good", lambda: np.arange(3))


def test_a_program_that_fails_is_a_row_and_what_it_said(shown):
    bad = program("bad", raising(ruda.BackendCompileError("syntax error, line 3")))
    code, out = shown([bad, GOOD])
    assert code == 1
    assert "FAILED" in out and "right" in out
    assert "reference:0, bad: syntax error, line 3" in out


def test_what_a_device_does_not_support_is_no_failure(shown):
    lacking = program("lacking", raising(ruda.UnsupportedFeature("no atomics here")))
    code, out = shown([lacking, GOOD], as_json=True)
    assert code == 0
    refused, good = json.loads(out)
    assert refused["error"] == "no atomics here" and refused["refused"] and good["largest_error"] == 0


def test_a_wrong_result_is_one(shown):
    code, out = shown([program("wrong", lambda: np.zeros(3)), GOOD])
    assert code == 1 and "WRONG" in out
