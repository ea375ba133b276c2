"""The kit as a pytest plugin, and the faults that it injects."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ruda_core as ruda
from ruda_core import Array, i32
from ruda_core.conformance import faults


@ruda.kernel
def increase(x: Array[i32]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        x[i] += 1


@pytest.fixture
def own(device):
    """A client of a server that nobody else uses, so that it may lose its device."""
    runtime = ruda.runtime(device.backend)
    return ruda.ComputeClient(runtime.create_server(device), runtime)


def test_allocation_fails_when_it_is_told_to(own):
    with faults(own, out_of_memory_at=2):
        kept = own.create_from_slice(np.arange(3, dtype=np.int32))
        with pytest.raises(ruda.OutOfMemory) as caught:
            own.empty(1000)
        assert caught.value.requested == 1000
        own.empty(1000)
    assert own.read_one(kept).view(np.int32).tolist() == [0, 1, 2]


def test_lost_device_refuses_all_but_an_empty_flush(own):
    x = own.zeros(4, np.int32)
    increase.launch(own, 1, 4, x)  # a launch function that is kept must be counted too
    with faults(own, lose_device_at=2):
        increase.launch(own, 1, 4, x)
        with pytest.raises(ruda.DeviceLost):
            increase.launch(own, 1, 4, x)
        for use in (
            lambda: increase.launch(own, 1, 4, x), x.numpy, lambda: own.empty(16), lambda: own.sync().result(),
        ):  # fmt: skip
            with pytest.raises(ruda.DeviceLost):
                use()
        own.flush()
    with pytest.raises(ruda.DeviceLost):
        x.numpy()


def test_transfer_may_find_the_device_lost(own):
    handle = own.create_from_slice(b"abcd")
    with faults(own, lose_device_at=1), pytest.raises(ruda.DeviceLost):
        own.read_one(handle)
    with pytest.raises(ruda.DeviceLost):
        own.empty(4)


def test_without_a_number_nothing_happens(own):
    with faults(own):
        x = own.zeros(4, np.int32)
        increase.launch(own, 1, 4, x)
    increase.launch(own, 1, 4, x)
    assert x.numpy().tolist() == [2, 2, 2, 2]


def test_faults_count_from_one(own):
    with pytest.raises(ruda.ConfigError, match="number 1"), faults(own, lose_device_at=0):
        pass


def test_plugin_runs_the_kit_and_writes_a_report(tmp_path):
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "ruda_core.conformance", "-p", "no:cacheprovider"]
    options = ["--ruda-device", "reference:0", "--ruda-kernels", "5", "--ruda-report", str(report)]
    chosen = ["-k", "shifts or random or memory"]
    done = subprocess.run(
        [*command, *options, *chosen], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout and str(Path(report)) in done.stdout
    written = json.loads(report.read_text())
    assert written["device"] == "reference:0" and written["features"]["dtypes"]["i32"]["storage"]
    assert {row["group"] for row in written["rows"]} == {"shifts"}
    assert written["random_kernels"][0]["differing"] == []
