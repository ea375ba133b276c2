"""The program cache."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

import pytest
from array_driver import ArrayDriver, array, source_of

from ruda_core.errors import BackendCompileError, KernelTypeError


class Store(dict[str, bytes]):
    """A store of bytes."""

    def put(self, key: str, data: bytes) -> None:
        self[key] = data


def kernel(**_: Any) -> None:
    return None


SOURCE = source_of(kernel, [array("x")])


def test_a_digest_is_loaded_once(client):
    program = client.server.load(SOURCE)
    assert client.server.load(replace(SOURCE)) is program and client.server.driver.loads == 1
    assert client.server.load(replace(SOURCE, digest="other")) is not program


def test_threads_load_once(make_client):
    class Slow(ArrayDriver):
        def load(self, source: Any, binary: Any) -> Any:
            time.sleep(0.05)
            return super().load(source, binary)

    client = make_client(Slow)
    threads = [threading.Thread(target=client.server.load, args=(SOURCE,)) for _ in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert client.server.driver.loads == 1


def test_binaries_are_kept_and_compilations_told(make_client):
    store, told, given = Store(), [], []

    class Watching(ArrayDriver):
        def load(self, source: Any, binary: Any) -> Any:
            given.append(binary)
            return super().load(source, binary)

    for _ in range(2):
        client = make_client(
            Watching, store=store, compiled=lambda source, s: told.append((source.name, s >= 0))
        )
        client.server.load(SOURCE)
    assert told == [("kernel", True)]
    assert given == [None, b"binary of " + SOURCE.digest.encode()] and len(store) == 1
    make_client(Watching, store=store, fingerprint="another device").server.load(SOURCE)
    assert given[-1] is None and len(store) == 2


@pytest.mark.parametrize("error", [KernelTypeError("known"), RuntimeError("odd")])
def test_a_failed_load_is_raised_and_can_be_tried_again(make_client, error):
    class Failing(ArrayDriver):
        broken = True

        def load(self, source: Any, binary: Any) -> Any:
            if self.broken:
                raise error
            return source

    client = make_client(Failing)
    with pytest.raises((KernelTypeError, BackendCompileError), match=str(error.args[0])):
        client.server.load(SOURCE)
    client.server.driver.broken = False
    client.server.load(SOURCE)
