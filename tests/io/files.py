"""Files for the tests of iterators."""

import gzip
import struct
from pathlib import Path

import numpy as np


def write_idx(path: Path, values: np.ndarray, *, compress: bool = False) -> str:
    """Write bytes in the format of the MNIST data; return the path as text."""
    header = struct.pack(">4B", 0, 0, 8, values.ndim) + struct.pack(f">{values.ndim}I", *values.shape)
    content = header + values.astype(np.uint8).tobytes()
    path.write_bytes(gzip.compress(content) if compress else content)
    return str(path)


def write(path: Path, text: str | bytes) -> str:
    """Write a file; return its path as text."""
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(path)
