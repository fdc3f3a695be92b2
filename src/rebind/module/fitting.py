"""`fit`: training, for every kind of module."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial

from ..checkpoint import Checkpoint
from ..checks import refuses_unknown
from ..initializer import Uniform
from ..monitor import Monitor
from ..ndarray import NDArray
from ..optimizer import Optimizer
from ..profiler.profile import Profile
from .settings import (
    Callbacks,
    FitSettings,
    InitializerSpec,
    InitialValues,
    MetricSpec,
    OptimizerParams,
    OptimizerSettings,
    RowIds,
    SomeCallbacks,
    StoreSpec,
)
from .sources import ArrayGroup, Trainable, as_source
from .steps import Steps
from .training_run import History

__all__ = ["fit"]


@refuses_unknown
def fit(
    module: Steps,
    train_data: Trainable,
    eval_data: Trainable | None = None,
    eval_metric: MetricSpec = "acc",
    epoch_end_callback: SomeCallbacks = None,
    batch_end_callback: SomeCallbacks = None,
    kvstore: StoreSpec = "local",
    optimizer: str | Optimizer = "sgd",
    optimizer_params: OptimizerParams = (("learning_rate", 0.01),),
    eval_end_callback: SomeCallbacks = None,
    eval_batch_end_callback: SomeCallbacks = None,
    initializer: InitializerSpec = Uniform(0.01),  # noqa: B008  (MXNet's default; it has no state)
    arg_params: Mapping[str, NDArray] | None = None,
    aux_params: Mapping[str, NDArray] | None = None,
    allow_missing: bool = False,
    force_rebind: bool = False,
    force_init: bool = False,
    begin_epoch: int = 0,
    num_epoch: int | None = None,
    validation_metric: MetricSpec | None = None,
    monitor: Monitor | None = None,
    sparse_row_id_fn: RowIds | None = None,
    *,
    progress: bool | None = None,
    checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
    accumulate: int = 1,
    callbacks: Sequence[object] = (),
    profile: bool | str | os.PathLike[str] | Profile = False,
    y: ArrayGroup | None = None,
    batch_size: int = 32,
    shuffle: bool = True,
) -> History:
    """Train, and return the history of the metrics.

    Each epoch computes the batches (for each: compute, update, metric, ``batch_end_callback(BatchEndParam)``), logs
    the training metric and the time, calls ``epoch_end_callback(epoch, symbol, arg_params, aux_params)``, and then
    runs the validation with its callbacks.

    Parameters
    ----------
    train_data
        An iterator over batches; or arrays, as ``(x, y)`` or with `y`, a list or a dict of them for several inputs;
        or an iterable of batches ``(x, y)``, such as a `torch.utils.data.DataLoader`: see `sources.BatchSource`.
    eval_data
        What the validation after each epoch measures: the same kinds.
    eval_metric
        What is measured: a name, a list of names, a function or a metric.
    epoch_end_callback, batch_end_callback, eval_end_callback, eval_batch_end_callback
        A function, or a list of functions.
    kvstore
        How several devices share gradients.
    optimizer, optimizer_params
        A name and its settings, or an optimizer.
    initializer, arg_params, aux_params, allow_missing, force_init
        The first values of the parameters; see `init_params`.
    force_rebind
        Bind again even if the module is bound.
    begin_epoch, num_epoch
        The first epoch's number, and the number before which to stop. To continue from ``prefix-0003.params``,
        which is written after the third epoch, give ``begin_epoch=3``.
    validation_metric
        What the validation measures; `eval_metric` by default.
    monitor
        A monitor to install.
    sparse_row_id_fn
        Which rows of sparse parameters a batch needs.
    progress
        Whether to show a bar for the running epoch, and a line for each finished one; by default in a terminal or a
        notebook only. The lines are not shown where logging is set up, which then has MXNet's lines.
    checkpoint
        Where to save the run: a path's prefix, or a `checkpoint.Checkpoint`. The same call made again after a kill
        resumes exactly from the newest whole file, within an epoch too; `begin_epoch` is used only when there
        is none.
    accumulate
        Sum the gradients of this many batches before each update; `rescale_grad` is then 1 / (batch size x
        accumulate). Batches left over at the end of an epoch make an update of their own.
    callbacks
        Objects that know their hooks, `on_batch_end`, `on_epoch_end` and others: see `callback.Callback`.
    profile
        Record where time goes, in batches 2 to 51: True logs a table by node at the end; a file's name has a trace
        written there too, for Perfetto. A `profiler.Profile` records what it says, and logs nothing.
    y
        The labels, where `train_data` is an array, a list or a dict of arrays.
    batch_size, shuffle
        For arrays. The order of shuffled samples comes from ``numpy.random``.

    A callback ends the training early by raising `callback.StopTraining`.

    Returns
    -------
    dict
        ``{'train': {metric: [value of each epoch]}, 'validation': {...}}``.

    Examples
    --------
    >>> import numpy as np, rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    >>> module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    >>> x = np.array([[0, 1], [1, 0]] * 8)
    >>> history = module.fit((x, x[:, 0]), num_epoch=5, batch_size=4, optimizer_params={"learning_rate": 1})
    >>> history["train"]["accuracy"][-1]
    1.0
    """
    source = partial(as_source, module=module, batch_size=batch_size)
    slots = (epoch_end_callback, batch_end_callback, eval_end_callback, eval_batch_end_callback)
    settings = FitSettings(
        train_data=source(train_data, "fit: train_data", y=y, shuffle=shuffle),
        eval_data=None if eval_data is None else source(eval_data, "fit: eval_data"),
        eval_metric=eval_metric,
        validation_metric=validation_metric,
        callbacks=Callbacks.read(*slots, members=callbacks),
        optimizer=OptimizerSettings(kvstore, optimizer, optimizer_params),
        values=InitialValues(
            initializer=initializer,
            arg_params=arg_params,
            aux_params=aux_params,
            allow_missing=allow_missing,
            force_init=force_init,
        ),
        begin_epoch=begin_epoch,
        num_epoch=num_epoch,
        force_rebind=force_rebind,
        monitor=monitor,
        sparse_row_id_fn=sparse_row_id_fn,
        progress=progress,
        checkpoint=None if checkpoint is None else Checkpoint.of(checkpoint),
        accumulate=accumulate,
        profile=Profile.of(profile),
    )
    return module.training_loop(settings).run()
