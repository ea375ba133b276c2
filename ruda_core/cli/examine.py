"""What `ruda doctor` runs in a process of its own: `python -m ruda_core.cli.examine [NAME DISTRIBUTION]`.

Without arguments it prints the claims to backends, without looking for devices; with a claim, its
devices, each opened and tried with a small transfer and a small kernel. One JSON value on the last line.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

from ruda_core.cli.demo.kernels import saxpy
from ruda_core.client import ComputeClient
from ruda_core.errors import RudaError
from ruda_core.plugin.catalog import CATALOG
from ruda_core.registry import client

_BYTES = bytes(range(256)) * 5
_ELEMENTS = 1000


class _Wrong(Exception):
    """A result that is not right."""


def claims() -> list[dict[str, Any]]:
    """Name and owner of every claim, in the order of discovery."""
    return [
        {
            "name": b.name,
            "distribution": b.claim.distribution,
            "version": b.claim.version,
            "enabled": b.enabled,
        }
        for b in CATALOG.backends()
    ]


def examined(name: str, distribution: str) -> dict[str, Any]:
    """Status, reason and devices of one claim; every device that it has is opened."""
    (backend,) = [b for b in CATALOG.backends() if (b.name, b.claim.distribution) == (name, distribution)]
    info = backend.info()
    devices = [{"device": str(d), "name": d.name, "kind": d.kind, **_tried(str(d))} for d in info.devices]
    return {"status": info.status, "reason": info.reason, "devices": devices}


def _tried(device: str) -> dict[str, Any]:
    """Whether it works, the problem if not, and whether it was opened, so that it is not the installation's."""
    opened: ComputeClient | None = None
    stage = ""
    try:
        opened = client(device)
        if bytes(opened.read_one(opened.create_from_slice(_BYTES))) != _BYTES:
            raise _Wrong("bytes came back changed")
        stage = "memory works, a kernel does not: "
        _compute(opened)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a vendor's library can raise anything
        text = str(error) if isinstance(error, RudaError | _Wrong) else f"{type(error).__name__}: {error}"
        return {"ok": False, "problem": stage + text, "opened": opened is not None}
    return {"ok": True, "problem": "", "opened": True}


def _compute(opened: ComputeClient) -> None:
    x = np.arange(_ELEMENTS, dtype=np.float32)
    y = opened.tensor(np.ones_like(x))
    saxpy.launch_over(opened, _ELEMENTS, 2.0, opened.tensor(x), y)
    got = y.numpy()
    if not np.array_equal(got, 2 * x + 1):
        raise _Wrong(f"a kernel of 2 * x + 1 over 0, 1, 2, 3 gives {', '.join(f'{v:g}' for v in got[:4])}")


if __name__ == "__main__":
    print(json.dumps(examined(*sys.argv[1:]) if sys.argv[1:] else claims()))
