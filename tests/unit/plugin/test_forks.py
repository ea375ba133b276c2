"""What a forked child may still do with a backend, by what its parent did and what the entry says."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from ruda_core.capabilities import Device
from ruda_core.errors import BackendUnavailable, ForkedProcessError
from ruda_core.plugin import BackendEntry
from ruda_core.plugin.backend import Backend
from ruda_core.plugin.catalog import Catalog
from ruda_core.runtime import Runtime

looks: list[str] = []
during: list[Callable[[], Any]] = []
"""What happens while the probe below runs."""


def probe() -> list[Device]:
    looks.append("looked")
    for happens in during:
        happens()
    return [Device("acme", 0)]


class Server:
    """Opened by nothing but its name."""

    def __init__(self, *_: object, **__: object) -> None:
        return None


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch, catalog: Callable[..., Catalog]) -> Callable[..., Backend]:
    """The backend of this module, in a catalog that can be told of a fork."""
    monkeypatch.setattr("ruda_core.plugin.backend.load_object", lambda path: probe)
    monkeypatch.setattr(Runtime, "start", staticmethod(Server))
    looks.clear()
    during.clear()

    def make(**said: Any) -> Backend:
        chosen = catalog(RUDA_NO_PLUGINS="1")
        chosen.register(
            BackendEntry(name="acme", api_version=1, probe="acme:probe", driver="acme:Driver", **said)
        )
        return chosen.named("acme")

    return make


def opens(backend: Backend) -> bool:
    runtime = backend.runtime()
    try:
        return isinstance(runtime.create_server(0), Server)
    except ForkedProcessError as error:
        assert "'acme'" in str(error) and "spawn" in str(error)
        return False


@pytest.mark.parametrize("did", ["nothing", "looked", "opened"])
@pytest.mark.parametrize("forkable", ["always", "until opened", "until probed", None])
def test_a_child_opens_devices_as_long_as_the_entry_says(
    backend: Callable[..., Backend], forkable: str | None, did: str
) -> None:
    tested = backend() if forkable is None else backend(forkable=forkable)
    if did != "nothing":
        tested.devices()
    if did == "opened":
        assert opens(tested) and opens(tested)
    tested.after_fork()
    refused = {"until opened": ("opened",), "until probed": ("looked", "opened"), "always": ()}
    assert opens(tested) == (did not in refused[forkable or "until opened"])
    assert [str(device) for device in tested.devices()] == ["acme:0"] and tested.info().status == "available"
    assert looks == ["looked"], "a child takes over what its parent found"
    tested.after_fork()
    assert opens(tested) == (forkable == "always"), "a child of the child's, where a device is open by now"


def test_a_look_under_way_is_not_waited_for(backend: Callable[..., Backend]) -> None:
    tested = backend(forkable="always")
    begun, go_on = threading.Event(), threading.Event()
    during[:] = [begun.set, go_on.wait]
    thread = threading.Thread(target=tested.failure)
    thread.start()
    begun.wait()
    tested.after_fork()
    try:
        with pytest.raises(BackendUnavailable, match=r"forked while .*spawn"):
            tested.devices()
        assert tested.info().status == "unavailable" and tested.known_devices() == ()
        with pytest.raises(ForkedProcessError):
            tested.opening()
        assert looks == ["looked"]
    finally:
        go_on.set()
        thread.join()


def test_a_failed_look_is_reported_as_itself_and_not_repeated(backend: Callable[..., Backend]) -> None:
    def fail() -> None:
        raise BackendUnavailable("nothing here")

    tested = backend(forkable="until probed")
    during[:] = [fail]
    assert tested.info().status == "unavailable"
    tested.after_fork()
    with pytest.raises(BackendUnavailable, match="nothing here"):
        tested.devices()
    assert looks == ["looked"]
