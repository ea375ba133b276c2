"""What core itself costs: launches, allocations and replays over a driver that does nothing.

Run `python benchmarks/launcher_cost.py`; prints microseconds, the best of many short rounds (the machine may be busy).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ruda_core.artifact import (
    ArrayParam,
    BindingSpec,
    KernelSource,
    ParameterLayout,
    RudaDim,
    ScalarParam,
    Slot,
    VariantFacts,
)
from ruda_core.capabilities import Device, DeviceProperties, Target
from ruda_core.client import ComputeClient
from ruda_core.driver import COMPLETED, Driver, DriverTraits, Pending
from ruda_core.launcher import LaunchPlan, build_launcher, prepare_launch
from ruda_core.server import DriverServer
from ruda_core.tensor import ArrayArg

KINDS = frozenset({"f32", "i32", "u32"})


class NullDriver(Driver):
    """Takes everything and does nothing."""

    def __init__(self, device: Device) -> None:
        self.traits = DriverTraits()
        self.target = Target(storage=KINDS, arithmetic=KINDS)
        self.properties = DeviceProperties(
            name="nothing",
            max_units_per_workgroup=1024,
            max_workgroup_dim=(1024, 1024, 64),
            max_workgroup_count=(2**31 - 1, 65535, 65535),
            max_shared_memory=1 << 15,
            max_bindings=64,
            max_allocation=1 << 40,
        )

    def allocate(self, nbytes: int) -> Any:
        return object()

    def open_queue(self, report: Any) -> Any:
        return object()

    def completion(self, queue: Any) -> Pending:
        return COMPLETED

    def write(self, queue: Any, storage: Any, offset: int, data: memoryview) -> None:
        return None

    def read(self, queue: Any, storage: Any, offset: int, out: memoryview) -> Pending:
        return COMPLETED

    def load(self, source: KernelSource, binary: bytes | None) -> Any:
        return source

    def launcher(self, program: Any, queue: Any) -> Any:
        def launch(stream: int, x: int, y: int, z: int, a: Any, b: Any, words: bytes) -> None:
            return None

        return launch


PARAMS = (ScalarParam("a", "f32"), ScalarParam("n", "i32"), ArrayParam("x", "f32"), ArrayParam("y", "f32"))


def variant(facts: VariantFacts) -> KernelSource:
    """Two arrays and two scalars, with every hidden slot."""
    slots = [Slot("count", "i32", axis=0), Slot("zero", "u32")]
    slots += [Slot(kind, "i32", name) for name in "xy" for kind in ("length", "offset")]
    slots += [Slot("scalar", "f32", "a"), Slot("scalar", "i32", "n")]
    return KernelSource(
        name="nothing",
        entry="nothing",
        dialect="none",
        text="",
        layout=ParameterLayout.of(slots),
        bindings=(BindingSpec("x", "f32", ("x",), True, False), BindingSpec("y", "f32", ("y",), True, True)),
        params=PARAMS,
        dim=(64, 1, 1),
        mode="checked",
        digest=str(facts),
    )


def cost(call: Callable[[], object], rounds: int = 101, calls: int = 1000) -> float:
    """Microseconds of one call, the loop around it taken off."""
    loop = range(calls)
    taken, empty = [], []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in loop:
            call()
        taken.append(time.perf_counter() - start)
        start = time.perf_counter()
        for _ in loop:
            _nothing()
        empty.append(time.perf_counter() - start)
    return (min(taken) - min(empty)) / calls * 1e6


def _nothing() -> None:
    return None


def main() -> None:
    """Print the table."""
    device = Device("nothing")
    client = ComputeClient(DriverServer(device, NullDriver(device)), None)
    plan = LaunchPlan(
        kernel="nothing",
        file=__file__,
        line=1,
        params=PARAMS,
        dim=RudaDim(64),
        mode="checked",
        variant=variant,
    )
    launch = build_launcher(client.server, plan)
    x, y, short = (client.zeros(n, "f32") for n in (1000, 1000, 10))
    bx, by = ArrayArg(x.handle, 1000), ArrayArg(y.handle, 1000)
    prepared = prepare_launch(launch, client, (2.0, 5, x, y))
    with client.capture() as graph:
        for _ in range(100):
            launch(client, 10, 2.0, 5, x, y)
    rows: dict[str, Callable[[], object]] = {
        "launch, 2 tensors and 2 scalars": lambda: launch(client, 10, 2.0, 5, x, y),
        "launch, other facts (lengths differ)": lambda: launch(client, 10, 2.0, 5, x, short),
        "launch, 2 ArrayArgs": lambda: launch(client, 10, 2.0, 5, bx, by),
        "prepared launch": lambda: prepared(10, 2.0, 5, x, y),
        "allocate and free 4 KiB": lambda: client.empty(4096),
        "allocate and free 4 MiB": lambda: client.empty(4 << 20),
        "a view": lambda: x[1:],
    }
    for name, call in rows.items():
        print(f"{name:40s} {cost(call):6.2f} us")
    print(f"{'replay of 100 launches, each':40s} {cost(graph.replay, calls=50) / 100:6.2f} us")


if __name__ == "__main__":
    main()
