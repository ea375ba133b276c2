"""What `ruda doctor` runs in a process of its own: `python -m ruda_core.cli.examine [NAME DISTRIBUTION]`.

Without arguments it prints the claims to backends, without looking for devices; with a claim, its
devices, each opened and tried with a small transfer. One JSON value on the last line.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from ruda_core.errors import RudaError
from ruda_core.plugin.catalog import CATALOG
from ruda_core.registry import client

_BYTES = bytes(range(256)) * 5


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
    try:
        opened = client(device)
        if bytes(opened.read_one(opened.create_from_slice(_BYTES))) != _BYTES:
            return {"ok": False, "problem": "bytes came back changed"}
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a vendor's library can raise anything
        text = str(error) if isinstance(error, RudaError) else f"{type(error).__name__}: {error}"
        return {"ok": False, "problem": text}
    return {"ok": True, "problem": ""}


if __name__ == "__main__":
    print(json.dumps(examined(*sys.argv[1:]) if sys.argv[1:] else claims()))
