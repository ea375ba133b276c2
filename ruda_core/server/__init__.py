"""Servers: what owns a device and orders its work."""

from __future__ import annotations

from ruda_core.server.captures import Graph
from ruda_core.server.compute_server import ComputeServer
from ruda_core.server.driver_server import DriverServer
from ruda_core.server.futures import Future
from ruda_core.server.programs import CodeStore, Program
from ruda_core.server.queue import Diverted, Queue
from ruda_core.server.streams import StreamId, checked_stream, current_or_none, current_stream, stream

__all__ = [
    "CodeStore",
    "ComputeServer",
    "Diverted",
    "DriverServer",
    "Future",
    "Graph",
    "Program",
    "Queue",
    "StreamId",
    "checked_stream",
    "current_or_none",
    "current_stream",
    "stream",
]
