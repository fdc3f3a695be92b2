"""What `fit` looks at in its data: numbers that are none, layouts and figures that mean something else.

None of it stops MXNet, and all of it is a warning.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import Literal

import torch

from ..checks import warn_user
from ..errors import MXNetError
from ..io import DataDesc
from ..metric import Accuracy, EvalMetric
from ..metric.base import members_of
from ..ndarray import NDArray
from ..ndarray.sparse.csr import CSRStorage
from ..ndarray.storage import DenseStorage
from ..overriding import overrides
from ..symbol import Symbol
from .batches import AnyBatch, held_arrays, labels_of, whole
from .descs import read_descs
from .sources import names_of
from .steps import Steps

__all__ = ["NaNSearch", "check_figures", "check_layouts"]

#: Outputs that are numbers or probabilities, not classes, and what measures them where labels have as many numbers.
_MEASURED = {
    "LinearRegressionOutput": "eval_metric='mse'",
    "MAERegressionOutput": "eval_metric='mae'",
    "LogisticRegressionOutput": "eval_metric='mse', or a function that rounds the predictions",
    "SoftmaxOutput": "labels that are numbers of classes, labels.argmax(axis=1), or eval_metric='mse'",
    "softmax": "labels that are numbers of classes, labels.argmax(axis=1), or eval_metric='mse'",
}


def check_figures(module: Steps, metric: EvalMetric) -> None:
    """Warn of an accuracy of numbers: labels of a regression, or probabilities of all classes (one-hot).

    >>> import warnings, rebind as mx
    >>> net = mx.sym.LinearRegressionOutput(mx.sym.var("data"), name="lro")
    >>> module = mx.mod.Module(net, label_names=["lro_label"])
    >>> module.bind([("data", (8, 1))], [("lro_label", (8, 1))])
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     check_figures(module, mx.metric.create("acc"))
    >>> print(caught[0].message)
    fit: eval_metric 'accuracy' compares classes; got labels 'lro_label' of shape (8, 1) and predictions of ...
    """
    if module.symbol is None or not module.binded or overrides(module, "update_metric"):
        return
    heads = [entry.node.operator for entry in module.symbol.graph.outputs]
    kinds = {
        name: (shape, "" if head is None else head.name)
        for (name, shape), head in zip(module.output_shapes or (), heads, strict=False)
    }
    labels = {desc.name: desc for desc in read_descs(module.label_shapes, "label_shapes")}
    for each in members_of(metric):
        if type(each) is not Accuracy or overrides(each, "update"):
            continue
        label_names = [name for name in each.label_names or labels if name in labels]
        outputs = [kinds[name] for name in each.output_names or kinds if name in kinds]
        for name, (shape, kind) in zip(label_names, outputs, strict=False):
            if kind in _MEASURED and prod(labels[name].shape) == prod(shape):
                warn_user(
                    f"fit: eval_metric {each.name!r} compares classes; got labels {name!r} of shape "
                    f"{tuple(labels[name].shape)} and predictions of {kind} of shape {tuple(shape)}, which are not "
                    f"classes. Give {_MEASURED[kind]}."
                )


def check_layouts(symbol: Symbol | None, data: Sequence[DataDesc]) -> None:
    """Warn of images with their channels last, for a convolution that takes them first.

    >>> import warnings, rebind as mx
    >>> net = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), num_filter=2, name="conv0")
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     check_layouts(net, [DataDesc("data", (8, 32, 32, 3))])
    >>> print(caught[0].message)
    fit: 'data' must be images in layout NCHW for 'conv0'; got shape (8, 32, 32, 3), which looks like NHWC. ...
    """
    shapes = {desc.name: tuple(desc.shape) for desc in data}
    for node in () if symbol is None else symbol.graph.nodes:
        if node.operator is None or node.operator.name != "Convolution":
            continue
        shape = shapes.get(node.inputs[0].node.name, ())
        if _channels_last(shape) and getattr(node.params, "layout", None) in (None, "NCHW"):
            warn_user(
                f"fit: {node.inputs[0].node.name!r} must be images in layout NCHW for {node.name!r}; got "
                f"shape {shape}, which looks like NHWC. Give x.transpose((0, 3, 1, 2))."
            )
            return


def _channels_last(shape: Sequence[int]) -> bool:
    if len(shape) != 4 or min(shape[1:3]) <= 4:
        return False
    # One column at the end is as well a sequence; so it counts with squares only.
    return shape[3] in (3, 4) or (shape[3] == 1 and shape[1] == shape[2])


# NaN.


def outputs_are_nan(module: Steps) -> bool:
    """Return whether the outputs for the last batch hold NaN, as those of weights that have become NaN do.

    >>> import rebind as mx
    >>> outputs_are_nan(mx.mod.PythonLossModule())
    False
    """
    if not module.binded or overrides(module, "get_outputs"):
        return False
    try:
        outputs = module.get_outputs()
    except MXNetError:  # a program's own steps may not have computed any
        return False
    return any(isinstance(each, NDArray) and _first_nan(each) is not None for each in outputs)


def nan_in_batch(module: Steps, batch: AnyBatch, where: str) -> bool:
    """Warn of the first NaN in a batch; return whether there was one.

    >>> import warnings, rebind as mx
    >>> module = mx.mod.Module(2 * mx.sym.var("data"), label_names=None)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     nan_in_batch(module, mx.io.DataBatch([mx.nd.array([1, float("nan")])]), "epoch 0, batch 3")
    True
    >>> print(caught[0].message)
    fit: data must be numbers; got NaN in 'data', sample 1 of epoch 0, batch 3 (counted from 0). The weights can ...
    """
    found = whole(batch)
    if found is None:
        return False
    data_names, label_names = names_of(module)
    pairs = [
        *zip(data_names, found.data or (), strict=False),
        *zip(label_names, labels_of(found), strict=False),
    ]
    return _warn_of_nan(pairs, f" of {where} (counted from 0)")


def nan_in_source(source: object) -> bool:
    """Warn of the first NaN in the arrays of an iterator that holds them, as `NDArrayIter` does; return whether.

    >>> import warnings, numpy as np, rebind as mx
    >>> source = mx.io.NDArrayIter(np.array([[1.0], [np.nan]]), batch_size=1)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     nan_in_source(source)
    True
    """
    pairs = [*held_arrays(source, "data"), *held_arrays(source, "label")]
    size = getattr(source, "batch_size", 0)
    in_order = size and not getattr(source, "shuffle", False)
    return _warn_of_nan(pairs, "", size if in_order else 0)


class NaNSearch:
    """Looks for NaN in the data of a run: in the first batch, and in all once the outputs are NaN.

    Parameters
    ----------
    module
        What is trained.
    source
        The training data.

    Examples
    --------
    >>> import rebind as mx
    >>> module = mx.mod.Module(2 * mx.sym.var("data"), label_names=None)
    >>> search = NaNSearch(module, None)
    >>> len(list(search.watched([mx.io.DataBatch([mx.nd.ones((2,))])], epoch=0, start=0)))
    1
    """

    def __init__(self, module: Steps, source: object) -> None:
        self._module, self._source = module, source
        self._looks_at: Literal["first", "outputs", "all", "nothing"] = "first"

    def watched(self, batches: Iterable[AnyBatch], epoch: int, start: int) -> Iterable[AnyBatch]:
        """Return the batches of an epoch; those that are to be looked at are as they are taken."""
        looks = self._looks_at in ("first", "all")
        return self._looking(batches, epoch, start) if looks else batches

    def _looking(self, batches: Iterable[AnyBatch], epoch: int, start: int) -> Iterator[AnyBatch]:
        for number, batch in enumerate(batches, start):
            if self._looks_at in ("first", "all"):
                if nan_in_batch(self._module, batch, f"epoch {epoch}, batch {number}"):
                    self._looks_at = "nothing"
                elif self._looks_at == "first":
                    self._looks_at = "outputs"
            yield batch
        if self._looks_at == "all":
            self._looks_at = "nothing"

    def end_epoch(self) -> None:
        """Look at the outputs; if they are NaN, at the data, or at the batches of the next epoch."""
        if self._looks_at == "outputs" and outputs_are_nan(self._module):
            self._looks_at = "nothing" if nan_in_source(self._source) else "all"


def _warn_of_nan(pairs: Iterable[tuple[str, object]], where: str, batch_size: int = 0) -> bool:
    for name, value in pairs:
        sample = _first_nan(value)
        if sample is not None:
            batch = f", which is in batch {sample // batch_size} (counted from 0)" if batch_size else ""
            warn_user(
                f"fit: data must be numbers; got NaN in {name!r}, sample {sample}{where}{batch}. The weights "
                "can become NaN, too."
            )
            return True
    return False


def _first_nan(value: object) -> int | None:
    """Return the number of the first sample with a NaN; None without one, and for what is no dense or csr array."""
    storage = value.storage if isinstance(value, NDArray) else None
    if not isinstance(storage, (DenseStorage, CSRStorage)):
        return None
    tensor = (storage.data if isinstance(storage, CSRStorage) else storage.tensor).detach()
    if not tensor.is_floating_point() or not tensor.numel():
        return None
    # A sum is one pass without an array of flags, and NaN where one of its terms is; so are infinities of both signs.
    if not math.isnan(tensor.sum().item()):
        return None
    flags = torch.isnan(tensor.reshape(tensor.shape[0] if tensor.dim() else 1, -1)).any(1)
    if not bool(flags.any()):
        return None
    first = torch.nonzero(flags)[0]
    return int(storage.row_of_each()[first] if isinstance(storage, CSRStorage) else first)
