"""Real drivers over host memory: storage is a NumPy array, a program is a Python function.

`ArrayDriver` runs everything at once. `ThreadDriver` runs each queue on a thread of its own, so
that work which the server did not order really overtakes.
"""

from __future__ import annotations

import queue as queues
import struct
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ruda_core.artifact import (
    ArrayParam,
    BindingSpec,
    KernelSource,
    ParameterLayout,
    RudaDim,
    ScalarParam,
    Site,
    Slot,
    VariantFacts,
)
from ruda_core.capabilities import Device, DeviceProperties, Target
from ruda_core.driver import COMPLETED, Driver, DriverTraits, Pending
from ruda_core.dtypes import BY_NAME
from ruda_core.launcher import LaunchPlan

PROPERTIES: dict[str, Any] = {
    "name": "arrays",
    "fingerprint": "arrays-1",
    "max_units_per_workgroup": 256,
    "max_workgroup_dim": (256, 256, 64),
    "max_workgroup_count": (65535, 65535, 65535),
    "max_shared_memory": 1 << 14,
    "max_bindings": 16,
    "max_allocation": 1 << 30,
}
_KINDS = frozenset(BY_NAME)


class ArrayDriver(Driver):
    """Runs everything before the call returns. `capacity` bounds the bytes it gives out."""

    def __init__(
        self,
        device: Device,
        *,
        capacity: int = 1 << 40,
        traits: DriverTraits | None = None,
        index64: bool = False,
        **properties: Any,
    ) -> None:
        self.properties = DeviceProperties(**{**PROPERTIES, **properties})
        self.target = Target(storage=_KINDS, arithmetic=_KINDS, index64=index64)
        self.traits = traits or DriverTraits(queues=4)
        self.capacity = capacity
        self.held = 0
        self.sizes: list[int] = []
        self.released: list[int] = []
        self.loads = 0
        self.launches: list[tuple[Any, ...]] = []
        self.report: Any = None
        self.fail_next: Exception | None = None

    def allocate(self, nbytes: int) -> Any:
        assert nbytes % 256 == 0
        if self.held + nbytes > self.capacity:
            raise MemoryError
        self.held += nbytes
        self.sizes.append(nbytes)
        return np.full(nbytes, 0xA5, np.uint8)

    def release(self, storage: Any) -> None:
        self.held -= storage.nbytes
        self.released.append(storage.nbytes)

    def open_queue(self, report: Any) -> Any:
        self.report = report
        return object()

    def completion(self, queue: Any) -> Pending:
        return COMPLETED

    def write(self, queue: Any, storage: Any, offset: int, data: memoryview) -> None:
        storage[offset : offset + data.nbytes] = np.frombuffer(data, np.uint8)

    def read(self, queue: Any, storage: Any, offset: int, out: memoryview) -> Pending:
        np.frombuffer(out, np.uint8)[:] = storage[offset : offset + out.nbytes]
        return COMPLETED

    def load(self, source: KernelSource, binary: bytes | None) -> Any:
        self.loads += 1
        return source

    def binary(self, program: Any) -> bytes | None:
        return b"binary of " + program.digest.encode()

    def launcher(self, program: Any, queue: Any) -> Any:
        def launch(stream: int, x: int, y: int, z: int, *rest: Any) -> None:
            if self.fail_next is not None:
                error, self.fail_next = self.fail_next, None
                raise error
            self.launches.append((program.name, stream, (x, y, z)))
            run(program, (x, y, z), rest[:-1], rest[-1])

        return launch


class Done(Pending):
    """Set by a worker thread when it has come this far."""

    def __init__(self) -> None:
        self.event = threading.Event()
        self.callbacks: list[Callable[[], None]] = []
        self.lock = threading.Lock()
        self.error: Exception | None = None

    def done(self) -> bool:
        return self.event.is_set()

    def wait(self) -> None:
        self.event.wait()
        if self.error is not None:
            raise self.error

    def on_done(self, callback: Callable[[], None]) -> bool:
        with self.lock:
            if not self.event.is_set():
                self.callbacks.append(callback)
                return True
        callback()
        return True

    def set(self) -> None:
        with self.lock:
            self.event.set()
        for callback in self.callbacks:
            callback()


class Worker:
    """A queue: jobs in order on one thread."""

    def __init__(self) -> None:
        self.jobs: queues.SimpleQueue[Callable[[], None]] = queues.SimpleQueue()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            self.jobs.get()()


class ThreadDriver(ArrayDriver):
    """Each queue is a thread. `delay` seconds pass before each launch runs."""

    delay = 0.0

    def open_queue(self, report: Any) -> Any:
        self.report = report
        return Worker()

    def completion(self, queue: Any) -> Pending:
        done = Done()
        queue.jobs.put(done.set)
        return done

    def event(self, queue: Any) -> Any:
        return self.completion(queue)

    def wait_event(self, queue: Any, event: Any) -> None:
        queue.jobs.put(event.wait)

    def write(self, queue: Any, storage: Any, offset: int, data: memoryview) -> None:
        copy = np.frombuffer(bytes(data), np.uint8)

        def job() -> None:
            storage[offset : offset + copy.nbytes] = copy

        queue.jobs.put(job)

    def read(self, queue: Any, storage: Any, offset: int, out: memoryview) -> Pending:
        done = Done()

        def job() -> None:
            np.frombuffer(out, np.uint8)[:] = storage[offset : offset + out.nbytes]
            done.set()

        queue.jobs.put(job)
        return done

    def copy(self, queue: Any, source: Any, at: int, target: Any, to: int, nbytes: int) -> bool:
        def job() -> None:
            target[to : to + nbytes] = source[at : at + nbytes]

        queue.jobs.put(job)
        return True

    def launcher(self, program: Any, queue: Any) -> Any:
        def launch(stream: int, x: int, y: int, z: int, *rest: Any) -> None:
            def job() -> None:
                time.sleep(self.delay)
                try:
                    run(program, (x, y, z), rest[:-1], rest[-1])
                except Exception as error:
                    self.report(stream, error)

            queue.jobs.put(job)

        return launch


def run(source: KernelSource, grid: tuple[int, int, int], storages: Sequence[Any], words: bytes) -> None:
    """Give a program its arrays and scalars by name, as a kernel on a device would find them."""
    values = struct.unpack(source.layout.format, words)
    slots = {slot.field: value for slot, value in zip(source.layout.slots, values, strict=True)}
    given: dict[str, Any] = {"grid": grid, "slots": slots}
    for binding, storage in zip(source.bindings, storages, strict=True):
        if not binding.arrays:
            given["faults"] = storage[:64].view(np.uint32)
        for name in binding.arrays:
            param = next(p for p in source.params if p.name == name)
            given[name] = _array(param, storage, slots)
    for param in source.params:
        if isinstance(param, ScalarParam):
            given[param.name] = slots[f"s_{param.name}"]
    source.program(**given)


def _array(param: ArrayParam, storage: Any, slots: dict[str, Any]) -> Any:
    item = BY_NAME[param.dtype]
    flat = storage.view(item.numpy)
    start = slots[f"offset_{param.name}_0"] * (1 if param.lanes == 3 else param.lanes)
    if param.rank is None:
        return flat[start : start + slots[f"length_{param.name}_0"] * param.lanes]
    shape = [slots[f"shape_{param.name}_{axis}"] for axis in range(param.rank)]
    strides = [slots[f"stride_{param.name}_{axis}"] * item.itemsize for axis in range(param.rank)]
    return np.lib.stride_tricks.as_strided(flat[start:], shape, strides)


NO_FACTS = VariantFacts()
_WIDE = {"bool": "u32", "u8": "u32", "u16": "u32", "i8": "i32", "i16": "i32", "f16": "f32", "bf16": "f32"}


def source_of(
    fn: Callable[..., None],
    params: Sequence[ScalarParam | ArrayParam],
    facts: VariantFacts = NO_FACTS,
    *,
    writes: Sequence[str] = (),
    mode: Any = "checked",
    dim: tuple[int, int, int] = (1, 1, 1),
    sites: tuple[Site, ...] = (),
    shared: int = 0,
) -> KernelSource:
    """A KernelSource whose program is `fn`; called with `grid`, `slots` and each parameter by name."""
    index = "i64" if facts.index64 else "i32"
    slots = [Slot("count", index, axis=axis) for axis in range(3)] + [Slot("zero", "u32")]
    if mode == "validate":
        slots.append(Slot("program", "u32"))
    arrays = [p for p in params if isinstance(p, ArrayParam)]
    for p in arrays:
        slots += [Slot("length", index, p.name), Slot("offset", index, p.name)]
        for axis in range(p.rank or 0):
            slots += [Slot("shape", index, p.name, axis), Slot("stride", index, p.name, axis)]
    slots += [
        Slot("scalar", _WIDE.get(p.dtype, p.dtype), p.name) for p in params if isinstance(p, ScalarParam)
    ]
    grouped = {name: group for group in facts.groups for name in group}
    bindings, seen = [], set()
    for p in arrays:
        group = grouped.get(p.name, (p.name,))
        if group not in seen:
            seen.add(group)
            bindings.append(BindingSpec(group[0], p.dtype, group, True, any(n in writes for n in group)))
    if mode == "validate":
        bindings.append(BindingSpec("faults", "u32", (), True, True))
    return KernelSource(
        name=fn.__name__,
        entry=fn.__name__,
        dialect="python",
        text="",
        layout=ParameterLayout.of(slots),
        bindings=tuple(bindings),
        params=tuple(params),
        dim=dim,
        mode=mode,
        shared_memory=shared,
        spread=facts.spread,
        sites=sites,
        file="kernels.py",
        line=7,
        digest=f"{fn.__name__}-{id(fn)}-{facts}-{mode}-{dim}",
        program=fn,
    )


def plan_of(
    fn: Callable[..., None],
    *params: ScalarParam | ArrayParam,
    dim: tuple[int, int, int] = (1, 1, 1),
    seen: list[VariantFacts] | None = None,
    **options: Any,
) -> LaunchPlan:
    """A LaunchPlan over `fn`; the facts that it is asked for are appended to `seen`."""

    def variant(facts: VariantFacts) -> KernelSource:
        if seen is not None:
            seen.append(facts)
        return source_of(fn, params, facts, dim=dim, **options)

    return LaunchPlan(
        kernel=fn.__name__,
        file="kernels.py",
        line=7,
        params=params,
        dim=RudaDim(*dim),
        mode=options.get("mode", "checked"),
        variant=variant,
    )


def array(name: str, dtype: str = "f32", lanes: int = 1, rank: int | None = None) -> ArrayParam:
    return ArrayParam(name, dtype, lanes, rank)


def scalar(name: str, dtype: str = "f32") -> ScalarParam:
    return ScalarParam(name, dtype)
