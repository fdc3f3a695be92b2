"""Anchors, targets and detections of single-shot detection: what the recorded cases do not show."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import rebind as mx
from rebind.errors import MXNetError
from rebind.ops import OPERATORS


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def run(name: str, *arrays: Tensor, **parameters):
    op = OPERATORS[f"_contrib_MultiBox{name}"]
    return op(*arrays, **op.parse(parameters))


def draw_boxes(*shape: int, seed: int = 0) -> Tensor:
    ends = torch.rand(*shape, 2, 2, generator=torch.Generator().manual_seed(seed))
    return ends.sort(-2).values.flatten(-2)


def one_object(anchors: Tensor) -> Tensor:
    """A label for one image: the third anchor, as an object of class 0."""
    return torch.cat([torch.zeros(1, 1, 1), anchors[:, 2:3]], -1)


def test_priors_are_squares_in_pixels():
    found = run("Prior", torch.zeros(1, 1, 4, 8), sizes=(0.5, 0.25), ratios=(1, 4)).view(4, 8, 3, 4)
    size = (found[..., 2:] - found[..., :2]) * torch.tensor([8.0, 4.0])
    torch.testing.assert_close(size, torch.tensor([[2.0, 2.0], [1.0, 1.0], [4.0, 1.0]]).expand(4, 8, 3, 2))
    center = (found[..., 2:] + found[..., :2]) / 2 * torch.tensor([8.0, 4.0])
    torch.testing.assert_close(center[1, 5, 2], torch.tensor([5.5, 1.5]))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_types(dtype):
    prior = run("Prior", torch.zeros(1, 1, 3, 3, dtype=dtype), sizes=(0.5, 0.3), ratios=(1, 2))
    wide = run("Prior", torch.zeros(1, 1, 3, 3), sizes=(0.5, 0.3), ratios=(1, 2))
    torch.testing.assert_close(
        prior, wide.to(dtype), rtol=1e-2 if dtype is torch.bfloat16 else 1e-3, atol=1e-6
    )
    scores, count = torch.rand(2, 3, prior.shape[1]), prior.shape[1]
    label = torch.cat([torch.zeros(2, 2, 1), draw_boxes(2, 2)], -1)
    found = run("Target", prior, label.to(dtype), scores.to(dtype), negative_mining_ratio=2)
    assert [out.dtype for out in found] == [dtype] * 3
    found = run(
        "Detection", scores.to(dtype), torch.zeros(2, 4 * count, dtype=dtype), prior, nms_threshold=0.3
    )
    assert found.dtype is dtype and found.shape == (2, count, 6)


def test_targets_are_what_detection_decodes():
    anchors, label = draw_boxes(1, 30), torch.cat([torch.ones(2, 4, 1), draw_boxes(2, 4, seed=3)], -1)
    variances = (0.1, 0.2, 0.3, 0.4)
    offsets, mask, kinds = run("Target", anchors, label, torch.zeros(2, 3, 30), variances=variances)
    prob = torch.nn.functional.one_hot(kinds.long(), 3).mT.float()
    found = run("Detection", prob, offsets, anchors, variances=variances, nms_threshold=0)
    for image in range(2):
        count = int((kinds[image] > 0).sum())
        assert count >= 4 and mask[image].sum() == 4 * count
        for row in found[image, :count]:
            assert row[0] == 1 and ((row[2:] - label[image, :, 1:]).abs().amax(1) < 1e-5).any()
        assert (found[image, count:, 0] == -1).all()


@pytest.mark.parametrize(
    "ratio, least, count", [(3, 0, 3), (0.5, 0, 0), (0.5, 4, 4), (3, 2, 3), (1, 1000, 39)]
)
def test_so_many_negatives_are_mined(ratio, least, count):
    """Where there are too few anchors of the background MXNet fails; here all of them count."""
    anchors, scores = draw_boxes(1, 40), torch.rand(1, 3, 40)
    parameters = {"overlap_threshold": 2.0, "negative_mining_thresh": 2.0, "negative_mining_ratio": ratio}
    kinds = run("Target", anchors, one_object(anchors), scores, minimum_negative_samples=least, **parameters)[
        2
    ][0]
    negative = (kinds == 0).nonzero().squeeze(1)
    assert len(negative) == count and (kinds == -1).sum() == 39 - count and kinds[2] == 1
    background = torch.softmax(scores, 1)[0, 0]
    background[2] = 2
    assert set(negative.tolist()) == set(background.argsort()[:count].tolist())


def test_too_few_negatives_are_all_that_there_are():
    anchors = draw_boxes(1, 40)
    kinds = run(
        "Target",
        anchors,
        one_object(anchors),
        torch.rand(1, 3, 40),
        overlap_threshold=2.0,
        negative_mining_ratio=100,
        negative_mining_thresh=0.1,
    )[2]
    assert 0 < (kinds == 0).sum() < 39 and (kinds == -1).any()


@pytest.mark.parametrize(
    ("name", "shapes", "parameters", "says"),
    [
        ("Prior", [(3, 2, 2)], {}, "data must have shape (B, C, H, W); got (3, 2, 2)"),
        ("Prior", [(1, 3, 2, 2)], {"sizes": ()}, "sizes must hold at least one number; got ()"),
        ("Prior", [(1, 3, 2, 2)], {"ratios": (1, -1)}, "ratios must be above 0; got (1.0, -1.0)"),
        (
            "Prior",
            [(1, 3, 2, 2)],
            {"offsets": (0.1,)},
            "offsets must be two numbers, for y and x; got (0.1,)",
        ),
        (
            "Prior",
            [(1, 3, 2, 2)],
            {"steps": (0.1, -1)},
            "steps must both be above 0, or both be -1 (computed from the shape of data); got (0.1, -1.0)",
        ),
        ("Target", [(2, 3, 4)] * 3, {}, "anchor must have shape (1, N, 4); got (2, 3, 4)"),
        ("Target", [(1, 3, 4)] * 3, {}, "label must have shape (B, M, 5 or more); got (1, 3, 4)"),
        (
            "Target",
            [(1, 3, 4), (2, 3, 5), (2, 3, 4)],
            {},
            "cls_pred must have shape (2, classes, 3) to match label and anchor; got (2, 3, 4)",
        ),
        ("Target", [(1, 3, 4)] * 3, {"variances": (1,)}, "variances must be four numbers; got (1.0,)"),
        (
            "Detection",
            [(2, 3), (2, 12), (1, 3, 4)],
            {},
            "cls_prob must have shape (B, classes, N); got (2, 3)",
        ),
        (
            "Detection",
            [(2, 3, 5), (2, 5, 4), (1, 5, 4)],
            {},
            "loc_pred must have shape (2, 20) to match cls_prob (2, 3, 5); got (2, 5, 4)",
        ),
        (
            "Detection",
            [(2, 3, 5), (2, 20), (2, 5, 4)],
            {},
            "anchor must have shape (1, 5, 4) to match cls_prob (2, 3, 5); got (2, 5, 4)",
        ),
    ],
)
def test_mistakes_meet_a_sentence(name, shapes, parameters, says):
    with pytest.raises(MXNetError) as caught:
        run(name, *(torch.zeros(shape) for shape in shapes), **parameters)
    assert f"_contrib_MultiBox{name}: {says}" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "inputs", "known", "shapes", "outputs"),
    [
        (
            "MultiBoxTarget",
            ("anchor", "label", "cls_pred"),
            {"label": (2, 3, 5), "cls_pred": (2, 4, 7)},
            [(1, 7, 4), (2, 3, 5), (2, 4, 7)],
            [(2, 28), (2, 28), (2, 7)],
        ),
        (
            "MultiBoxDetection",
            ("cls_prob", "loc_pred", "anchor"),
            {"cls_prob": (2, 3, 5)},
            [(2, 3, 5), (2, 20), (1, 5, 4)],
            [(2, 5, 6)],
        ),
    ],
)
def test_shapes_that_follow(name, inputs, known, shapes, outputs):
    symbol = getattr(mx.sym.contrib, name)(*map(mx.sym.var, inputs))
    assert symbol.infer_shape(**known) == (shapes, outputs, [])


@pytest.mark.parametrize("shapes", [{"anchor": (5,)}, {"cls_pred": (5,)}, {"label": (2,)}], ids=str)
def test_a_shape_of_too_few_axes_is_named(shapes):
    given = {"anchor": (1, 5, 4), "label": (2, 3, 5), "cls_pred": (2, 3, 5), **shapes}
    symbol = mx.sym.contrib.MultiBoxTarget(**{name: mx.sym.var(name) for name in given})
    with pytest.raises(MXNetError, match=next(iter(shapes))):
        symbol.infer_shape(**given)
