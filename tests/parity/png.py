"""PNG files without a library, since MXNet's environment has none: what is read is exactly what was written."""

from __future__ import annotations

import struct
import zlib

import numpy as np

__all__ = ["noise", "plain", "png"]


def png(picture: np.ndarray) -> bytes:
    """Return the bytes of a PNG file with a picture (H, W), (H, W, 3) or (H, W, 4), uint8."""
    height, width = picture.shape[:2]
    kind = {1: 0, 3: 2, 4: 6}[1 if picture.ndim == 2 else picture.shape[2]]
    rows = b"".join(b"\0" + row.tobytes() for row in picture)
    header = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )


def noise(height: int, width: int, channels: int = 3, seed: int = 0) -> np.ndarray:
    """Return a picture (H, W, C) of random pixels."""
    return np.random.RandomState(seed).randint(0, 256, (height, width, channels)).astype("uint8")


def plain(value: int, height: int, width: int) -> np.ndarray:
    """Return a picture (H, W, 3) of one colour."""
    return np.full((height, width, 3), value, dtype="uint8")
