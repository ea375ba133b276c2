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
from dataclasses import dataclass
from functools import partial
from typing import Any

import cpu_kernels
import cpu_numba
import kernels
import numpy as np
from cpu_kernels import BINS, TILE, UNITS, WEIGHTS
from timing import Row, limit_row, median_each, ratio_row, show

import ruda_core as ruda

ELEMENTS = 1 << 24
MATRIX = 512
WIDTH, HEIGHT = 1024, 768
VIEW = (-2.25, -1.25, 3.0 / WIDTH)
"""Left, top and step of the picture."""
CAP = 200
IMAGE = 2048
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
MS: Any = {"scale": 1e3, "unit": "ms"}

Call = Callable[[], object]


# Measurements -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """One measurement: what to launch, what to compare it with, and the goals."""

    launch: Callable[[ruda.ComputeClient], tuple[Call, Callable[[], Any]]]
    """For a client: a launch, and its result on the host."""
    expected: Callable[[], Any]
    """The result by NumPy."""
    numba: Mapping[str, tuple[Callable[..., None], tuple[Any, ...]]]
    """Each good way to write it: the function and its arguments, the result last. Each gets arrays of its own: what
    one has in the caches must not serve the next."""
    same: str
    """The way that is the same program as the kernel."""
    goal: float
    """Of our time over that of the same program; shown for the fastest way, too."""
    numpy: Call | None = None
    numpy_goal: float | None = None
    agree: float = 1.0
    """The share of the results that must be right; where rounding decides, less than all."""


def saxpy_case() -> Case:
    x, y = np.ones(ELEMENTS, np.float32), np.ones(ELEMENTS, np.float32)
    spare = np.empty_like(x)

    def launch(client: ruda.ComputeClient) -> tuple[Call, Callable[[], Any]]:
        device_x, device_y = client.tensor(x), client.tensor(x)
        first = client.tensor(x)
        groups = ELEMENTS // UNITS
        kernels.saxpy.launch(client, groups, UNITS, 2.0, device_x, first)
        return (
            lambda: kernels.saxpy.launch(client, groups, UNITS, 2.0, device_x, device_y),
            first.numpy,
        )

    def by_numpy() -> None:
        np.multiply(x, np.float32(2), out=spare)
        np.add(spare, y, out=y)

    functions = {"prange": (cpu_numba.saxpy, (np.float32(2), x, y))}
    return Case(launch, lambda: np.full(ELEMENTS, 3, np.float32), functions, "prange", 1.0, by_numpy, 1.1)


def matmul_case() -> Case:
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-4, 5, (MATRIX, MATRIX)).astype(np.float32) for _ in range(2))

    def launch(client: ruda.ComputeClient) -> tuple[Call, Callable[[], Any]]:
        arrays = (client.tensor(a), client.tensor(b), client.zeros((MATRIX, MATRIX), np.float32))
        count = (MATRIX // TILE, MATRIX // TILE)
        return lambda: cpu_kernels.matmul.launch(client, count, (TILE, TILE), MATRIX, *arrays), arrays[
            2
        ].numpy

    c = np.empty_like(a)
    functions = {
        "rows": (cpu_numba.matmul, (a, b, c)),
        "blocked": (cpu_numba.matmul_blocked, (a, b, c)),
        "tiled": (cpu_numba.matmul_tiled, (a, b, c)),
    }
    return Case(launch, lambda: a @ b, functions, "tiled", 0.3, lambda: np.matmul(a, b, out=c))


def reduce_case() -> Case:
    x = np.random.default_rng(1).integers(-4, 5, ELEMENTS).astype(np.float32)
    sums = np.empty(ELEMENTS // UNITS, np.float32)

    def launch(client: ruda.ComputeClient) -> tuple[Call, Callable[[], Any]]:
        device_x, device_sums = client.tensor(x), client.zeros(len(sums), np.float32)
        return lambda: cpu_kernels.reduce.launch(
            client, len(sums), UNITS, device_x, device_sums
        ), device_sums.numpy

    rows = x.reshape(-1, UNITS)
    functions = {
        "plain": (cpu_numba.reduce, (x, sums)),
        "lanes": (cpu_numba.reduce_lanes, (x, sums)),
        "tree": (cpu_numba.reduce_tree, (x, sums)),
    }
    return Case(launch, lambda: rows.sum(1), functions, "tree", 0.4, lambda: rows.sum(1), 1.1)


def histogram_case() -> Case:
    data = np.random.default_rng(1).integers(0, BINS, ELEMENTS, np.uint8)

    def launch(client: ruda.ComputeClient) -> tuple[Call, Callable[[], Any]]:
        device_data = client.tensor(data)
        out, first = client.zeros(BINS, np.uint32), client.zeros(BINS, np.uint32)
        cpu_kernels.histogram.launch(client, 64, UNITS, device_data, first)
        return lambda: cpu_kernels.histogram.launch(client, 64, UNITS, device_data, out), first.numpy

    out = np.empty(BINS, np.uint32)
    functions = {
        "private": (cpu_numba.histogram, (data, out)),
        "four": (cpu_numba.histogram_four, (data, out)),
    }
    by_numpy = lambda: np.bincount(data, minlength=BINS)  # noqa: E731  # used twice below
    return Case(launch, by_numpy, functions, "private", 1.0, by_numpy)


def mandelbrot_case() -> Case:
    counts = np.empty((HEIGHT, WIDTH), np.int32)

    def launch(client: ruda.ComputeClient) -> tuple[Call, Callable[[], Any]]:
        out = client.zeros((HEIGHT, WIDTH), np.int32)
        count = (WIDTH // 64, HEIGHT // 4)
        return lambda: cpu_kernels.mandelbrot.launch(client, count, (64, 4), *VIEW, CAP, out), out.numpy

    functions = {"rows": (cpu_numba.mandelbrot, (*(np.float32(v) for v in VIEW), CAP, counts))}
    return Case(launch, mandelbrot_reference, functions, "rows", 0.3, agree=0.98)


def mandelbrot_reference() -> Any:
    left, top, step = (np.float32(v) for v in VIEW)
    rows, cols = np.indices((HEIGHT, WIDTH)).astype(np.float32)
    cx, cy = left + step * cols, top + step * rows
    x, y, counts = np.zeros_like(cx), np.zeros_like(cx), np.zeros(cx.shape, np.int32)
    for _ in range(CAP):
        inside = x * x + y * y <= 4
        counts += inside
        x, y = np.where(inside, x * x - y * y + cx, x), np.where(inside, 2 * x * y + cy, y)
    return counts


def convolve_case() -> Case:
    image = np.random.default_rng(1).integers(0, 16, (IMAGE, IMAGE)).astype(np.float32)
    padded, weights, out = np.pad(image, 2), np.array(WEIGHTS, np.float32), np.empty_like(image)

    def launch(client: ruda.ComputeClient) -> tuple[Call, Callable[[], Any]]:
        source, result = client.tensor(image), client.zeros(image.shape, np.float32)
        return lambda: cpu_kernels.convolve.launch(
            client, (IMAGE // 64, IMAGE // 4), (64, 4), source, result
        ), result.numpy

    def by_numpy() -> Any:
        total = np.zeros_like(image)
        for dy in range(5):
            for dx in range(5):
                total += weights[dy, dx] * padded[dy : dy + IMAGE, dx : dx + IMAGE]
        return total

    arguments = (padded, weights, out)
    functions = {"pixels": (cpu_numba.convolve, arguments), "rows": (cpu_numba.convolve_rows, arguments)}
    return Case(launch, by_numpy, functions, "pixels", 0.8, by_numpy)


CASES: dict[str, tuple[str, Callable[[], Case]]] = {
    "saxpy": ("saxpy, 16M", saxpy_case),
    "matmul": ("tiled matmul, 512", matmul_case),
    "reduce": ("sums of 256, 16M", reduce_case),
    "histogram": ("histogram of bytes, 16M", histogram_case),
    "mandelbrot": ("Mandelbrot, 1024 x 768", mandelbrot_case),
    "convolve": ("5 x 5 convolution, 2048 x 2048", convolve_case),
}


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
