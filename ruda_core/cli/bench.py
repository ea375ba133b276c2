"""`ruda bench`: what launches, transfers and memory cost on each usable device."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

import ruda_core as ruda
from ruda_core.cli.demo import kernels
from ruda_core.cli.tables import print_json, print_table

_BYTES = 64 << 20
_ELEMENTS = 1 << 24


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`[--device D] [--json]`."""
    parser.add_argument("--device", help="only this device, such as cuda:0; by default all that are usable")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Measure and print one row for each device."""
    devices = [ruda.client(arguments.device).device] if arguments.device else ruda.devices()
    rows = [{"device": str(device), **measure(ruda.client(device))} for device in devices]
    if arguments.json:
        print_json(rows)
        return 0
    columns = ("device", "launch µs", "prepared µs", "write GB/s", "read GB/s", "saxpy GB/s")
    print_table(
        columns, ([str(row["device"]), *(f"{v:.2f}" for v in list(row.values())[1:])] for row in rows)
    )
    return 0


def measure(client: ruda.ComputeClient) -> dict[str, float | str]:
    """Medians: host time of a launch in µs, transfers of 64 MiB and a saxpy of 2^24 f32 in GB/s."""
    x, y = client.zeros(1024, np.float32), client.zeros(1024, np.float32)
    prepared = kernels.saxpy.prepare(client, 64, 2.0, x, y)
    host = np.ones(_BYTES, np.uint8)
    handle = client.create_from_slice(host)
    big_x, big_y = client.zeros(_ELEMENTS, np.float32), client.zeros(_ELEMENTS, np.float32)

    def saxpy() -> None:
        kernels.saxpy.launch_over(client, _ELEMENTS, 2.0, big_x, big_y)
        client.sync().result()

    def written() -> None:
        client.write(handle, host)
        client.sync().result()

    return {
        "launch_us": 1e6 * _median(lambda: kernels.saxpy.launch(client, 16, 64, 2.0, x, y), 200),
        "prepared_us": 1e6 * _median(lambda: prepared(16, 2.0, x, y), 200),
        "write_gb_s": 1e-9 * _BYTES / _median(written, 1),
        "read_gb_s": 1e-9 * _BYTES / _median(lambda: client.read_one(handle), 1),
        "saxpy_gb_s": 1e-9 * 12 * _ELEMENTS / _median(saxpy, 1),
    }


def _median(function: Callable[[], object], number: int, repeat: int = 7) -> float:
    """Median seconds of a call, after one that is not counted."""
    function()
    samples = []
    for _ in range(repeat):
        start = time.perf_counter()
        for _ in range(number):
            function()
        samples.append((time.perf_counter() - start) / number)
    return statistics.median(samples)
