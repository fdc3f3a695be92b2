"""What a sample is: an operator, how to make its arrays, its parameters.

This file imports neither rebind nor torch: the benchmark of operators reads it under MXNet's Python too.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["Array", "Sample"]


@dataclass(frozen=True)
class Array:
    """How to make an array: its shape, the range of its elements, its type."""

    shape: tuple[int, ...]
    low: float = -2.0
    high: float = 2.0
    dtype: str = "float32"
    diagonal: float = 0.0  # added to the diagonal of matrices, to be far from singular ones

    def make(self, random: np.random.Generator) -> np.ndarray:
        if np.issubdtype(np.dtype(self.dtype), np.floating):
            drawn = random.uniform(self.low, self.high, self.shape)
            if self.diagonal:
                drawn += self.diagonal * np.eye(self.shape[-1])
            return drawn.astype(self.dtype)
        return random.integers(int(self.low), int(self.high) + 1, self.shape).astype(self.dtype)


@dataclass(frozen=True)
class Sample:
    name: str
    arrays: tuple[Any, ...]  # Array, or a NumPy array as it is
    parameters: dict[str, Any] = field(default_factory=dict)
    training: bool = False

    def inputs(self) -> list[np.ndarray]:
        seed = zlib.crc32(
            repr((self.name, self.parameters, [getattr(a, "shape", ()) for a in self.arrays])).encode()
        )
        random = np.random.default_rng(seed)
        return [a.make(random) if isinstance(a, Array) else a for a in self.arrays]

    def __str__(self) -> str:
        shapes = "-".join(
            "x".join(map(str, a.shape)) + ("" if a.dtype == "float32" else str(a.dtype)) for a in self.arrays
        )
        mode = "-training" if self.training else ""
        given = "-".join(f"{k}={v}" for k, v in self.parameters.items())
        return f"{self.name}-{shapes}-{given}{mode}".replace(" ", "")
