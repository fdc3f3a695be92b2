"""`BaseModule`: training and prediction as a sequence of named steps, for every kind of module."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from .. import checkpoint as checkpoints
from .. import metric as metrics
from ..callback import StopTraining
from ..checkpoint import Checkpoint, Place
from ..errors import ArgumentError, NameLookupError, ParameterError, ShapeError, StateError, near_names
from ..executor import batch_axis
from ..initializer import Uniform
from ..io import DataBatch, DataDesc
from ..ndarray import NDArray, array
from ..progress import Progress
from .run import Run

__all__ = ["BaseModule", "BatchEndParam", "History"]

History = dict[str, dict[str, list[float]]]


class BatchEndParam(NamedTuple):
    """What a batch callback is given.

    `locals` is a small mapping with the names that MXNet's scripts read: ``self``, ``data_batch``, ``eval_metric``,
    ``epoch``, ``nbatch``.
    """

    epoch: int
    nbatch: int
    eval_metric: metrics.EvalMetric | None
    locals: Mapping[str, Any] | None


class BaseModule:
    """What computes outputs from batches, learns from them, and is put together of steps.

    The steps, in the order in which they come: `bind` (shapes, memory), `init_params`, `init_optimizer`, then for each
    batch `forward`, `backward`, `update`, `update_metric`. `fit`, `score` and `predict` are made of them. A subclass
    defines the steps.
    """

    # A subclass derives these from what it holds; a module written by a user may set them.
    binded: Any = False
    params_initialized: Any = False
    optimizer_initialized: Any = False
    for_training: bool = False
    inputs_need_grad: bool = False
    #: Over how many batches gradients are added up before the parameters move; `fit` sets it.
    batches_per_update: int = 1

    def __init__(self, logger: Any = logging) -> None:
        self.logger = logger
        self._symbol: Any = None

    # ---- what a subclass defines -------------------------------------------------------------------------

    @property
    def symbol(self) -> Any:
        """The network."""
        return self._symbol

    def _abstract(self, what: str) -> StateError:
        return StateError(f"{type(self).__name__}: must define {what}; BaseModule only says that it exists")

    @property
    def data_names(self) -> list[str]:
        """The names of the inputs."""
        raise self._abstract("data_names")

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs."""
        raise self._abstract("output_names")

    @property
    def data_shapes(self) -> Any:
        """Descriptions of the inputs."""
        raise self._abstract("data_shapes")

    @property
    def label_shapes(self) -> Any:
        """Descriptions of the labels; None when no labels are bound."""
        raise self._abstract("label_shapes")

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Names and shapes of the outputs."""
        raise self._abstract("output_shapes")

    def bind(
        self, data_shapes: Any, label_shapes: Any = None, for_training: bool = True, **kwargs: Any
    ) -> None:
        """Fix the shapes and take memory."""
        raise self._abstract("bind()")

    def init_params(
        self,
        initializer: Any = None,
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Give the parameters their first values."""
        raise self._abstract("init_params()")

    def get_params(self) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """Return copies of parameters and auxiliary states."""
        raise self._abstract("get_params()")

    def init_optimizer(self, *args: Any, **kwargs: Any) -> None:
        """Set up what updates the parameters."""
        raise self._abstract("init_optimizer()")

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Compute the outputs of a batch."""
        raise self._abstract("forward()")

    def backward(self, out_grads: Any = None) -> None:
        """Compute the gradients for the last batch."""
        raise self._abstract("backward()")

    def update(self) -> None:
        """Move the parameters by the gradients."""
        raise self._abstract("update()")

    def get_outputs(self, merge_multi_context: bool = True) -> list:
        """Return the outputs for the last batch."""
        raise self._abstract("get_outputs()")

    def get_input_grads(self, merge_multi_context: bool = True) -> list:
        """Return the gradients of the inputs for the last batch."""
        raise self._abstract("get_input_grads()")

    def update_metric(self, eval_metric: metrics.EvalMetric, labels: Any, pre_sliced: bool = False) -> None:
        """Add the last batch to a metric."""
        raise self._abstract("update_metric()")

    def install_monitor(self, mon: Any) -> None:
        """Let a monitor watch what is computed."""
        raise self._abstract("install_monitor()")

    def prepare(self, data_batch: Any, sparse_row_id_fn: Callable[[Any], Any] | None = None) -> None:
        """Get ready for a batch before it is computed."""

    def get_states(self, merge_multi_context: bool = True) -> list:
        """Return the states, of which there are none."""
        self._need_params("get_states")
        return []

    def set_states(self, states: Any = None, value: float | None = None) -> None:
        """Set the states, of which there are none: any other list than an empty one is an error."""
        self._need_params("set_states")
        if states or value is not None:
            raise ParameterError(f"{type(self).__name__}.set_states: it has no states; got {states or value}")

    def trained_params(self) -> dict[str, NDArray]:
        """Return the parameters that training moves, as they are on the first device; not copies."""
        raise self._abstract("trained_params()")

    @property
    def _whole_symbol(self) -> Any:
        """The network that a run is told by; the one of the moment may be a part of it."""
        return self.symbol

    def run_state(self) -> dict[str, Any]:
        """Return all that training needs to go on, as a tree of arrays, numbers and texts."""
        raise self._abstract("run_state(), for fit(checkpoint=...)")

    def load_run_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what `run_state` returned."""
        raise self._abstract("load_run_state(), for fit(checkpoint=...)")

    def clear_gradients(self) -> None:
        """Set all gradients to zero."""
        raise self._abstract("clear_gradients(), for fit(accumulate=...)")

    def _begin_epoch(self, epoch: int, nbatch: int) -> None:
        """Do what comes before an epoch's batches; `nbatch` of them are behind a run that was taken up again."""

    def _before_batches(self, epoch: int, first: bool, train_data: Any, rewind: Callable[[], None]) -> None:
        """Go through the training data before an epoch, the `first` of a run or a later one, if learning needs it.

        `rewind` begins the data anew.
        """

    def _unify_devices(self) -> None:
        """Make the devices agree on what each has learned by itself, at the end of an epoch."""

    # ---- built from the steps ----------------------------------------------------------------------------

    def forward_backward(self, data_batch: Any) -> None:
        """Compute outputs and gradients for a batch."""
        self.forward(data_batch, is_train=True)
        self.backward()

    def set_params(
        self,
        arg_params: Mapping[str, NDArray] | None,
        aux_params: Mapping[str, NDArray] | None,
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """Set parameters and auxiliary states from copies of the given arrays."""
        self.init_params(
            initializer=None,
            arg_params=arg_params,
            aux_params=aux_params,
            allow_missing=allow_missing,
            force_init=force_init,
            allow_extra=allow_extra,
        )

    def save_params(self, fname: str) -> None:
        """Write parameters and auxiliary states to a file, which appears whole or not at all."""
        checkpoints.write_params(fname, *self.get_params())

    def load_params(self, fname: str) -> None:
        """Set parameters and auxiliary states from a file."""
        self.set_params(*checkpoints.read_params(fname))

    # ---- training ----------------------------------------------------------------------------------------

    def fit(
        self,
        train_data: Any,
        eval_data: Any = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Any = None,
        batch_end_callback: Any = None,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        eval_end_callback: Any = None,
        eval_batch_end_callback: Any = None,
        initializer: Any = Uniform(0.01),  # noqa: B008  (MXNet's default; it keeps no state)
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_missing: bool = False,
        force_rebind: bool = False,
        force_init: bool = False,
        begin_epoch: int = 0,
        num_epoch: int | None = None,
        validation_metric: Any = None,
        monitor: Any = None,
        sparse_row_id_fn: Callable[[Any], Any] | None = None,
        *,
        progress: bool | None = None,
        checkpoint: Any = None,
        accumulate: int = 1,
    ) -> History:
        """Train.

        For each epoch: the batches (each: compute, update, metric, ``batch_end_callback(BatchEndParam)``), the
        training metric and the time are logged, ``epoch_end_callback(epoch, symbol, arg_params, aux_params)``, then
        the validation with its callbacks.

        Parameters
        ----------
        train_data
            An iterator over batches.
        eval_data
            An iterator for the validation after each epoch.
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
            Bind anew though the module is bound.
        begin_epoch, num_epoch
            The first epoch's number, and the number before which to stop. To go on from ``prefix-0003.params``, which
            is written after the third epoch, give ``begin_epoch=3``.
        validation_metric
            What the validation measures; `eval_metric` by default.
        monitor
            A monitor to install.
        sparse_row_id_fn
            Which rows of sparse parameters a batch needs.
        progress
            Whether to draw a bar; by default in a terminal only.
        checkpoint
            Where to keep the run: a path's prefix, or a `checkpoint.Checkpoint`. The same call made again after a kill
            goes on exactly where the newest whole file stands, within an epoch too; `begin_epoch` counts only when
            there is none.
        accumulate
            Add the gradients of so many batches up before the parameters move; `rescale_grad` is 1 / (batch size x
            accumulate) then. Batches that are left over at the end of an epoch are an update of their own.

        A callback ends the training early by raising `callback.StopTraining`.

        Returns
        -------
        dict
            ``{'train': {metric: [value of each epoch]}, 'validation': {...}}``.
        """
        if num_epoch is None:
            raise ParameterError("fit: needs num_epoch, the number of the epoch before which to stop")
        if accumulate < 1:
            raise ParameterError(f"fit: accumulate must be >= 1; got {accumulate}")
        self.batches_per_update = accumulate
        self._bind_to(train_data, force_rebind)
        if monitor is not None:
            self.install_monitor(monitor)
        self.init_params(
            initializer=initializer,
            arg_params=arg_params,
            aux_params=aux_params,
            allow_missing=allow_missing,
            force_init=force_init,
        )
        self.init_optimizer(kvstore=kvstore, optimizer=optimizer, optimizer_params=optimizer_params)

        eval_metric = metrics.create(eval_metric)
        validation_metric = eval_metric if validation_metric is None else metrics.create(validation_metric)
        history: History = {"train": {}, "validation": {}}
        place, run = Place(begin_epoch, 0), None
        if checkpoint is not None:
            callbacks = (epoch_end_callback, batch_end_callback, eval_end_callback, eval_batch_end_callback)
            all_callbacks = [each for group in callbacks for each in _as_list(group)]
            kept_in = Checkpoint.of(checkpoint)
            run = Run(kept_in, self, train_data, eval_data, eval_metric, history, all_callbacks, num_epoch)
            found = run.restore()
            if found is not None:
                place, stopped = found
                if stopped:
                    return history

        def rewind() -> None:
            if run is not None:
                run.before_reset()
            _rewind(train_data)

        try:
            with Progress(num_epoch - place.epoch, progress) as bar:
                for epoch in range(place.epoch, num_epoch):
                    started = time.time()
                    if not place.batch:
                        eval_metric.reset()
                    bar.begin_epoch(epoch, train_data)
                    self._begin_epoch(epoch, place.batch)
                    if not place.batch:
                        self._before_batches(epoch, epoch == begin_epoch, train_data, rewind)
                    waiting = place.batch % accumulate  # batches whose gradients are not used yet
                    batches = train_data if run is None else run.batches()
                    for nbatch, batch in enumerate(_some(batches, epoch, place.batch), place.batch):
                        waiting = self._train_batch(batch, eval_metric, monitor, sparse_row_id_fn, waiting)
                        bar.advance(batch, eval_metric)
                        place = Place(epoch, nbatch + 1)
                        _call(batch_end_callback, self._record(epoch, nbatch, eval_metric, batch))
                        if run is not None:
                            run.keep(place)
                    self._finish_update(waiting)
                    bar.end_epoch()
                    self._unify_devices()
                    place = Place(epoch + 1, 0)
                    self._report(epoch, "Train", eval_metric.get_global_name_value(), history["train"])
                    self.logger.info("Epoch[%d] Time cost=%.3f", epoch, time.time() - started)
                    if epoch_end_callback is not None:
                        _call(epoch_end_callback, epoch, self.symbol, *self.get_params())
                    if eval_data is not None:
                        self._validate(
                            eval_data,
                            validation_metric,
                            epoch,
                            eval_end_callback,
                            eval_batch_end_callback,
                            history,
                        )
                    rewind()
                    if run is not None:
                        run.keep(place)
        except StopTraining as stop:
            self.logger.info("Training ends early, after %d epochs and %d batches. %s", *place, stop)
            if run is not None:
                run.keep(place, stopped=True)
        return history

    def _validate(
        self,
        eval_data: Any,
        metric: metrics.EvalMetric,
        epoch: int,
        end_callback: Any,
        batch_end_callback: Any,
        history: History,
    ) -> None:
        """Measure an epoch's parameters; the figures count though a callback ends the training."""
        try:
            self.score(
                eval_data,
                metric,
                score_end_callback=end_callback,
                batch_end_callback=batch_end_callback,
                epoch=epoch,
            )
        except StopTraining:
            self._report(epoch, "Validation", metric.get_name_value(), history["validation"])
            raise
        self._report(epoch, "Validation", metric.get_name_value(), history["validation"])

    def _bind_to(self, data: Any, force_rebind: bool) -> None:
        """Bind for training with the shapes that an iterator provides."""
        if not hasattr(data, "provide_data"):
            raise ArgumentError(
                "fit: train_data must be an iterator with provide_data and provide_label; "
                f"got {type(data).__name__}. For arrays use io.NDArrayIter."
            )
        labels = getattr(data, "provide_label", None)
        more = {} if self.batches_per_update == 1 else {"grad_req": "add"}
        self.bind(
            data_shapes=data.provide_data,
            label_shapes=labels,
            for_training=True,
            force_rebind=force_rebind,
            **more,
        )

    def _train_batch(
        self,
        batch: Any,
        eval_metric: metrics.EvalMetric,
        monitor: Any,
        sparse_row_id_fn: Any,
        waiting: int = 0,
    ) -> int:
        """Learn from one batch; return how many batches wait for an update, `waiting` before this one."""
        if monitor is not None:
            monitor.tic()
        self.prepare(batch, sparse_row_id_fn=sparse_row_id_fn)
        self.forward_backward(batch)
        waiting += 1
        if waiting == self.batches_per_update:
            self.update()
            if waiting > 1:
                self.clear_gradients()
            waiting = 0
        self._measure(eval_metric, batch)
        if monitor is not None:
            monitor.toc_print()
        return waiting

    def _finish_update(self, waiting: int) -> None:
        """Move the parameters by the gradients of batches that are left over at the end of an epoch."""
        if not waiting:
            return
        optimizer = self._optimizer_in_use()
        usual = optimizer.rescale_grad
        optimizer.rescale_grad = usual * self.batches_per_update / waiting
        try:
            self.update()
        finally:
            optimizer.rescale_grad = usual
        self.clear_gradients()

    def _optimizer_in_use(self) -> Any:
        raise self._abstract("_optimizer_in_use(), for fit(accumulate=...)")

    def _measure(self, eval_metric: metrics.EvalMetric, batch: Any) -> None:
        """Add the batch that was just computed to a metric."""
        if isinstance(batch, list):  # already cut, a part for each device
            self.update_metric(eval_metric, [part.label for part in batch], pre_sliced=True)
        else:
            self.update_metric(eval_metric, getattr(batch, "label", None))

    def _report(
        self, epoch: int, kind: str, values: Sequence[tuple[str, float]], history: dict[str, list[float]]
    ) -> None:
        """Log an epoch's figures, and remember them."""
        for name, value in values:
            self.logger.info("Epoch[%d] %s-%s=%f", epoch, kind, name, value)
            history.setdefault(name, []).append(float(value))

    def _record(
        self, epoch: int, nbatch: int, metric: metrics.EvalMetric | None, batch: Any
    ) -> BatchEndParam:
        seen = {"self": self, "data_batch": batch, "eval_metric": metric, "epoch": epoch, "nbatch": nbatch}
        return BatchEndParam(epoch, nbatch, metric, seen)

    # ---- measuring and predicting ------------------------------------------------------------------------

    def score(
        self,
        eval_data: Any,
        eval_metric: Any,
        num_batch: int | None = None,
        batch_end_callback: Any = None,
        score_end_callback: Any = None,
        reset: bool = True,
        epoch: int = 0,
        sparse_row_id_fn: Callable[[Any], Any] | None = None,
    ) -> list[tuple[str, float]]:
        """Measure the predictions for a data set.

        Rows that only fill up the last batch are not counted (MXNet counts them).

        Returns
        -------
        list of (name, value)
        """
        self._need_params("score")
        if reset:
            _rewind(eval_data)
        eval_metric = metrics.create(eval_metric)
        eval_metric.reset()
        seen = -1
        for seen, batch in enumerate(_first(eval_data, num_batch)):
            self.prepare(batch, sparse_row_id_fn=sparse_row_id_fn)
            self.forward(batch, is_train=False)
            if pad := _padding(batch):
                self._measure_without_padding(eval_metric, batch, pad)
            else:
                self._measure(eval_metric, batch)
            _call(batch_end_callback, self._record(epoch, seen, eval_metric, batch))
        _call(score_end_callback, self._record(epoch, seen + 1, eval_metric, None))
        return eval_metric.get_name_value()

    def _measure_without_padding(self, eval_metric: metrics.EvalMetric, batch: Any, pad: int) -> None:
        given = getattr(batch, "label", None) or ()
        descs = read_descs(self.label_shapes, "label_shapes") or [
            DataDesc(f"label{i}", ()) for i in range(len(given))
        ]
        labels = {
            desc.name: _without_padding(label, pad, batch_axis(desc.layout))
            for desc, label in zip(descs, given, strict=False)
        }
        outputs = dict(zip(self.output_names, self._outputs_without_padding(batch), strict=True))
        eval_metric.update_dict(labels, outputs)

    def _outputs_without_padding(self, batch: Any) -> list[NDArray]:
        """Return copies of the outputs for a batch, which the next one does not change."""
        pad, axes = _padding(batch), self._output_axes()
        size = self._batch_size_of(batch) if pad else 0
        return [
            _without_padding(out, pad * _rows_of_a_sample(out, axis, size), axis)
            for out, axis in zip(self.get_outputs(), axes, strict=True)
        ]

    def _batch_size_of(self, batch: Any) -> int:
        """Return how many samples a batch has, those that only fill it up too; 0 when no input tells."""
        try:
            layouts = [desc.layout for desc in read_descs(self.data_shapes, "data_shapes")]
        except StateError:  # a module by a user, who does not describe its inputs
            layouts = [None] * len(batch.data)
        for layout, value in zip(layouts, batch.data, strict=False):
            if (axis := batch_axis(layout)) >= 0:
                return value.shape[axis]
        return 0

    def _output_axes(self) -> list[int]:
        """Return the batch axis of each output."""
        return [0] * len(self.output_names)

    def iter_predict(
        self,
        eval_data: Any,
        num_batch: int | None = None,
        reset: bool = True,
        sparse_row_id_fn: Callable[[Any], Any] | None = None,
    ) -> Iterator[tuple[list[NDArray], int, Any]]:
        """Yield, for each batch, copies of the outputs without padding, the batch's number, and the batch."""
        self._need_params("iter_predict")
        if reset:
            _rewind(eval_data)
        for nbatch, batch in enumerate(_first(eval_data, num_batch)):
            self.prepare(batch, sparse_row_id_fn=sparse_row_id_fn)
            self.forward(batch, is_train=False)
            yield self._outputs_without_padding(batch), nbatch, batch

    def predict(
        self,
        eval_data: Any,
        num_batch: int | None = None,
        merge_batches: bool = True,
        reset: bool = True,
        always_output_list: bool = False,
        sparse_row_id_fn: Callable[[Any], Any] | None = None,
    ) -> Any:
        """Return the outputs for a data set, without padding.

        Parameters
        ----------
        eval_data
            An iterator, or one array (NDArray or NumPy) for a module with one input.
        num_batch
            Stop after so many batches.
        merge_batches
            Join the batches; otherwise a list with the outputs of each batch is returned.
        reset
            Start the iterator from its beginning.
        always_output_list
            Return a list even for a single output.
        """
        self._need_params("predict")
        if isinstance(eval_data, (NDArray, np.ndarray)):
            eval_data = [DataBatch([eval_data if isinstance(eval_data, NDArray) else array(eval_data)])]
        batches = [
            outputs for outputs, *_ in self.iter_predict(eval_data, num_batch, reset, sparse_row_id_fn)
        ]
        if not batches or not merge_batches:
            return batches
        if len({len(outputs) for outputs in batches}) > 1:
            raise ParameterError(
                "predict: batches have different numbers of outputs (bucketing?), which cannot be joined; "
                "set merge_batches=False"
            )
        axes = [max(axis, 0) for axis in self._output_axes()]
        for name, parts, axis in zip(self.output_names, zip(*batches, strict=True), axes, strict=True):
            rest = {(*part.shape[:axis], *part.shape[axis + 1 :]) for part in parts}
            if len(rest) > 1:
                raise ShapeError(
                    f"predict: output {name!r} of some batches has other shapes ({parts[0].shape} in the first), so "
                    "that they cannot be joined (bucketing?); set merge_batches=False"
                )
        merged = [
            NDArray(torch.cat([part.tensor for part in parts], axis), parts[0].device)
            for parts, axis in zip(zip(*batches, strict=True), axes, strict=True)
        ]
        return merged if always_output_list or len(merged) > 1 else merged[0]

    def _need_params(self, who: str) -> None:
        if not self.binded:
            raise StateError(f"{type(self).__name__}.{who}() needs bind() first")
        if not self.params_initialized:
            raise StateError(f"{type(self).__name__}.{who}() needs init_params() first")


# ---- small things that several modules need ----------------------------------------------------------------------


def read_descs(shapes: Any, who: str) -> list[DataDesc]:
    """Return `DataDesc` records from records, or pairs of name and shape."""
    descs = []
    for item in shapes or ():
        if isinstance(item, DataDesc):
            descs.append(item)
        elif isinstance(item, (tuple, list)) and 2 <= len(item) <= 4:
            descs.append(DataDesc(*item))
        else:
            raise ArgumentError(
                f"bind: {who} must hold DataDesc records or pairs (name, shape); got {item!r}"
            )
    return descs


def check_names(names: Iterable[str], known: Iterable[str], kind: str, *, must: bool) -> None:
    """Raise an error (or, without `must`, warn) for names that the symbol does not have."""
    known = list(known)
    for name in names:
        if name not in known:
            text = f"{kind}: the symbol has no argument {name!r}{near_names(name, known)}"
            if must:
                raise NameLookupError(text)
            warnings.warn(f"{text} It is given no labels.", stacklevel=3)


def _as_list(callbacks: Any) -> list[Any]:
    """Return none, one or several callbacks as a list."""
    if callbacks is None:
        return []
    return list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]


def _call(callbacks: Any, *arguments: Any) -> None:
    for callback in _as_list(callbacks):
        callback(*arguments)


def _rewind(data: Any) -> None:
    """Go back to the start of what can; a list begins anew by itself."""
    if hasattr(data, "reset"):
        data.reset()


def _some(batches: Iterable[Any], epoch: int, before: int = 0) -> Iterator[Any]:
    """Yield the batches of an epoch that come after `before`; it is an error when the epoch has none."""
    batch = None
    for batch in batches:
        yield batch
    if batch is None and not before:
        raise StateError(f"fit: train_data gave no batches in epoch {epoch}; does its reset() begin anew?")


def _first(batches: Iterable[Any], count: int | None) -> Iterator[Any]:
    """Yield the first `count` batches, and take no more than those from the iterator."""
    if count is not None and count <= 0:
        return
    for i, batch in enumerate(batches, 1):
        yield batch
        if i == count:
            return


def _padding(batch: Any) -> int:
    """Return how many rows at the end of a batch only fill it up."""
    return getattr(batch, "pad", None) or 0


def _rows_of_a_sample(output: NDArray, axis: int, batch_size: int) -> int:
    """Return how many rows of an output a sample has: more than one where time steps have become rows."""
    rows = output.shape[axis] if axis >= 0 and output.shape else 0
    return rows // batch_size if batch_size and rows % batch_size == 0 else 1


def _without_padding(value: Any, pad: int, axis: int) -> NDArray:
    """Return a copy without the last `pad` rows."""
    value = value if isinstance(value, NDArray) else array(value)
    if not pad or axis < 0:
        return value.copy()
    rows = value.tensor.narrow(axis, 0, value.shape[axis] - pad)
    return NDArray(rows.clone(memory_format=torch.contiguous_format), value.device)
