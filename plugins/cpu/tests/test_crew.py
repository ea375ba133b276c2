"""More threads than this machine may have processors: all of a job is done once, whoever comes, waits or is busy."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
import ruda_cpu.run.pool
from contract import adder, source_of, words_of
from legal import UNITS
from ruda_cpu.dialect import CpuDialect
from ruda_cpu.driver import CpuDriver
from ruda_cpu.probe import probe

GROUPS = 512
LAUNCHES = 200


@pytest.fixture(params=[2, 3, 5, 16])
def driver(request, monkeypatch):
    monkeypatch.setattr(ruda_cpu.run.pool, "processors", lambda: request.param)
    driver = CpuDriver(probe()[0])
    yield driver
    driver.close()


class Counter:
    """Launches that add one to every element of a page, on threads though they are short."""

    def __init__(self, driver, *, brief=True):
        self._driver, self._brief = driver, brief
        self.queue = driver.open_queue(lambda *_: None)
        self._program = driver.load(source_of(CpuDialect(), adder()), None)
        self._launch = driver.launcher(self._program, self.queue)
        self._page = driver.allocate(4 * UNITS * GROUPS)
        driver.write(self.queue, self._page, 0, np.zeros(4 * UNITS * GROUPS, np.uint8).data)

    def launch(self):
        self._program.group_seconds, self._program.longest = 1e-5, 1e-5 if self._brief else None
        self._launch(0, GROUPS, 1, 1, self._page, words_of(adder()))

    def values(self):
        return set(self._page.bytes.view(np.int32)[: UNITS * GROUPS].tolist())


def test_launch_after_launch_each_waited_for(driver):
    counter = Counter(driver)
    for k in range(LAUNCHES):
        counter.launch()
        counter.queue.completion().wait()
        assert counter.values() == {k + 1}


@pytest.mark.parametrize("brief", [False, True])
def test_a_helper_stands_in_where_nobody_waits(driver, brief):
    counter = Counter(driver, brief=brief)
    for _ in range(LAUNCHES):
        counter.launch()
        done = threading.Event()
        if counter.queue.completion().on_done(done.set):
            assert done.wait(10)
    assert counter.values() == {LAUNCHES}


def test_many_launches_before_one_wait(driver):
    counter = Counter(driver)
    for _ in range(LAUNCHES):
        counter.launch()
    counter.queue.completion().wait()
    assert counter.values() == {LAUNCHES}


def test_queues_share_the_helpers(driver):
    counters = [Counter(driver) for _ in range(4)]
    wrong = []

    def work(counter):
        for k in range(LAUNCHES):
            counter.launch()
            if k % 3:
                counter.queue.completion().wait()
        counter.queue.completion().wait()
        if counter.values() != {LAUNCHES}:
            wrong.append(counter.values())

    threads = [threading.Thread(target=work, args=(counter,)) for counter in counters]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert not wrong


def test_nothing_of_a_job_is_kept_once_no_thread_is_inside(driver):
    counter = Counter(driver)
    pool = driver._pool
    for _ in range(LAUNCHES):
        counter.launch()
        counter.queue.completion().wait()
    for _ in range(100):
        time.sleep(0.01)
        counter.launch()
        counter.queue.submit(lambda: None).wait()
        if not pool._running and len(pool._left) <= 1:
            return
    pytest.fail(f"{len(pool._running)} jobs are running, {len(pool._left)} are left")
