"""What the outputs with a loss share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ...params import Params
from ...shapes import Shape
from ..spec import Shapes

__all__ = ["Normalization", "like_first_output"]

Normalization = Literal["batch", "null", "valid"]


def like_first_output(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    return {"data": outputs[0]}
