"""Operators on boxes: what the recorded cases do not show."""

from __future__ import annotations

import doctest
import inspect
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

import rebind as mx
from rebind import tuning
from rebind.errors import DTypeError, MXNetError
from rebind.ops import OPERATORS, all_operators
from rebind.ops.contrib import _geometry, boxes, multibox, proposal, suppression

RECORD = Path(__file__).parents[2] / "parity" / "data" / "operators" / "detection.json"
MODULES = {module.__name__: module for module in (boxes, multibox, proposal, suppression)}
HERE = [op for op in all_operators() if op.kernels.function.__module__ in MODULES]


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def run(name: str, *arrays: Tensor, **parameters):
    op = OPERATORS[f"_contrib_{name}"]
    return op(*arrays, **op.parse(parameters))


def draw_boxes(*shape: int, seed: int = 0, grid: int = 0) -> Tensor:
    """Corner boxes within [0, 1]; on a grid many overlap just so much."""
    ends = torch.rand(*shape, 2, 2, generator=torch.Generator().manual_seed(seed))
    ends = (ends * grid).round() / grid if grid else ends
    return ends.sort(-2).values.flatten(-2)


def recorded_names() -> set[str]:
    return {name.split("(")[0] for name in json.loads(RECORD.read_text())["cases"]}


@pytest.mark.parametrize("op", HERE, ids=lambda op: op.name)
def test_names_and_documentation(op):
    short = op.name.removeprefix("_contrib_")
    assert callable(getattr(mx.nd.contrib, short)) and callable(getattr(mx.sym.contrib, short))
    doc = inspect.getdoc(op.kernels.function)
    assert doc and ">>> " in doc
    names = {**vars(MODULES[op.kernels.function.__module__]), op.kernels.function.__name__: op}
    for test in doctest.DocTestFinder(recurse=False).find(op.kernels.function, op.name, globs=names):
        assert not doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test).failed


@pytest.mark.parametrize("op", HERE, ids=lambda op: op.name)
def test_whole_numbers_are_refused(op):
    p = op.parse({"threshold": 0.5} if op.name == "_contrib_bipartite_matching" else {})
    arrays = [torch.zeros(1, 1, 1, 1, dtype=torch.int32) for _ in op.signature.inputs]
    with pytest.raises(DTypeError, match="must be of a floating type; got int32"):
        op(*arrays, **p)


def greedy(overlap: Tensor, allowed: list[bool], threshold: float, inclusive: bool = False) -> list[bool]:
    """Return what stays, one by one, as non-maximum suppression is defined."""
    stays: list[int] = []
    for index in range(len(allowed)):
        over = [overlap[best, index] for best in stays]
        if allowed[index] and not any(o >= threshold if inclusive else o > threshold for o in over):
            stays.append(index)
    return [index in stays for index in range(len(allowed))]


@pytest.mark.parametrize("pairs", [1, 4000, 2**19])
@pytest.mark.parametrize("grid", [0, 6])
@pytest.mark.parametrize("threshold", [0.1, 0.25, 0.6])
@pytest.mark.parametrize("classes", [False, True])
def test_suppression_is_the_greedy_one(pairs, grid, threshold, classes):
    """Whatever the size of the blocks, ties, boxes that take no part, images without any."""
    found = draw_boxes(4, 120, seed=1, grid=grid) * torch.tensor([3.0, 1.0, 1.0, 1.0]).view(4, 1, 1)
    generator = torch.Generator().manual_seed(2)
    allowed = torch.rand(4, 120, generator=generator) < torch.tensor([[1.0], [0.7], [0.0], [0.1]])
    kinds = torch.randint(0, 3, (4, 120), generator=generator).float()
    for inclusive in (False, True):
        keywords = {"inclusive": inclusive, "classes": kinds if classes else None}
        with tuning.changed(suppression_pairs=pairs):
            stays = _geometry.keep_best(found, allowed, threshold, **keywords)
        for image in range(4):
            overlap = _geometry.overlaps(found[image], found[image])
            if classes:
                overlap = overlap * (kinds[image].unsqueeze(1) == kinds[image])
            expected = greedy(overlap, allowed[image].tolist(), threshold, inclusive)
            assert stays[image].tolist() == expected


def test_suppression_stops_when_enough_stay():
    found, allowed = draw_boxes(2, 300), torch.ones(2, 300, dtype=torch.bool)
    allowed[1, 40:] = False
    with tuning.changed(suppression_pairs=1):
        whole = _geometry.keep_best(found, allowed, 0.3)
        part = _geometry.keep_best(found, allowed, 0.3, enough=5)
    for image in range(2):
        first = whole[image].nonzero()[:5]
        assert torch.equal(part[image].nonzero()[:5], first)
    assert part.sum() < whole.sum()


def test_a_chain_of_suppressions():
    """Each box suppresses the next one alone: every other one stays."""
    left = torch.arange(50.0)
    chain = torch.stack([left * 0.5, left * 0, left * 0.5 + 1, left * 0 + 1], -1)
    data = torch.cat([torch.zeros(50, 1), torch.linspace(1, 0.1, 50).unsqueeze(1), chain], 1)
    out, index = run("box_nms", data, overlap_thresh=0.3)
    assert index[:25].tolist() == list(range(0, 50, 2)) and (index[25:] == -1).all()
    assert torch.equal(out[:25], data[::2]) and (out[25:] == -1).all()


@pytest.mark.parametrize(
    "parameters", [{}, {"topk": 0}, {"topk": 3}, {"valid_thresh": 0.5}, {"overlap_thresh": 0.0}], ids=str
)
def test_gradients_go_to_the_rows(parameters):
    data = torch.cat([torch.zeros(2, 9, 1), torch.rand(2, 9, 1), draw_boxes(2, 9)], -1).double()
    data.requires_grad_()
    torch.autograd.gradcheck(lambda x: run("box_nms", x, **parameters)[0], [data], eps=1e-9, atol=1e-5)
    head_grad = torch.rand(2, 9, 6, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(
        run("box_nms", data, **parameters)[0], data, head_grad, create_graph=True
    )
    (again,) = torch.autograd.grad(gradient.sum(), head_grad)
    stays = run("box_nms", data, **parameters)[1] >= 0
    assert torch.equal(again, stays.unsqueeze(-1).expand_as(again).double())


def test_gradients_are_those_of_rows_in_every_format():
    data = torch.tensor([[0.0, 0.5, 0.2, 0.2, 0.4, 0.4]], requires_grad=True)
    out, _ = run("box_nms", data, in_format="center", out_format="corner")
    out.backward(torch.arange(6.0).unsqueeze(0))
    assert data.grad.tolist() == [[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_types(dtype):
    data = torch.cat([torch.zeros(12, 1), torch.rand(12, 1), draw_boxes(12) * 300], 1).to(dtype)
    out, _ = run("box_nms", data, overlap_thresh=0.2)
    wide, _ = run("box_nms", data.float(), overlap_thresh=0.2)
    assert out.dtype is dtype and torch.equal(out.float(), wide.to(dtype).float())
    # Areas of pixels are beyond half precision.
    found = run("box_iou", data[:, 2:], data[:, 2:])
    expected = run("box_iou", data[:, 2:].float(), data[:, 2:].float())
    torch.testing.assert_close(found, expected.to(dtype))


def match_one_by_one(scores: Tensor, floor: float, limit: int | None = None) -> list[int]:
    matched = [-1] * scores.shape[0]
    pairs = [(-float(scores[i, j]), i, j) for i in range(scores.shape[0]) for j in range(scores.shape[1])]
    for score, i, j in sorted(pairs):
        if limit is not None and sum(column >= 0 for column in matched) == limit:
            break
        if -score > floor and matched[i] < 0 and j not in matched:
            matched[i] = j
    return matched


@pytest.mark.parametrize("shape", [(1, 1), (7, 4), (4, 7), (9, 9)])
@pytest.mark.parametrize("grid", [0, 4])
def test_matching_is_the_greedy_one(shape, grid):
    scores = torch.rand(5, *shape, generator=torch.Generator().manual_seed(1))
    scores = (scores * grid).round() / grid if grid else scores
    for limit in (-1, 1, 2, 5):
        rows, columns = run("bipartite_matching", scores, threshold=0.2, topk=limit)
        up = run("bipartite_matching", -scores, threshold=-0.2, topk=limit, is_ascend=True)
        assert torch.equal(up[0], rows) and torch.equal(up[1], columns)
        for image in range(5):
            expected = match_one_by_one(scores[image], 0.2, limit if limit > 0 else None)
            assert rows[image].tolist() == expected
            back = [expected.index(j) if j in expected else -1 for j in range(shape[1])]
            assert columns[image].tolist() == back


def test_what_is_not_a_number_is_not_matched():
    nan = float("nan")
    rows, columns = run("bipartite_matching", torch.tensor([[nan, 0.6], [0.1, nan]]), threshold=0.05)
    assert rows.tolist() == [1, 0] and columns.tolist() == [1, 0]


def test_decoding_is_the_inverse_of_encoding():
    anchors, refs = draw_boxes(2, 6).double(), draw_boxes(2, 3, seed=1).double()
    matches = torch.randint(0, 3, (2, 6)).double()
    stds = torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64)
    ones, none = torch.ones(2, 6, dtype=torch.float64), torch.zeros(4, dtype=torch.float64)
    targets, mask = run("box_encode", ones, matches, anchors, refs, none, stds)
    assert (mask == 1).all()
    for image in range(2):
        std = {f"std{i}": float(stds[i]) for i in range(4)}
        decoded = run(
            "box_decode", targets[image : image + 1], anchors[image : image + 1], format="corner", **std
        )
        torch.testing.assert_close(decoded[0], refs[image][matches[image].long()])


@pytest.mark.parametrize(
    ("matches", "boxes", "valid"),
    [([-1.0, 2.0, 1.0], 2, [0, 0, 1]), ([0.0, 0.0, 0.0], 0, [0, 0, 0])],
    ids=["beyond", "no-boxes"],
)
def test_matches_beyond_the_boxes_are_none(matches, boxes, valid):
    anchors = draw_boxes(1, 3)
    targets, mask = run(
        "box_encode",
        torch.ones(1, 3),
        torch.tensor([matches]),
        anchors,
        anchors[:, :boxes],
        torch.zeros(4),
        torch.ones(4),
    )
    assert mask[0].tolist() == [[each] * 4 for each in valid]
    assert not targets[0, torch.tensor(valid) == 0].any()


CALLS = [
    ("box_iou", [(0, 4), (3, 4)], {}),
    ("box_iou", [(2, 0, 4), (3, 1, 4)], {"format": "center"}),
    ("box_nms", [(0, 6)], {}),
    ("box_nms", [(2, 0, 6)], {"topk": 3}),
    ("box_nms", [(0, 5, 6)], {"topk": 0}),
    ("box_nms", [(2, 3, 4, 7)], {"id_index": 0, "topk": 2, "out_format": "center"}),
    ("bipartite_matching", [(0, 2, 3)], {"threshold": 0.1}),
    ("bipartite_matching", [(2, 0, 3)], {"threshold": 0.1}),
    ("bipartite_matching", [(2, 3, 0)], {"threshold": 0.1, "topk": 1}),
    ("bipartite_matching", [(2, 2, 3, 4)], {"threshold": 0.1, "topk": 1}),
    ("box_encode", [(2, 0), (2, 0), (2, 0, 4), (2, 3, 4), (4,), (4,)], {}),
    ("box_encode", [(2, 5), (2, 5), (2, 5, 4), (2, 3, 4), (4,), (4,)], {}),
    ("box_decode", [(0, 3, 4), (1, 3, 4)], {}),
    ("box_decode", [(2, 0, 4), (1, 0, 4)], {}),
    ("MultiBoxPrior", [(0, 3, 2, 2)], {}),
    ("MultiBoxPrior", [(1, 3, 0, 2)], {"sizes": (0.1, 0.2)}),
    ("MultiBoxTarget", [(1, 0, 4), (2, 3, 5), (2, 3, 0)], {"negative_mining_ratio": 3}),
    ("MultiBoxTarget", [(1, 5, 4), (2, 0, 5), (2, 3, 5)], {"negative_mining_ratio": 3}),
    ("MultiBoxTarget", [(1, 5, 4), (0, 3, 5), (0, 3, 5)], {}),
    ("MultiBoxTarget", [(1, 5, 4), (2, 3, 6), (2, 3, 5)], {}),
    ("MultiBoxDetection", [(2, 3, 0), (2, 0), (1, 0, 4)], {}),
    ("MultiBoxDetection", [(0, 3, 5), (0, 20), (1, 5, 4)], {}),
    ("MultiBoxDetection", [(2, 1, 5), (2, 20), (1, 5, 4)], {}),
    ("MultiBoxDetection", [(2, 3, 5), (2, 20), (1, 5, 4)], {"nms_topk": 2}),
    ("MultiBoxDetection", [(2, 3, 5), (2, 20), (1, 5, 4)], {"nms_threshold": 0}),
]


@pytest.mark.parametrize("name, shapes, parameters", CALLS, ids=str)
def test_sizes_of_zero_and_meta_tensors(name, shapes, parameters):
    arrays = [torch.rand(shape) for shape in shapes]
    real = run(name, *arrays, **parameters)
    meta = run(name, *(array.to("meta") for array in arrays), **parameters)
    real, meta = ((out if isinstance(out, tuple) else (out,)) for out in (real, meta))
    assert [(out.shape, out.dtype) for out in real] == [(out.shape, out.dtype) for out in meta]


@pytest.mark.parametrize(
    ("name", "shapes", "parameters", "says"),
    [
        (
            "box_iou",
            [(4,), (2, 4)],
            {},
            "lhs must have at least two axes, the last of size 4; got shape (4,)",
        ),
        (
            "box_iou",
            [(2, 4), (2, 5)],
            {},
            "rhs must have at least two axes, the last of size 4; got shape (2, 5)",
        ),
        (
            "box_nms",
            [(6,)],
            {},
            "data must have 2 axes or more, (..., boxes, numbers of a box); got shape (6,)",
        ),
        ("box_nms", [(2, 5)], {}, "coord_start must be in [0, 1] for boxes of 5 numbers; got 2"),
        (
            "box_nms",
            [(2, 6)],
            {"score_index": -1},
            "score_index must be in [0, 5] for boxes of 6 numbers; got -1",
        ),
        ("box_nms", [(2, 6)], {"id_index": 9}, "id_index must be in [0, 5] for boxes of 6 numbers; got 9"),
        (
            "box_nms",
            [(2, 6)],
            {"score_index": 3},
            "score_index must not be a column that coord_start uses, from 2 on; got 3",
        ),
        (
            "box_nms",
            [(2, 6)],
            {"id_index": 1},
            "id_index must not be a column that score_index uses, from 1 on; got 1",
        ),
        ("box_nms", [(2, 6)], {"in_format": "x"}, "in_format must be one of 'center', 'corner'; got 'x'"),
        (
            "bipartite_matching",
            [(3,)],
            {"threshold": 1},
            "data must have shape (..., rows, columns); got (3,)",
        ),
        ("bipartite_matching", [(3, 3)], {}, "needs a value for threshold (a float)"),
        (
            "box_encode",
            [(2, 5), (2, 4), (2, 5, 4), (2, 3, 4), (4,), (4,)],
            {},
            "matches must have shape (2, 5) to match samples (2, 5); got (2, 4)",
        ),
        (
            "box_encode",
            [(2, 5), (2, 5), (2, 5, 4), (1, 3, 4), (4,), (4,)],
            {},
            "samples must have shape (B, N) and refs (B, M, 4); got (2, 5) and (1, 3, 4)",
        ),
        (
            "box_decode",
            [(2, 3, 4), (2, 3, 4)],
            {},
            "data must have shape (B, N, 4) and anchors (1, N, 4); got (2, 3, 4) and (2, 3, 4)",
        ),
    ],
)
def test_mistakes_meet_a_sentence(name, shapes, parameters, says):
    with pytest.raises(MXNetError) as caught:
        run(name, *(torch.zeros(shape) for shape in shapes), **parameters)
    assert f"_contrib_{name}: {says}" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "given", "arguments", "outputs"),
    [
        (
            "box_encode",
            {
                "samples": (2, 5),
                "matches": None,
                "anchors": None,
                "refs": (2, 3, 4),
                "means": None,
                "stds": None,
            },
            [(2, 5), (2, 5), (2, 5, 4), (2, 3, 4), (4,), (4,)],
            [(2, 5, 4)] * 2,
        ),
        ("box_decode", {"data": (2, 5, 4), "anchors": None}, [(2, 5, 4), (1, 5, 4)], [(2, 5, 4)]),
    ],
)
def test_shapes_that_follow(name, given, arguments, outputs):
    symbol = getattr(mx.sym.contrib, name)(*map(mx.sym.var, given))
    known = {argument: shape for argument, shape in given.items() if shape}
    assert symbol.infer_shape(**known)[:2] == (arguments, outputs)


def test_the_hidden_output_is_not_seen():
    symbol = mx.sym.contrib.box_nms(mx.sym.var("data"), name="nms")
    assert symbol.list_outputs() == ["nms_output0"]
    assert json.loads(symbol.tojson())["node_row_ptr"] == [0, 1, 3]
    out = mx.nd.contrib.box_nms(mx.nd.array(np.array([[0, 0.5, 0, 0, 1, 1]])))
    assert out.shape == (1, 6)
