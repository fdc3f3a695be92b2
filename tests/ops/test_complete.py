"""Each family's tests cover each of its operators: a new operator needs a row in their table."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from rebind.ops import OPERATORS, all_operators, find
from rebind.ops.pdf import DENSITIES

from . import test_contrib, test_declarations, test_image, test_linalg, test_pdf, test_quantization
from .contrib import test_boxes
from .nn import test_recorded
from .samples import SAMPLES

LAYERS = ("rebind.ops.nn", "rebind.ops.loss", "rebind.ops.sequence")
CONTRIB = {op.name.removeprefix("_contrib_") for op in test_contrib.HERE}
LINALG = {op.name.removeprefix("_linalg_") for op in test_linalg.HERE}
RECORDED = test_linalg.RECORDED


@pytest.mark.parametrize(
    ("operators", "covered"),
    [
        pytest.param(
            {op.name for op in all_operators() if op.kernels.function.__module__.startswith(LAYERS)},
            {find(name).name for name, _, _ in test_recorded.CASES} | set(test_recorded.ELSEWHERE),
            id="layers",
        ),
        pytest.param(
            {op.name for op in test_declarations.HERE}, {sample.name for sample in SAMPLES}, id="declarations"
        ),
        pytest.param(
            {
                alias.replace("_contrib_", "contrib.")
                for op in test_boxes.HERE
                for alias in (op.name, *op.aliases)
            },
            test_boxes.recorded_names(),
            id="boxes",
        ),
        pytest.param(
            CONTRIB - test_contrib.NOT_RECORDED,
            {name for name in CONTRIB if f"contrib.{name}" in RECORDED},
            id="contrib",
        ),
        pytest.param(LINALG, test_linalg.ARGUMENTS.keys(), id="linalg"),
        pytest.param(
            LINALG, {name for name in LINALG if f"linalg.{name}" in RECORDED}, id="records-of-linalg"
        ),
        pytest.param(
            {op.name.removeprefix("_random_pdf_") for op in DENSITIES},
            {*test_pdf.ROWS, "dirichlet"},
            id="densities",
        ),
        pytest.param(
            {op.name.removeprefix("_image_") for op in test_image.HERE}, test_image.CALLS.keys(), id="image"
        ),
        pytest.param(
            {op.name for op in test_quantization.HERE},
            {name for name in OPERATORS if "quantize" in name or name == "_contrib_calibrate_entropy"},
            id="quantization",
        ),
    ],
)
def test_each_operator_of_a_family_is_covered(operators: Collection[str], covered: Collection[str]) -> None:
    assert set(operators) == set(covered)
