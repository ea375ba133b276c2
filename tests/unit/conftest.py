"""Servers and clients over the drivers of `array_driver`, which is importable from the tests below."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

_indices = itertools.count()


@pytest.fixture
def make_client() -> Callable[..., Any]:
    """`make_client(driver_class=ArrayDriver, pool_limit=None, store=None, **driver_options)`."""
    from array_driver import ArrayDriver

    from ruda_core.capabilities import Device
    from ruda_core.client import ComputeClient
    from ruda_core.server import DriverServer, StreamId

    def make(driver_class: Any = ArrayDriver, **options: Any) -> ComputeClient:
        device = Device("arrays", next(_indices))
        own = {k: options.pop(k) for k in ("pool_limit", "store", "compiled") if k in options}
        server = DriverServer(device, driver_class(device, **options), **own)
        return ComputeClient(server, None, StreamId.new())

    return make


@pytest.fixture
def client(make_client: Callable[..., Any]) -> Any:
    """A client whose device runs everything at once."""
    return make_client()


@pytest.fixture
def threaded(make_client: Callable[..., Any]) -> Any:
    """A client whose queues are threads."""
    from array_driver import ThreadDriver

    return make_client(ThreadDriver)
