"""Region proposals: what the recorded cases do not show."""

from __future__ import annotations

import pytest
import torch

import rebind as mx
from rebind.errors import MXNetError
from rebind.ops import OPERATORS

SMALL = {"scales": (1.0, 2.0), "ratios": (1.0,), "rpn_min_size": 1, "rpn_post_nms_top_n": 7}


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def run(name: str, *arrays: torch.Tensor, **parameters):
    op = OPERATORS[f"_contrib_{name}"]
    return op(*arrays, **op.parse({**SMALL, **parameters}))


def draw(images: int, anchors: int = 2, size: tuple[int, int] = (4, 5), seed: int = 0) -> list[torch.Tensor]:
    """Probabilities, offsets and sizes of the images, which the map just fits."""
    generator = torch.Generator().manual_seed(seed)
    scores = torch.rand(images, 2 * anchors, *size, generator=generator)
    offsets = torch.randn(images, 4 * anchors, *size, generator=generator) * 0.2
    return [scores, offsets, torch.tensor([[16.0 * size[0], 16.0 * size[1], 1.0]]).repeat(images, 1)]


@pytest.mark.parametrize("name", ["Proposal", "MultiProposal"])
@pytest.mark.parametrize(
    "parameters", [{}, {"threshold": 0.1}, {"rpn_pre_nms_top_n": 9}, {"iou_loss": True}], ids=str
)
def test_a_batch_is_its_images(name, parameters):
    """An image is treated as if it were alone; MXNet's Proposal takes one only."""
    arrays = draw(3)
    arrays[2][1, :2] *= 0.6
    rois, scores = run(name, *arrays, **parameters)
    assert rois.shape == (21, 5) and scores.shape == (21, 1)
    for image in range(3):
        alone, alone_scores = run(name, *(array[image : image + 1] for array in arrays), **parameters)
        part = slice(7 * image, 7 * image + 7)
        assert (rois[part, 0] == image).all()
        torch.testing.assert_close(rois[part, 1:], alone[:, 1:])
        torch.testing.assert_close(scores[part], alone_scores)


def test_regions_lie_within_the_image_and_apart():
    rois, scores = run("Proposal", *draw(1), threshold=0.3, rpn_post_nms_top_n=40)
    count = len(rois.unique(dim=0))
    assert torch.equal(rois[count : 2 * count], rois[: len(rois[count : 2 * count])]), (
        "repeated from the first one on"
    )
    box = rois[:count, 1:]
    assert (box >= 0).all() and (box[:, 2] <= 79).all() and (box[:, 3] <= 63).all()
    assert (scores[:count].diff(dim=0) <= 0).all()
    size = (box[:, 2:] - box[:, :2] + 1).prod(1)
    low, high = torch.maximum(box[:, None, :2], box[:, :2]), torch.minimum(box[:, None, 2:], box[:, 2:])
    shared = (high - low + 1).clamp(min=0).prod(-1)
    overlap = shared / (size[:, None] + size - shared)
    assert (overlap.triu(1) <= 0.3).all()


def test_an_image_beyond_its_map_is_taken():
    """MXNet's MultiProposal ends the process."""
    arrays = draw(1)
    arrays[2][0, :2] *= 10
    assert (run("MultiProposal", *arrays)[1] > 0).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_types(dtype):
    rois, scores = run("MultiProposal", *(array.to(dtype) for array in draw(2)), output_score=True)
    assert rois.dtype is dtype and scores.dtype is dtype and bool(torch.isfinite(rois).all())


@pytest.mark.parametrize(
    "shapes, parameters",
    [
        ([(0, 4, 2, 2), (0, 8, 2, 2), (0, 3)], {}),
        ([(2, 4, 2, 2), (2, 8, 2, 2), (2, 3)], {"rpn_post_nms_top_n": 0}),
        ([(2, 4, 0, 2), (2, 8, 0, 2), (2, 3)], {"rpn_post_nms_top_n": 0}),
        ([(2, 4, 2, 2), (2, 8, 2, 2), (2, 3)], {"rpn_pre_nms_top_n": 3}),
    ],
    ids=str,
)
def test_sizes_of_zero_and_meta_tensors(shapes, parameters):
    arrays = [torch.rand(shape) for shape in shapes]
    real = run("MultiProposal", *arrays, **parameters)
    meta = run("MultiProposal", *(array.to("meta") for array in arrays), **parameters)
    assert [(out.shape, out.dtype) for out in real] == [(out.shape, out.dtype) for out in meta]


@pytest.mark.parametrize(
    ("shapes", "parameters", "says"),
    [
        ([(1, 5, 2, 2), (1, 8, 2, 2), (1, 3)], {}, "cls_prob must have shape (B, 4, H, W)"),
        (
            [(1, 4, 2, 2), (1, 8, 2, 3), (1, 3)],
            {},
            "bbox_pred must have shape (1, 8, 2, 2) to match cls_prob (1, 4, 2, 2); got (1, 8, 2, 3)",
        ),
        ([(1, 4, 2, 2), (1, 8, 2, 2), (1, 2)], {}, "im_info must have shape (1, 3) to match cls_prob"),
        ([(1, 4, 0, 2), (1, 8, 0, 2), (1, 3)], {}, "cls_prob must be at least 1 high and 1 wide"),
        ([], {"scales": ()}, "scales and ratios must hold at least one number each; got () and (1.0,)"),
        ([], {"ratios": (0,)}, "ratios must be above 0; got (0.0,)"),
        ([], {"feature_stride": 0}, "feature_stride must be an int >= 1; got 0"),
        ([], {"rpn_post_nms_top_n": -1}, "rpn_post_nms_top_n must be an int >= 0; got -1"),
    ],
)
def test_mistakes_meet_a_sentence(shapes, parameters, says):
    with pytest.raises(MXNetError) as caught:
        run("Proposal", *(torch.zeros(shape) for shape in shapes), **parameters)
    assert f"Proposal: {says}" in str(caught.value)


@pytest.mark.parametrize("name", ["Proposal", "MultiProposal"])
def test_outputs_and_shapes_that_follow(name):
    variables = [mx.sym.var(each) for each in ("cls_prob", "bbox_pred", "im_info")]
    for output_score in (False, True):
        symbol = getattr(mx.sym.contrib, name)(*variables, name="op", output_score=output_score)
        assert symbol.list_outputs() == ["op_output", "op_score"][: 1 + output_score]
        found, outputs, _ = symbol.infer_shape(cls_prob=(2, 24, 6, 7))
        assert found == [(2, 24, 6, 7), (2, 48, 6, 7), (2, 3)]
        assert outputs == [(600, 5), (600, 1)][: 1 + output_score]
