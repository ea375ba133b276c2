"""Reading the photograph and writing the results; Pillow does both where it is installed."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from ruda_core.errors import ConfigError

Picture = np.ndarray[Any, Any]

_SMALL = (400, 300)
"""Largest width and height that the demonstration works on."""


def photograph(path: str | None) -> tuple[Picture, str]:
    """An RGB picture of (height, width, 3) uint8, and what it is.

    From `path`; else a photograph that scikit-image or Matplotlib ships; else a pattern.
    """
    if path is not None:
        return _read(path), path
    for name, sample in (("scikit-image's coffee", _scikit_image), ("Matplotlib's sample", _matplotlib)):
        picture = sample()
        if picture is not None:
            return _reduced(picture), name
    return _pattern(), "a pattern (install scikit-image for a photograph, or give --image)"


def _read(path: str) -> Picture:
    try:
        from PIL import Image
    except ImportError as error:
        raise ConfigError("--image needs Pillow: pip install pillow") from error
    try:
        with Image.open(path) as image:
            return _reduced(np.asarray(image.convert("RGB")))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} is no picture that can be read: {error}") from error


def _reduced(picture: Picture) -> Picture:
    """Every n-th pixel, so that the picture is small enough for the slowest device."""
    step = max(1, -(-picture.shape[1] // _SMALL[0]), -(-picture.shape[0] // _SMALL[1]))
    return np.ascontiguousarray(picture[::step, ::step, :3], np.uint8)


def _scikit_image() -> Picture | None:
    try:
        from skimage import data
    except ImportError:
        return None
    coffee: Picture = data.coffee()
    return coffee


def _matplotlib() -> Picture | None:
    try:
        from matplotlib import cbook
        from PIL import Image
    except ImportError:
        return None
    with cbook.get_sample_data("grace_hopper.jpg") as file, Image.open(file) as image:
        return np.asarray(image.convert("RGB"))


def _pattern() -> Picture:
    y, x = np.mgrid[0:240, 0:320]
    rings = np.sin(np.hypot(x - 160, y - 120) / 6.0) * 127 + 128
    return np.stack([rings, x * 0.8, y * 1.06], axis=-1).astype(np.uint8)


def write_png(path: Path, picture: Picture) -> None:
    """A grey (height, width) or RGB (height, width, 3) uint8 picture as PNG (RFC 2083, no filter)."""
    height, width = picture.shape[:2]
    colour = 2 if picture.ndim == 3 else 0
    rows = picture.reshape(height, -1)
    raw = b"".join(b"\0" + row.tobytes() for row in rows)
    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(raw)), (b"IEND", b""))
    with path.open("wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        for kind, data in chunks:
            body = kind + data
            file.write(struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body)))
