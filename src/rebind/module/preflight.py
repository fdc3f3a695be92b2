"""What `fit` checks before the first batch: mistakes that would only show, or never show, after hours of training."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from ..checks import check_writable, warn_user
from ..distributed import current_job, started_job
from ..errors import ParameterError, StateError, near_names
from ..executor import head_gradient_reaches
from ..kvstore import Capabilities, capabilities_of
from ..metric import CustomMetric, EvalMetric
from ..metric.base import members_of
from ..ndarray import NDArray
from ..optimizer import Optimizer
from ..overriding import overrides
from ..protocols import Batch
from ..tuning import current
from .batches import AnyBatch, held_arrays, labels_of, whole
from .callback_checks import check_callbacks
from .data_checks import check_figures
from .label_checks import check_classes
from .settings import FitSettings
from .steps import Steps

__all__ = [
    "check_losses", "check_metric", "check_multipliers", "check_settings", "checked_first",
]  # fmt: skip

T = TypeVar("T")

_LOSSES = ("MakeLoss", "make_loss")


def check_settings(settings: FitSettings) -> None:
    """Check what can be checked of a call of `fit` before anything is bound.

    >>> import rebind as mx
    >>> data = mx.io.NDArrayIter(mx.nd.zeros((4, 1)))
    >>> check_settings(FitSettings(train_data=data, num_epoch=3))
    """
    check_callbacks(settings.callbacks, has_validation=settings.eval_data is not None)
    if settings.checkpoint is not None:
        if _has_files(settings):
            check_writable(settings.checkpoint.prefix, "fit: checkpoint")
    elif settings.begin_epoch >= settings.last_epoch:
        warn_user(
            "fit: nothing is trained: epochs run from begin_epoch to num_epoch - 1; got "
            f"begin_epoch={settings.begin_epoch} and num_epoch={settings.last_epoch}"
        )


def _has_files(settings: FitSettings) -> bool:
    """Return whether this process reads and writes the files of the run, for all workers of its job."""
    store = settings.optimizer.kvstore
    able = (
        capabilities_of(store) if isinstance(store, str) else getattr(store, "capabilities", Capabilities())
    )
    job = current_job() if able.spans_processes else started_job()
    return job is None or job.rank == 0


def check_multipliers(optimizers: Sequence[Optimizer], module: Steps) -> None:
    """Warn of multipliers of the learning rate or of weight decay for parameters that there are not.

    >>> import warnings, rebind as mx
    >>> optimizer = mx.optimizer.create("sgd", param_idx2name={0: "fc_weight"})
    >>> optimizer.set_lr_mult({"fc_weigth": 0.1})
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     check_multipliers([optimizer], mx.mod.PythonLossModule())
    >>> print(caught[0].message)
    set_lr_mult: no parameter 'fc_weigth'; did you mean 'fc_weight'? Its multiplier changes nothing.
    """
    others = set() if module.symbol is None else set(module.symbol.list_arguments())
    for optimizer in optimizers:
        known = [str(name) for name in optimizer.idx2name.values()]
        # Without names its multipliers are by index, of which nothing is known.
        if not known:
            continue
        for kind in ("lr_mult", "wd_mult"):
            for name in getattr(optimizer, kind, ()):
                if isinstance(name, str) and name not in known and name not in others:
                    warn_user(
                        f"set_{kind}: no parameter {name!r}{near_names(name, known)} Its multiplier changes nothing."
                    )


def check_losses(module: Steps) -> None:
    """Check that the network ends in losses: a head gradient for another output would be missing in `backward`.

    >>> import rebind as mx
    >>> module = mx.mod.Module(
    ...     mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc"), label_names=None
    ... )
    >>> module.bind([("data", (2, 3))])
    >>> check_losses(module)
    Traceback (most recent call last):
    rebind.errors.StateError: fit: the network must end in a loss layer, such as SoftmaxOutput, ... or MakeLoss; got ...
    """
    last = module.last_module
    if last.symbol is None or any(overrides(each, "forward_backward", "backward") for each in (module, last)):
        return
    graph, trained = last.symbol.graph, set(last.trained_params())
    reached = head_gradient_reaches(graph, graph.arguments)
    for name, positions in zip(last.output_names, reached, strict=True):
        if trained & {graph.arguments[k].name for k in positions}:
            raise StateError(
                "fit: the network must end in a loss layer, such as SoftmaxOutput, LinearRegressionOutput or MakeLoss; "
                f"got {name!r}, which is no loss. Add one; an output that is not trained needs BlockGrad."
            )


# With the first batch at hand.


def checked_first(
    batches: Iterable[AnyBatch], module: Steps, metric: EvalMetric, data: object
) -> Iterator[AnyBatch]:
    """Yield the batches; before the first, check its labels and the metric.

    >>> import rebind as mx
    >>> module = mx.mod.Module(mx.sym.var("data") * 2, label_names=None)
    >>> batch = mx.io.DataBatch([mx.nd.ones((2, 1))])
    >>> next(checked_first([batch], module, mx.metric.create("acc"), None))
    Traceback (most recent call last):
    rebind.errors.ParameterError: fit: eval_metric 'accuracy' compares outputs with labels, and the batches have ...
    """
    is_first = True
    # Iterated once: some sources start over whenever they are, and so would train on the first batch again.
    for each in batches:
        if is_first and (batch := whole(each)) is not None:
            check_metric(module, metric, batch)
            check_classes(module, metric, _labels(data) or labels_of(batch))
            check_figures(module, metric)
        is_first = False
        yield each


def check_metric(module: Steps, metric: EvalMetric, batch: Batch) -> None:
    """Check that a metric that compares outputs with labels gets labels, and outputs that are no losses.

    >>> import rebind as mx
    >>> net = mx.sym.MakeLoss(mx.sym.var("data"))
    >>> batch = mx.io.DataBatch([mx.nd.ones((2, 1))])
    >>> check_metric(mx.mod.Module(net, label_names=None), mx.metric.Loss(), batch)
    """
    if overrides(module, "update_metric"):
        return
    # A metric of a user's own `update` may do without labels.
    comparing = next(
        (each for each in members_of(metric) if not overrides(each, "update", "update_dict")), None
    )
    if comparing is None:
        return
    losses = _ends_in_losses(module)
    if not labels_of(batch):
        hint = (
            "eval_metric='loss', since the outputs are losses"
            if losses
            else "eval_metric='loss', or data with labels"
        )
        raise ParameterError(
            f"fit: eval_metric {comparing.name!r} compares outputs with labels, and the batches have none. Give {hint}."
        )
    if losses and not isinstance(comparing, CustomMetric):
        warn_user(
            f"fit: eval_metric {comparing.name!r} compares labels with predictions, and the outputs are losses "
            "(MakeLoss). Give eval_metric='loss'."
        )


def _ends_in_losses(module: Steps) -> bool:
    if module.symbol is None:
        return False
    heads = [entry.node.operator for entry in module.symbol.graph.outputs]
    return all(head is not None and head.name in _LOSSES for head in heads)


def _labels(data: object) -> list[NDArray]:
    """Return all labels of an iterator that holds them, as `NDArrayIter` does; none of others."""
    arrays = [array for _, array in held_arrays(data, "label")]
    size = sum(getattr(array, "size", 0) for array in arrays)
    return arrays if size <= current().checked_labels else []
