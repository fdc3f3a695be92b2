"""Where the recorded values lie and how they are written and read: the one place that knows the layout.

A record is a JSON manifest (what was done, with which settings, by which MXNet) and beside it compressed
``.npz`` files with the numbers. Keys inside an ``.npz`` are ``group/name``: ``gradient/fc1_weight``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(__file__).resolve().parent / "data"
FILES = DATA / "files"
NETWORKS = DATA / "networks"
OPERATORS = DATA / "operators"
QUANTIZED = DATA / "quantized"
FUSED = DATA / "fused"
SVRG = DATA / "svrg"

Arrays = dict[str, np.ndarray]


def join(group: str, arrays: Mapping[str, np.ndarray]) -> Arrays:
    """Name the arrays of a group as they stand in an ``.npz``: ``group/name``."""
    return {f"{group}/{name}": value for name, value in arrays.items()}


def group(arrays: Mapping[str, np.ndarray], name: str) -> Arrays:
    """Return the arrays of one group, without the group in their names."""
    return {key[len(name) + 1 :]: value for key, value in arrays.items() if key.startswith(name + "/")}


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write a compressed ``.npz``; the same arrays always give the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **dict[str, Any](arrays))


def read_arrays(path: Path) -> Arrays:
    """Read a whole ``.npz``."""
    with np.load(path, allow_pickle=False) as archive:
        return {key: archive[key] for key in archive.files}


class Pack:
    """Many small arrays in one file: one long array for each type, and a reference for each small array.

    A reference is ``[type, offset, *shape]``; manifests hold references.
    """

    def __init__(self, columns: Mapping[str, np.ndarray] | None = None) -> None:
        self._columns = dict(columns or {})
        self._parts: dict[str, list[np.ndarray]] = {}
        self._sizes: dict[str, int] = {}

    def add(self, array: np.ndarray) -> list[Any]:
        """Take an array in and return its reference."""
        dtype = str(array.dtype)
        offset = self._sizes.get(dtype, 0)
        self._parts.setdefault(dtype, []).append(array.ravel())
        self._sizes[dtype] = offset + array.size
        return [dtype, offset, *array.shape]

    def add_all(self, arrays: Mapping[str, np.ndarray]) -> dict[str, list[Any]]:
        """Take named arrays in and return their references."""
        return {name: self.add(array) for name, array in arrays.items()}

    def get(self, reference: Sequence[Any]) -> np.ndarray:
        """Return a copy of the array that a reference stands for."""
        dtype, offset, *shape = reference
        size = int(np.prod(shape, dtype=np.int64))
        return self._columns[dtype][offset : offset + size].reshape(shape).copy()

    def get_all(self, references: Mapping[str, Sequence[Any]]) -> Arrays:
        """Return the arrays that named references stand for."""
        return {name: self.get(reference) for name, reference in references.items()}

    def write(self, path: Path) -> None:
        """Write everything that was added."""
        write_arrays(path, {dtype: np.concatenate(parts) for dtype, parts in sorted(self._parts.items())})

    @classmethod
    def read(cls, path: Path) -> Pack:
        """Open a pack for reading."""
        return cls(read_arrays(path))


def write_manifest(path: Path, manifest: Mapping[str, Any]) -> None:
    """Write a manifest; a list stands on one line, so that a small change shows as a small difference."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(manifest, indent=1)
    text = re.sub(r"\[[^\[\]{}]*\]", lambda match: re.sub(r"\n\s*", " ", match[0]), text)
    path.write_text(text + "\n", encoding="utf-8")


def read_manifest(path: Path) -> dict[str, Any]:
    """Read a manifest."""
    return json.loads(path.read_text(encoding="utf-8"))


def same_arrays(
    actual: Mapping[str, np.ndarray] | list[np.ndarray],
    expected: Mapping[str, np.ndarray] | list[np.ndarray],
    *,
    what: str,
) -> None:
    """Require the same names in the same order and the same arrays: type, shape and every bit."""
    if isinstance(expected, list):
        assert isinstance(actual, list), f"{what}: a list was saved, a {type(actual).__name__} came back"
        assert len(actual) == len(expected), (
            f"{what}: {len(expected)} arrays were saved, {len(actual)} came back"
        )
        pairs = [(str(index), *pair) for index, pair in enumerate(zip(actual, expected, strict=True))]
    else:
        assert isinstance(actual, Mapping), f"{what}: a dict was saved, a {type(actual).__name__} came back"
        assert list(actual) == list(expected), f"{what}: names {list(actual)}, expected {list(expected)}"
        pairs = [(name, actual[name], expected[name]) for name in expected]
    for name, got, wanted in pairs:
        assert got.dtype == wanted.dtype, f"{what}, {name}: type {got.dtype}, expected {wanted.dtype}"
        assert got.shape == wanted.shape, f"{what}, {name}: shape {got.shape}, expected {wanted.shape}"
        assert got.tobytes() == wanted.tobytes(), f"{what}, {name}: elements differ"


def assert_close(actual: np.ndarray, expected: np.ndarray, *, rtol: float, what: str) -> None:
    """Compare with an absolute tolerance of ``rtol`` times the largest expected magnitude.

    Elements that are small beside the others of their array are sums in which larger terms cancel; their
    rounding error has the size of those terms, so a purely relative bound would be wrong for them.
    """
    assert actual.shape == expected.shape, f"{what}: shape {actual.shape}, MXNet has {expected.shape}"
    if expected.dtype.kind in "biu":
        np.testing.assert_array_equal(actual, expected, err_msg=what)
        return
    finite = np.abs(expected[np.isfinite(expected)].astype(np.float64))
    scale = float(finite.max()) if finite.size else 0.0
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=rtol * scale + 1e-30, err_msg=what)
