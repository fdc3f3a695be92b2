"""What the outputs with a loss share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from torch import Tensor

from ...params import Params
from ...shapes import Shape
from ..spec import Asked, Shapes

__all__ = ["Normalization", "classes_of_last_axis", "like_first_output"]

Normalization = Literal["batch", "null", "valid"]


def like_first_output(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    return {"data": outputs[0]}


def classes_of_last_axis(p: Params, scores: Shape, label: Tensor, others: Mapping[str, Tensor]) -> Asked:
    return Asked(scores[-1], padding="They count as no class: all scores of their samples are lowered.")
