"""Classes and functions that a written file needs besides PyTorch's, where MXNet's differ; their text goes into it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable

from .batch_norm import BatchNorm, batch_norm_statistics
from .control_flow import cond, foreach, while_loop
from .detection import (
    box_nms,
    multi_box_detection,
    multi_box_prior,
    non_maximum_suppression,
)
from .loops import repeat_while
from .losses import ctc_loss
from .matching import bipartite_matching, match_best, multi_box_target
from .proposals import anchors_of_a_position, propose
from .regions import rotated_roi_align

__all__ = ["helper_texts"]

_HELPERS: dict[str, Callable[..., object]] = {
    helper.__name__: helper
    for helper in (
        BatchNorm,
        anchors_of_a_position,
        batch_norm_statistics,
        bipartite_matching,
        box_nms,
        cond,
        ctc_loss,
        foreach,
        match_best,
        multi_box_detection,
        multi_box_prior,
        multi_box_target,
        non_maximum_suppression,
        propose,
        repeat_while,
        rotated_roi_align,
        while_loop,
    )
}


def helper_texts(names: Iterable[str]) -> list[str]:
    """Return the text of helpers, and of those that they use, in the order of their names.

    >>> [text.splitlines()[0] for text in helper_texts(["BatchNorm"])]
    ['class BatchNorm(nn.BatchNorm2d):']
    """
    texts: dict[str, str] = {}
    open_names = list(names)
    while open_names:
        name = open_names.pop()
        if name not in texts:
            texts[name] = inspect.getsource(_HELPERS[name])
            open_names += [
                other
                for other in _HELPERS
                if re.search(rf"(?<!\.)\b{other}\(", texts[name])
            ]
    return [texts[name] for name in sorted(texts)]
