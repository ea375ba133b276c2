"""Figures of the pools."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MemoryUsage:
    """The runtime's own pools of one device, over all streams; bytes of device memory."""

    number_allocs: int
    """Live allocations; zero-sized ones take no storage and are not counted."""
    bytes_in_use: int
    """What was asked for by the live allocations."""
    bytes_padding: int
    """What the live allocations take beyond that, by rounding."""
    bytes_reserved: int
    """What the pools hold from the driver, in use or free."""

    def __str__(self) -> str:
        return (
            f"{self.number_allocs} allocations, {self.bytes_in_use} bytes in use "
            f"(+ {self.bytes_padding} of padding) of {self.bytes_reserved} reserved"
        )


@dataclass(frozen=True, slots=True)
class PoolReport:
    """One kind of page."""

    kind: str
    """`slab`: blocks of one size; `chunks`: split and merged; `single`: one block a page."""
    block_size: int
    """Bytes of each block; 0 where sizes differ."""
    pages: int
    blocks_in_use: int
    blocks_free: int
    bytes_in_use: int
    bytes_reserved: int
