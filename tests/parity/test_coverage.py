"""The count of operators that ``make parity`` prints, and that each has a record of MXNet's or a reason."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from rebind.ops import OPERATORS

from . import control_flow, feedforward, modules, optimizers, updates
from .cases import CASES
from .coverage import LEFT_OUT, LISTED_ONLY, inventory, missing_operators, missing_parameters, recorded
from .golden import DATA, read_manifest

DRAWN = "random numbers are others: tests/ops compares moments and distributions"
OWN_RECORD = "recorded by itself: "
ARRAYS_ONLY = "MXNet has it for arrays alone, or refuses it in a symbol: "

#: Operators without a record in `cases`, the layers' or the updates' file, and what stands for it.
NO_RECORD = {
    "Custom": "the user's code: tests/test_operator.py",
    "_foreach": OWN_RECORD + "test_control_flow.py",
    "_while_loop": OWN_RECORD + "test_control_flow.py",
    "_cond": OWN_RECORD + "test_control_flow.py",
    "_contrib_quantized_conv": OWN_RECORD + "test_quantized.py (whole networks)",
    "_contrib_quantized_rnn": "oneDNN refuses it on the recording processor: tests/ops/test_quantization.py",
    "_contrib_BatchNormWithReLU": "needs oneDNN, which is off: tests/ops/nn/test_sync_norm.py holds numbers",
    "_contrib_ModulatedDeformableConvolution": "needs a GPU: tests/ops/test_deformable.py has the definition in NumPy",
    "_contrib_fft": "needs a GPU: tests/ops/test_contrib.py",
    "_contrib_ifft": "needs a GPU: tests/ops/test_contrib.py",
    "_contrib_count_sketch": "needs a GPU: tests/ops/test_sketch.py",
    "_contrib_allclose": ARRAYS_ONLY + "tests/ops/test_contrib.py",
    "_contrib_boolean_mask": ARRAYS_ONLY + "tests/ops/test_contrib.py",
    "_contrib_edge_id": "sparse arrays only: a sentence says so, tests/ops/test_storage.py",
    "_contrib_getnnz": "sparse arrays only: a sentence says so, tests/ops/test_storage.py",
    "_sparse_retain": "sparse arrays only: a sentence says so, tests/ops/test_storage.py",
    "_square_sum": "sparse arrays only in MXNet: tests/ops/test_families.py",
    "_cvimdecode": ARRAYS_ONLY + "tests/ops/test_opencv.py",
    "_cvimread": ARRAYS_ONLY + "tests/ops/test_opencv.py",
    "_cvimresize": ARRAYS_ONLY + "tests/ops/test_opencv.py",
    "_cvcopyMakeBorder": ARRAYS_ONLY + "tests/ops/test_opencv.py",
    "_copyto": ARRAYS_ONLY + "tests/ndarray",
    "_onehot_encode": ARRAYS_ONLY + "tests/ops/samples.py",
    "_scatter_set_nd": ARRAYS_ONLY + "tests/ops/samples.py",
    "_zeros_without_dtype": ARRAYS_ONLY + "tests/ops/samples.py",
    "fill_element_0index": ARRAYS_ONLY + "tests/ops/samples.py",
    "reset_arrays": ARRAYS_ONLY + "tests/ops/test_reset.py",
    **dict.fromkeys(
        [
            "_image_random_color_jitter",
            "_image_random_flip_left_right",
            "_image_random_flip_top_bottom",
            "_random_exponential",
            "_random_exponential_like",
            "_random_gamma",
            "_random_gamma_like",
            "_random_generalized_negative_binomial",
            "_random_generalized_negative_binomial_like",
            "_random_negative_binomial",
            "_random_negative_binomial_like",
            "_random_normal",
            "_random_normal_like",
            "_random_poisson",
            "_random_poisson_like",
            "_random_randint",
            "_random_uniform",
            "_random_uniform_like",
            "_sample_exponential",
            "_sample_gamma",
            "_sample_generalized_negative_binomial",
            "_sample_multinomial",
            "_sample_negative_binomial",
            "_sample_normal",
            "_sample_poisson",
            "_sample_uniform",
            "_sample_unique_zipfian",
            "_shuffle",
        ],
        DRAWN,
    ),
}


def named(call: str) -> str:
    """Return the operator that a case calls ``contrib.box_nms``, ``_plus`` or, by its front end, ``zeros``."""
    space, _, short = call.rpartition(".")
    name = f"_{space}_{short}" if space else call
    return OPERATORS[name if name in OPERATORS else f"_{name}"].name


def layers_with_a_record() -> set[str]:
    path = Path(__file__).parents[1] / "ops" / "nn" / "record.py"
    spec = importlib.util.spec_from_file_location("record_of_layers", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {named(operator) for operator, _, _ in module.CASES}


def operators_without_a_record() -> set[str]:
    recorded = {named(case.operator) for cases in CASES.values() for case in cases.values()}
    recorded |= layers_with_a_record()
    recorded |= {named(re.split(r"[( ]", name)[0]) for name in read_manifest(DATA / "updates.json")["cases"]}
    there = {OPERATORS[name].name for name in inventory() if name in OPERATORS}
    return there - recorded


@pytest.mark.parametrize(
    ("found", "listed"),
    [
        pytest.param(lambda: len(inventory()), 593, id="operators-of-mxnet"),
        pytest.param(missing_operators, sorted(LEFT_OUT), id="operators"),
        pytest.param(missing_parameters, LISTED_ONLY, id="parameters"),
        pytest.param(operators_without_a_record, set(NO_RECORD), id="records"),
    ],
)
def test_what_is_missing_is_listed_with_its_reason(found: Callable[[], object], listed: object) -> None:
    assert found() == listed


@pytest.mark.parametrize(
    ("manifest", "key", "table", "command"),
    [
        pytest.param("control_flow.json", "cases", control_flow.CASES, "generate control_flow", id="loops"),
        pytest.param("feedforward/runs.json", "runs", feedforward.RUNS, "generate feedforward", id="models"),
        pytest.param("modules.json", "programs", modules.PROGRAMS, "generate modules", id="modules"),
        pytest.param("optimizers.json", "runs", optimizers.RUNS, "generate optimizers", id="optimizers"),
        pytest.param("updates.json", "cases", updates.CASES, "generate updates", id="updates"),
    ],
)
def test_recorded_cases_are_those_of_the_table(
    manifest: str, key: str, table: Mapping[str, object], command: str
) -> None:
    recorded = read_manifest(DATA / manifest)[key]
    assert list(recorded) == list(table), f"record again: python -m tests.parity.{command}"


def test_readme_quotes_no_more_than_is_recorded() -> None:
    page = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    for kind, count in recorded().items():
        quoted = re.search(rf"([\d,]+) {kind}", page)
        assert quoted is not None, kind
        assert int(quoted[1].replace(",", "")) <= count, kind
