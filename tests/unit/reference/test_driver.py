"""The driver's contract, and what a launch costs and leaves behind."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace

import numpy as np
import pytest
from reference_harness import POS, Body, Kernel, array, below, length, num

from ruda_core.capabilities import ATOMIC_OPS, NATIVE_SEMANTICS, Device, features_of
from ruda_core.dtypes import f32, i32, u32
from ruda_core.errors import BackendCompileError, ServerError, UnsupportedFeature
from ruda_core.ir import build
from ruda_core.ir import nodes as ir
from ruda_core.ir.verify import InvalidIR
from ruda_core.reference import ruda_backends
from ruda_core.reference.driver import ReferenceDriver
from ruda_core.reference.probe import probe

X = array("x", i32)


def test_the_entry_names_what_exists() -> None:
    (entry,) = ruda_backends()
    assert (entry.name, entry.standing) == ("reference", "last")
    (device,) = probe()
    assert str(device) == "reference:0"
    assert device.kind == "other"


def test_the_target_has_everything_but_subgroups_and_matrices() -> None:
    driver = ReferenceDriver(Device("reference"))
    features = features_of(driver.target)
    assert all(
        s.storage and s.arithmetic and s.functions or not n.startswith("f")
        for n, s in features.dtypes.items()
    )
    assert features.atomics["i32"] == ATOMIC_OPS
    assert {"add", "sub", "min", "max"} <= features.atomics["f64"]
    assert driver.target.supports(*NATIVE_SEMANTICS)
    assert features.subgroup is None
    assert features.fma
    assert features.exact_div_sqrt


def test_memory() -> None:
    driver = ReferenceDriver(Device("reference"))
    queue = driver.open_queue(lambda stream, error: None)
    page, other = driver.allocate(512), driver.allocate(512)
    assert page.bytes.ctypes.data % driver.properties.alignment == 0
    driver.write(queue, page, 4, memoryview(bytes(range(10))))
    assert driver.copy(queue, page, 4, other, 100, 10)
    out = bytearray(6)
    assert driver.read(queue, other, 102, memoryview(out)).done()
    assert out == bytes(range(2, 8))
    native = driver.native(page, 4, 10)
    native[0] = 77
    driver.read_now(queue, page, 4, memoryview(out))
    assert out[0] == 77
    driver.completion(queue).wait()


def test_failures_are_reported_to_the_stream_and_name_the_kernel() -> None:
    b = Body()
    b.store(X, num(5), num(1))  # claims to be proved, and is not
    kernel = Kernel(b, [X])
    with pytest.raises(ServerError, match=r"test \(<unknown>:0\).*IndexError"):
        kernel(1, x=np.zeros(2, np.int32))
    assert kernel.errors == []


def test_what_the_backend_lacks_is_refused_when_loading() -> None:
    b = Body()
    b.add(ir.Subgroup(None, ir.Symbol("s", i32), "sum", (POS,)))
    with pytest.raises(UnsupportedFeature, match="subgroup"):
        Kernel(b, [X])
    kernel = Kernel(Body(), [X])
    with pytest.raises(BackendCompileError, match="IR"):
        kernel.driver.load(replace(kernel.source, program=None), None)


def test_what_only_other_targets_see_is_named() -> None:
    b = Body()
    b.add(ir.MaskedStore(None, X, POS, num(0), 255, num(1)))
    with pytest.raises(InvalidIR, match="MaskedStore"):
        Kernel(b, [X])


def test_no_warnings_leak() -> None:
    b = Body()
    zero = build.binary("-", POS, POS)
    b.store(X, POS, build.binary("//", num(1), zero))
    y = array("y", f32)
    b.store(y, POS, build.binary("/", build.cast(f32, zero), build.cast(f32, zero)))
    b.store(y, num(0), build.binary("/", num(1.0, f32), num(0.0, f32)))
    out = np.zeros(64, np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Kernel(b, [X, y])(1, x=np.ones(64, np.int32), y=out)
    assert out[0] == np.inf
    assert np.isnan(out[1:]).all()


@pytest.mark.parametrize("count", [(0, 1, 1), (1, 0, 1), (3, 2, 0)])
def test_a_count_of_zero_does_nothing(count: tuple[int, int, int]) -> None:
    b = Body()
    b.store(X, num(0), num(1))
    x = np.zeros(1, np.int32)
    Kernel(b, [X])(count, x=x)
    assert x[0] == 0


def test_a_spread_launch_has_its_logical_count() -> None:
    b = Body()
    b.store(X, POS, ir.Builtin(i32, None, "workgroup_count"), check=below(POS, length(X)))
    kernel = Kernel(b, [X], 4, spread=True)
    page = kernel.driver.allocate(256)
    page.bytes[:] = 0
    kernel.launch(0, 2, 2, 1, page, kernel.words((3, 1, 1), {"x": np.zeros(64, np.int32)}))
    assert kernel.errors == []
    assert page.bytes.view(np.int32).tolist() == [3] * 12 + [0] * 52


def test_positions_and_sizes_that_a_target_has() -> None:
    out = array("out", u32)
    b = Body()
    group = ir.Builtin(u32, None, "native_workgroup_pos", 0)
    count = ir.Builtin(u32, None, "native_workgroup_count", 0)
    b.store(out, POS, build.binary("+", build.binary("*", group, num(100, u32)), count))
    got = np.zeros(12, np.uint32)
    Kernel(b, [out], 4)(3, out=got)
    assert got.tolist() == [3] * 4 + [103] * 4 + [203] * 4


def test_launches_are_cheap() -> None:
    """Around the interpreter's own work: generous here, since machines differ."""
    a = array("a", i32)
    b = Body()
    b.store(X, POS, b.load(a, POS, check=below(POS, length(a))), check=below(POS, length(X)))
    kernel = Kernel(b, [X, a])
    kernel.program.kernel = lambda *args: None
    launch = kernel.driver.launcher(kernel.program, kernel.queue)
    pages = [kernel.driver.allocate(256) for _ in range(2)]
    words = kernel.words((1, 1, 1), {"x": np.zeros(64, np.int32), "a": np.zeros(64, np.int32)})
    best = min(_time(lambda: launch(0, 1, 1, 1, *pages, words)) for _ in range(5))
    assert best < 20e-6


def _time(call: object) -> float:
    start = time.perf_counter()
    for _ in range(1000):
        call()
    return (time.perf_counter() - start) / 1000
