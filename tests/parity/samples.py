"""Arrays to save and load: every type, shapes that files treat differently, values that are lost easily."""

from __future__ import annotations

import numpy as np

DTYPES = ("float32", "float64", "float16", "uint8", "int8", "int32", "int64", "bool")

#: One element (what MXNet calls a scalar), a row, and four axes with a 1 among them.
SHAPES: dict[str, tuple[int, ...]] = {"scalar": (1,), "row": (5,), "four": (2, 1, 3, 2)}


def sample(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return an array of ``dtype``; it begins with the extreme values of the type, as far as they fit."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        limits = np.finfo(kind)
        special = [-0.0, limits.max, limits.tiny / 2, np.inf, np.nan]
    elif kind.kind == "b":
        special = [True, False]
    else:
        bounds = np.iinfo(kind)
        special = [bounds.max, bounds.min]
    size = int(np.prod(shape))
    values = np.zeros(size, kind)
    values[: len(special)] = np.array(special[:size], kind)
    values[len(special) :] = (np.arange(len(special), size) % 7).astype(kind)
    return values.reshape(shape)


def sample_arrays(dtype: str) -> dict[str, np.ndarray]:
    """Return one array of ``dtype`` for each shape, under names that need care: a colon, umlauts."""
    prefix = {"scalar": "arg:", "row": "aux:", "four": "größe_"}
    return {f"{prefix[name]}{name}": sample(dtype, shape) for name, shape in SHAPES.items()}


def all_arrays() -> dict[str, np.ndarray]:
    """Return arrays of all types together, for a file of mixed types."""
    return {f"{dtype}_{name}": sample(dtype, shape) for dtype in DTYPES for name, shape in SHAPES.items()}


#: Shapes that only the newest form of the format knows (``mx.util.np_shape``): no axes, and no elements.
NUMPY_SHAPES: dict[str, np.ndarray] = {
    "no_axes": np.array(1.5, np.float32),
    "no_elements": np.zeros((0, 3), np.float32),
    "ordinary": np.arange(4, dtype=np.float32),
}


def array_files() -> dict[str, dict[str, np.ndarray] | list[np.ndarray]]:
    """Return what each ``arrays-*.params`` holds, by file name: dicts and lists."""
    files: dict[str, dict[str, np.ndarray] | list[np.ndarray]] = {}
    for dtype in DTYPES:
        files[f"arrays-dict-{dtype}.params"] = sample_arrays(dtype)
        files[f"arrays-list-{dtype}.params"] = list(sample_arrays(dtype).values())
    files["arrays-dict-mixed.params"] = all_arrays()
    files["arrays-list-mixed.params"] = list(all_arrays().values())
    files["arrays-empty.params"] = []
    return files
