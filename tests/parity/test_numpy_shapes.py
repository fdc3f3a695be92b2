"""Inference under `np_shape` knows what MXNet's knows, or more: -1 is an unknown size, 0 a size."""

from __future__ import annotations

import json

import pytest

import rebind as mx

from .numpy_shapes import NUMPY_SHAPES, ROWS, ask, forms

RECORDED: dict[str, dict[str, str]] = json.loads(NUMPY_SHAPES.read_text(encoding="utf-8"))

COMPUTES_WITH_MINUS_ONE = "MXNet adds or multiplies the -1 of an unknown size"
CHECKS = "the shapes do not fit, which MXNet sees in the run"

#: What rebind infers otherwise, or refuses: by row and column, None for all columns.
OTHERWISE: dict[tuple[str, str | None], str] = {
    ("Concat()", "first None"): COMPUTES_WITH_MINUS_ONE,
    ("Pad()", None): COMPUTES_WITH_MINUS_ONE,
    ("khatri_rao()", "all -1"): COMPUTES_WITH_MINUS_ONE,
    ("contrib.interleaved_matmul_encdec_valatt()", "last -1"): COMPUTES_WITH_MINUS_ONE,
    ("_slice_assign()", "first only"): "MXNet gives the part the shape of the whole",
    ("_rnn_param_concat()", None): "MXNet takes an unknown shape for one without elements, or with one axis",
    ("Correlation()", "first -1"): "the number of images may be known from the other input",
    **{
        (name, column): CHECKS
        for column in ("first 0", "0 and -1")
        for name in (
            "contrib.box_encode()", "contrib.MultiBoxDetection()", "contrib.Proposal()", "contrib.MultiProposal()",
            "contrib.calibrate_entropy()", "contrib.DeformableConvolution()", "Correlation()", "BilinearSampler()",
            "SpatialTransformer()", "Reshape()", "stack()", "where()", "linalg.potri()",
        )
    },
}  # fmt: skip


def test_recorded_rows_are_those_of_the_table() -> None:
    wanted = {name: list(forms(case)) for name, case in ROWS.items()}
    found = {name: list(answers) for name, answers in RECORDED.items()}
    assert found == wanted, "record again: ORACLE_PYTHON -m tests.parity.generate_numpy_shapes"


def at_least(found: str, wanted: str) -> bool:
    """Whether an answer says all that another one says, shape by shape and size by size."""
    shapes = found.split(" "), wanted.split(" ")
    if len(shapes[0]) != len(shapes[1]):
        return False
    for shape, other in zip(*shapes, strict=True):
        sizes, others = shape.split(","), other.split(",")
        if other != "None" and (
            len(sizes) != len(others) or any(b not in ("-1", a) for a, b in zip(sizes, others, strict=True))
        ):
            return False
    return True


@pytest.mark.parametrize("name", RECORDED)
def test_inference_under_numpy_shapes(name: str) -> None:
    for column, wanted in RECORDED[name].items():
        if wanted not in ("refused", "killed") and not {(name, column), (name, None)} & OTHERWISE.keys():
            found = ask(mx, ROWS[name], forms(ROWS[name])[column])
            assert at_least(found, wanted), (column, found, wanted)


@pytest.mark.parametrize(
    ("given", "expected"),
    [((0, -1), (0, -1)), ((-1, 0), (-1, 0)), ((0, 4), (0, 3)), ((-1, 4), (-1, 3)), ((9, -1), (2, -1))],
)
def test_slice_of_no_rows_beside_an_unknown_size(given: tuple[int, ...], expected: tuple[int, ...]) -> None:
    """What is expected is MXNet's answer."""
    with mx.util.np_shape(True):
        part = mx.sym.slice(mx.sym.var("x"), begin=(0, 0), end=(2, 3))
        assert part.infer_shape_partial(x=given)[1] == [expected]
