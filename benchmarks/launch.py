"""What a launch costs: ruda's own share over a driver that does nothing, and each device against its library.

python benchmarks/launch.py
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

import numpy as np
from kernels import scale
from timing import Row, limit_row, median_each, nothing, ratio_row, show

import ruda_core as ruda
from ruda_core.artifact import KernelSource
from ruda_core.capabilities import Device
from ruda_core.client import ComputeClient
from ruda_core.driver import COMPLETED, Driver, LaunchFunction, Pending, Report
from ruda_core.reference.target import TARGET, properties
from ruda_core.runtime import make_runtime


class NullDriver(Driver):
    """Memory and queues that are nothing, and launches that do nothing."""

    def __init__(self, device: Device) -> None:
        self.properties = properties()
        self.target = TARGET

    def allocate(self, nbytes: int) -> object:
        return object()

    def open_queue(self, report: Report) -> object:
        return object()

    def completion(self, queue: object) -> Pending:
        return COMPLETED

    def write(self, queue: object, storage: object, offset: int, data: memoryview) -> None:
        pass

    def read(self, queue: object, storage: object, offset: int, out: memoryview) -> Pending:
        return COMPLETED

    def load(self, source: KernelSource, binary: bytes | None) -> object:
        return source

    def launcher(self, program: object, queue: object) -> LaunchFunction:
        def launch(*args: object) -> None:
            pass

        return launch


class NullDevices:
    """One device."""

    def devices(self) -> tuple[Device, ...]:
        return (Device("null"),)

    def opening(self) -> None:
        """Any process may."""


def yardstick() -> None:
    """A fixed piece of Python, by which one sees how fast this machine's Python is just now."""
    table = {}
    for i in range(20):
        table[i] = i * 2


def null_client() -> ComputeClient:
    """A client whose server runs over `NullDriver`."""
    runtime = make_runtime("null", NullDevices(), driver=f"{__name__}:NullDriver", dialect=None)
    return ComputeClient(runtime.create_server(Device("null")), runtime)


Peer = tuple[Callable[[], object], Callable[[], object]]
"""A launch by another library, and the wait for all of them."""


def measure(client: ComputeClient, number: int, repeat: int = 21, peer: Peer | None = None) -> list[float]:
    """Median seconds of a generic launch, of a prepared one, and of the peer's."""
    x, y = client.zeros(1024, np.float32), client.zeros(1024, np.float32)
    for _ in range(2):
        scale.launch(client, 16, 64, 2.0, 1024, x, y)
    prepared = scale.prepare(client, 64, 2.0, 1024, x, y)
    launch = scale.launch
    functions: list[Callable[[], object]] = [
        lambda: launch(client, 16, 64, 2.0, 1024, x, y),
        lambda: prepared(16, 2.0, 1024, x, y),
    ]
    finish: Callable[[], object] = nothing
    if peer is not None:
        functions.append(peer[0])
        finish = peer[1]

    def settle() -> None:
        client.sync().result()
        finish()

    return median_each(functions, repeat=repeat, number=number, settle=settle)


def opencl_peer(client: ComputeClient) -> Peer:
    """PyOpenCL's own typed launch on the same device."""
    cl = importlib.import_module("pyopencl")
    context = cl.Context(client.resource(client.create_from_slice(bytes(4096))).context.devices)
    queue = cl.CommandQueue(context)
    text = (
        "__kernel void scale(float a, int n, __global const float *x, __global float *y)"
        "{ int i = get_global_id(0); if (i < n) y[i] = a * x[i]; }"
    )
    kernel = cl.Kernel(cl.Program(context, text).build(), "scale")
    kernel.set_scalar_arg_dtypes([np.float32, np.int32, None, None])
    x, y = (cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096) for _ in range(2))
    return lambda: kernel(queue, (1024,), (64,), 2.0, 1024, x, y), queue.finish


def opencl_rows(client: ComputeClient) -> list[Row]:
    """Against PyOpenCL: what ours adds where the device is a CPU, a ratio where it is not."""
    device = client.device
    generic, prepared, peer = measure(client, 200, peer=opencl_peer(client))
    if device.kind == "cpu":
        return [
            limit_row(f"{device}, launch less PyOpenCL's", generic - peer, 3.0),
            limit_row(f"{device}, prepared less PyOpenCL's", prepared - peer, 1.0),
        ]
    return [
        ratio_row(f"{device}, launch against PyOpenCL", generic, peer, 1.1),
        ratio_row(f"{device}, prepared against PyOpenCL", prepared, peer, 0.95),
    ]


def main() -> None:
    rows: list[Row] = []
    (fixed,) = median_each([yardstick], repeat=201, number=500)
    rows.append(Row("this machine: 20 dict stores in a loop", f"{fixed * 1e6:.2f} µs", "", None, "", None))
    generic, prepared = measure(null_client(), 2000, repeat=101)
    rows.append(limit_row("over nothing, launch", generic, 1.5))
    rows.append(limit_row("over nothing, prepared", prepared, 0.7))
    for device in ruda.devices():
        generic, prepared = measure(ruda.client(device), 200)
        rows.append(Row(f"{device}, launch", f"{generic * 1e6:.2f} µs", "", None, "", None))
        rows.append(Row(f"{device}, prepared", f"{prepared * 1e6:.2f} µs", "", None, "", None))
        if device.backend == "opencl":
            rows += opencl_rows(ruda.client(device))
    show("launch: 2 arrays, 2 scalars", rows)


if __name__ == "__main__":
    main()
