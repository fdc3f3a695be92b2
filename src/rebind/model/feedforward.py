"""`FeedForward`: a network with its parameters, which trains on arrays and predicts arrays."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from itertools import filterfalse, islice
from typing import Any

from .. import metric
from ..callback import LogValidationMetricsCallback
from ..callback.hooks import has_hooks
from ..checks import NUMBER, check_kind, or_none
from ..device import Device
from ..errors import ParameterError
from ..initializer import Uniform
from ..module import Module
from ..module.base_module import History
from ..module.batches import labels_of, padding
from ..module.settings import Callbacks, InitializerSpec, MetricSpec, SomeCallbacks, StoreSpec
from ..module.sources import ArrayGroup
from ..monitor import Monitor
from ..optimizer import Optimizer
from ..protocols import DataSource, Logger
from ..symbol import Symbol
from .base import NetworkModel
from .data import BatchArrays, Joined, Source, axes_of, batches_of, check_metric, described, join, unpadded
from .predictor import Predictor
from .training import FitRequest, Verbose, train

__all__ = ["FeedForward"]


class FeedForward(NetworkModel):
    """A network with its parameters, which trains on arrays and predicts arrays.

    It trains through `Module`; what it adds is that it stays the same object over several calls: `fit` continues from
    the parameters it has, `predict` and `score` always use the newest. Between two calls of `fit` there is no
    optimizer, and the memory of training is free.

    Inputs and labels are what the iterator provides; with an array the network's ``data`` and ``softmax_label``, or
    else its only argument whose name ends in ``data``, and in ``label``; with several arrays, and with batches
    ``(x, y)``, all arguments with these endings. A dict names its own. All other arguments are parameters. A parameter
    whose variable has the attribute ``grad`` (or ``__grad__``) ``'freeze'`` stays as it is.

    Parameters
    ----------
    symbol
        The network.
    ctx
        A device or a list of devices; prediction uses the first.
    num_epoch
        The number of the epoch before which `fit` stops; without it `fit` trains 10 epochs.
    epoch_size
        Batches in an epoch; an epoch then begins where the last one ended. By default all of the data.
    optimizer
        A name or an optimizer.
    initializer
        The first values of parameters that have none.
    numpy_batch_size
        The batch size for arrays; what has fewer rows is one batch.
    arg_params, aux_params
        Parameters and auxiliary states to start from.
    allow_extra_params
        Whether to leave out names in them that the network does not have; otherwise prediction raises an error.
    begin_epoch
        The number of the first epoch.
    **kwargs
        Settings for the optimizer, such as `learning_rate`.

    Examples
    --------
    >>> import numpy as np, rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    >>> net = mx.sym.SoftmaxOutput(net, name="softmax")
    >>> points = np.random.rand(200, 2)
    >>> model = mx.model.FeedForward(net, num_epoch=20, learning_rate=2.0)
    >>> history = model.fit(points, points[:, 0] > points[:, 1])
    >>> model.predict(points).shape
    (200, 2)
    """

    _predictor: Predictor | None = None

    def __getstate__(self) -> dict[str, object]:
        """Return what a pickle holds: all but the bound predictor."""
        return {**vars(self), "_predictor": None}

    # Training.

    def fit(
        self,
        X: Source,
        y: ArrayGroup | None = None,
        eval_data: Source | None = None,
        eval_metric: MetricSpec = "acc",
        epoch_end_callback: SomeCallbacks = None,
        batch_end_callback: SomeCallbacks = None,
        kvstore: StoreSpec = "local",
        logger: Logger | None = None,
        work_load_list: Sequence[float] | None = None,
        monitor: Monitor | None = None,
        eval_end_callback: SomeCallbacks = LogValidationMetricsCallback(),  # noqa: B008
        eval_batch_end_callback: SomeCallbacks = None,
        *,
        initializer: InitializerSpec = None,
        num_epoch: int | None = None,
        force_init: bool = False,
        callbacks: Sequence[object] = (),
        verbosity: int = 3,
        lr_decay: str = "batch",
        **settings: Any,
    ) -> History:
        """Train, starting from the parameters that the model has.

        Parameters
        ----------
        X, y
            What `Module.fit` takes: an iterator over batches; arrays of data and labels with equal numbers of rows,
            each one, or a list or a dict of several; or an iterable of batches ``(x, y)``, such as a
            `torch.utils.data.DataLoader`. Arrays are shuffled in each epoch, and rows that fill no batch come first in
            the next.
        eval_data
            The same for the validation after each epoch, arrays as a pair ``(data, labels)``; of any batch size.
        eval_metric
            What is measured: a name, a list of names, a function or a metric.
        epoch_end_callback, batch_end_callback, eval_end_callback, eval_batch_end_callback
            As for `Module.fit`, but in `batch_end_callback` batches count from 1.
        kvstore
            How several devices share gradients. ``'local'`` chooses ``'local_update_cpu'``, or
            ``'local_allreduce_cpu'`` when an array has more than 16 M elements.
        logger
            Where messages go; by default the logger ``rebind``.
        work_load_list
            The share of each device.
        monitor
            A monitor to install.
        initializer, num_epoch
            Used instead of the model's.
        force_init
            Start from the initializer even if the model has parameters.
        callbacks
            `callback.BatchCallback` and `callback.EpochCallback` objects, and what `Module.fit` takes here.
        verbosity
            What is logged: 0 nothing, 1 the start and the end, 2 also one-time events and a line for each epoch, 3 also
            the metrics and time of each epoch.
        lr_decay
            The learning-rate schedule is asked with the number of updates (``'batch'``) or of finished epochs
            (``'epoch'``).
        **settings
            What else `Module.fit` takes by name: `validation_metric`, `checkpoint`, `accumulate`, `progress`.

        Returns
        -------
        dict
            ``{'train': {metric: [value of each epoch]}, 'validation': {...}}``.

        Examples
        --------
        >>> import numpy as np, rebind as mx
        >>> net = mx.sym.LinearRegressionOutput(mx.sym.var("data"), mx.sym.var("label"))
        >>> model = mx.model.FeedForward(net, num_epoch=2)
        >>> model.fit(np.array([1.0, 2.0]), np.array([1.0, 4.0]), eval_metric="mse", verbosity=0)
        {'train': {'mse': [2.0, 2.0]}, 'validation': {}}
        """
        if lr_decay not in ("batch", "epoch"):
            raise ParameterError(f"FeedForward.fit: lr_decay must be 'batch' or 'epoch'; got {lr_decay!r}")
        if verbosity not in (0, 1, 2, 3):
            raise ParameterError(f"FeedForward.fit: verbosity must be 0, 1, 2 or 3; got {verbosity!r}")
        request = FitRequest(
            X,
            y,
            eval_data,
            metric.create(eval_metric),
            Callbacks.read(
                epoch_end_callback,
                batch_end_callback,
                eval_end_callback,
                eval_batch_end_callback,
                # Objects with hooks are for `fit`; the others are FeedForward's own kinds.
                members=list(filter(has_hooks, callbacks)),
            ),
            list(filterfalse(has_hooks, callbacks)),
            kvstore,
            Verbose(logging if logger is None else logger, verbosity),
            work_load_list,
            monitor,
            initializer,
            num_epoch,
            force_init,
            lr_decay,
            settings,
        )
        return train(self, request)

    train = fit

    @staticmethod
    def create(
        symbol: Symbol,
        X: Source,
        y: ArrayGroup | None = None,
        ctx: Device | Sequence[Device] | None = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: str | Optimizer = "sgd",
        initializer: InitializerSpec = Uniform(0.01),  # noqa: B008  (MXNet's default; it has no state)
        eval_data: Source | None = None,
        eval_metric: MetricSpec = "acc",
        epoch_end_callback: SomeCallbacks = None,
        batch_end_callback: SomeCallbacks = None,
        kvstore: StoreSpec = "local",
        logger: Logger | None = None,
        work_load_list: Sequence[float] | None = None,
        eval_end_callback: SomeCallbacks = LogValidationMetricsCallback(),  # noqa: B008
        eval_batch_end_callback: SomeCallbacks = None,
        **kwargs: Any,
    ) -> FeedForward:
        """Make a model, train and return it; `kwargs` go to the constructor, the rest is as for `fit`.

        >>> import numpy as np, rebind as mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
        >>> net = mx.sym.SoftmaxOutput(net, name="softmax")
        >>> model = mx.model.FeedForward.create(net, np.ones((4, 3)), np.zeros(4), num_epoch=1)
        >>> sorted(model.arg_params)
        ['fc_bias', 'fc_weight']
        """
        model = FeedForward(symbol, ctx, num_epoch, epoch_size, optimizer, initializer, **kwargs)
        model.fit(
            X,
            y,
            eval_data,
            eval_metric,
            epoch_end_callback,
            batch_end_callback,
            kvstore,
            logger,
            work_load_list,
            eval_end_callback=eval_end_callback,
            eval_batch_end_callback=eval_batch_end_callback,
        )
        return model

    # Predicting and measuring.

    def predict(
        self,
        X: Source,
        num_batch: int | None = None,
        return_data: bool = False,
        reset: bool = True,
        callback: Callable[[BatchArrays], object] | None = None,
        overwrite: bool = True,
        verbosity: int = 0,
    ) -> Joined | tuple[Joined, Joined, Joined]:
        """Return the outputs for a data set as NumPy arrays, without padding.

        Parameters
        ----------
        X
            An iterator, an array or several, or an iterable of batches, as for `fit`.
        num_batch
            Stop after this many batches.
        return_data
            Return ``(outputs, data, labels)``; labels are None where there are none.
        reset
            Start the iterator from its beginning.
        callback
            ``callback(output)`` is called with each batch's outputs: an array, or a list of them if there are several.
            Nothing is collected then, and None is returned.
        overwrite
            With True the newest weights are used, and shapes may change. With False the predictor is used as it was
            bound, with the weights it then had.
        verbosity
            1 logs how long binding took.

        Returns
        -------
        numpy.ndarray
            Or a list of them, when the network has several outputs.

        Examples
        --------
        >>> import numpy as np, rebind as mx
        >>> model = mx.model.FeedForward(mx.sym.square(mx.sym.var("data")), arg_params={})
        >>> model.predict(np.array([1.0, 2.0, 3.0]))
        array([1., 4., 9.], dtype=float32)
        """
        # The callback gets the outputs instead of the caller, so that nothing piles up.
        if callback is not None and return_data:
            raise ParameterError("FeedForward.predict: return_data and callback exclude each other; got both")
        check_kind("FeedForward.predict", or_none(NUMBER), num_batch=num_batch)
        data = batches_of("predict", self.symbol, X, None, self.numpy_batch_size)
        module = self._bound("predict", data, overwrite, verbosity)
        # Not by the number of `iter_predict`, which takes one batch more: MXNet's FeedForward does not.
        count = None if num_batch is None else int(num_batch)
        predicted = islice(module.iter_predict(data, reset=reset), count)
        found = ((outputs, batch) for outputs, _, batch in predicted)
        if callback is not None:
            for outputs, _ in found:
                arrays = [output.asnumpy() for output in outputs]
                callback(arrays if len(arrays) > 1 else arrays[0])
            return None
        data_descs, label_descs = described(data)
        results, inputs, labels = [], [], []
        for outputs, batch in found:
            results.append([output.asnumpy() for output in outputs])
            if return_data:
                pad = padding(batch)
                inputs.append(unpadded(batch.data, data_descs, pad))
                labels.append(unpadded(labels_of(batch), label_descs, pad))
        # An output without a batch axis, -1, is joined along its first.
        joined = join(results, [max(axis, 0) for axis in module.output_axes()])
        if not return_data:
            return joined
        return joined, join(inputs, axes_of(data_descs)), join(labels, axes_of(label_descs))

    def score(
        self,
        X: Source,
        eval_metric: MetricSpec = "acc",
        num_batch: int | None = None,
        batch_end_callback: SomeCallbacks = None,
        reset: bool = True,
        *,
        y: ArrayGroup | None = None,
        overwrite: bool = True,
    ) -> float | list[float]:
        """Measure the predictions for a data set; padding does not count.

        Parameters
        ----------
        X, y
            An iterator, arrays of data and labels, or an iterable of batches, as for `fit`.
        eval_metric
            What is measured.
        num_batch
            Stop after this many batches.
        batch_end_callback
            A function, or a list of functions, for after each batch.
        reset
            Start the iterator from its beginning.
        overwrite
            As for `predict`.

        Returns
        -------
        float
            Or a list, when several things are measured, or a list of one.

        Examples
        --------
        >>> import numpy as np, rebind as mx
        >>> net = mx.sym.LinearRegressionOutput(mx.sym.var("data"), mx.sym.var("label"))
        >>> model = mx.model.FeedForward(net, arg_params={})
        >>> model.score(np.array([1.0, 2.0]), "mse", y=np.array([1.0, 4.0]))
        2.0
        """
        check_metric(eval_metric)
        data = batches_of("score", self.symbol, X, y, self.numpy_batch_size, labelled=True)
        module = self._bound("score", data, overwrite)
        found = module.score(data, eval_metric, num_batch, batch_end_callback, reset=reset)
        values = [value for _, value in found]
        several = len(values) > 1 or isinstance(eval_metric, (list, tuple, metric.CompositeEvalMetric))
        return values if several else values[0]

    def _bound(self, who: str, data: DataSource, overwrite: bool, verbosity: int = 0) -> Module:
        """Return the module that predicts, bound to the shapes of `data`."""
        if self._predictor is not None and not overwrite:
            self._predictor.check_shapes(who, data)
            return self._predictor.module
        arg_params, aux_params = self._need_params(who)
        device = self.ctx[0]
        if self._predictor is None or not self._predictor.fits(self.symbol, device, data, arg_params):
            self._predictor = None  # its memory is free for the new one
            self._predictor = Predictor(who, self.symbol, device, data, arg_params, verbosity)
        self._predictor.set_params(who, arg_params, aux_params, allow_extra=self.allow_extra_params)
        return self._predictor.module
