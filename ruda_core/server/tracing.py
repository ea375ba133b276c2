"""Launch functions that tell the recorders of open traces about each launch."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from ruda_core.driver import Driver, LaunchFunction
from ruda_core.profiling import Recorder
from ruda_core.server.programs import Program
from ruda_core.server.queue import Queue


def traced_launch(
    driver: Driver, queue: Queue, program: Program, recorders: Sequence[Recorder]
) -> LaunchFunction:
    """The queue's launch function with two readings of the device's clock around it.

    A device without a clock gets a completion after each launch instead, which submits but does
    not wait.
    """
    launch = queue.base[program]
    name = program.source.name
    native = queue.native

    def traced(*arguments: Any) -> None:
        begin = driver.timestamp(native)
        start = time.perf_counter_ns()
        launch(*arguments)
        stop = time.perf_counter_ns()
        end = driver.timestamp(native) if begin is not None else None
        pending = driver.completion(native) if end is None else None
        for recorder in recorders:
            recorder.launch(name, queue.index, start, stop, begin, end, pending)

    return traced
