"""What the device's compiler keeps of IEEE arithmetic: no feature tells, so a small kernel is tried once."""

from __future__ import annotations

import wgpu


def tried(device: wgpu.GPUDevice) -> dict[str, bool]:
    return {}
