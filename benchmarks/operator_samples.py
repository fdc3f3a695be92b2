"""Which calls are timed beside MXNet: small ones from the samples of the tests, large ones by a rule or from a table.

A large call has about half a million elements in its largest array. Where parameters do not depend on shapes, or are
sizes of axes themselves, all axes of a sample grow by one factor; what has its own geometry stands in `LARGE`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import numpy as np
from tests.ops.sample import Array, Sample
from tests.ops.samples import LAYERS, SAMPLES, f, whole

__all__ = ["SIZES", "samples"]

ELEMENTS = 500_000

#: Parameters that are sizes of axes, and grow as these do.
_AXIS_SIZES = ("num_hidden", "input_dim", "output_dim")


def _boxes(count: int, extent: float, images: int = 1, seed: int = 0) -> np.ndarray:
    """Return rows (image, left, top, right, bottom) within a square of `extent`, sides of a hundredth to half of it."""
    random = np.random.default_rng(seed)
    corner, side = (
        random.uniform(0, extent / 2, (count, 2)),
        random.uniform(extent / 100, extent / 2, (count, 2)),
    )
    return np.concatenate([random.integers(0, images, (count, 1)), corner, corner + side], 1).astype(
        "float32"
    )


def _detections(count: int, classes: int) -> np.ndarray:
    """Return rows (class, score, left, top, right, bottom)."""
    random = np.random.default_rng(1)
    kind, score = random.integers(0, classes, (count, 1)), random.permutation(count).reshape(-1, 1) / count
    return np.concatenate([kind, score, _boxes(count, 500.0)[:, 1:]], 1).astype("float32")


def _integers(*shape: int, below: int, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(2).integers(0, below, shape).astype(dtype)


def _statistics(channels: int) -> tuple[Array, ...]:
    return f(channels), f(channels), f(channels), f(channels, low=0.5, high=1.5)


def _regions() -> list[Sample]:
    maps, boxes = f(2, 64, 38, 38), _boxes(128, 600.0, images=2)
    bins = {"pooled_size": (7, 7), "spatial_scale": 1 / 16}
    sensitive = {"pooled_size": 7, "output_dim": 8, "spatial_scale": 1 / 16}
    deformable = {**sensitive, "group_size": 7, "trans_std": 0.1, "sample_per_part": 4}
    turned = np.concatenate([boxes, _integers(128, 1, below=180)], 1)
    return [
        Sample("ROIPooling", (maps, boxes), bins),
        Sample("_contrib_ROIAlign", (maps, boxes), bins),
        Sample("_contrib_ROIAlign", (maps, boxes), {**bins, "sample_ratio": 2}),
        Sample("_contrib_ROIAlign", (f(2, 8 * 49, 38, 38), boxes), {**bins, "position_sensitive": True}),
        Sample("_contrib_RROIAlign", (maps, turned), bins),
        Sample("_contrib_PSROIPooling", (f(2, 8 * 49, 38, 38), boxes), sensitive),
        Sample(
            "_contrib_DeformablePSROIPooling",
            (f(2, 8 * 49, 38, 38), boxes, f(128, 2, 7, 7, low=0.1, high=0.4)),
            deformable,
        ),
        Sample("Correlation", (f(2, 32, 48, 64), f(2, 32, 48, 64)), {"max_displacement": 4, "pad_size": 4}),
        Sample(
            "Correlation",
            (f(1, 16, 48, 64), f(1, 16, 48, 64)),
            {"max_displacement": 4, "pad_size": 4, "is_multiply": False},
        ),
    ]  # fmt: skip


def _detection() -> list[Sample]:
    scores, offsets = f(2, 24, 38, 38, low=0.0, high=1.0), f(2, 48, 38, 38, low=-0.5, high=0.5)
    sizes = whole([600, 600, 1], [600, 600, 1])
    anchors = _boxes(2000, 1.0)[None, :, 1:]
    return [
        Sample("_contrib_MultiProposal", (scores, offsets, sizes)),
        Sample("_contrib_box_nms", (_detections(4000, 20),), {"overlap_thresh": 0.5, "id_index": 0}),
        Sample("_contrib_box_nms", (_detections(4000, 20),), {"overlap_thresh": 0.5, "force_suppress": True}),
        Sample("_contrib_box_iou", (_boxes(1000, 1.0)[:, 1:], _boxes(500, 1.0, seed=3)[:, 1:])),
        Sample("_contrib_bipartite_matching", (f(8, 500, 50, low=0.0, high=1.0),), {"threshold": 0.1}),
        Sample(
            "_contrib_MultiBoxPrior",
            (f(1, 3, 64, 64),),
            {"sizes": (0.2, 0.3), "ratios": (1.0, 2.0, 0.5)},
        ),
        Sample(
            "_contrib_MultiBoxTarget",
            (anchors, np.concatenate([_integers(8, 6, 1, below=20), np.tile(anchors[:, :6], (8, 1, 1))], 2),
             f(8, 21, 2000)),
        ),
        Sample(
            "_contrib_MultiBoxDetection", (f(2, 21, 2000, low=0.0, high=1.0), f(2, 8000, low=-0.5, high=0.5), anchors)
        ),
    ]  # fmt: skip


def _layers() -> list[Sample]:
    images = f(8, 32, 28, 28)
    square = {"kernel": (3, 3), "num_filter": 32}
    twice = {"kernel": (2, 2), "stride": (2, 2)}
    return [
        Sample("FullyConnected", (f(128, 1024), f(512, 1024), f(512)), {"num_hidden": 512}),
        Sample("Embedding", (_integers(64, 32, below=10000), f(10000, 64)), {"input_dim": 10000, "output_dim": 64}),
        Sample("Convolution", (images, f(32, 32, 3, 3), f(32)), {**square, "pad": (1, 1)}),
        Sample("Convolution", (f(8, 32, 500), f(32, 32, 3), f(32)), {"kernel": 3, "num_filter": 32}),
        Sample("Convolution", (images, f(32, 1, 3, 3), f(32)), {**square, "pad": (1, 1), "num_group": 32}),
        Sample("Deconvolution", (images, f(32, 32, 2, 2)), {**twice, "num_filter": 32}),
        *(Sample("Pooling", (f(8, 32, 56, 56),), {**twice, "pool_type": kind}) for kind in ("max", "avg", "sum")),
        Sample("Pooling", (f(8, 32, 56, 56, low=0.5),), {**twice, "pool_type": "lp", "p_value": 2}),
        *(Sample("Pooling", (f(8, 64, 28, 28),), {"global_pool": True, "pool_type": kind}) for kind in ("max", "avg")),
        *(
            Sample("BatchNorm", (f(8, 64, 28, 28), *_statistics(64)), {"fix_gamma": False}, training)
            for training in (True, False)
        ),
        Sample("LayerNorm", (f(512, 1000), f(1000), f(1000))),
        Sample("GroupNorm", (f(8, 64, 28, 28), f(8), f(8)), {"num_groups": 8}),
        Sample("InstanceNorm", (f(8, 64, 28, 28), f(64), f(64))),
        Sample("LRN", (f(8, 64, 28, 28),), {"nsize": 5}),
        *(
            Sample(name, (f(64, 32, 256), np.full(32, 40, "float32")), {"use_sequence_length": True})
            for name in ("SequenceMask", "SequenceLast", "SequenceReverse")
        ),
        # 4 gates of 128: rows of 64 inputs, of 128 states, and two biases.
        Sample(
            "RNN", (f(32, 32, 64), f(512 * (64 + 128 + 2), low=-0.1, high=0.1), f(1, 32, 128), f(1, 32, 128)),
            {"mode": "lstm", "state_size": 128, "num_layers": 1},
        ),
        Sample(
            "RNN", (f(32, 32, 64), f(384 * (64 + 128 + 2), low=-0.1, high=0.1), f(1, 32, 128)),
            {"mode": "gru", "state_size": 128, "num_layers": 1},
        ),
        Sample("softmax_cross_entropy", (f(512, 1000), _integers(512, below=1000))),
        Sample("SoftmaxOutput", (f(512, 1000), _integers(512, below=1000))),
        Sample("CTCLoss", (f(100, 32, 100), 1 + _integers(32, 20, below=98))),
        Sample(
            "_contrib_DeformableConvolution",
            (f(2, 32, 28, 28), f(2, 18, 28, 28), f(32, 32, 3, 3), f(32)), {**square, "pad": (1, 1)},
        ),
        Sample(
            "_contrib_ModulatedDeformableConvolution",
            (f(2, 32, 28, 28), f(2, 18, 28, 28), f(2, 9, 28, 28), f(32, 32, 3, 3), f(32)), {**square, "pad": (1, 1)},
        ),
    ]  # fmt: skip


def _pictures() -> list[Sample]:
    images, picture = f(4, 16, 64, 64), f(224, 224, 3, low=0.1, high=0.9)
    window = {"kernel": (3, 3), "stride": (1, 1), "dilate": (1, 1), "pad": (1, 1)}
    return [
        Sample("UpSampling", (images,), {"scale": 2, "sample_type": "nearest"}),
        Sample("UpSampling", (images, f(16, 1, 4, 4)), {"scale": 2, "sample_type": "bilinear", "num_filter": 16}),
        Sample("BilinearSampler", (images, f(4, 2, 64, 64, low=-1.0, high=1.0))),
        Sample("GridGenerator", (f(16, 6),), {"transform_type": "affine", "target_shape": (128, 128)}),
        Sample("GridGenerator", (f(16, 2, 128, 128),), {"transform_type": "warp"}),
        Sample(
            "SpatialTransformer", (images, f(4, 6)),
            {"transform_type": "affine", "sampler_type": "bilinear", "target_shape": (64, 64)},
        ),
        Sample("im2col", (images,), window),
        Sample("col2im", (f(2, 16 * 9, 64 * 64),), {**window, "output_size": (64, 64)}),
        Sample("_contrib_AdaptiveAvgPooling2D", (images,), {"output_size": (7, 7)}),
        Sample("_contrib_BilinearResize2D", (images,), {"height": 96, "width": 96}),
        Sample("Crop", (f(4, 16, 64, 64), f(4, 16, 56, 56)), {"num_args": 2, "offset": (2, 2)}),
        Sample("Pad", (images,), {"mode": "constant", "pad_width": (0, 0, 0, 0, 2, 2, 2, 2)}),
        Sample("Pad", (images,), {"mode": "reflect", "pad_width": (0, 0, 0, 0, 2, 2, 2, 2)}),
        Sample("_image_normalize", (f(8, 3, 224, 224),), {"mean": (0.1, 0.2, 0.3), "std": (0.5, 1.0, 2.0)}),
        Sample("_image_resize", (picture,), {"size": (112, 112)}),
        *(
            Sample(f"_image_random_{kind}", (picture,), {"min_factor": 0.5, "max_factor": 1.5})
            for kind in ("brightness", "contrast", "saturation", "hue")
        ),
        Sample("_image_adjust_lighting", (picture,), {"alpha": (0.1, 0.2, 0.3)}),
    ]  # fmt: skip


def _tensors() -> list[Sample]:
    table, rows, kept = f(700, 700), _integers(700, below=700), _integers(700, below=2)
    pairs, drawn = _integers(2, 10000, below=700), {"shape": (700, 700)}
    return [
        *(Sample("take", (table, rows), {"axis": axis, "mode": mode}) for axis in (0, 1) for mode in ("clip", "wrap")),
        Sample("pick", (table, rows)),
        Sample("pick", (table, rows), {"axis": 0}),
        Sample("one_hot", (rows,), {"depth": 700}),
        Sample("batch_take", (table, rows.astype("int32"))),
        Sample("gather_nd", (table, pairs)),
        Sample("scatter_nd", (f(10000), pairs), {"shape": (700, 700)}),
        Sample("_ravel_multi_index", (pairs,), {"shape": (700, 700)}),
        Sample("_unravel_index", (_integers(10000, below=490000, dtype="int64"),), {"shape": (700, 700)}),
        Sample("where", (_integers(700, 700, below=2), table, table)),
        Sample("clip", (table,), {"a_min": -1.0, "a_max": 1.0}),
        Sample("Reshape", (table,), {"shape": (-1,)}),
        Sample("squeeze", (f(1, 700, 1, 700),)),
        Sample("reshape_like", (table, f(490000))),
        Sample("diag", (table,), {"k": 1}),
        Sample("diag", (f(700),)),
        Sample("broadcast_to", (f(700, 1),), {"shape": (700, 700)}),
        Sample("broadcast_axis", (f(1, 700),), {"axis": 0, "size": 700}),
        Sample("SliceChannel", (table,), {"num_outputs": 7}),
        Sample("_split_v2", (table,), {"indices": (), "sections": 7, "axis": 1}),
        Sample("khatri_rao", (f(32, 100), f(160, 100))),
        *(Sample(name, (), drawn) for name in ("_zeros", "_ones", "_random_uniform", "_random_normal",
                                               "_random_exponential", "_random_gamma", "_random_poisson")),
        Sample("_full", (), {**drawn, "value": 3.5}),
        Sample("_random_randint", (), {**drawn, "low": 1, "high": 5}),
        Sample("_arange", (), {"start": 0, "stop": 490000}),
        Sample("_linspace", (), {"start": 0, "stop": 1, "num": 490000}),
        Sample("_eye", (), {"N": 700}),
        Sample("_contrib_index_copy", (table, np.arange(350.0, dtype="float32"), f(350, 700))),
        Sample("_contrib_boolean_mask", (table, kept)),
        Sample(
            "_contrib_count_sketch", (f(512, 1000), _integers(1000, below=100), 2 * _integers(1000, below=2) - 1),
            {"out_dim": 100},
        ),
        Sample("_linalg_potrf", (np.eye(64, dtype="float32") * 4 + np.full((32, 64, 64), 0.01, "float32"),)),
        Sample("_linalg_maketrian", (f(32, 64 * 65 // 2),)),
        Sample("_linalg_makediag", (f(64, 64),)),
        *(
            Sample(f"_sample_{name}", tuple(f(700, low=0.2, high=0.8) for _ in range(count)), {"shape": (700,)})
            for name, count in (
                ("uniform", 2), ("normal", 2), ("gamma", 2), ("exponential", 1), ("poisson", 1),
                ("negative_binomial", 2), ("generalized_negative_binomial", 2),
            )
        ),
    ]  # fmt: skip


#: Calls at sizes of their own. Operators that are here do not go by the rule.
LARGE = [*_regions(), *_detection(), *_layers(), *_pictures(), *_tensors()]


def _extents(arrays: Iterable[Any]) -> list[int]:
    """Return the sizes of the axes when all arrays are spread over each other."""
    return [max(sizes) for sizes in zip_longest(*(reversed(array.shape) for array in arrays), fillvalue=1)]


def _scaled(sample: Sample) -> Sample | None:
    """Return a sample with all axes longer by one factor; nothing where it cannot be so."""
    if not sample.arrays or not all(isinstance(array, Array) for array in sample.arrays):
        return None
    sizes = [size for size in _extents(sample.arrays) if size > 1]
    if not sizes or {"shape", "target_shape", "num_outputs", "offset", "heads"} & set(sample.parameters):
        return None
    factor = int((ELEMENTS / math.prod(sizes)) ** (1 / len(sizes)))
    arrays = tuple(
        replace(array, shape=tuple(n * factor if n > 1 else n for n in array.shape))
        for array in sample.arrays
    )
    parameters = {
        name: value * factor if name in _AXIS_SIZES else value for name, value in sample.parameters.items()
    }
    return replace(sample, arrays=arrays, parameters=parameters)


def _large() -> list[Sample]:
    listed = {sample.name for sample in LARGE}
    by_rule = (_scaled(sample) for sample in (*SAMPLES, *LAYERS) if sample.name not in listed)
    return [*(sample for sample in by_rule if sample), *LARGE]


SIZES = ("small", "large")


def samples(size: str) -> list[Sample]:
    """Return all calls of one size, each once."""
    found = [*SAMPLES, *LAYERS] if size == "small" else _large()
    return list({str(sample): sample for sample in found}.values())
