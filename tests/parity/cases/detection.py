"""Object detection: boxes, anchors, targets, detections, proposals.

Left out, since MXNet 1.9.1 does not do what it says: `topk` of ``bipartite_matching`` (it takes one more) and
`minimum_negative_samples` of ``MultiBoxTarget`` (it takes no notice of it).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from .case import Array, Case, Input, case, fixed, normal, values


@dataclass(frozen=True)
class Drawn(Input):
    """An array of detection; values on a grid are often equal, and boxes on a grid often overlap just so much."""

    grid: int = 0
    counts: tuple[int, ...] = ()

    def draw(self, random: np.random.RandomState) -> Array:
        """Draw the values."""
        made: Array = getattr(self, f"_{self.kind}")(random, self.shape)
        return np.round(made, 3).astype(self.dtype)

    def _scores(self, random: np.random.RandomState, shape: tuple[int, ...]) -> Array:
        drawn = random.uniform(0, 1, shape)
        return np.round(drawn * self.grid) / self.grid if self.grid else drawn

    def _boxes(self, random: np.random.RandomState, shape: tuple[int, ...]) -> Array:
        ends = self._scores(random, (*shape[:-1], 2, 2))
        return np.sort(ends, axis=-2).reshape(shape)

    def _turned(self, random: np.random.RandomState, shape: tuple[int, ...]) -> Array:
        return self._boxes(random, shape)[..., [2, 1, 0, 3]]

    def _rows(self, random: np.random.RandomState, shape: tuple[int, ...]) -> Array:
        """Class, score, box; further numbers are scores too."""
        made = self._scores(random, shape)
        made[..., 0] = random.randint(-1, 2, shape[:-1])
        made[..., 2:6] = self._boxes(random, (*shape[:-1], 4))
        return made

    def _labels(self, random: np.random.RandomState, shape: tuple[int, ...]) -> Array:
        """So many objects as the counts say, then padding."""
        made = np.full(shape, -1.0)
        for image, count in enumerate(self.counts):
            made[image, :count, 0] = random.randint(0, 3, count)
            made[image, :count, 1:] = self._boxes(random, (count, 4))
        return made

    def _offsets(self, random: np.random.RandomState, shape: tuple[int, ...]) -> Array:
        return random.standard_normal(shape) * self.high

    def _sizes(self, random: np.random.RandomState, shape: tuple[int, ...]) -> Array:
        """Height, width, scale; images behind the first are smaller, and do not fill the map."""
        made = np.array([self.values] * shape[0])
        made[1:, :2] *= 0.8
        return made


def scores(*shape: int, grid: int = 0, dtype: str = "float32") -> Drawn:
    """Scores within [0, 1]."""
    return Drawn("scores", shape, dtype=dtype, grid=grid)


def corners(*shape: int, grid: int = 0, dtype: str = "float32") -> Drawn:
    """Corner boxes within [0, 1]."""
    return Drawn("boxes", (*shape, 4), dtype=dtype, grid=grid)


def rows(*shape: int, grid: int = 0, dtype: str = "float32") -> Drawn:
    """Rows of a class, a score, a box and perhaps more."""
    return Drawn("rows", shape, dtype=dtype, grid=grid)


def offsets(*shape: int, scale: float) -> Drawn:
    """Predicted offsets."""
    return Drawn("offsets", shape, high=scale)


def given(array: list, *shape: int, gradient: bool = True) -> Input:
    """These numbers."""
    numbers = (float(number) for number in np.ravel(array))
    return replace(values(*numbers, shape=shape), gradient=gradient)


def boxes() -> Iterable[Case]:
    """Operators on boxes."""
    iou = "contrib.box_iou"
    for kind in ("corner", "center"):
        yield case(iou, {"lhs": corners(2, 3), "rhs": corners(4)}, format=kind)
    # Boxes that are points, lie wrong way round, or share a border.
    yield case(iou, {"lhs": corners(6, grid=2), "rhs": Drawn("turned", (5, 4), grid=2)})
    for dtype in ("float64", "float16"):
        yield case(iou, {"lhs": corners(3, dtype=dtype), "rhs": corners(2, dtype=dtype)})

    encode = "contrib.box_encode"
    arrays: dict[str, Input] = {
        "samples": given([[1, 0, -1, 0.5, 0.6], [1, 1, 1, 1, -1]], 2, 5),
        "matches": given([[0, 1, 1, 0, 2], [2, 1.9, 0, 0, 1]], 2, 5),
        "anchors": corners(2, 5),
        "refs": corners(2, 3),
        "means": given([0.0, 0.1, 0.2, -0.1], 4),
        "stds": given([0.1, 0.2, 0.3, 0.4], 4),
    }
    yield case(encode, arrays)
    yield case(encode, {name: replace(spec, dtype="float64") for name, spec in arrays.items()})

    decode = "contrib.box_decode"
    arrays = {"data": normal(2, 4, 4), "anchors": corners(1, 4)}
    for kind in ("center", "corner"):
        yield case(decode, arrays, format=kind)
        yield case(decode, arrays, format=kind, std0=0.1, std1=0.2, std2=0.3, std3=0.4)
        yield case(decode, arrays, format=kind, std2=0.5, clip=0.2)
    yield case(decode, {"data": normal(2, 3, 4, dtype="float64"), "anchors": corners(1, 3, dtype="float64")})


def suppression() -> Iterable[Case]:
    """Non-maximum suppression with every parameter."""
    nms = "contrib.box_nms"
    plain = {"data": rows(2, 12, 6)}
    ties = {"data": rows(20, 6, grid=4)}
    for data in (plain, ties):
        yield case(nms, data)
        for threshold in (0.0, 0.1, 0.25, 1.0, -1.0):
            yield case(nms, data, overlap_thresh=threshold)
        yield case(nms, data, id_index=0)
        yield case(nms, data, id_index=0, force_suppress=True, overlap_thresh=0.2)
        yield case(nms, data, id_index=0, background_id=0)
        yield case(nms, data, background_id=0)
        for threshold in (0.5, -1.0, 2.0):
            yield case(nms, data, valid_thresh=threshold)
        for count in (0, 1, 5, 100):
            yield case(nms, data, topk=count, overlap_thresh=0.2)
        yield case(nms, data, topk=4, id_index=0, valid_thresh=0.3, overlap_thresh=0.1)
        for first in ("corner", "center"):
            for then in ("corner", "center"):
                yield case(nms, data, in_format=first, out_format=then, overlap_thresh=0.2)
    yield case(nms, {"data": rows(2, 3, 7, 8)}, score_index=7, overlap_thresh=0.2)
    yield case(nms, {"data": rows(9, 8)}, score_index=1, id_index=0, overlap_thresh=0.1)
    yield case(nms, {"data": rows(9, 6)}, coord_start=1, score_index=5, overlap_thresh=0.05)
    yield case("contrib.box_non_maximum_suppression", plain, overlap_thresh=0.3)
    for dtype in ("float64", "float16"):
        yield case(nms, {"data": rows(8, 6, dtype=dtype)}, overlap_thresh=0.3)


def matching() -> Iterable[Case]:
    """Bipartite matching, of equal scores too."""
    match = "contrib.bipartite_matching"
    for data in (scores(3, 2), scores(2, 4, 6), scores(2, 2, 3, 3), scores(2, 5, 5, grid=3)):
        for ascending in (False, True):
            for threshold in (0.3, 0.7):
                yield case(match, {"data": data}, threshold=threshold, is_ascend=ascending)
    yield case(match, {"data": scores(4, 4, dtype="float64")}, threshold=1e-12)
    yield case(match, {"data": scores(4, 4, dtype="float16")}, threshold=0.2, topk=-1)


def priors() -> Iterable[Case]:
    """Anchors."""
    prior = "contrib.MultiBoxPrior"
    maps = {"data": normal(2, 3, 3, 4)}
    yield case(prior, maps)
    yield case(prior, maps, sizes=(0.5, 0.25))
    yield case(prior, maps, sizes=(0.5,), ratios=(1, 2, 0.5))
    yield case(prior, maps, sizes=(0.5, 0.2), ratios=(2, 3))
    yield case(prior, maps, sizes=(1.5, 0.7), ratios=(1, 3), clip=True)
    yield case(prior, maps, sizes=(0.3,), steps=(0.1, 0.2))
    yield case(prior, maps, sizes=(0.3,), offsets=(0.2, 0.7))
    yield case(prior, maps, sizes=(0.3,), steps=(0.3, 0.2), offsets=(0, 1))
    yield case(prior, {"data": normal(1, 1, 2, 3, 4)}, sizes=(0.3,))


def targets() -> Iterable[Case]:
    """Targets; MXNet gives a gradient of zeros for the predictions alone."""
    target = "contrib.MultiBoxTarget"

    def arrays(counts: tuple[int, ...], anchors: int, grid: int = 0) -> dict[str, Input]:
        shape = (len(counts), max(counts) + 1, 5)
        return {
            "anchor": fixed(corners(1, anchors, grid=grid)),
            "label": Drawn("labels", shape, gradient=False, grid=grid, counts=counts),
            "cls_pred": scores(len(counts), 4, anchors, grid=grid),
        }

    plain, ties = arrays((3, 0, 5), 20), arrays((2, 4), 24, grid=4)
    for data in (plain, ties):
        yield case(target, data)
        for threshold in (0.25, 0.9, 0.0, -1.0):
            yield case(target, data, overlap_threshold=threshold)
        yield case(target, data, ignore_label=7.0)
        for ratio in (0.5, 1, 3):
            yield case(target, data, negative_mining_ratio=ratio)
        yield case(target, data, negative_mining_ratio=1, ignore_label=-7.0, overlap_threshold=0.3)
        yield case(target, data, negative_mining_ratio=0.7, negative_mining_thresh=0.25)
        yield case(target, data, variances=(1, 0.5, 0.3, 0.2))
    yield case(target, arrays((0, 0), 6), negative_mining_ratio=3)
    # Labels that are wider than five numbers, of a class below 0, behind padding.
    anchor = [[0.1, 0.1, 0.5, 0.4], [0.5, 0.5, 0.9, 0.9], [0.2, 0.7, 0.3, 1]]
    label = [[1, 0.1, 0.1, 0.5, 0.5, 9], [-2, 0.4, 0.4, 0.9, 0.9, 9], [-1] * 6, [0, 0, 0, 1, 1, 9]]
    odd = {"anchor": given(anchor, 1, 3, 4, gradient=False), "label": given(label, 2, 2, 6, gradient=False)}
    yield case(target, {**odd, "cls_pred": normal(2, 3, 3)})


def detections() -> Iterable[Case]:
    """Detections with every parameter."""
    detect = "contrib.MultiBoxDetection"

    def arrays(images: int, classes: int, anchors: int, grid: int = 0) -> dict[str, Input]:
        return {
            "cls_prob": scores(images, classes, anchors, grid=grid),
            "loc_pred": offsets(images, 4 * anchors, scale=0 if grid else 0.5),
            "anchor": corners(1, anchors, grid=grid),
        }

    for data in (arrays(2, 4, 12), arrays(2, 3, 16, grid=4)):
        yield case(detect, data)
        yield case(detect, data, clip=False)
        for threshold in (0.5, 0.75, 0.0, 2.0):
            yield case(detect, data, threshold=threshold)
        for threshold in (0.25, 0.1, 1.0, 0.0, -1.0, 1.5):
            yield case(detect, data, nms_threshold=threshold)
            yield case(detect, data, nms_threshold=threshold, force_suppress=True)
        for count in (0, 1, 5, 100):
            yield case(detect, data, nms_topk=count, nms_threshold=0.2, threshold=0.4)
        yield case(detect, data, nms_topk=3, nms_threshold=0)
        yield case(detect, data, background_id=1)
        yield case(detect, data, variances=(1, 0.5, 0.3, 0.2))
    yield case(detect, arrays(1, 1, 3))


def proposals() -> Iterable[Case]:
    """Proposals with every parameter, of one image and of several."""

    def arrays(
        images: int, anchors: int, size: tuple[float, ...] = (48.0, 64.0, 1.0), grid: int = 0
    ) -> dict[str, Input]:
        return {
            "cls_prob": scores(images, 2 * anchors, 3, 4, grid=grid),
            "bbox_pred": offsets(images, 4 * anchors, 3, 4, scale=0.2),
            "im_info": Drawn("sizes", (images, 3), values=size),
        }

    small = {"scales": (1.0, 2.0), "ratios": (0.5, 1.0)}
    few = {**small, "rpn_post_nms_top_n": 10, "output_score": True}
    for operator, images in (("contrib.Proposal", 1), ("contrib.MultiProposal", 2)):
        plain = arrays(images, 4)
        yield case(operator, arrays(images, 12), rpn_post_nms_top_n=8)
        yield case(operator, plain, **small)
        yield case(operator, plain, **few)
        yield case(operator, arrays(images, 4, grid=5), **few, rpn_min_size=0)
        yield case(operator, plain, **few, iou_loss=True)
        for count in (5, 0, -1):
            yield case(operator, plain, **few, rpn_pre_nms_top_n=count, rpn_min_size=0)
        for threshold in (0.1, 0.4, 0.0):
            yield case(operator, plain, **few, threshold=threshold, rpn_min_size=0)
        for least in (1, 24, 500):
            yield case(operator, plain, **few, rpn_min_size=least)
        yield case(operator, arrays(images, 4, (40.0, 50.0, 2.0)), **few, rpn_min_size=6)
        other = {"feature_stride": 8, "scales": (0.5, 1.5, 3.0), "ratios": (0.7, 2.0)}
        yield case(operator, arrays(images, 6, (24.0, 30.0, 0.5)), **other)


FAMILIES = (boxes, suppression, matching, priors, targets, detections, proposals)
