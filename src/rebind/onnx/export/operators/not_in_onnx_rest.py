"""Why ONNX cannot say some operators: those that train detectors, draw, or run on numbers of their own kind."""

from __future__ import annotations

from collections.abc import Mapping

from ..translations import REASONS

__all__ = ["TRAINED", "WITHOUT_COUNTERPART"]

#: For training only: what a network gives in use does not need them.
TRAINED: Mapping[str, str] = {
    "CTCLoss": "it is a loss: its sums over alignments belong to training",
    "WarpCTC": "it is a loss: its sums over alignments belong to training",
    "_contrib_MultiBoxTarget": "it makes what a detector learns from labels, which belongs to training",
    "_contrib_calibrate_entropy": "it finds ranges while a network is quantized; the network itself holds them",
    "_contrib_hawkesll": "it is the likelihood of a point process, which is maximized in training",
}
WITHOUT_COUNTERPART: Mapping[str, str] = {
    "_contrib_bipartite_matching": "it takes pairs one after the other, which belongs to training",
    "_contrib_quantized_rnn": "ONNX's recurrent layers have no form in whole numbers",
    "_sparse_retain": "it takes sparse arrays, and ONNX's are dense",
    "_contrib_getnnz": "it takes sparse arrays, and ONNX's are dense",
    "_contrib_edge_id": "it takes sparse arrays, and ONNX's are dense",
    "_image_resize": "it rounds as OpenCV does, which Resize does not; resize images before the network",
}

REASONS.update(TRAINED)
REASONS.update(WITHOUT_COUNTERPART)
REASONS.update(
    {
        f"_image_random_{what}": "it changes images by chance, which belongs to training"
        for what in (
            "brightness", "color_jitter", "contrast", "flip_left_right", "flip_top_bottom", "hue", "lighting",
            "saturation",
        )
    }
)  # fmt: skip
