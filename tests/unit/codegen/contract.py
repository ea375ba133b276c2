"""What every driver must do, by hand-written kernels: transfers, order, launches, clocks, errors."""

from __future__ import annotations

import struct
import threading
from dataclasses import replace

import numpy as np
import pytest
from legal import UNITS, Legal, assign, load, make, number, position, store, symbol

from ruda_core.artifact import BindingSpec, KernelSource
from ruda_core.codegen import Dialect
from ruda_core.driver import Driver
from ruda_core.dtypes import i32
from ruda_core.errors import BackendCompileError
from ruda_core.ir import build
from ruda_core.ir import nodes as ir


def adder() -> Legal:
    """y[i] += 1, of one workgroup."""
    y = ir.Array("y", i32, "global")
    i, at = position()
    v, load_v = load(y, i)
    values = np.zeros(UNITS, np.int32)
    body = [at, load_v, store(y, i, build.binary("+", v, number(1)))]
    return make("adder", body, [y], {"y": values}, {"y": values + 1})


def spinner(trips: int) -> Legal:
    """Work that takes a while: `trips` dependent steps a unit."""
    y = ir.Array("y", i32, "global")
    i, at = position()
    v, k = symbol("v", mutable=True), symbol("k")
    step = build.binary("^", build.binary("*", build.ref(v), number(1103515245)), build.ref(k))
    loop = ir.For(None, k, number(0), number(trips), number(1), (assign(v, step),))
    return make(
        "spinner", [at, assign(v, i), loop, store(y, i, build.ref(v))], [y], {"y": np.zeros(UNITS, "i4")}, {}
    )


def source_of(dialect: Dialect, legal: Legal) -> KernelSource:
    function = legal.function
    return KernelSource(
        name=function.name,
        entry="entry",
        dialect=dialect.name,
        text=dialect.render(function, legal.layout, "entry"),
        layout=legal.layout,
        bindings=tuple(BindingSpec(b.name, b.dtype.name, (b.name,), True, True) for b in function.bindings),
        params=function.params,
        dim=function.dim,
        mode="checked",
        options=dialect.options(function),
        file="kernels.py",
        line=7,
    )


def words_of(legal: Legal) -> bytes:
    return struct.pack(legal.layout.format, *legal.scalars)


class DriverContract:
    """Subclass it in a plugin's tests, which give the fixture `driver`, and name the dialect."""

    dialect: Dialect

    @pytest.fixture
    def queue(self, driver: Driver):
        self.reported: list[tuple[int, Exception]] = []
        return driver.open_queue(lambda stream, error: self.reported.append((stream, error)))

    def test_transfers_keep_every_byte(self, driver, queue):
        data = np.random.default_rng(0).integers(0, 256, 1 << 16, dtype=np.uint8)
        storage = driver.allocate(data.nbytes)
        driver.write(queue, storage, 0, data.data)
        for start, stop in ((0, 1), (1, 2), (3, 8), (5, 4099), (0, data.nbytes)):
            out = np.empty(stop - start, np.uint8)
            driver.read(queue, storage, start, out.data).wait()
            np.testing.assert_array_equal(out, data[start:stop])
        for start, patch in ((1, b"a"), (7, b"bcd"), (12, b"efgh"), (4097, b"ijklmno")):
            driver.write(queue, storage, start, memoryview(patch))
            data[start : start + len(patch)] = np.frombuffer(patch, np.uint8)
        out = np.empty_like(data)
        driver.read(queue, storage, 0, out.data).wait()
        np.testing.assert_array_equal(out, data)

    def test_large_transfers_both_ways(self, driver, queue):
        data = np.random.default_rng(1).integers(0, 256, 5 << 20, dtype=np.uint8)
        storage = driver.allocate(data.nbytes)
        driver.write(queue, storage, 0, data.data)
        out = np.empty_like(data)
        driver.read_now(queue, storage, 0, out.data)
        np.testing.assert_array_equal(out, data)
        driver.write(queue, storage, 1 << 20, data[: 3 << 20].data)
        driver.read(queue, storage, 0, out.data).wait()
        data[1 << 20 : 4 << 20] = data[: 3 << 20].copy()
        np.testing.assert_array_equal(out, data)

    def test_data_is_taken_before_write_returns(self, driver, queue):
        for nbytes in (256, 1 << 16, 2 << 20):
            data = np.full(nbytes, 7, np.uint8)
            storage = driver.allocate(nbytes)
            driver.write(queue, storage, 0, data.data)
            data[:] = 9
            out = np.empty(nbytes, np.uint8)
            driver.read(queue, storage, 0, out.data).wait()
            assert (out == 7).all()

    def test_work_of_a_queue_is_ordered(self, driver, queue):
        legal = adder()
        launch = driver.launcher(driver.load(source_of(self.dialect, legal), None), queue)
        first, second = driver.allocate(256), driver.allocate(256)
        zeros = np.zeros(UNITS, np.int32)
        for storage in (first, second):
            driver.write(queue, storage, 0, zeros.view(np.uint8).data)
        for n in range(300):
            launch(0, 1, 1, 1, second if n % 3 == 0 else first, words_of(legal))
        driver.flush(queue)
        driver.write(queue, first, 0, np.full(UNITS, 1000, np.int32).view(np.uint8).data)
        launch(0, 1, 1, 1, first, words_of(legal))
        for storage, expected in ((first, 1001), (second, 100)):
            out = np.empty(256, np.uint8)
            driver.read(queue, storage, 0, out.data).wait()
            assert (out.view(np.int32) == expected).all()
        assert self.reported == []

    def test_copies_on_the_device(self, driver, queue):
        data = np.arange(1024, dtype=np.uint8)
        first, second = driver.allocate(1024), driver.allocate(1024)
        driver.write(queue, first, 0, data.data)
        driver.write(queue, second, 0, np.zeros(1024, np.uint8).data)
        if not driver.copy(queue, first, 256, second, 512, 128):
            pytest.skip("the driver copies through the host")
        out = np.empty(1024, np.uint8)
        driver.read(queue, second, 0, out.data).wait()
        np.testing.assert_array_equal(out[512:640], data[256:384])
        assert not out[:512].any() and not out[640:].any()

    def test_completions_come_and_call_back(self, driver, queue):
        legal = spinner(200)
        launch = driver.launcher(driver.load(source_of(self.dialect, legal), None), queue)
        storage = driver.allocate(256)
        launch(0, 1, 1, 1, storage, words_of(legal))
        pending, called = driver.completion(queue), threading.Event()
        offered = pending.on_done(called.set)
        pending.wait()
        assert pending.done()
        assert not offered or called.wait(5)
        assert driver.completion(queue).on_done(called.set) == offered

    def test_the_clock_runs_with_the_work(self, driver, queue):
        if not driver.target.timestamps:
            pytest.skip("the device has no clock")
        spans = []
        for trips in (10, 20000):
            legal = spinner(trips)
            launch = driver.launcher(driver.load(source_of(self.dialect, legal), None), queue)
            storage = driver.allocate(256)
            launch(0, 1, 1, 1, storage, words_of(legal))
            driver.completion(queue).wait()
            found = []
            for _ in range(9):  # the shortest: the machine may stop for something else in any of them
                begin = driver.timestamp(queue)
                launch(0, 1, 1, 1, storage, words_of(legal))
                end = driver.timestamp(queue)
                found.append(end.ticks() - begin.ticks())
            spans.append(min(found))
        assert 0 <= spans[0] < spans[1]
        assert spans[1] * driver.properties.timestamp_period_ns > 5_000  # 20,000 dependent steps

    def test_a_program_comes_back_from_its_binary(self, driver, queue):
        legal = adder()
        source = source_of(self.dialect, legal)
        binary = driver.binary(driver.load(source, None))
        if binary is None:
            pytest.skip("the driver keeps no binaries")
        for data in (binary, b"not a program"):
            launch = driver.launcher(driver.load(source, data), queue)
            storage = driver.allocate(256)
            driver.write(queue, storage, 0, np.zeros(256, np.uint8).data)
            launch(0, 1, 1, 1, storage, words_of(legal))
            out = np.empty(256, np.uint8)
            driver.read(queue, storage, 0, out.data).wait()
            assert (out.view(np.int32) == 1).all()

    def test_a_compile_error_has_log_and_source(self, driver):
        source = source_of(self.dialect, adder())
        broken = replace(source, text=source.text.replace("y_b0[", "nobody["))
        with pytest.raises(BackendCompileError) as caught:
            driver.load(broken, None)
        assert "nobody" in caught.value.log and caught.value.source == broken.text
        assert (caught.value.file, caught.value.line) == ("kernels.py", 7)

    def test_an_impossible_allocation_is_a_memory_error(self, driver):
        with pytest.raises(MemoryError):
            driver.allocate(1 << 50)

    def test_storage_can_be_released_while_others_are_used(self, driver, queue):
        legal = adder()
        launch = driver.launcher(driver.load(source_of(self.dialect, legal), None), queue)
        for _ in range(20):
            storage = driver.allocate(256)
            driver.write(queue, storage, 0, np.zeros(256, np.uint8).data)
            launch(0, 1, 1, 1, storage, words_of(legal))
            out = np.empty(256, np.uint8)
            driver.read(queue, storage, 0, out.data).wait()
            assert (out.view(np.int32) == 1).all()
            driver.release(storage)

    def test_several_threads_read_and_wait(self, driver, queue):
        storage = driver.allocate(4096)
        data = np.arange(4096, dtype=np.uint16).astype(np.uint8)
        driver.write(queue, storage, 0, data.data)
        lock, wrong = threading.Lock(), []

        def reader() -> None:
            for _ in range(20):
                out = np.empty(4096, np.uint8)
                with lock:
                    pending = driver.read(queue, storage, 0, out.data)
                pending.wait()
                if not np.array_equal(out, data):
                    wrong.append(out)

        threads = [threading.Thread(target=reader) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong


__all__ = ["DriverContract", "adder", "source_of", "spinner", "words_of"]
