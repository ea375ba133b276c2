"""Device memory as the host sees it: handles, pools, host destinations and layouts. Knows no driver."""

from __future__ import annotations

from ruda_core.memory.handle import Block, Handle
from ruda_core.memory.host import Bytes, HostPool, host_array, host_view, whole_bytes
from ruda_core.memory.layout import can_read, contiguous_strides, is_contiguous, span_of
from ruda_core.memory.packing import pack
from ruda_core.memory.pool import Pool
from ruda_core.memory.usage import MemoryUsage, PoolReport

__all__ = [
    "Block",
    "Bytes",
    "Handle",
    "HostPool",
    "MemoryUsage",
    "Pool",
    "PoolReport",
    "can_read",
    "contiguous_strides",
    "host_array",
    "host_view",
    "is_contiguous",
    "pack",
    "span_of",
    "whole_bytes",
]
