"""ComputeClient: a light view of a device's server; any number of them, from any thread."""

from __future__ import annotations

import importlib
from typing import Any

from ruda_core.capabilities import Device
from ruda_core.client.execution import ClientExecution, Launchable
from ruda_core.client.facts import ClientFacts
from ruda_core.client.transfers import ClientTransfers
from ruda_core.server import ComputeServer


def _registry() -> Any:
    """The registry is above this room; it is looked up when a client asks for it, not imported by it."""
    return importlib.import_module("ruda_core.registry")


class ComputeClient(ClientTransfers, ClientExecution, ClientFacts):
    """Memory, transfers, execution and facts of one device, on the caller's stream or a fixed one."""

    __slots__ = ()

    @staticmethod
    def init(device: Device, server: ComputeServer) -> ComputeClient:
        """Register `server` for `device`. Raises ServerAlreadyRegistered if its type is there already."""
        client: ComputeClient = _registry().init(device, server)
        return client

    @staticmethod
    def load(device: Device, server_type: type[ComputeServer] | None = None) -> ComputeClient:
        """A client of the registered server of this type (None: the runtime's own).

        Raises ServerNotRegistered.
        """
        client: ComputeClient = _registry().load(device, server_type)
        return client


__all__ = ["ComputeClient", "Launchable"]
