"""Names from the module."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

import numpy as np

import ruda_core as ruda
from ruda_core import Array, f16, f32, i32


class Mode(enum.Enum):
    FAST = 1
    SAFE = 2


class Flag(enum.IntEnum):
    LOW = 1
    HIGH = 8


class Settings:
    TILE = 8


@dataclass(frozen=True)
class Config:
    tile: int = 4
    scale: float = 0.5
    dtype: object = f16

    @property
    def cells(self) -> int:
        return self.tile * self.tile


def _limit(config, factor=2):
    return config.cells * factor


MODE = Mode.SAFE
CONFIG = Config()
NUMPY = np.float32(0.1)
OFFSETS = (np.int64(1), 2)
DTYPE = f16


def numbers(x: Array[f32]):
    x[0] = x[0] * NUMPY + math.pi + np.pi
    x[OFFSETS[0]] = math.inf
    x[2] = -ruda.inf


def enum_members(x: Array[f32]):
    if MODE is Mode.FAST:
        x[0] = 1
    elif MODE == Mode.SAFE:
        x[0] = MODE.value
    x[1] = Flag.HIGH
    x[Flag.LOW] = x[0] * Flag.LOW


def dataclasses_and_classes(x: Array[f32]):
    tile = ruda.shared(CONFIG.dtype, (CONFIG.tile, Settings.TILE))
    tile[0, 0] = DTYPE(x[0] * CONFIG.scale)
    other = Config(tile=2)
    x[0] = _limit(CONFIG) + _limit(other, factor=3)
    x[1] = f32(tile[0, 0])


def functions_of_other_modules(x: Array[f32], n: Array[i32]):
    a = x[0]
    x[0] = math.sqrt(a) + np.exp(a) + math.atan2(a, 2.0) + np.where(a > 0, a, 0) + np.float32(n[0])
    x[1] = math.sqrt(2) + math.floor(2.5) + sum(OFFSETS) + max(OFFSETS) + abs(-3)
    n[0] = len(OFFSETS) + int(2.9) + divmod(7, 2)[1]
    for k, offset in enumerate(OFFSETS):
        n[k] = offset
