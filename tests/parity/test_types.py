"""Operators take and give the types that MXNet takes and gives."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from tests.sampling import sampled

import rebind as mx

from .cases.case import Case, find
from .types import COLUMNS, ROWS, TYPES, applies, describe, given_arrays

RECORDED: dict[str, dict[str, str]] = json.loads(TYPES.read_text(encoding="utf-8"))

#: Operators whose types are not MXNet's, or that take types that MXNet refuses.
OTHERWISE = {
    "contrib.calibrate_entropy": "takes a histogram of any type",
    "contrib.quantize": "takes a range of any type",
    "contrib.quantize_v2": "gives uint8 as it comes",
    "contrib.requantize": "takes 32-bit sums only; the range of float16 is too small for them",
    "multi_all_finite": "takes arrays of any types",
    "image.normalize": "gives float32 for whole numbers",
}

TABLE = [
    pytest.param(name, column, id=f"{name}-{column}".replace(", ", "+"), marks=marks)
    for (name, column), marks in sampled(
        [
            (name, column)
            for name, case in ROWS.items()
            for column in (*COLUMNS, "bfloat16")
            if name in RECORDED and case.operator not in OTHERWISE and applies(case, column)
        ],
        kind=lambda row: row[0],
    )
]

#: Where rebind computes and MXNet does not, by column. Types that differ where they must not are always refused.
WIDER = {
    "bool": "MXNet has kernels for few operators; here they compute as with 0 and 1",
    **dict.fromkeys(
        ("int8", "uint8", "int32", "int64"), "MXNet has no products, pooling and padding of whole numbers"
    ),
    "float16": "MXNet has no matrix products and no sorting in float16 on CPUs",
    "bfloat16": "MXNet has none",
    "float64": "MXNet has the products of attention in float32 only",
}


def test_recorded_rows_are_those_of_the_table() -> None:
    assert RECORDED.keys() == ROWS.keys(), "record again: ORACLE_PYTHON -m tests.parity.generate_types"


def answer(case: Case, arrays: dict[str, Any]) -> tuple[str, str]:
    """Return the inferred types as they are recorded, and those of the computed outputs."""
    symbol = case.symbol(mx)
    inferred = symbol.infer_type(**{name: array.dtype for name, array in arrays.items()})
    names = [[mx.nd.zeros(1, dtype=dtype).tensor.dtype for dtype in part] for part in inferred]
    arguments, outputs, states = ([str(dtype).removeprefix("torch.") for dtype in part] for part in names)
    shapes, _, state_shapes = symbol.infer_shape(**{name: array.shape for name, array in arrays.items()})
    free = {
        name: mx.nd.ones(shape, dtype=dtype)
        for name, shape, dtype in zip(symbol.list_arguments(), shapes, arguments, strict=True)
        if name not in arrays
    }
    held = {
        name: mx.nd.ones(shape, dtype=dtype)
        for name, shape, dtype in zip(symbol.list_auxiliary_states(), state_shapes, states, strict=True)
    }
    executor = symbol.bind(mx.cpu(), {**arrays, **free}, grad_req="null", aux_states=held)
    computed = [str(out.tensor.dtype).removeprefix("torch.") for out in executor.forward(is_train=False)]
    direct = call(case, [*arrays.values()], {**arrays, **free, **held})
    assert computed == [str(out.tensor.dtype).removeprefix("torch.") for out in direct]
    return describe(arguments, outputs, states), " ".join(computed)


def call(case: Case, given: list[mx.nd.NDArray], named: dict[str, mx.nd.NDArray]) -> list[mx.nd.NDArray]:
    """Run the case on arrays, without a symbol."""
    function = find(SimpleNamespace(sym=mx.nd), case.operator)
    if case.variadic:
        found = function(*given, **case.parameters)
    else:
        found = function(
            **{name.removeprefix("op_"): array for name, array in named.items()}, **case.parameters
        )
    return found if isinstance(found, list) else [found]


def in_bfloat16(recorded: dict[str, str]) -> str:
    """Return the entry for bfloat16: as that for float16, but for what is of float16 whatever comes in."""
    halves, floats = recorded["float16"].split(), recorded["float32"].split()
    if "->" not in halves or "->" not in floats:
        return "not known"
    return " ".join(
        "bfloat16" if half == "float16" and single == "float32" else half
        for half, single in zip(halves, floats, strict=True)
    )


@pytest.mark.parametrize("name, column", TABLE)
def test_types(name: str, column: str) -> None:
    case = ROWS[name]
    recorded = in_bfloat16(RECORDED[name]) if column == "bfloat16" else RECORDED[name][column]
    values = given_arrays(case, "float16" if column == "bfloat16" else column)
    arrays = {
        key: mx.nd.array(value, dtype=column if column == "bfloat16" else value.dtype)
        for key, value in values.items()
    }
    computes = "->" in recorded
    try:
        found, computed = answer(case, arrays)
    except mx.MXNetError:
        assert not computes
        return
    if computes:
        assert found == recorded
    else:
        assert column in WIDER or recorded == "killed", "MXNet refuses these types; is there a reason not to?"
    assert computed == found.partition(" -> ")[2].partition(" | ")[0]
