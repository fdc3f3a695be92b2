"""What the outputs with a loss share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ...params import Params
from ...shapes import Shape
from ..declaration import Shapes

__all__ = ["NO_CLASS", "Normalization", "like_first_output"]

Normalization = Literal["batch", "null", "valid"]


def like_first_output(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    return {"data": outputs[0]}


#: What becomes of labels that are no class, to be said to the user.
NO_CLASS = "They count as no class: all scores of their samples are lowered."
