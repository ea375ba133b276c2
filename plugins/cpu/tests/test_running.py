"""Launches: kept object code, order, threads, and the end of the process."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from contract import adder, source_of, spinner, words_of
from ruda_cpu.dialect import CpuDialect
from ruda_cpu.run import jit
from ruda_cpu.run.affinity import Apart
from ruda_cpu.run.pool import processors

UNHURRIED = 2_000_000
"""Trips of a loop that takes milliseconds."""


@pytest.fixture
def source():
    return source_of(CpuDialect(), adder())


def launched(driver, queue, program, words):
    page = driver.allocate(256)
    driver.write(queue, page, 0, np.zeros(256, np.uint8).data)
    driver.launcher(program, queue)(0, 1, 1, 1, page, words)
    out = np.empty(256, np.uint8)
    driver.read(queue, page, 0, out.data).wait()
    return out.view(np.int32)


def test_kept_code_runs_without_the_compiler(driver, source, monkeypatch):
    kept = driver.binary(driver.load(source, None))
    monkeypatch.setattr(jit.Machine, "compile", lambda *_: pytest.fail("compiled again"))
    program = driver.load(source, kept)
    queue = driver.open_queue(lambda *_: None)
    assert (launched(driver, queue, program, words_of(adder())) == 1).all()


@pytest.mark.parametrize(
    "damage", [b"", b"nothing", lambda kept: kept[:-1], lambda kept: kept[:60] + b"!" + kept[61:]]
)
def test_damaged_code_is_compiled_again(driver, source, damage):
    kept = driver.binary(driver.load(source, None))
    program = driver.load(source, damage(kept) if callable(damage) else damage)
    queue = driver.open_queue(lambda *_: None)
    assert (launched(driver, queue, program, words_of(adder())) == 1).all()


def test_a_long_launch_does_not_hold_its_caller(driver):
    legal = spinner(UNHURRIED)
    program = driver.load(source_of(CpuDialect(), legal), None)
    program.group_seconds = 1.0
    queue = driver.open_queue(lambda *_: None)
    page = driver.allocate(256)
    driver.launcher(program, queue)(0, 1, 1, 1, page, words_of(legal))
    completion = queue.completion()
    assert not completion.done()
    completion.wait()
    assert completion.done() and queue.idle()


def test_eight_threads_at_once(driver, source):
    program = driver.load(source, None)
    wrong = []

    def work() -> None:
        queue = driver.open_queue(lambda *_: None)
        page = driver.allocate(256)
        driver.write(queue, page, 0, np.zeros(256, np.uint8).data)
        launch = driver.launcher(program, queue)
        for _ in range(500):
            launch(0, 1, 1, 1, page, words_of(adder()))
        queue.completion().wait()
        if not (page.bytes.view(np.int32) == 500).all():
            wrong.append(page.bytes.view(np.int32).copy())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_process_ends_with_kernels_in_flight():
    script = f"""
import sys
sys.path[:0] = {sys.path!r}
from contract import source_of, spinner, words_of
from ruda_cpu.dialect import CpuDialect
from ruda_cpu.driver import CpuDriver
from ruda_cpu.probe import probe
driver = CpuDriver(probe()[0])
legal = spinner(2**30)
program = driver.load(source_of(CpuDialect(), legal), None)
program.group_seconds = 1.0
for _ in range(3):
    queue = driver.open_queue(lambda *_: None)
    launch = driver.launcher(program, queue)
    page = driver.allocate(256)
    for _ in range(3):
        launch(0, 1, 1, 1, page, words_of(legal))
assert not queue.completion().done()
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=Path(__file__).parent, timeout=60, capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="threads cannot be told where to run")
@pytest.mark.skipif(processors() < 2, reason="there is one processor")
def test_helpers_stay_off_the_processor_of_the_thread_they_help():
    allowed = os.sched_getaffinity(0)
    here = min(allowed)
    apart = Apart(2)
    stop = threading.Event()
    helper = threading.Thread(target=stop.wait)
    helper.start()
    try:
        os.sched_setaffinity(0, {here})
        apart.from_here(helper.native_id, [])
        assert os.sched_getaffinity(helper.native_id) == allowed  # nowhere else to go: left alone
        os.sched_setaffinity(0, allowed)
        Apart(2).from_here(helper.native_id, [])
        assert len(os.sched_getaffinity(helper.native_id)) == len(allowed) - 1
    finally:
        os.sched_setaffinity(0, allowed)
        stop.set()
        helper.join()
