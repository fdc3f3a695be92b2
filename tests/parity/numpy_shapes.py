"""Inference under `np_shape`: the rows and columns of the table that is recorded from MXNet.

A row is an operator with the inputs of its first case, a column says which of their sizes are unknown (-1), which
shapes are (None), and which sizes are 0.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from .cases.case import Case
from .golden import DATA
from .types import ROWS

__all__ = ["NUMPY_SHAPES", "ROWS", "ask", "forms"]

NUMPY_SHAPES = DATA / "numpy_shapes.json"

Shape: TypeAlias = "tuple[int, ...] | None"


def forms(case: Case) -> dict[str, dict[str, Shape]]:
    """Return the columns of a row: by name, the shapes of its inputs."""
    names = list(case.inputs)
    full: dict[str, Shape] = {name: tuple(given.shape) for name, given in case.inputs.items()}
    first, shape = names[0], full[names[0]]
    found = {"first None": {**full, first: None}}
    if shape:
        found["first -1"] = {**full, first: (-1, *shape[1:])}
        found["last -1"] = {**full, first: (*shape[:-1], -1)}
        found["all -1"] = {name: (-1,) * len(each or ()) for name, each in full.items()}
        found["first 0"] = {**full, first: (0, *shape[1:])}
        found["first only"] = {**dict.fromkeys(names), first: (-1, *shape[1:])}
    if shape is not None and len(shape) > 1:
        found["0 and -1"] = {**full, first: (0, *shape[1:-1], -1)}
    return found


def ask(mx: Any, case: Case, shapes: dict[str, Shape]) -> str:
    """Return the shapes of arguments, outputs and auxiliary states as text, or ``refused``."""
    known = {name: shape for name, shape in shapes.items() if shape is not None}
    try:
        symbol = case.symbol(mx)
        with mx.util.np_shape(True):
            found = symbol.infer_shape_partial(**known)
    except Exception:  # of either package
        return "refused"
    return " | ".join(
        " ".join("None" if shape is None else ",".join(map(str, shape)) or "()" for shape in part)
        for part in found
    )
