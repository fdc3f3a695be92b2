"""`FeedForward`: a network with its parameters, which trains on arrays and predicts arrays."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .. import checkpoint, config, metric
from .. import optimizer as opt
from ..callback import BatchCallback, EpochCallback, LogValidationMetricsCallback
from ..device import Device, current_device
from ..errors import ArgumentError, NameLookupError, ParameterError, ShapeError, StateError
from ..initializer import InitDesc, Uniform
from ..kvstore import KVStore
from ..lr_scheduler import LRScheduler
from ..module import Module
from ..module.base_module import History
from ..ndarray import NDArray, zeros
from ..symbol import Symbol, load_json
from .data import axes_of, batches_of, described, join, rows_of, validation_batches
from .following import AllreduceStore, CountedFromOne, Epochs, Following, Trainer, TrainingState
from .predictor import Predictor

__all__ = ["FeedForward"]

Params = dict[str, NDArray]

_DEFAULT_EPOCHS = 10

# Takes what `Module.fit` says when nobody is to hear it.
_SILENT = logging.Logger("silent", level=logging.CRITICAL + 1)


class FeedForward:
    """A network with its parameters, which trains on arrays and predicts arrays.

    It trains through `Module`; what it adds is that it stays the same object over several calls: `fit` goes on from
    the parameters that are there, `predict` and `score` always use the newest. There is no optimizer between two calls
    of `fit`, and what training needs is free after it.

    Inputs and labels are what the iterator provides; with arrays the network's ``data`` and ``softmax_label``, or else
    its only argument whose name ends in ``data``, and in ``label``. All other arguments are parameters. A parameter
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
        Parameters and auxiliary states that are there already.
    allow_extra_params
        Whether to leave names in them that the network does not have out; otherwise prediction refuses them.
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

    def __init__(
        self,
        symbol: Symbol,
        ctx: Device | Sequence[Device] | None = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: Any = "sgd",
        initializer: Any = Uniform(0.01),  # noqa: B008  (MXNet's default; it keeps no state)
        numpy_batch_size: int = 128,
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_extra_params: bool = False,
        begin_epoch: int = 0,
        **kwargs: Any,
    ) -> None:
        if not isinstance(symbol, Symbol):
            raise ArgumentError(
                f"FeedForward: symbol must be a Symbol; got {symbol!r}. For a function that makes one for each bucket "
                "use module.BucketingModule."
            )
        self.symbol = symbol
        self.ctx = _devices(ctx)
        self.num_epoch = num_epoch
        self.epoch_size = _at_least_one("epoch_size", epoch_size)
        self.optimizer = optimizer
        self.initializer = initializer
        self.numpy_batch_size = _at_least_one("numpy_batch_size", numpy_batch_size)
        self.allow_extra_params = allow_extra_params
        self.begin_epoch = begin_epoch
        self.kwargs = kwargs
        self.arg_params: Params | None = None if arg_params is None else dict(arg_params)
        self.aux_params: Params | None = None if aux_params is None else dict(aux_params)
        if allow_extra_params:
            self._drop_extra(self.arg_params, symbol.list_arguments())
            self._drop_extra(self.aux_params, symbol.list_auxiliary_states())
        self._predictor: Predictor | None = None
        # Each fit makes an optimizer of its own, whose schedule begins where this one stands now.
        schedule = kwargs.get("lr_scheduler")
        self._schedule_start = schedule.state_dict() if isinstance(schedule, LRScheduler) else None

    @staticmethod
    def _drop_extra(params: Params | None, names: Sequence[str]) -> None:
        for name in set(params or ()) - set(names):
            del params[name]  # type: ignore[union-attr]

    def __getstate__(self) -> dict[str, Any]:
        """Return what a pickle holds: all but the bound predictor."""
        return {**vars(self), "_predictor": None}

    def __repr__(self) -> str:
        params = "no parameters yet" if self.arg_params is None else f"{len(self.arg_params)} parameters"
        return f"<FeedForward {', '.join(self.symbol.list_outputs())} on {self.ctx}: {params}>"

    # ---- parameters --------------------------------------------------------------------------------------

    def init_model(
        self, initializer: Any = None, overwrite: bool = False, **input_shapes: Sequence[int]
    ) -> tuple[list[str], list[str], list[str]]:
        """Give parameters and auxiliary states that have no value their first one.

        Parameters
        ----------
        initializer
            Fills them; by default the model's own. One on a variable itself (``var(init=...)``) wins over it.
        overwrite
            Fill those that have a value, too.
        **input_shapes
            The shapes of the inputs, labels too; all other arguments are parameters.

        Returns
        -------
        tuple
            The names of the arguments, of the parameters and of the auxiliary states.

        Notes
        -----
        An array whose shape does not fit is made anew, with a warning; one that the network does not have is dropped.
        """
        return self._init_params(
            initializer, overwrite, {name: tuple(shape) for name, shape in input_shapes.items()}
        )

    def _init_params(
        self, initializer: Any, overwrite: bool, inputs: Mapping[str, tuple[int, ...]]
    ) -> tuple[list[str], list[str], list[str]]:
        arg_names, aux_names = self.symbol.list_arguments(), self.symbol.list_auxiliary_states()
        for name in inputs:
            if name not in arg_names:
                raise NameLookupError(
                    f"FeedForward.init_model: inputs must be arguments of the network; got {name!r}. "
                    f"Arguments: {', '.join(arg_names)}."
                )
        arg_shapes, _, aux_shapes = self.symbol.infer_shape(**inputs)
        if arg_shapes is None:
            raise ShapeError(
                f"FeedForward.init_model: all shapes must follow from those of the inputs; got {inputs}"
            )
        fill = self.initializer if initializer is None else initializer
        attributes = self.symbol.attr_dict()

        def values(names: Sequence[str], shapes: Any, have: Params | None) -> Params:
            found = {}
            for name, shape in zip(names, shapes, strict=True):
                old = None if overwrite or have is None else have.get(name)
                if old is not None and old.shape != shape:
                    warnings.warn(
                        f"FeedForward: {name!r} has shape {old.shape}, the network needs {shape}; it is made anew",
                        stacklevel=4,
                    )
                    old = None
                if old is None:
                    old = zeros(shape)
                    fill(InitDesc(name, attributes.get(name)), old)
                found[name] = old
            return found

        params = {
            name: shape for name, shape in zip(arg_names, arg_shapes, strict=True) if name not in inputs
        }
        arg_params = values(list(params), list(params.values()), self.arg_params)
        aux_params = values(aux_names, aux_shapes, self.aux_params)
        self.arg_params, self.aux_params = arg_params, aux_params
        return arg_names, list(params), aux_names

    def _need_params(self, who: str) -> tuple[Params, Params]:
        if self.arg_params is None:
            raise StateError(
                f"FeedForward.{who}() needs weights; call fit(), init_model() or load_checkpoint() first, or make the "
                "model with FeedForward.load()"
            )
        return self.arg_params, self.aux_params or {}

    # ---- training ----------------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        eval_data: Any = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Any = None,
        batch_end_callback: Any = None,
        kvstore: Any = "local",
        logger: Any = None,
        work_load_list: Sequence[float] | None = None,
        monitor: Any = None,
        eval_end_callback: Any = LogValidationMetricsCallback(),  # noqa: B008
        eval_batch_end_callback: Any = None,
        *,
        initializer: Any = None,
        num_epoch: int | None = None,
        force_init: bool = False,
        callbacks: Sequence[BatchCallback | EpochCallback] = (),
        verbosity: int = 3,
        lr_decay: str = "batch",
        **settings: Any,
    ) -> History:
        """Train, from the parameters that are there.

        Parameters
        ----------
        X, y
            An iterator over batches; or arrays of data and labels with as many rows. Arrays are shuffled in each epoch,
            and rows that fill no batch come first in the next.
        eval_data
            An iterator, or a pair of arrays, for the validation after each epoch. It may have any batch size.
        eval_metric
            What is measured: a name, a list of names, a function or a metric.
        epoch_end_callback, batch_end_callback, eval_end_callback, eval_batch_end_callback
            As for `Module.fit`, but in `batch_end_callback` batches count from 1.
        kvstore
            How several devices share gradients. ``'local'`` chooses ``'local_update_cpu'``, or
            ``'local_allreduce_cpu'`` when an array has more than 16 M elements.
        logger
            Where messages go; by default the root logger.
        work_load_list
            The share of each device.
        monitor
            A monitor to install.
        initializer, num_epoch
            In place of those of the model.
        force_init
            Start from the initializer though there are parameters.
        callbacks
            `callback.BatchCallback` and `callback.EpochCallback` objects.
        verbosity
            What is logged: 0 nothing, 1 the start and the end, 2 also what happens once and a line for each epoch,
            3 also each epoch's metrics and time.
        lr_decay
            The learning-rate schedule is asked with the number of updates (``'batch'``) or of finished epochs
            (``'epoch'``).
        **settings
            What else `Module.fit` takes by name: `validation_metric`, `checkpoint`, `accumulate`, `progress`.

        Returns
        -------
        dict
            ``{'train': {metric: [value of each epoch]}, 'validation': {...}}``.
        """
        if lr_decay not in ("batch", "epoch"):
            raise ParameterError(f"FeedForward.fit: lr_decay must be 'batch' or 'epoch'; got {lr_decay!r}")
        if verbosity not in (0, 1, 2, 3):
            raise ParameterError(f"FeedForward.fit: verbosity must be 0, 1, 2 or 3; got {verbosity!r}")
        say = _Voice(logging if logger is None else logger, verbosity)
        eval_metric = metric.create(eval_metric)
        following = Following(
            self, callbacks, eval_metric, on_epoch=lambda epoch: say(2, "Epoch[%d] Training", epoch)
        )
        data, eval_data = self._data_for_fit(X, y, eval_data)
        say(1, "Start training with %s", self.ctx)
        arguments = self.symbol.list_arguments()
        data_descs, label_descs = described(data)
        label_descs = [desc for desc in label_descs if desc.name in arguments]  # metrics get the others, too
        if force_init or self.arg_params is None:
            say(2, "Initializing parameters")
        _, param_names, _ = self._init_params(
            initializer, force_init, {desc.name: tuple(desc.shape) for desc in (*data_descs, *label_descs)}
        )
        trainer = Trainer(
            self.symbol,
            following=following,
            lr_decay=lr_decay,
            data_names=[desc.name for desc in data_descs],
            label_names=[desc.name for desc in label_descs],
            logger=say.logger if verbosity == 3 else _SILENT,
            context=self.ctx,
            work_load_list=work_load_list,
            fixed_param_names=self._frozen(param_names),
        )
        if self._schedule_start is not None:
            self.kwargs["lr_scheduler"].load_state_dict(self._schedule_start)
        # The default callback says what the trainer says itself, if it is to be said.
        evaluated = [
            each for each in _as_list(eval_end_callback) if type(each) is not LogValidationMetricsCallback
        ]
        with _lent(self.optimizer):
            history = trainer.fit(
                data,
                eval_data,
                eval_metric,
                epoch_end_callback=[
                    following.take_params,
                    *_as_list(epoch_end_callback),
                    following.end_epoch,
                ],
                batch_end_callback=[following, *map(CountedFromOne, _as_list(batch_end_callback))],
                kvstore=self._store(kvstore, param_names, say),
                optimizer=self.optimizer,
                optimizer_params=self.kwargs,
                eval_end_callback=evaluated,
                eval_batch_end_callback=eval_batch_end_callback,
                initializer=None,
                arg_params=self.arg_params,
                aux_params=self.aux_params,
                begin_epoch=self.begin_epoch,
                num_epoch=self._last_epoch(num_epoch),
                monitor=monitor,
                **settings,
            )
        self.arg_params, self.aux_params = trainer.get_params()
        say(1, "Finish training on %s", self.ctx)
        return history

    train = fit

    def _data_for_fit(self, X: Any, y: Any, eval_data: Any) -> tuple[Any, Any]:
        """Return the iterators for training and for the validation, which may be None."""
        data = batches_of(
            "fit",
            self.symbol,
            X,
            y,
            self.numpy_batch_size,
            labelled=True,
            shuffle=True,
            last_batch_handle="roll_over",
        )
        eval_data = validation_batches(self.symbol, eval_data, self.numpy_batch_size)
        # In MXNet's order: with the same seed of numpy.random, shuffled rows come in the same order.
        if hasattr(data, "reset"):
            data.reset()
        if data is not X or self.epoch_size is not None:
            data = Epochs(data, self.epoch_size)
        return data, eval_data

    def _last_epoch(self, num_epoch: int | None) -> int:
        said = self.num_epoch if num_epoch is None else num_epoch
        return self.begin_epoch + _DEFAULT_EPOCHS if said is None else said

    def _frozen(self, param_names: Sequence[str]) -> list[str]:
        """Return the parameters that their variables' attributes freeze."""
        attributes = self.symbol.attr_dict()
        return [
            name
            for name in param_names
            if "freeze" in (attributes.get(name, {}).get(key) for key in ("grad", "__grad__"))
        ]

    def _store(self, kvstore: Any, param_names: Sequence[str], say: _Voice) -> Any:
        """Return the store: for ``'local'`` the kind that the largest array asks for."""
        if kvstore != "local" or len(self.ctx) == 1:
            return kvstore
        params, _ = self._need_params("fit")
        largest = max((params[name].size for name in param_names), default=0)
        if largest > config.get("MXNET_KVSTORE_BIGARRAY_BOUND"):
            store: KVStore = AllreduceStore("local_allreduce_cpu")
        else:
            store = KVStore("local_update_cpu")
        say(2, "Chose the store %s: the largest array has %d elements", store.type, largest)
        return store

    @staticmethod
    def create(
        symbol: Symbol,
        X: Any,
        y: Any = None,
        ctx: Device | Sequence[Device] | None = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: Any = "sgd",
        initializer: Any = Uniform(0.01),  # noqa: B008  (MXNet's default; it keeps no state)
        eval_data: Any = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Any = None,
        batch_end_callback: Any = None,
        kvstore: Any = "local",
        logger: Any = None,
        work_load_list: Sequence[float] | None = None,
        eval_end_callback: Any = LogValidationMetricsCallback(),  # noqa: B008
        eval_batch_end_callback: Any = None,
        **kwargs: Any,
    ) -> FeedForward:
        """Return a model that was made and trained; `kwargs` go to the constructor, the rest is as for `fit`."""
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

    # ---- predicting and measuring ------------------------------------------------------------------------

    def predict(
        self,
        X: Any,
        num_batch: int | None = None,
        return_data: bool = False,
        reset: bool = True,
        callback: Callable[[Any], Any] | None = None,
        overwrite: bool = True,
        verbosity: int = 0,
    ) -> Any:
        """Return the outputs for a data set as NumPy arrays, without padding.

        Parameters
        ----------
        X
            An iterator, or an array.
        num_batch
            Stop after so many batches.
        return_data
            Return ``(outputs, data, labels)``; labels are None where there are none.
        reset
            Start the iterator from its beginning.
        callback
            ``callback(output)`` is called with each batch's rows, a list of arrays if there are several outputs.
            Nothing is kept then, and None is returned.
        overwrite
            With True the newest weights are used, and shapes may be new. With False the bound predictor goes on, with
            the weights that it has.
        verbosity
            1 logs what binding took.

        Returns
        -------
        numpy.ndarray
            Or a list of them, when the network has several outputs.
        """
        if callback is not None and return_data:
            raise ParameterError("FeedForward.predict: return_data and callback exclude each other; got both")
        data = batches_of("predict", self.symbol, X, None, self.numpy_batch_size)
        module = self._bound("predict", data, overwrite, verbosity)
        found = ((outputs, batch) for outputs, _, batch in module.iter_predict(data, num_batch, reset))
        if callback is not None:
            for outputs, _ in found:
                rows = [output.asnumpy() for output in outputs]
                callback(rows if len(rows) > 1 else rows[0])
            return None
        data_descs, label_descs = described(data)
        predicted, inputs, labels = [], [], []
        for outputs, batch in found:
            predicted.append([output.asnumpy() for output in outputs])
            if return_data:
                pad = getattr(batch, "pad", None) or 0
                inputs.append(rows_of(batch.data, data_descs, pad))
                labels.append(rows_of(getattr(batch, "label", None), label_descs, pad))
        joined = join(predicted, [max(axis, 0) for axis in module._output_axes()])
        if not return_data:
            return joined
        return joined, join(inputs, axes_of(data_descs)), join(labels, axes_of(label_descs))

    def score(
        self,
        X: Any,
        eval_metric: Any = "acc",
        num_batch: int | None = None,
        batch_end_callback: Any = None,
        reset: bool = True,
        *,
        y: Any = None,
        overwrite: bool = True,
    ) -> Any:
        """Return how good the predictions for a data set are; padding does not count.

        Parameters
        ----------
        X, y
            An iterator, or arrays of data and labels.
        eval_metric
            What is measured.
        num_batch
            Stop after so many batches.
        batch_end_callback
            A function, or a list of functions, for after each batch.
        reset
            Start the iterator from its beginning.
        overwrite
            As for `predict`.

        Returns
        -------
        float
            Or a list, when several things are measured.
        """
        data = batches_of("score", self.symbol, X, y, self.numpy_batch_size, labelled=True)
        module = self._bound("score", data, overwrite)
        found = module.score(data, eval_metric, num_batch, batch_end_callback, reset=reset)
        values = [value for _, value in found]
        return values if len(values) > 1 else values[0]

    def _bound(self, who: str, data: Any, overwrite: bool, verbosity: int = 0) -> Module:
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

    # ---- files -------------------------------------------------------------------------------------------

    def save(self, prefix: str, epoch: int | None = None, remove_amp_cast: bool = True) -> None:
        """Write ``prefix-symbol.json`` and ``prefix-0010.params``; each file whole or not at all.

        Parameters
        ----------
        prefix
            Where the files go, and how their names begin.
        epoch
            The number in the name; by default `num_epoch`.
        remove_amp_cast
            Whether to leave out the casts that mixed precision put in.
        """
        epoch = self.num_epoch if epoch is None else epoch
        if epoch is None:
            raise ParameterError("FeedForward.save: needs epoch, the number in the file's name")
        params = self._need_params("save")
        checkpoint.save_checkpoint(prefix, epoch, self.symbol, *params, remove_amp_cast=remove_amp_cast)

    @staticmethod
    def load(
        prefix: str, epoch: int, ctx: Device | Sequence[Device] | None = None, **kwargs: Any
    ) -> FeedForward:
        """Return a model from the files that `save` wrote; `fit` goes on with the epoch after that.

        Parameters
        ----------
        prefix, epoch
            Say the files.
        ctx
            A device or a list of devices.
        **kwargs
            For the constructor.
        """
        symbol, arg_params, aux_params = checkpoint.load_checkpoint(prefix, epoch)
        return FeedForward(
            symbol,
            ctx=ctx,
            arg_params=arg_params,
            aux_params=aux_params,
            **{"begin_epoch": epoch, **kwargs},
        )

    def save_checkpoint(self, prefix: str, state: TrainingState | int) -> None:
        """Write the model's files; `state` is what callbacks get, or the number of finished epochs."""
        number: Any = getattr(state, "curr_epoch", state)
        self.save(prefix, int(number))

    def load_checkpoint(
        self, prefix: str, epoch: int, overwrite: bool = True, allow_different_arch: bool = False
    ) -> FeedForward:
        """Take the parameters from a checkpoint's files, and return the model. `begin_epoch` stays as it is.

        Parameters
        ----------
        prefix, epoch
            Say the files.
        overwrite
            With False a model that has parameters keeps them.
        allow_different_arch
            Whether the checkpoint may be of another network, which is taken too then.
        """
        if self.arg_params is not None and not overwrite:
            logging.warning(
                "FeedForward.load_checkpoint: the model has weights already, so nothing is loaded; "
                "leave overwrite=False out to take those of %s",
                checkpoint.params_path(prefix, epoch),
            )
            return self
        symbol, arg_params, aux_params = checkpoint.load_checkpoint(prefix, epoch)
        # Both as they are read from a file: what writing leaves out makes no difference.
        if symbol.tojson() != load_json(self.symbol.tojson()).tojson():
            if not allow_different_arch:
                raise ParameterError(
                    f"FeedForward.load_checkpoint: {checkpoint.symbol_path(prefix)} must hold this model's network; it "
                    "holds another one. Set allow_different_arch=True to take that, too."
                )
            self.symbol = symbol
        self.arg_params, self.aux_params = arg_params, aux_params
        if self.allow_extra_params:
            self._drop_extra(self.arg_params, self.symbol.list_arguments())
            self._drop_extra(self.aux_params, self.symbol.list_auxiliary_states())
        return self


class _Voice:
    """Says what is to be said at a verbosity."""

    def __init__(self, logger: Any, verbosity: int) -> None:
        self.logger = logger
        self._verbosity = verbosity

    def __call__(self, level: int, message: str, *arguments: Any) -> None:
        if self._verbosity >= level:
            self.logger.info(message, *arguments)


@contextlib.contextmanager
def _lent(optimizer: Any) -> Iterator[None]:
    """Give a user's optimizer back with the settings that `fit` may put others in the place of."""
    if not isinstance(optimizer, opt.Optimizer):
        yield
        return
    rescale, schedule = optimizer.rescale_grad, optimizer.lr_scheduler
    try:
        yield
    finally:
        optimizer.rescale_grad, optimizer.lr_scheduler = rescale, schedule


def _devices(ctx: Device | Sequence[Device] | None) -> list[Device]:
    if ctx is None:
        return [current_device()]
    devices = [ctx] if isinstance(ctx, Device) else list(ctx)
    if not devices or any(not isinstance(device, Device) for device in devices):
        raise ArgumentError(f"FeedForward: ctx must be a Device or a list of them; got {ctx!r}")
    return devices


def _at_least_one(name: str, value: Any) -> Any:
    if value is not None and value < 1:
        raise ParameterError(f"FeedForward: {name} must be >= 1; got {value!r}")
    return value


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]
