"""Which types operators take and give: the rows and columns of the table that is recorded from MXNet.

The rows come from the operator cases: one for each operator, and for each way in which its parameters choose types. A
column is the type of all given inputs, or of the first and of the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .cases import CASES
from .cases.case import Array, Case
from .golden import DATA

TYPES = DATA / "types.json"

#: ``float32, int32`` is the first input in float32 and the others in int32.
COLUMNS = (
    "float16", "float32", "float64", "int8", "uint8", "int32", "int64", "bool",
    "float32, float16", "float32, float64", "float32, int32", "int32, float32",
)  # fmt: skip

#: Parameters that have a say in types.
CHOOSING = ("dtype", "out_dtype", "dtype_o", "ret_typ", "is_int", "get_prob", "output_mean_var", "cast_mode")


#: MXNet's operator reads memory that is not its own: some runs kill the process, and no two need give the same record.
UNSTEADY = ("image.flip_left_right",)


def _rows() -> dict[str, Case]:
    """Return the first case for each operator and choice of types."""
    found: dict[tuple[Any, ...], Case] = {}
    for cases in CASES.values():
        for case in cases.values():
            if case.operator in UNSTEADY or {spec.dtype for spec in case.inputs.values()} != {"float32"}:
                continue  # nothing comes in, or inputs of types that are their own: the recorded cases have them
            chosen = {name: str(case.parameters[name]) for name in CHOOSING if name in case.parameters}
            found.setdefault((case.operator, *chosen.items()), case)
    named: dict[str, Case] = {}
    for (operator, *chosen), case in found.items():
        named[f"{operator}({', '.join('='.join(pair) for pair in chosen)})"] = case
    return named


ROWS = _rows()


def applies(case: Case, column: str) -> bool:
    """Tell whether a column says something of a case: two types need two inputs."""
    return len(case.inputs) > 1 or "," not in column


def given_types(case: Case, column: str) -> dict[str, str]:
    """Return the types of the given inputs."""
    first, _, others = column.partition(", ")
    return {name: others or first if index else first for index, name in enumerate(case.inputs)}


def given_arrays(case: Case, column: str) -> dict[str, Array]:
    """Return the given inputs: in floating types the values of the case, in others small numbers above 0."""
    random = np.random.RandomState(0)
    arrays = {}
    for name, dtype in given_types(case, column).items():
        value = case.inputs[name].draw(random)
        if not np.issubdtype(np.dtype(dtype), np.floating):
            value = np.clip(np.abs(np.round(value)), 1, 3)
        arrays[name] = value.astype(dtype)
    return arrays


def describe(arguments: list[str], outputs: list[str], states: list[str]) -> str:
    """Write types down: ``float32 float32 -> float32``, and those of auxiliary states behind a bar."""
    return " ".join(arguments) + " -> " + " ".join(outputs) + (" | " + " ".join(states) if states else "")
