"""The driver, against what the server expects of every driver, and what CUDA adds."""

from __future__ import annotations

import numpy as np
import pytest
from contract import DriverContract, adder, source_of, words_of
from ruda_cuda.dialect import CudaDialect


class TestDriver(DriverContract):
    dialect = CudaDialect()

    def test_a_recorded_graph_launches_everything_again(self, driver, queue):
        legal = adder()
        launch = driver.launcher(driver.load(source_of(self.dialect, legal), None), queue)
        storage = driver.allocate(256)
        driver.write(queue, storage, 0, memoryview(bytes(256)))
        words = words_of(legal)
        replay = driver.graph(queue, lambda: [launch(0, 1, 1, 1, storage, words) for _ in range(20)])
        out = np.empty(256, np.uint8)
        for times in (0, 1, 2):  # recording runs nothing
            driver.read(queue, storage, 0, out.data).wait()
            assert (out.view(np.int32) == 20 * times).all()
            replay()

    def test_a_graph_of_what_cannot_be_recorded_is_not_offered(self, driver, queue):
        from cupy_backends.cuda.api import runtime

        assert driver.graph(queue, lambda: runtime.streamSynchronize(queue.stream)) is None
        driver.completion(queue).wait()

    def test_page_locked_memory_is_usable_and_freed(self, driver, queue):
        storage = driver.allocate(1 << 20)
        for _ in range(3):
            host = driver.host_memory(1 << 20)
            host[:] = 5
            driver.write(queue, storage, 0, host.data)
            host[:] = 9
            driver.read(queue, storage, 0, host.data).wait()
            assert (host == 5).all()

    @pytest.mark.parametrize("several", [False, True], ids=["alone", "among several"])
    def test_launches_find_their_device_after_others_changed_it(self, driver, queue, several, monkeypatch):
        import threading

        from cupy_backends.cuda.api import driver as native

        monkeypatch.setattr(driver, "_several", several)
        legal = adder()
        launch = driver.launcher(driver.load(source_of(self.dialect, legal), None), queue)
        storage = driver.allocate(256)
        driver.write(queue, storage, 0, memoryview(bytes(256)))
        failed = []

        def elsewhere() -> None:
            try:
                launch(0, 1, 1, 1, storage, words_of(legal))
                native.ctxSetCurrent(0)
                launch(0, 1, 1, 1, storage, words_of(legal))
            except Exception as error:
                failed.append(error)

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert not failed
        out = np.empty(256, np.uint8)
        driver.read(queue, storage, 0, out.data).wait()
        assert (out.view(np.int32) == 2).all()

    def test_the_clock_keeps_its_step_across_bases(self, driver, queue, monkeypatch):
        from ruda_cuda import clock

        monkeypatch.setattr(clock, "_EPOCH_NS", 1_000_000)
        import time

        readings = []
        for _ in range(10):
            readings.append((time.perf_counter_ns(), driver.timestamp(queue).ticks()))
            time.sleep(0.005)
        assert all(a[1] < b[1] for a, b in zip(readings, readings[1:], strict=False))
        host, device = (readings[-1][k] - readings[0][k] for k in (0, 1))
        assert device == pytest.approx(host, rel=0.1)

    def test_native_objects_are_cupys(self, driver):
        cupy = pytest.importorskip("cupy")
        storage = driver.allocate(4096)
        found = driver.native(storage, 256, 100)
        assert isinstance(found, cupy.cuda.MemoryPointer)
        assert (found.ptr, found.mem.size) == (storage + 256, 100)
