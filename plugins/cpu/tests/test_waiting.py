"""Who waits for a launch lends it a hand: in order, only where that is short, and whatever interrupts it."""

from __future__ import annotations

import signal
import threading

import numpy as np
import pytest
from contract import adder, source_of, spinner, words_of
from ruda_cpu.dialect import CpuDialect
from ruda_cpu.run.launches import Program
from ruda_cpu.run.pool import Pool

TRIPS = 50_000
LAUNCHES = 200


@pytest.fixture
def queue(driver):
    queue = driver.open_queue(lambda *_: None)
    yield queue
    queue.close()


@pytest.fixture
def lent(monkeypatch):
    """The threads that lent a hand."""
    threads = []
    lend = Pool.lend

    def recorded(self, job):
        threads.append(threading.current_thread())
        return lend(self, job)

    monkeypatch.setattr(Pool, "lend", recorded)
    return threads


def adding(driver, queue, known=True):
    """A page of zeros, and a launch that adds one to all of it, on the queue's thread though it is short."""
    program = driver.load(source_of(CpuDialect(), adder()), None)
    launcher = driver.launcher(program, queue)
    page = driver.allocate(256)
    driver.write(queue, page, 0, np.zeros(256, np.uint8).data)

    def launch():
        program.group_seconds, program.longest = 1e-3, 1e-3 if known else None
        launcher(0, 1, 1, 1, page, words_of(adder()))

    return page, launch


def held(queue):
    """Work that keeps the queue's thread until the event is set."""
    go, began = threading.Event(), threading.Event()
    queue.submit(lambda: (began.set(), go.wait()))
    assert began.wait(10)
    return go


def test_the_launch_that_is_waited_for_is_run_by_who_waits(driver, queue, lent):
    page, launch = adding(driver, queue)
    for _ in range(LAUNCHES):
        launch()
        queue.completion().wait()
        assert queue.idle()
    assert (page.bytes.view(np.int32) == LAUNCHES).all()
    assert threading.current_thread() in lent


def test_the_thread_sees_to_what_waiters_ended_before_it_is_much(driver, queue, lent):
    _, launch = adding(driver, queue)
    for _ in range(LAUNCHES):
        launch()
        queue.completion().wait()
        assert len(queue._pending) < 16
    assert lent


def test_a_launch_whose_length_is_not_known_is_not(driver, queue, lent):
    page, launch = adding(driver, queue, known=False)
    launch()
    queue.completion().wait()
    assert (page.bytes.view(np.int32) == 1).all()
    assert not lent


def test_a_long_one_is_not(driver, queue, lent):
    legal = spinner(TRIPS)
    program = driver.load(source_of(CpuDialect(), legal), None)
    program.group_seconds = program.longest = 10.0
    driver.launcher(program, queue)(0, 1, 1, 1, driver.allocate(256), words_of(legal))
    queue.completion().wait()
    assert not lent


def test_one_whose_kernel_was_long_before_is_not(driver, queue, lent):
    legal = spinner(TRIPS)
    program = driver.load(source_of(CpuDialect(), legal), None)
    for seconds in (10.0, *[1e-3] * 10):  # as where a scalar decides the length
        program.learn(1, seconds, 0)
    assert program.group_seconds < 0.05
    driver.launcher(program, queue)(0, 1, 1, 1, driver.allocate(256), words_of(legal))
    queue.completion().wait()
    assert not lent


def test_nothing_is_run_before_what_came_before_it(driver, queue, lent):
    page, launch = adding(driver, queue)
    seen = []
    launch()
    go = held(queue)
    queue.submit(lambda: seen.append(page.bytes.view(np.int32)[0]))
    launch()
    waiter = threading.Thread(target=queue.completion().wait)
    waiter.start()
    assert page.bytes.view(np.int32)[0] == 1  # the second launch waits its turn
    go.set()
    waiter.join()
    assert seen == [1] and (page.bytes.view(np.int32) == 2).all()


def test_all_that_is_queued_before_is_run_too(driver, queue):
    page, launch = adding(driver, queue)
    for _ in range(LAUNCHES):
        launch()
    queue.completion().wait()
    assert (page.bytes.view(np.int32) == LAUNCHES).all()


def test_many_may_wait_at_once(driver, queue):
    page, launch = adding(driver, queue)
    for turn in range(20):
        for _ in range(10):
            launch()
        completion = queue.completion()
        waiters = [threading.Thread(target=completion.wait) for _ in range(8)]
        for waiter in waiters:
            waiter.start()
        for waiter in waiters:
            waiter.join()
        assert completion.done() and (page.bytes.view(np.int32) == 10 * (turn + 1)).all()


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
def test_an_interrupt_loses_nothing(driver, queue, monkeypatch, late):
    page, launch = adding(driver, queue)
    lend = Pool.lend
    interrupted = []

    def interrupting(self, job):
        first = not interrupted
        ended = lend(self, job) if late or not first else False
        if first:
            interrupted.append(job)
            raise KeyboardInterrupt
        return ended

    monkeypatch.setattr(Pool, "lend", interrupting)
    launches = 0
    while launches < LAUNCHES:
        launch()
        launches += 1
        try:
            queue.completion().wait()
        except KeyboardInterrupt:
            queue.completion().wait()
        assert queue.idle() and (page.bytes.view(np.int32) == launches).all()
    assert interrupted


@pytest.mark.parametrize("alone", [False, True])
def test_an_interrupt_is_heard_in_the_middle(driver, queue, lent, monkeypatch, alone):
    """Also in a launch far longer than all before it, as a scalar may make one."""
    legal = spinner(1 << 22)
    program = driver.load(source_of(CpuDialect(), legal), None)
    program.group_seconds = program.longest = 1e-4
    if alone:
        monkeypatch.setattr(Program, "helpers", lambda *_: 0)
    page = driver.allocate(1 << 16)
    driver.launcher(program, queue)(0, 64, 1, 1, page, words_of(legal))
    me = threading.get_ident()
    threading.Timer(0.05, signal.pthread_kill, (me, signal.SIGINT)).start()
    completion = queue.completion()
    with pytest.raises(KeyboardInterrupt):
        completion.wait()
    assert lent and not completion.done()
    completion.wait()
    assert completion.done() and queue.idle()


def test_a_queue_that_waits_for_another(driver, queue):
    other = driver.open_queue(lambda *_: None)
    page, launch = adding(driver, queue)
    _, elsewhere = adding(driver, other)
    for _ in range(LAUNCHES):
        elsewhere()
        driver.wait_event(queue, driver.event(other))
        launch()
    queue.completion().wait()
    assert other.completion().done() and (page.bytes.view(np.int32) == LAUNCHES).all()
    other.close()
