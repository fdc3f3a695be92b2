"""The formulas and gradients on the pages of operators give what MXNet 1.9.1 computed, or what the operators do."""

from __future__ import annotations

import ast
from collections.abc import Callable
from itertools import groupby
from typing import Any

import numpy as np
import pytest
from tests.docs.operator_calls import Call, calls
from tests.ops.samples import RANDOM
from tests.parity import test_updates as updates
from tests.parity.coverage import LEFT_OUT
from tests.parity.updates import Update
from tools.onnx_table import names_by_operator, relative_error
from tools.operator_comparison import update_operator
from tools.operator_formulas import evaluate, formula, formulas, gradient, is_code
from tools.operator_pages import first_name

import rebind as mx
from rebind.ops import find


def _factor(values: dict[str, Any], out: np.ndarray) -> float:
    if values["min_factor"] == values["max_factor"]:
        return values["min_factor"]
    # All that has a factor keeps what the channels of a pixel differ by, but for the factor.
    return np.diff(out[0, 0])[0] / np.diff(values["data"][0, 0])[0]


#: What an operator draws, by the name that its formula has for it: found out from a call and its result.
DRAWN: dict[str, dict[str, Callable[[Any, np.ndarray], Any]]] = {
    "Dropout": {"mask": lambda values, out: out != 0},
    **{
        f"_image_random_flip_{sides}": {
            "flipped": lambda values, out: not np.array_equal(values["data"], out)
        }
        for sides in ("left_right", "top_bottom")
    },
    **{f"_image_random_{what}": {"factor": _factor} for what in ("brightness", "contrast", "saturation")},
}

#: Calls at the border of what an operator is for, where the formulas do not go.
BESIDE = (
    "_histogram(bin_cnt=3, range=(0, 7))",  # the bounds are cut to whole numbers, as the data are
    "contrib.box_nms(overlap_thresh=-1.0) #2",  # boxes whose area is negative
)


_ONE_AXIS = "along one axis; with more axes the formula would have as many indices"
#: Operators whose formulas leave out some of the calls.
PARTLY = {
    **dict.fromkeys(
        ["Convolution", "Convolution_v1", "Deconvolution", "Pooling", "im2col", "col2im"], _ONE_AXIS
    ),
    "_contrib_quantized_pooling": "for images",
    "LeakyReLU": "without the slopes that rrelu draws in training",
    "UpSampling": "for the nearest pixel; the other form is a Deconvolution",
    "_contrib_DeformableConvolution": "for one group",
    "_contrib_BilinearResize2D": "for sizes that are given",
}


def _names(name: str) -> set[str]:
    signature = find(name).signature
    names = {*signature.input_names, *signature.parameters}
    return {*names, *(f"{name}_levels" for name in names), "grad", "training", *DRAWN.get(name, ())}


UPDATES = {
    name: list(cases)
    for name, cases in groupby(sorted(updates.CASES.values(), key=update_operator), key=update_operator)
}
DRAWS = {
    sample.name: sample
    for sample in reversed(RANDOM)
    if formula(sample.name)[-1].startswith(("density =", "probability ="))
}
#: Those whose formulas are run on their calls.
RUN = [
    name
    for name in formulas()
    if name not in UPDATES and name not in DRAWS and is_code(formula(name), _names(name))
]


def test_a_formula_belongs_to_an_operator_by_its_first_name() -> None:
    assert [name for name in formulas() if find(name).name != name] == []


def test_each_operator_has_a_formula_that_is_run_or_a_sentence() -> None:
    operators = {first_name(names[0]) for names in names_by_operator().values()} - set(LEFT_OUT)
    assert operators == set(formulas())
    sentences = {name for name in operators if len(formula(name)) == 1 and formula(name)[0].startswith("# ")}
    assert operators - sentences - set(RUN) - set(UPDATES) - set(DRAWS) == set()


@pytest.mark.parametrize("name", RUN)
def test_a_formula_gives_what_the_operator_computes(name: str) -> None:
    compared = [_compare(name, call) for call in calls(name) if not call.what.endswith(BESIDE)]
    assert any(compared)
    assert all(compared) == (name not in PARTLY)
    if gradient(name):
        assert is_code(gradient(name), {*_names(name), *_assigned(name), "grad"})


def _assigned(name: str) -> set[str]:
    """Return the names that the lines of a formula assign."""
    nodes = list(ast.walk(ast.parse("\n".join(formula(name)))))
    targets = [node.value if isinstance(node, ast.Subscript) else node for node in nodes if _is_target(node)]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _is_target(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Store)


def _compare(name: str, call: Call) -> bool:
    """Compare a call with the formula; return whether the formula covers it."""
    shapes = {"out": next(iter(call.outputs.values()))[0].shape} | {
        f"d_{key}": value.shape for key, value in call.values.items() if isinstance(value, np.ndarray)
    }
    found: list[Any] = []
    if call.values.get("layout") in ("NWC", "NHWC", "NDHWC"):
        return False  # the formulas have the channels first
    with np.errstate(all="ignore"):
        for training, expected in call.outputs.items():
            given = {**call.values, "training": training}
            for word, read in DRAWN.get(name, {}).items():
                given[word] = read(call.values, expected[0])
            try:
                values = evaluate(formula(name), given, shapes)
            except (NameError, IndexError):  # without one of the inputs, or with another number of axes
                return False
            if "out" not in values:
                return False  # a case that the formula leaves out
            found = values["out"] if isinstance(values["out"], list) else [values["out"]]
            for out, reference in zip(
                found, expected, strict=False
            ):  # a formula may leave out further outputs
                _assert_close(out, reference, call.what)
        if call.gradients and len(found) == len(expected) and is_code(gradient(name), {*values, "grad"}):
            heads = [np.float64(head) for head in call.heads] or [np.ones(out.shape) for out in expected]
            grad = heads if isinstance(values["out"], list) else heads[0]
            values = evaluate(gradient(name), {**values, "grad": grad}, shapes)
            for key, reference in call.gradients.items():
                _assert_gradient(values.get(f"d_{key}"), reference, f"{call.what}: d_{key}")
    return True


def _assert_gradient(found: Any, reference: Any, what: str) -> None:
    if isinstance(reference, list):
        for i, (each, expected) in enumerate(zip(found, reference, strict=True)):
            _assert_gradient(each, expected, f"{what}[{i}]")
    elif found is not None and reference is not None:
        _assert_close(found, reference, what)


def _assert_close(found: Any, expected: np.ndarray, what: str, rtol: float = 5e-5) -> None:
    found = np.asarray(found, np.float64)
    if found.size > expected.size:  # the gradient of an input that was broadcast
        shape = (1,) * (found.ndim - expected.ndim) + expected.shape
        found = found.sum(axis=tuple(i for i, size in enumerate(shape) if size == 1 != found.shape[i]))
    # Axes of size 1 are left out in the formulas.
    assert [n for n in found.shape if n != 1] == [n for n in expected.shape if n != 1], what
    found = found.reshape(expected.shape)
    if expected.dtype.kind in "iu":
        # A result is cut to whole numbers, from float32, and to the bits of its type.
        near = 1e-6 * np.maximum(np.abs(found), 1)
        cut = [(found + shift).astype(np.int64).astype(expected.dtype) for shift in (-near, 0, near)]
        assert np.all(np.any(expected == cut, axis=0) | ~np.isfinite(found)), what
        return
    limit = 2e-3 if expected.dtype == np.float16 else 5e-5
    assert relative_error(found, expected) < max(limit, rtol), what


#: Parameters and closing arrays that hold a number for each weight, by the formulas' name for one of them.
_OF_EACH = {"lrs": "lr", "learning_rates": "lr", "wds": "wd", "etas": "eta", "step_count": "t"}


@pytest.mark.parametrize("name", UPDATES)
def test_a_formula_gives_the_updates_of_mxnet(name: str) -> None:
    for case in UPDATES[name]:
        _compare_update(name, case)


def _compare_update(name: str, case: Update) -> None:
    """Run the steps of an update; states go from one to the next."""
    entry = updates.MANIFEST[case.name]
    arrays = {key: np.float64(value) for key, value in updates.PACK.get_all(entry["before"]).items()}
    signature = find(name).signature
    for step, (gradients, outputs) in enumerate(zip(entry["gradients"], entry["outputs"], strict=True)):
        given = {**signature.defaults, **case.settings(step)}
        given |= {key: value for key, value in arrays.items() if key in case.closes}
        for i, reference in enumerate(outputs):
            mine = {key: arrays[f"{key}_{i}"] for key in case.arrays}
            if gradients:
                mine["grad"] = np.float64(updates.PACK.get(gradients[i]))
            each = {
                _OF_EACH[key]: value[i] for key, value in given.items() if key in _OF_EACH and case.arrays
            }
            with np.errstate(all="ignore"):
                values = evaluate(formula(name), {**given, **mine, **each})
            _assert_close(
                values["weight" if case.over else "out"], updates.PACK.get(reference), case.name, case.rtol
            )
            arrays |= {f"{key}_{i}": values[key] for key in case.arrays}
    for key, reference in entry["after"].items():
        if key.rpartition("_")[0] not in (*case.unwritten, "grad"):
            _assert_close(arrays[key], updates.PACK.get(reference), f"{case.name}: {key}", case.rtol)


_COUNT = 20_000


@pytest.mark.parametrize("name", DRAWS)
def test_draws_have_the_density_of_the_formula(name: str) -> None:
    sample = DRAWS[name]
    arrays = sample.inputs()
    if name == "_sample_multinomial":
        arrays = [array / array.sum(-1, keepdims=True) for array in arrays]
    if name == "_sample_uniform":
        arrays = list(np.sort(arrays, axis=0))
    given = dict(sample.parameters)
    if name.endswith("_like"):
        arrays = [np.zeros(_COUNT)]
    else:
        given["shape"] = (_COUNT, 1) if name == "_sample_unique_zipfian" else (_COUNT,)
    mx.random.seed(7)
    result = getattr(mx.nd._internal, name)(*map(mx.nd.array, arrays), **given)
    drawn = (result[0] if isinstance(result, list) else result).asnumpy().reshape(-1, _COUNT)
    signature = find(name).signature
    values = {**signature.defaults, **given}
    for i, row in enumerate(drawn):
        mine = {
            key: array[i]
            for key, array in zip(signature.input_names, arrays, strict=True)
            if key != "data" or len(drawn) > 1
        }
        _assert_distributed(row, name, {**values, **mine})


def _assert_distributed(drawn: np.ndarray, name: str, values: dict[str, Any]) -> None:
    """Compare how often numbers were drawn with what the formula says."""
    if formula(name)[-1].startswith("density"):
        bounds = np.linspace(drawn.min(), drawn.max(), 11)
        # Closer together at the lower end: the density of gamma can rise to infinity there.
        x = bounds[:-1] + np.diff(bounds) * np.linspace(0, 1, 401).reshape(-1, 1) ** 4  # (401, 10)
        density = evaluate(formula(name), {**values, "x": (x[1:] + x[:-1]) / 2})["density"]
        expected = (density * np.diff(x, axis=0)).sum(axis=0)
        counts = np.histogram(drawn, bounds)[0]
    else:
        n = np.arange(drawn.max() + 1.0)
        expected = evaluate(formula(name), {**values, "n": n})["probability"]
        counts = np.bincount(drawn.astype(int))
    spread = np.sqrt(expected * (1 - np.minimum(expected, 1)) / _COUNT)
    assert np.all(np.abs(counts / _COUNT - expected) < 5 * spread + 1e-3)
