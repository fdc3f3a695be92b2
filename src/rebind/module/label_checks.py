"""What `fit` checks of labels before the first batch: that they are classes of the losses and metrics that read them.

A label that is no class does not stop MXNet. `SoftmaxOutput` and `SVMOutput` then lower the scores of all classes, and
programs mark padding with such labels: a warning. It is an error where MXNet reads foreign memory (`CTCLoss`, labels
above the classes of `softmax_cross_entropy`) or fails itself (the cross-entropy metric).
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from math import prod

import torch
from torch import Tensor

from ..checks import warn_user
from ..errors import ParameterError
from ..graph import Application, Node
from ..graph.inference import infer_shapes
from ..metric import CrossEntropy, EvalMetric
from ..metric.base import members_of
from ..ndarray import NDArray
from ..ndarray.reading import read_numbers
from ..ops import Asked, Labels
from ..ops.storage_types import DENSE
from ..shapes import Shape
from .descs import read_descs
from .steps import Steps

__all__ = ["check_classes"]

#: Operators that only arrange numbers again, or copy them: behind them a label has the same values.
_ARRANGING = frozenset(
    ("BlockGrad", "Cast", "Flatten", "Reshape", "SwapAxis", "_copy", "expand_dims", "squeeze", "transpose")
)


def check_classes(module: Steps, metric: EvalMetric, labels: Sequence[NDArray]) -> None:
    """Check that labels are classes of the losses in the network that read them, and of the metric.

    >>> import rebind as mx
    >>> loss = mx.sym.softmax_cross_entropy(mx.sym.var("data"), mx.sym.var("softmax_label"), name="ce")
    >>> module = mx.mod.Module(mx.sym.MakeLoss(loss))
    >>> module.bind([("data", (2, 3))], [("softmax_label", (2,))])
    >>> check_classes(module, mx.metric.create("loss"), [mx.nd.array([1, 3])])
    Traceback (most recent call last):
    rebind.errors.ParameterError: fit: labels of 'ce' must be classes from 0 to 2; got 3 at index 1 of ...
    """
    if module.symbol is None or not module.binded or module.output_shapes is None or not labels:
        return
    descs = read_descs(module.label_shapes, "label_shapes")
    sizes = {desc.name: prod(desc.shape) for desc in descs}
    # Labels of a sparse storage are no classes, and as dense ones may not fit into memory.
    values = {
        desc.name: _numbers(label)
        for desc, label in zip(descs, labels, strict=False)
        if getattr(label, "stype", DENSE) == DENSE
    }
    for node, asks, name, shape in _losses(module, values):
        # As many numbers as scores: probabilities of all classes.
        if sizes[name] != prod(shape):
            given = {
                each: values[variable]
                for each, entry in zip(node.input_names, node.inputs, strict=True)
                if (variable := _variable(entry.node)) in values
            }
            asked = asks.rule(node.params, shape, values[name], given)
            if asked is not None:
                _check(repr(node.name), asked, name, values[name])
    outputs = dict(module.output_shapes)
    for each in members_of(metric):
        if not isinstance(each, CrossEntropy) or type(each).measure is not CrossEntropy.measure:
            continue
        names = [name for name in each.label_names or values if name in values]
        shapes = [outputs[name] for name in each.output_names or outputs if name in outputs]
        for name, shape in zip(names, shapes, strict=False):
            if len(shape) > 1 and sizes[name] * shape[1] == prod(shape):
                # The metric itself warns of labels that count from the end.
                _check(f"eval_metric {each.name!r}", Asked(shape[1]), name, values[name], lowest=-shape[1])


def _numbers(label: NDArray) -> Tensor:
    return label.tensor.detach() if isinstance(label, NDArray) else read_numbers(label, "fit: labels")


def _losses(module: Steps, known: Container[str]) -> Iterator[tuple[Application, Labels, str, Shape]]:
    """Yield the losses that read a known label: the node, its labels, their variable, the shape of the scores."""
    assert module.symbol is not None and module.output_shapes is not None  # `check_classes` has looked
    graph = module.symbol.graph
    found = [
        (node, labels, name)
        for node in graph.nodes
        if isinstance(node, Application)
        and (labels := node.operator.labels) is not None
        and (name := _label(node, labels)) in known
    ]
    # Those at the end, the usual ones, have the shape of their scores. For others the network is walked through.
    ends = {
        entry.node: tuple(shape)
        for entry, (_, shape) in zip(graph.outputs, module.output_shapes, strict=False)
        if isinstance(entry.node, Application)
        and entry.node.operator.labels is not None
        and entry.node.operator.labels.scores_out
    }
    if any(node not in ends for node, _, _ in found):
        descs = [*read_descs(module.data_shapes, "data"), *read_descs(module.label_shapes, "label")]
        inferred = infer_shapes(graph, {desc.name: tuple(desc.shape) for desc in descs})
    for node, labels, name in found:
        shape = ends[node] if node in ends else inferred.of(node.inputs[0])
        if shape is not None:
            yield node, labels, name, shape


def _label(node: Application, labels: Labels) -> str:
    """Return the name of the variable that a loss has its labels from; an empty one where something is computed."""
    source = node.inputs[node.input_names.index(labels.input_name)].node
    return _variable(source) if source.is_variable or not labels.placed else ""


def _variable(node: Node) -> str:
    """Return the name of the variable whose numbers a node passes on; an empty one where something is computed."""
    while node.operator is not None and node.operator.name in _ARRANGING:
        node = node.inputs[0].node
    return node.name if node.is_variable else ""


def _check(who: str, asked: Asked, name: str, values: Tensor, lowest: int | None = None) -> None:
    """Raise an error for the first label that is an error, or else warn of the first that is outside of the classes.

    Labels from `lowest` on are left to the metric that reads them.
    """
    flat, last = values.reshape(-1), asked.classes - 1
    counted = torch.ones_like(flat, dtype=torch.bool) if asked.counted is None else asked.counted.reshape(-1)
    below = counted & (flat < (asked.first if lowest is None else lowest))
    above = counted & (flat > last)
    for outside, text in (below, asked.below), (above, asked.above):
        if text is None and outside.any():
            hint = "A negative label is no class." if outside is below else _too_high(asked)
            raise ParameterError(f"{_outside(who, asked, name, flat, outside, outside)}. {hint}")
    if (below | above).any():
        hint = f" {_too_high(asked)}" if above.any() else ""
        text = asked.above if above.any() else asked.below
        # Labels below may be padding; one above is the likelier mistake.
        at_fault = above if above.any() else below
        warn_user(f"{_outside(who, asked, name, flat, below | above, at_fault)}. {text}{hint}")


def _too_high(asked: Asked) -> str:
    from_one = "Do they count from 1, or has" if asked.first == 0 else "Has"
    return f"{from_one} the layer before it too few outputs?"


def _outside(who: str, asked: Asked, name: str, flat: Tensor, outside: Tensor, at_fault: Tensor) -> str:
    """Return which classes there must be, the first label that is at fault, and how many are outside."""
    first = int(torch.nonzero(at_fault)[0])
    return (
        f"fit: labels of {who} must be classes from {asked.first} to {asked.classes - 1}; got {flat[first].item():g} "
        f"at index {first} of {name!r} ({int(outside.sum())} of {len(flat)} labels are outside)"
    )
