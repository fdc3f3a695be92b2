"""Linear algebra: what the recorded cases do not show."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.errors import MXNetError
from rebind.ops import OPERATORS, all_operators, linalg

MANIFESTS = (Path(__file__).parents[1] / "parity" / "data" / "operators").glob("*.json")
RECORDED = {name.split("(")[0] for path in MANIFESTS for name in json.loads(path.read_text())["cases"]}
HERE = [op for op in all_operators() if op.kernels.function.__module__.startswith(linalg.__name__)]


def matrix(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def spread(*shape: int) -> torch.Tensor:
    """Matrices with a large diagonal: far from singular, and triangles that can be solved with."""
    return matrix(*shape) + 4 * torch.eye(shape[-1], dtype=torch.float64)


ARGUMENTS = {
    "gemm": (matrix(2, 2, 3), matrix(2, 3, 4), matrix(2, 2, 4)),
    "gemm2": (matrix(2, 2, 3), matrix(2, 3, 4)),
    "potrf": (spread(2, 3, 3),),
    "potri": (spread(2, 3, 3),),
    "trmm": (matrix(2, 3, 3), matrix(2, 3, 2)),
    "trsm": (spread(2, 3, 3), matrix(2, 3, 2)),
    "syrk": (matrix(2, 3, 2),),
    "gelqf": (matrix(2, 3, 4),),
    "syevd": (matrix(2, 3, 3),),
    "sumlogdiag": (spread(2, 3, 3),),
    "extractdiag": (matrix(2, 3, 3),),
    "makediag": (matrix(2, 3),),
    "extracttrian": (matrix(2, 3, 3),),
    "maketrian": (matrix(2, 6),),
    "inverse": (spread(2, 3, 3),),
    "det": (spread(2, 3, 3),),
    "slogdet": (spread(2, 3, 3),),
}


def run(name: str, *arrays: torch.Tensor, **keywords):
    out = OPERATORS[f"_linalg_{name}"](*arrays, **keywords)
    return out if isinstance(out, tuple) else (out,)


@pytest.mark.parametrize("op", HERE, ids=lambda op: op.name)
def test_names_and_documentation(op):
    short = op.name.removeprefix("_linalg_")
    assert callable(getattr(mx.nd.linalg, short)) and callable(getattr(mx.sym.linalg, short))
    assert op.aliases == (() if short == "syevd" else (f"linalg_{short}",))
    assert inspect.getdoc(op.kernels.function)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_meta_tensors_give_shapes_and_types(name):
    for dtype in (torch.float32, torch.float64):
        real = run(name, *(array.to(dtype) for array in ARGUMENTS[name]))
        meta = run(name, *(array.to("meta", dtype) for array in ARGUMENTS[name]))
        assert [(out.shape, out.dtype) for out in meta] == [(out.shape, out.dtype) for out in real]


SQUARE, WIDE = spread(2, 3, 3), matrix(2, 3, 5)
IDENTITY = torch.eye(3, dtype=torch.float64).expand(2, 3, 3)


@pytest.mark.parametrize(
    ("name", "data", "compute", "expected"),
    [
        pytest.param("potrf", SQUARE @ SQUARE.mT, lambda factor: factor @ factor.mT, SQUARE @ SQUARE.mT),
        pytest.param(
            "potri",
            run("potrf", SQUARE @ SQUARE.mT)[0],
            lambda inverse: inverse,
            torch.linalg.inv(SQUARE @ SQUARE.mT),
        ),
        pytest.param("gelqf", WIDE, lambda rows, lower: lower @ rows, WIDE),
        pytest.param("gelqf", WIDE, lambda rows, lower: rows @ rows.mT, IDENTITY, id="gelqf-orthonormal"),
        pytest.param(
            "syevd",
            SQUARE + SQUARE.mT,
            lambda u, eigenvalues: u.mT @ torch.diag_embed(eigenvalues) @ u,
            SQUARE + SQUARE.mT,
        ),
    ],
)
def test_factors_give_the_matrix_again(name, data, compute, expected):
    assert torch.allclose(compute(*run(name, data)), expected)


def test_the_largest_number_of_an_eigenvector_is_positive():
    u, _ = run("syevd", SQUARE + SQUARE.mT)
    assert (u.gather(-1, u.abs().argmax(-1, keepdim=True)) > 0).all()


@pytest.mark.parametrize("offset", [-2, -1, 0, 1, 2])
@pytest.mark.parametrize("lower", [True, False])
def test_triangles_go_there_and_back(offset, lower):
    keywords = {"offset": offset, "lower": lower}
    (taken,) = run("extracttrian", matrix(2, 4, 4), **keywords)
    (made,) = run("maketrian", taken, **keywords)
    below = offset < 0 or (offset == 0 and lower)
    expected = torch.tril(matrix(2, 4, 4), offset) if below else torch.triu(matrix(2, 4, 4), offset)
    assert torch.equal(made, expected)
    (diagonal,) = run("extractdiag", matrix(2, 4, 4), offset=offset)
    (made,) = run("makediag", diagonal, offset=offset)
    assert torch.equal(made.diagonal(offset, -2, -1), diagonal) and made.shape == (2, 4, 4)


def test_singular_matrices():
    a = torch.ones(2, 2, dtype=torch.float64, requires_grad=True)
    sign, size = run("slogdet", a)
    assert (sign.item(), size.item()) == (0.0, -np.inf)
    size.sum().backward()
    assert torch.equal(a.grad, torch.zeros(2, 2, dtype=torch.float64))


@pytest.mark.parametrize(
    ("a", "b", "parameters", "c"),
    [
        ((5, 2, 3), (5, 4, 3), {"transpose_b": True}, (5, 2, 4)),
        ((5, 3, 2), (5, 3, 4), {"transpose_a": True}, (5, 2, 4)),
        ((2, 5, 3), (3, 5, 4), {"axis": 0}, (2, 5, 4)),
    ],
)
def test_the_third_array_of_gemm_follows_from_the_others(a, b, parameters, c):
    out = mx.sym.linalg.gemm(mx.sym.var("a"), mx.sym.var("b"), mx.sym.var("c"), **parameters)
    assert out.infer_shape(a=a, b=b)[0] == [a, b, c]


@pytest.mark.parametrize(
    ("name", "shapes", "parameters", "says"),
    [
        (
            "gemm2",
            [(2, 3), (2, 3)],
            {},
            "A and B must have equal leading axes, and op(A) as many columns as op(B) has rows",
        ),
        ("gemm2", [(1, 2, 3), (4, 3, 2)], {}, "got (1, 2, 3) and (4, 3, 2), transpose_a=False"),
        (
            "gemm2",
            [(2, 3), (1, 3, 2)],
            {},
            "A and B must have the same number of axes; got (2, 3) and (1, 3, 2)",
        ),
        (
            "gemm2",
            [(2, 3), (3, 2)],
            {"axis": -1},
            "axis must be one of the 2 axes of A and B, but not the last; got -1",
        ),
        ("gemm2", [(3,), (3,)], {}, "A must have two axes or more; got shape (3,)"),
        ("gemm", [(2, 3), (3, 2), (1, 2)], {}, "C must have the shape of the product, (2, 2); got (1, 2)"),
        (
            "trsm",
            [(3, 3), (2, 3)],
            {},
            "A as many rows as B has rows; got (3, 3) and (2, 3), rightside=False",
        ),
        ("trmm", [(3, 2), (2, 3)], {}, "A must hold square matrices; got shape (3, 2)"),
        ("gelqf", [(3, 2)], {}, "A must have no more rows than columns; got shape (3, 2)"),
        ("potrf", [(2, 2)], {}, "_linalg_potrf: A must be positive definite; a matrix is not"),
        ("inverse", [(2, 2)], {}, "_linalg_inverse: A must have an inverse; a matrix is singular"),
        (
            "extractdiag",
            [(3, 3)],
            {"offset": -3},
            "offset must be in [-2, 2] for A of shape ",
        ),
        ("maketrian", [(4,)], {}, "must have n * (n + 1) / 2 elements (1, 3, 6, 10, ...); got 4"),
        ("makediag", [()], {}, "_linalg_makediag: A must have 1 axis or more; got shape ()"),
    ],
)
def test_mistakes_meet_a_sentence(name, shapes, parameters, says):
    with pytest.raises(MXNetError) as caught:
        run(name, *(torch.zeros(shape) for shape in shapes), **parameters)
    assert says in str(caught.value)


@pytest.mark.parametrize("dtype", ["float16", "int32"])
def test_types_that_are_not_computed_with(dtype):
    with pytest.raises(MXNetError, match=f"A must be float32 or float64; got {dtype}"):
        run("det", torch.zeros(2, 2, dtype=getattr(torch, dtype)))
