"""Weights that need not be in memory as long as what was folded and packed of them is.

Packed filters are the weight in another order. Folded ones are each number times a known one, rounded: what division
gives is the weight but for its last bits, and how far it is off is noted in 8 bits for each number. So an executor that
only infers has 5 bytes of a weight, instead of 8, and the weight itself, to the last bit, is there when somebody asks.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ..graph import Application, Graph
from ..ndarray.released import StandIn, release
from ..ndarray.storage import Storage
from ..ops import Operator
from ..ops.nn.inference_dense import PACK_WEIGHT
from ..ops.nn.inference_layers import (
    FOLD_BATCH_NORM,
    FOLD_NORM_BEFORE,
    PACK_FILTERS,
    PACK_TRANSPOSED_FILTERS,
    unfolding,
    unpacked,
)
from ..params import Params

__all__ = ["Origin", "give_up", "origins", "read_alone"]

_FOLDS = (FOLD_BATCH_NORM, FOLD_NORM_BEFORE)
_PACKINGS = (PACK_FILTERS, PACK_TRANSPOSED_FILTERS, PACK_WEIGHT)

#: Weights of fewer elements take no memory that would count.
_LEAST = 1 << 14

#: How many numbers are looked at together.
_PART = 1 << 17

#: Of smaller numbers some threads may take what was folded of them for zeros (`torch.set_flush_denormal`).
_SMALLEST = 2.0**-100


class Fold(NamedTuple):
    """How a weight was folded: by which operator, and with which of the inputs."""

    op: Operator
    p: Params
    gamma: int
    moving_var: int


class Origin(NamedTuple):
    """What a weight follows from.

    Attributes
    ----------
    weight
        Its position among the inputs of what is kept.
    value
        The position of what was made of it, among what is kept.
    fold
        How it was folded before it was packed; None where it was not.
    transposed_groups
        The groups of a deconvolution whose filters were packed; 0 of another layer.
    """

    weight: int
    value: int
    fold: Fold | None
    transposed_groups: int = 0

    def roughly(self, value: Tensor, inputs: Sequence[Tensor]) -> Callable[[], Tensor] | None:
        """Return the function that computes the weight of the value, but for rounding, in memory of its own."""
        groups = self.transposed_groups
        if self.fold is None:
            return lambda: unpacked(value, groups)
        op, p, gamma, moving_var = self.fold
        unfold = unfolding(op, p, inputs[gamma], inputs[moving_var])
        if unfold is None:
            return None
        is_packed = value.layout is not torch.strided
        return lambda: unfold(unpacked(value, groups) if is_packed else value)


def read_alone(kept: Graph, rest: Graph) -> tuple[int, ...]:
    """Return which of the inputs of what is kept, by position, the rest of the network does not read.

    >>> import rebind as mx
    >>> x, weight = mx.sym.var("x"), mx.sym.var("weight")
    >>> read_alone((x + weight).graph, mx.sym.exp(x).graph)
    (1,)
    """
    others = {entry.node for node in rest.nodes for entry in node.inputs} | {out.node for out in rest.outputs}
    return tuple(i for i, node in enumerate(kept.variables) if node not in others)


def origins(kept: Graph, alone: Collection[int]) -> tuple[Origin, ...]:
    """Return the weights that follow from what is kept: those that only a fold, or a packing, or both, read.

    Parameters
    ----------
    kept
        What is computed of parameters alone.
    alone
        Which of its inputs nothing else reads.

    Examples
    --------
    >>> import rebind as mx
    >>> origins(mx.sym.exp(mx.sym.var("weight")).graph, [0])
    ()
    """
    inputs = {node: i for i, node in enumerate(kept.variables)}
    found = []
    for value, output in enumerate(kept.outputs):
        entry, fold, groups = output, None, 0
        if entry.node.operator in _PACKINGS and kept.uses[entry] == 1:
            assert isinstance(entry.node, Application)
            groups = entry.node.params.num_group if entry.node.operator is PACK_TRANSPOSED_FILTERS else 0
            entry = entry.node.inputs[0]
        if entry.node.operator in _FOLDS and entry.index == 0 and kept.uses[entry] == 1:
            given = dict(zip(entry.node.input_names, entry.node.inputs, strict=True))
            if given["gamma"].node in inputs and given["moving_var"].node in inputs:
                assert isinstance(entry.node, Application)
                places = (inputs[given[name].node] for name in ("gamma", "moving_var"))
                fold = Fold(entry.node.operator, entry.node.params, *places)
                entry = given["weight"]
        weight = inputs.get(entry.node)
        if weight is not None and entry != output and weight in alone and kept.uses[entry] == 1:
            found.append(Origin(weight, value, fold, groups))
    return tuple(found)


def give_up(origin: Origin, storage: Storage, value: Tensor, inputs: Sequence[Tensor]) -> StandIn | None:
    """Give up a weight that follows from what is kept, and return what stands for it; None where that does not go.

    Parameters
    ----------
    origin
        What it follows from.
    storage
        Where it is.
    value
        What was made of it.
    inputs
        What is kept was computed from these.

    Examples
    --------
    >>> from rebind.ndarray.storage import DenseStorage
    >>> weight = DenseStorage(torch.rand(128, 128))
    >>> give_up(Origin(0, 0, None), weight, weight.tensor.clone(), []).shape
    torch.Size([128, 128])
    """
    weight = storage.tensor
    if weight is None or weight.numel() < _LEAST or weight.requires_grad or not weight.is_contiguous():
        return None
    if value is weight:  # nothing was made of it
        return None
    roughly = origin.roughly(value, inputs)
    restore = None if roughly is None else _exactly(weight, roughly)
    return None if restore is None else release(storage, restore)


def _exactly(weight: Tensor, roughly: Callable[[], Tensor]) -> Callable[[], Tensor] | None:
    """Return a function that computes a weight to the last bit, given one that does so roughly; None if it is too far.

    >>> weight = torch.tensor([0.1, -0.7])
    >>> rough = weight / 3 * 3
    >>> torch.equal(_exactly(weight, rough.clone)(), weight)
    True
    >>> _exactly(weight, (weight + 0.001).clone) is None
    True
    """
    rough = roughly().contiguous()
    if weight.dtype is not torch.float32 or rough.dtype is not torch.float32 or rough.shape != weight.shape:
        return None
    steps = torch.empty(rough.numel(), dtype=torch.int8)
    # In parts, which stay in the cache, and take no memory to speak of.
    given = (each.view(-1).split(_PART) for each in (weight, rough, steps))
    is_off = False
    for part, rough_part, steps_part in zip(*given, strict=True):
        if not _is_ordinary(part):
            return None
        found = part.view(torch.int32) - rough_part.view(torch.int32)
        low, high = map(int, found.aminmax())
        if not (low >= -128 and high <= 127):  # another sign, or something has become 0
            return None
        steps_part.copy_(found)
        is_off = is_off or low < high or low != 0
    return functools.partial(_stepped, roughly, steps if is_off else None)


def _stepped(roughly: Callable[[], Tensor], steps: Tensor | None) -> Tensor:
    """Return each number so many numbers away."""
    found = roughly().contiguous()
    if steps is not None:
        found.view(torch.int32).view(-1).add_(steps)
    return found


def _is_ordinary(values: Tensor) -> bool:
    """Whether all numbers are zeros, or finite and not very small."""
    sizes = values.abs()
    least, largest = map(float, sizes.aminmax())
    if least == 0:
        least = float(sizes.masked_fill_(sizes == 0, _SMALLEST).min())
    return least >= _SMALLEST and largest < float("inf")
