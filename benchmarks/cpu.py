"""What the processor gives through ruda, against Numba at its best, NumPy and PoCL in the same run.

    python benchmarks/cpu.py [NAME...]

Kernels are launched in checked mode and waited for; peers run warm, on typed arrays, and where one can be
written in several good ways there are two rows: the same program as the kernel, and the fastest. NAME picks some of the measurements. Peers that are not
installed are left out, and the output says so.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import cpu_numba
import kernels
import numpy as np
from cpu_cases import CASES, Call
from cpu_kernels import UNITS
from timing import Row, limit_row, median_each, ratio_row, show

import ruda_core as ruda

PROCESSES = 5
LAUNCHES = 500
REPEAT = 9
TURN = 0.03
"""Seconds of our calls in a turn, at least two. Peers make as many: the first ones find in the caches what another has
left there, so a turn of fewer calls would take longer for each."""
LONGEST_TURN = 0.3
"""Seconds of a turn of a peer so slow that this does not matter."""
SETTLE = 0.15
"""Seconds between the turns, of all alike: OpenMP's and OpenBLAS's threads go on spinning after a call, on the
processors that whoever comes next needs; OpenBLAS's for up to 2**28 cycles of the clock."""
CPU, OPENCL = "cpu:0", "opencl:0"
READING = "reading"
MS: Any = {"scale": 1e3, "unit": "ms"}

# Measurements -------------------------------------------------------------------------------------


def seconds_of(name: str, clients: Mapping[str, ruda.ComputeClient]) -> list[Row]:
    """The rows of one case: ours on the processor against each peer that is here."""
    title, make = CASES[name]
    case = make()
    expected = case.expected()
    calls: dict[str, Call] = {}
    for device, client in clients.items():
        launch, result = case.launch(client)
        calls[device] = waited(client, launch)
        calls[device]()
        check(f"{title} on {device}", result(), expected, case.agree)
    if cpu_numba.numba is not None:
        for way, (function, arguments) in case.numba.items():
            own = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
            call = partial(cpu_numba.compiled(function), *own)
            calls[f"Numba {way}"] = call
            call()
            check(f"{title} by Numba {way}", own[-1], expected, case.agree)
        if case.reads is not None:
            calls[READING] = partial(cpu_numba.compiled(cpu_numba.read), *case.reads)
            calls[READING]()
    if case.numpy is not None:
        calls["NumPy"] = case.numpy
    settle = partial(time.sleep, SETTLE)
    once = median_each(list(calls.values()), repeat=3, number=1, settle=settle)
    number = max(2, round(TURN / once[0]))
    turns = [
        partial(repeated, call, min(number, max(2, round(LONGEST_TURN / t))))
        for call, t in zip(calls.values(), once, strict=True)
    ]
    each = median_each(turns, repeat=REPEAT, number=1, settle=settle)
    times = {name: t / turn.args[1] for name, t, turn in zip(calls, each, turns, strict=True)}
    ours = times[CPU]
    rows = []
    ways = {way: times[f"Numba {way}"] for way in case.numba if f"Numba {way}" in times}
    if ways:
        best = min(ways, key=lambda way: ways[way])
        rows.append(ratio_row(f"{title}, Numba {case.same}", ours, ways[case.same], case.goal, **MS))
        if best != case.same:
            rows.append(ratio_row(f"{title}, Numba {best}, its fastest", ours, ways[best], case.goal, **MS))
    if READING in times:
        rows.append(without_goal(f"{title}, reading alone, by Numba", times[READING], ways[case.same]))
    if OPENCL in times:
        rows.append(ratio_row(f"{title}, PoCL through ruda", ours, times[OPENCL], 1.0, **MS))
    if case.numpy_goal is not None:
        rows.append(ratio_row(f"{title}, NumPy", ours, times["NumPy"], case.numpy_goal, **MS))
    elif "NumPy" in times:
        rows.append(without_goal(f"{title}, NumPy", ours, times["NumPy"]))
    return rows


def check(what: str, got: Any, expected: Any, agree: float) -> None:
    """End the program where less than a share `agree` of the results is right."""
    right = float(np.mean(got == expected))
    if right < agree:
        raise SystemExit(f"{what}: only {right:.1%} of the results are right")


def repeated(call: Call, number: int) -> None:
    for _ in range(number):
        call()


def waited(client: ruda.ComputeClient, launch: Call) -> Call:
    """The launch, and waiting for it."""

    def call() -> None:
        launch()
        client.sync().result()

    return call


def without_goal(what: str, ours: float, peer: float, scale: float = 1e3, unit: str = "ms") -> Row:
    """A ratio that is only shown."""
    return Row(what, f"{ours * scale:.2f} {unit}", f"{peer * scale:.2f} {unit}", ours / peer, "", None)


def launches(clients: Mapping[str, ruda.ComputeClient]) -> list[Row]:
    """Launches of 1,024 elements one after another, then waited for; a call of Numba's beside."""
    calls: list[Call] = []
    for client in clients.values():
        x, y = client.zeros(1024, np.float32), client.zeros(1024, np.float32)
        calls.append(partial(many_launches, client, x, y))
    if cpu_numba.numba is not None:
        host = np.zeros(1024, np.float32), np.zeros(1024, np.float32)
        calls.append(partial(many_calls, cpu_numba.compiled(cpu_numba.saxpy), np.float32(2), *host))
    for call in calls:
        call()
    times = [t / LAUNCHES for t in median_each(calls, repeat=21, number=1)]
    rows = [limit_row("launch of 1,024 elements", times[0], 5.0)]
    if OPENCL in clients:
        rows.append(ratio_row("launch of 1,024 elements, PoCL through ruda", times[0], times[1], 1.0))
    if cpu_numba.numba is not None:
        rows.append(without_goal("launch of 1,024 elements, Numba parallel", times[0], times[-1], 1e6, "µs"))
    return rows


def many_launches(client: ruda.ComputeClient, x: ruda.RudaTensor, y: ruda.RudaTensor) -> None:
    launch = kernels.saxpy.launch
    for _ in range(LAUNCHES):
        launch(client, 4, UNITS, 2.0, x, y)
    client.sync().result()


def many_calls(function: Callable[..., None], *arguments: Any) -> None:
    for _ in range(LAUNCHES):
        function(*arguments)


# Compilation --------------------------------------------------------------------------------------


def first_call(what: str) -> float:
    """Seconds of the first call in this process, everything imported and all data made before."""
    if what == "numba":
        x, y = np.zeros(1024, np.float32), np.zeros(1024, np.float32)
        function = cpu_numba.compiled(cpu_numba.saxpy)
        start = time.perf_counter()
        function(np.float32(2), x, y)
        return time.perf_counter() - start
    client = ruda.client(CPU)
    tensors = (client.zeros(1024, np.float32), client.zeros(1024, np.float32))
    client.sync().result()
    start = time.perf_counter()
    kernels.saxpy.launch(client, 4, UNITS, 2.0, *tensors)
    client.sync().result()
    return time.perf_counter() - start


def compilation() -> list[Row]:
    """saxpy's first launch in fresh processes, in turn: with an empty cache, from its disk, and Numba's."""
    samples: dict[str, list[float]] = {"cold": [], "disk": []}
    if cpu_numba.numba is not None:
        samples["numba"] = []
    with tempfile.TemporaryDirectory() as bytecode:
        for turn in range(PROCESSES + 1):
            with tempfile.TemporaryDirectory() as directory:
                for what, kept in samples.items():
                    seconds = in_process(what, directory, bytecode)
                    if turn:  # the first one wrote Python's own bytecode, as an installation does
                        kept.append(seconds)
    cold, disk, *peer = (statistics.median(kept) for kept in samples.values())
    rows = [limit_row("first launch, from the disk cache", disk, 5.0, **MS)]
    if peer:
        rows.append(ratio_row("first launch, compiled, Numba parallel", cold, peer[0], 0.15, **MS))
    else:
        rows.append(Row("first launch, compiled", f"{cold * 1e3:.2f} ms", "", None, "", None))
    return rows


def in_process(what: str, directory: str, bytecode: str) -> float:
    """`first_call` in a fresh process whose cache is in `directory`."""
    environment = {**os.environ, "RUDA_CACHE_DIR": directory, "PYTHONPYCACHEPREFIX": bytecode}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, __file__, "--first", what],
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return float(done.stdout)


def main(names: list[str]) -> None:
    if names[:1] == ["--first"]:
        print(first_call(names[1]))
        return
    unknown = set(names) - {*CASES, "compile", "launch"}
    if unknown:
        raise SystemExit(f"no {', '.join(sorted(unknown))}: {', '.join([*CASES, 'compile', 'launch'])}")
    present = {str(d): d for d in ruda.devices()}
    if CPU not in present:
        raise SystemExit("no device cpu:0: pip install ruda-cpu")
    clients = {CPU: ruda.client(present[CPU])}
    if OPENCL in present and present[OPENCL].kind == "cpu":
        clients[OPENCL] = ruda.client(present[OPENCL])
    else:
        print("no PoCL peer: OpenCL shows no processor first")
    if cpu_numba.numba is None:
        print("no Numba peer: it is not installed")
    rows: list[Row] = []
    for name in names or [*CASES, "launch", "compile"]:
        if name == "compile":
            rows += compilation()
        elif name == "launch":
            rows += launches(clients)
        else:
            rows += seconds_of(name, clients)
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    show(f"{present[CPU].name}, {os.cpu_count()} processors, load {load}", rows)


if __name__ == "__main__":
    main(sys.argv[1:])
