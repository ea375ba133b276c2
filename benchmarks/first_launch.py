"""What the first launch of a kernel costs in a fresh process, with everything imported and all data made before.

    python benchmarks/first_launch.py [DEVICE...]

`compiled`: nothing is on disk. `from disk`: an earlier process launched the same. Medians over processes, in
turn; the time that the processor worked stands beside the time that passed, since the processes of others on
the machine lengthen only the latter. The goal is that of the processor, whose driver compiles nothing.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time

import kernels
import numpy as np
from timing import Row, limit_row, show

import ruda_core as ruda

PROCESSES = 7
GOAL = 5.0
"""Milliseconds from disk, where the driver only maps code."""


def first_launch(device: str) -> tuple[float, float]:
    """Seconds that pass, and that the processor works, in this process's first launch."""
    client = ruda.client(device)
    tensors = (client.zeros(1024, np.float32), client.zeros(1024, np.float32))
    client.sync().result()
    start, worked = time.perf_counter(), time.process_time()
    kernels.saxpy.launch(client, 4, 256, 2.0, *tensors)
    client.sync().result()
    return time.perf_counter() - start, time.process_time() - worked


def in_process(device: str, directory: str, bytecode: str) -> tuple[float, float]:
    """The same in a fresh process whose cache is in `directory`."""
    environment = {**os.environ, "RUDA_CACHE_DIR": directory, "PYTHONPYCACHEPREFIX": bytecode}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, __file__, "--first", device]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    passed, worked = map(float, done.stdout.split())
    return passed, worked


def rows_of(device: str, bytecode: str) -> list[Row]:
    """Both kinds of launch on one device."""
    cold, warm = [], []
    for turn in range(PROCESSES + 1):
        with tempfile.TemporaryDirectory() as directory:
            pair = [in_process(device, directory, bytecode) for _ in range(2)]
        if turn:  # the first wrote Python's own bytecode, as an installation does
            cold.append(pair[0])
            warm.append(pair[1])
    rows = []
    for what, samples in (("compiled", cold), ("from disk", warm)):
        passed, worked = (statistics.median(column) * 1e3 for column in zip(*samples, strict=True))
        name = f"{device}, {what} (processor {worked:.2f} ms)"
        goal = samples is warm and device.startswith("cpu")
        rows.append(
            limit_row(name, passed / 1e3, GOAL, scale=1e3, unit="ms")
            if goal
            else Row(name, f"{passed:.2f} ms", "", None, "", None)
        )
    return rows


def main(names: list[str]) -> None:
    if names[:1] == ["--first"]:
        print(*first_launch(names[1]))
        return
    present = [d for d in ruda.devices() if ruda.runtime(d.backend).dialect_path]
    chosen = [str(d) for d in present if not names or str(d) in names or d.backend in names]
    load = ", ".join(f"{x:.2f}" for x in os.getloadavg())
    with tempfile.TemporaryDirectory() as bytecode:
        rows = [row for device in chosen for row in rows_of(device, bytecode)]
    show(f"first launch of saxpy in a fresh process, load {load}", rows)


if __name__ == "__main__":
    main(sys.argv[1:])
