from __future__ import annotations

import threading
from typing import Any

import pytest

from ruda_core.capabilities import Device
from ruda_core.errors import BackendLoadError, BackendUnavailable
from ruda_core.runtime import Runtime, _Made, make_runtime

DEVICES = (
    Device("fake", 0, type_id=0),
    Device("fake", 1, type_id=1),
    Device("fake", 2, type_id=1, name="third"),
)


class Source:
    def devices(self) -> tuple[Device, ...]:
        return DEVICES

    def opening(self) -> None:
        return None


def made(**kwargs: Any) -> type[Runtime]:
    arguments = {"driver": "ruda_core.driver:Driver", "dialect": None, "owner": "ruda-fake 1.0", **kwargs}
    return make_runtime("fake-thing", Source(), **arguments)


def test_facts_are_at_class_level() -> None:
    runtime = made()
    assert issubclass(runtime, Runtime) and runtime.__name__ == "FakeThingRuntime"
    assert runtime.name == "fake-thing" and runtime.Device is Device
    assert runtime.dialect is None and runtime.Driver.__name__ == "Driver"


def test_counts_agree_with_enumerations() -> None:
    runtime = made()
    assert runtime.enumerate_all_devices() == list(DEVICES) and runtime.device_count_total() == 3
    assert runtime.enumerate_devices(1) == list(DEVICES[1:]) and runtime.device_count(1) == 2
    assert runtime.enumerate_devices(9) == [] and runtime.device_count(9) == 0


def test_a_device_is_found_by_what_is_written() -> None:
    runtime = make_runtime("fake", Source(), driver=None, dialect=None)
    for wanted in (2, "fake:2", Device("fake", 2), DEVICES[2]):
        assert runtime.resolve(wanted).name == "third"
    for wrong in (3, "fake:3", "other:0"):
        with pytest.raises(BackendUnavailable, match="fake:0, fake:1, fake:2"):
            runtime.resolve(wrong)


@pytest.mark.parametrize("path", ["no_such_module_here:Driver", "ruda_core.driver:NoSuchDriver"])
def test_a_driver_that_does_not_import_names_its_owner_and_cause(path: str) -> None:
    with pytest.raises(BackendLoadError, match=r"fake-thing.*ruda-fake 1\.0") as caught:
        made(driver=path).Driver  # noqa: B018 - looking at it imports it
    assert isinstance(caught.value.__cause__, (ImportError, AttributeError))


def test_what_is_made_is_made_once_for_each_class_by_any_number_of_threads() -> None:
    gate, got, count = threading.Barrier(8), [], []

    class Base:
        @_Made
        def value(cls: Any) -> object:
            count.append(cls)
            return object()

    class One(Base):
        pass

    class Two(Base):
        pass

    def look() -> None:
        gate.wait()
        got.append(One.value)

    threads = [threading.Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, got))) == 1 and count == [One]
    assert Two.value is not One.value


def test_rows_can_be_read_and_transposed_ones_cannot() -> None:
    assert Runtime.can_read_tensor((4, 6), (6, 1)) and Runtime.can_read_tensor((4, 6), (8, 1))
    assert not Runtime.can_read_tensor((6, 4), (1, 6))
