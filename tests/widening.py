"""What tests of widened kernels share: devices that widen, and a comparison with the reference to the bit."""

from __future__ import annotations

import weakref
from dataclasses import replace
from typing import Any

import numpy as np
from support import NUMPY

import ruda_core as ruda
from ruda_core import compiled
from ruda_core.recall import shelf


def gaining(client: Any, monkeypatch: Any) -> Any:
    """The client; its device is said to gain by wide accesses, until the test ends."""
    monkeypatch.setattr(client.server, "target", replace(client.server.target, widen=16))
    monkeypatch.setattr(compiled, "_compilers", weakref.WeakKeyDictionary())
    monkeypatch.setattr(shelf, "_around", weakref.WeakKeyDictionary())
    return client


def widens(client: Any) -> bool:
    """Whether kernels can be widened at all: the device takes text that has vectors."""
    return client.runtime.dialect is not None and bool(client.server.target.vectors)


def fresh(kernel: Any) -> Any:
    """The same kernel with nothing compiled."""
    return ruda.kernel(kernel.fn)


def values(name: str, size: int, seed: int = 0) -> Any:
    """Small numbers of a dtype; floats are multiples of a quarter."""
    rng = np.random.default_rng(seed)
    if name == "bool":
        return rng.integers(0, 2, size).astype(np.bool_)
    low, high = (0, 100) if name.startswith("u") else (-50, 50)
    found = rng.integers(low, high, size)
    return (found / 4 if name.startswith(("f", "bf")) else found).astype(NUMPY[name])


def _bits(array: Any) -> Any:
    return np.ascontiguousarray(array).view(np.uint8)


class Run:
    """A kernel over views of larger arrays, on a device and on the reference."""

    def __init__(self, client: Any, kernel: Any) -> None:
        self.places = (client, fresh(kernel)), (ruda.client("reference"), fresh(kernel))

    def compare(self, count: Any, dim: Any, *args: Any, mode: str = "checked") -> None:
        """`args`: scalars, or (array, offset, length): the view that the kernel gets."""
        results = []
        for client, kernel in self.places:
            wholes = [client.tensor(a[0]) if isinstance(a, tuple) else None for a in args]
            given = [
                a if whole is None else whole[a[1] : a[1] + a[2]]
                for a, whole in zip(args, wholes, strict=True)
            ]
            launch = kernel.launch_unchecked if mode == "unchecked" else kernel.launch
            launch(client, count, dim, *given)
            results.append([whole.numpy() for whole in wholes if whole is not None])
        for number, (mine, wanted) in enumerate(zip(*results, strict=True)):
            assert np.array_equal(_bits(mine), _bits(wanted)), f"array {number}, count={count}, dim={dim}"
