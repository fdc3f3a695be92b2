"""One call of `FeedForward.fit`: a `Module` is made, trained and dropped."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import optimizer as opt
from ..callback import LogValidationMetricsCallback
from ..io import DataDesc
from ..kvstore import KVStore, has_big_array
from ..logs import resolve
from ..metric import EvalMetric
from ..module.base_module import History
from ..module.settings import Callbacks, InitializerSpec, StoreSpec
from ..module.sources import ArrayGroup
from ..monitor import Monitor
from ..protocols import Callback, DataSource, Logger
from .base import NetworkModel
from .data import Source, batches_of, described, validation_batches
from .following import AllreduceStore, CountedFromOne, Epochs, Following, Trainer

__all__ = ["FitRequest", "Verbose", "train"]

_DEFAULT_EPOCHS = 10

# What `Module.fit` logs goes here at a verbosity below 3.
_SILENT = logging.Logger("silent", level=logging.CRITICAL + 1)


class Verbose:
    """A logger that leaves out messages above a level of verbosity.

    >>> from types import SimpleNamespace
    >>> logger = SimpleNamespace(info=lambda message, *arguments: print(message % arguments))
    >>> log = Verbose(logger, 2)
    >>> log(2, "Epoch[%d]", 3)
    Epoch[3]
    >>> log(3, "Time cost")
    """

    def __init__(self, logger: Logger, verbosity: int) -> None:
        self.logger = logger
        self.verbosity = verbosity

    def __call__(self, level: int, message: str, *arguments: object) -> None:
        """Log a message at a level from 1 to 3."""
        if self.verbosity >= level:
            resolve(self.logger).info(message, *arguments)


@dataclass(frozen=True)
class FitRequest:
    """What `FeedForward.fit` was given; see there."""

    X: Source
    y: ArrayGroup | None
    eval_data: Source | None
    metric: EvalMetric
    callbacks: Callbacks
    state_callbacks: Sequence[object]
    kvstore: StoreSpec
    log: Verbose
    work_load_list: Sequence[float] | None
    monitor: Monitor | None
    initializer: InitializerSpec
    num_epoch: int | None
    force_init: bool
    lr_decay: str
    settings: Mapping[str, Any]  # what else `Module.fit` takes by name


def train(model: NetworkModel, request: FitRequest) -> History:
    """Train a model, which then has the new parameters; return the history."""
    log = request.log
    following = Following(
        model,
        request.state_callbacks,
        request.metric,
        on_epoch=lambda epoch: log(2, "Epoch[%d] Training", epoch),
    )
    data, eval_data = _data(model, request)
    log(1, "Start training with %s", model.ctx)
    descs, labels = described(data)
    arguments = model.symbol.list_arguments()
    labels = [desc for desc in labels if desc.name in arguments]  # the others are for metrics only
    if request.force_init or model.arg_params is None:
        log(2, "Initializing parameters")
    shapes = {desc.name: tuple(desc.shape) for desc in (*descs, *labels)}
    _, param_names, _ = model.give_values(request.initializer, request.force_init, shapes)
    trainer = _trainer(model, request, following, descs, labels, param_names)
    model.rewind_schedule()
    # The user's callbacks see a model that has its new parameters, and come before those that see how far training is.
    callbacks = request.callbacks
    # What cannot be called is refused by `fit`, in its words.
    batch_end = [CountedFromOne(each) if callable(each) else each for each in callbacks.batch_end]
    with _lent(model.optimizer):
        history = trainer.fit(
            data,
            eval_data,
            request.metric,
            epoch_end_callback=[following.take_params, *callbacks.epoch_end, following.end_epoch],
            batch_end_callback=[following, *batch_end],
            kvstore=_store(model, request, param_names),
            optimizer=model.optimizer,
            optimizer_params=model.kwargs,
            eval_end_callback=_without_log(callbacks.eval_end),
            eval_batch_end_callback=callbacks.eval_batch_end,
            initializer=None,  # give_values() has left no parameter without a value
            arg_params=model.arg_params,
            aux_params=model.aux_params,
            begin_epoch=model.begin_epoch,
            num_epoch=_last_epoch(model, request.num_epoch),
            monitor=request.monitor,
            callbacks=callbacks.members,
            **request.settings,
        )
    model.arg_params, model.aux_params = trainer.get_params()
    log(1, "Finish training on %s", model.ctx)
    return history


def _data(model: NetworkModel, request: FitRequest) -> tuple[DataSource, DataSource | None]:
    """Return the iterators for training and for the validation, which may be None."""
    data = batches_of(
        "fit",
        model.symbol,
        request.X,
        request.y,
        model.numpy_batch_size,
        labelled=True,
        shuffle=True,
        last_batch_handle="roll_over",
    )
    eval_data = validation_batches(model.symbol, request.eval_data, model.numpy_batch_size)
    # In MXNet's order: with the same seed of numpy.random, shuffled rows come in the same order.
    if hasattr(data, "reset"):
        data.reset()
    return data if model.epoch_size is None else Epochs(data, model.epoch_size), eval_data


def _trainer(
    model: NetworkModel,
    request: FitRequest,
    following: Following,
    descs: Sequence[DataDesc],
    labels: Sequence[DataDesc],
    param_names: Sequence[str],
) -> Trainer:
    return Trainer(
        model.symbol,
        following=following,
        lr_decay=request.lr_decay,
        data_names=[desc.name for desc in descs],
        label_names=[desc.name for desc in labels],
        logger=request.log.logger if request.log.verbosity == 3 else _SILENT,
        context=model.ctx,
        work_load_list=request.work_load_list,
        fixed_param_names=_frozen(model, param_names),
    )


def _last_epoch(model: NetworkModel, num_epoch: int | None) -> int:
    asked = model.num_epoch if num_epoch is None else num_epoch
    return model.begin_epoch + _DEFAULT_EPOCHS if asked is None else asked


def _frozen(model: NetworkModel, param_names: Sequence[str]) -> list[str]:
    """Return the parameters that their variables' attributes freeze."""
    attributes = model.symbol.attr_dict()
    return [
        name
        for name in param_names
        if "freeze" in (attributes.get(name, {}).get(key) for key in ("grad", "__grad__"))
    ]


def _store(model: NetworkModel, request: FitRequest, param_names: Sequence[str]) -> StoreSpec:
    """Return the store: for ``'local'`` the kind that suits the largest array."""
    if request.kvstore != "local" or len(model.ctx) == 1:
        return request.kvstore
    have = model.arg_params or {}
    # Of the parameters only: values that the network does not have are not pushed.
    params = {name: have[name] for name in param_names}
    store = AllreduceStore("local_allreduce_cpu") if has_big_array(params) else KVStore("local_update_cpu")
    largest = max((array.size for array in params.values()), default=0)
    request.log(2, "Chose the store %s: the largest array has %d elements", store.type, largest)
    return store


def _without_log(callbacks: Sequence[Callback]) -> list[Callback]:
    """Leave out the default callback: the module logs what it would."""
    return [each for each in callbacks if type(each) is not LogValidationMetricsCallback]


@contextlib.contextmanager
def _lent(optimizer: str | opt.Optimizer) -> Iterator[None]:
    """Give a user's optimizer back with the settings that it had: `fit` may replace some."""
    if not isinstance(optimizer, opt.Optimizer):
        yield
        return
    rescale, schedule = optimizer.rescale_grad, optimizer.lr_scheduler
    try:
        yield
    finally:
        optimizer.rescale_grad, optimizer.lr_scheduler = rescale, schedule
