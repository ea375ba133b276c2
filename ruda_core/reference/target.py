"""What the reference backend can do: everything but subgroups and matrix units."""

from __future__ import annotations

import os
import platform
from types import MappingProxyType

import numpy as np

from ruda_core.capabilities import ATOMIC_OPS, NATIVE_SEMANTICS, DeviceProperties, Target
from ruda_core.dtypes import ALL, VECTOR_LANES
from ruda_core.ir.functions import MATH

ALIGNMENT = 256

_NAMES = frozenset(d.name for d in ALL)
_FLOAT_ATOMICS = ATOMIC_OPS - {"and", "or", "xor"}
_COUNT = (1 << 31) - 1

TARGET = Target(
    storage=_NAMES,
    arithmetic=_NAMES,
    atomics=MappingProxyType(
        {
            **dict.fromkeys(("i32", "u32", "i64", "u64"), ATOMIC_OPS),
            **dict.fromkeys(("f32", "f64"), _FLOAT_ATOMICS),
        }
    ),
    vectors=frozenset(VECTOR_LANES),
    semantics=NATIVE_SEMANTICS,
    math=frozenset(f"{fn}:{d.name}" for fn in MATH for d in ALL),
    fma=True,
    exact_div_sqrt=True,
    contract_control=True,
    index64=True,
)


def properties() -> DeviceProperties:
    """Limits are the interpreter's own; memory is the machine's."""
    memory = _machine_memory()
    return DeviceProperties(
        name="NumPy reference",
        vendor="NumPy",
        driver=f"numpy {np.__version__}",
        fingerprint=f"numpy {np.__version__}, {platform.machine()}",
        max_units_per_workgroup=1024,
        max_workgroup_dim=(1024, 1024, 1024),
        max_workgroup_count=(_COUNT, _COUNT, _COUNT),
        max_shared_memory=1 << 20,
        max_bindings=256,
        max_allocation=memory or 1 << 40,
        alignment=ALIGNMENT,
        multiprocessors=1,
        memory_bytes=memory,
        timing_method="host",
    )


def _machine_memory() -> int | None:
    """Bytes of physical memory; None where the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
