"""What a loss asks of labels that are classes, for checks before training: no kernel stops at a wrong one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from torch import Tensor

from ...params import Params
from ...shapes import Shape

__all__ = ["Asked", "LabelRule", "Labels"]


class Asked(NamedTuple):
    """What a loss asks of its labels.

    Attributes
    ----------
    classes
        How many classes there are.
    counted
        Which labels are read; None for all.
    first
        The first class.
    below, above
        What becomes of labels below the first class, and above the last, where that is defined; None where they are an
        error.
    """

    classes: int
    counted: Tensor | None = None
    first: int = 0
    below: str | None = None
    above: str | None = None


#: From the parameters, the shape of the scores (the first input) and the label to what is asked; None for nothing. What
#: else comes with a batch, such as lengths, is in the mapping, by the names of inputs.
LabelRule: TypeAlias = "Callable[[Params, Shape, Tensor, Mapping[str, Tensor]], Asked | None]"


@dataclass(frozen=True)
class Labels:
    """A declaration that an input holds classes, which the first input has scores of.

    Attributes
    ----------
    rule
        What is asked of the labels.
    input_name
        The input.
    placed
        Whether the rule reads labels by their position. Otherwise they may come in any shape.
    scores_out
        Whether the output has the shape of the scores.

    Examples
    --------
    >>> from rebind.ops import find
    >>> op = find("SVMOutput")
    >>> op.labels.rule(op.parse({}), (8, 3), Tensor([0, 1, 5]), {}).classes
    3
    >>> find("exp").labels is None
    True
    """

    rule: LabelRule
    input_name: str = "label"
    placed: bool = False
    scores_out: bool = False
