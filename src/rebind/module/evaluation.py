"""`score`: measuring and predicting, for every kind of module."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, cast, overload

import torch

from .. import metric as metrics
from ..callback import BatchEndParam, StopTraining
from ..checks import FLAG, NUMBER, check_kind, or_none, refuses_unknown
from ..errors import ParameterError, ShapeError, StateError
from ..executor import batch_axis
from ..io import DataBatch
from ..logs import resolve
from ..metric import EvalMetric
from ..ndarray import NDArray
from ..protocols import Batch
from .batches import (
    AnyBatch,
    as_callbacks,
    first,
    labels_of,
    padding,
    placeholder_descs,
    rewind,
    rows_per_sample,
    without_padding,
)
from .descs import read_descs
from .jobs import scoring_job
from .notes import note_batch, noted
from .settings import MetricSpec, RowIds, SomeCallbacks
from .shared_metrics import SharedMetrics
from .sources import ArrayGroup, Trainable, arrays_of, as_source, is_arrays, named_batch, names_of
from .steps import Steps, need_steps
from .workers import stopping_together

__all__ = ["batch_record", "iter_predict", "measure", "measure_without_padding", "predict", "score"]


@refuses_unknown
def score(
    module: Steps,
    eval_data: Trainable,
    eval_metric: MetricSpec,
    num_batch: int | None = None,
    batch_end_callback: SomeCallbacks = None,
    score_end_callback: SomeCallbacks = None,
    reset: bool = True,
    epoch: int = 0,
    sparse_row_id_fn: RowIds | None = None,
    *,
    y: ArrayGroup | None = None,
    batch_size: int = 32,
    together: bool | None = None,
) -> list[tuple[str, float]]:
    """Compute metrics on a data set: an iterator, arrays or an iterable, as for `fit`.

    Padding is not measured (MXNet measures it).

    Parameters
    ----------
    eval_data, y, batch_size
        What is measured.
    eval_metric
        A name, a list of names, a function or a metric.
    num_batch
        Stop after this many batches.
    batch_end_callback, score_end_callback
        Functions that are called after each batch, and at the end.
    reset
        Start the iterator from its beginning.
    epoch
        The number that callbacks are given.
    sparse_row_id_fn
        Which rows of sparse parameters a batch needs.
    together
        Whether the workers of a job add up what each has measured; then all must call it. By default they do where
        `eval_data` reads a part of the data by the worker's rank (`num_parts`): each sample counts once.

    Returns
    -------
    list of (name, value)

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.LinearRegressionOutput(mx.sym.var("data"), mx.sym.var("label"))
    >>> module = mx.mod.Module(net, label_names=["label"])
    >>> data = mx.io.NDArrayIter(mx.nd.array([1, 2]), mx.nd.array([1, 4]), 1, label_name="label")
    >>> module.bind(data.provide_data, data.provide_label, for_training=False)
    >>> module.init_params()
    >>> module.score(data, "mse")
    [('mse', 2.0)]
    """
    need_steps(module, "score()", "bind", "init_params")
    check_kind("score", FLAG, reset=reset)
    check_kind("score", or_none(NUMBER), num_batch=num_batch)
    batch_end = as_callbacks(batch_end_callback, "score: batch_end_callback")
    score_end = as_callbacks(score_end_callback, "score: score_end_callback")
    data = as_source(eval_data, "score: eval_data", module, y=y, batch_size=batch_size)
    if reset:
        rewind(data)
    metric = metrics.create(eval_metric)
    metric.reset()
    job = scoring_job(data, together)
    # Within `fit` it is the run's, which its callbacks ask for figures.
    shared = None if job is None else SharedMetrics(job) if module.workers is None else module.workers.metrics
    if shared is not None:
        shared.begin(metric)
    batches = first(noted(data, f"score, epoch {epoch}"), num_batch)
    workers = None if shared is None else module.workers
    steps = batches if workers is None else workers.in_step(batches)
    stop: StopTraining | None = None
    seen = 0
    try:
        for number, batch in enumerate(steps):
            if batch is not None:
                _measure_batch(module, batch, metric, epoch, number, sparse_row_id_fn)
                seen = number + 1
            record = module.batch_record(epoch, number, metric, batch)
            for callback in batch_end:
                stopping_together(workers, callback, record)
    except StopTraining as error:
        if shared is None:
            raise
        stop = error  # after the others have been given what was measured
    if job is not None and shared is not None:
        apart = shared.hold_total(metric, "score")
        if apart and job.rank == 0:
            resolve(module.logger).info(
                "score: %s is of this worker only: a metric with attributes of its own cannot be summed over workers",
                ", ".join(apart),
            )
    if stop is not None:
        raise stop
    record = module.batch_record(epoch, seen, metric, None)  # as in MXNet, the number of batches
    for callback in score_end:
        callback(record)
    return metric.get_name_value()


def _measure_batch(
    module: Steps, batch: Batch, metric: EvalMetric, epoch: int, number: int, row_ids: RowIds | None
) -> None:
    try:
        module.prepare(batch, sparse_row_id_fn=row_ids)
        module.forward(batch, is_train=False)
        if pad := padding(batch):
            module.measure_without_padding(metric, batch, pad)
        else:
            module.measure(metric, batch)
    except Exception as error:
        note_batch(error, module, f"score, epoch {epoch}", number, batch)
        raise


def measure(module: Steps, metric: EvalMetric, batch: AnyBatch) -> None:
    """Add the batch that was just computed to a metric.

    >>> import rebind as mx
    >>> module = mx.mod.Module(mx.sym.identity(mx.sym.var("data")), label_names=None)
    >>> module.bind([("data", (2,))], for_training=False)
    >>> module.init_params()
    >>> batch = mx.io.DataBatch([mx.nd.array([1, 2])], [mx.nd.array([1, 4])])
    >>> module.forward(batch)
    >>> metric = mx.metric.MSE()
    >>> module.measure(metric, batch)
    >>> metric.get()
    ('mse', 2.0)
    """
    if isinstance(batch, list):  # already sliced, a batch for each device
        module.update_metric(metric, [each.label for each in batch], pre_sliced=True)
    else:
        module.update_metric(metric, getattr(batch, "label", None))


def measure_without_padding(module: Steps, metric: EvalMetric, batch: Batch, pad: int) -> None:
    """Add the batch that was just computed to a metric, but for its last `pad` samples.

    >>> import rebind as mx
    >>> module = mx.mod.Module(mx.sym.identity(mx.sym.var("data")), label_names=None)
    >>> module.bind([("data", (3,))], for_training=False)
    >>> module.init_params()
    >>> batch = mx.io.DataBatch([mx.nd.array([1, 2, 100])], [mx.nd.array([1, 4, 0])], pad=1)
    >>> module.forward(batch)
    >>> metric = mx.metric.MSE()
    >>> module.measure_without_padding(metric, batch, batch.pad)
    >>> metric.get()
    ('mse', 2.0)
    """
    given = labels_of(batch)
    descs = read_descs(module.label_shapes, "label_shapes") or placeholder_descs(len(given))
    labels = {
        desc.name: without_padding(label, pad, batch_axis(desc.layout))
        for desc, label in zip(descs, given, strict=False)  # a batch may carry more labels than are bound
    }
    # By name, not through the executors: their outputs still hold the padding.
    metric.update_dict(labels, dict(zip(module.output_names, _predicted(module, batch), strict=True)))


def batch_record(
    module: Steps, epoch: int, nbatch: int, metric: EvalMetric | None, batch: AnyBatch | None
) -> BatchEndParam:
    """Return what a batch callback is given.

    >>> import rebind as mx
    >>> record = mx.mod.PythonLossModule().batch_record(epoch=2, nbatch=7, metric=None, batch=None)
    >>> record.epoch, record.nbatch, sorted(record.locals)
    (2, 7, ['data_batch', 'epoch', 'eval_metric', 'nbatch', 'self'])
    """
    seen = {"self": module, "data_batch": batch, "eval_metric": metric, "epoch": epoch, "nbatch": nbatch}
    return BatchEndParam(epoch, nbatch, metric, seen)


def _predicted(module: Steps, batch: Batch) -> list[NDArray]:
    """Return copies of the outputs for a batch without padding; the next batch does not change them."""
    pad, axes = padding(batch), module.output_axes()
    size = _batch_size_of(module, batch) if pad else 0
    return [
        without_padding(out, pad * rows_per_sample(out, axis, size), axis)
        for out, axis in zip(cast(list[NDArray], module.get_outputs()), axes, strict=True)
    ]


def _batch_size_of(module: Steps, batch: Batch) -> int:
    """Return how many samples a batch has, padding included; 0 when no input has a batch axis."""
    try:
        layouts = [desc.layout for desc in read_descs(module.data_shapes, "data_shapes")]
    except StateError:  # a user's module that does not describe its inputs
        layouts = [None] * len(batch.data)
    for layout, value in zip(layouts, batch.data, strict=False):
        if (axis := batch_axis(layout)) >= 0:
            return value.shape[axis]
    return 0


def iter_predict(
    module: Steps,
    eval_data: Trainable,
    num_batch: int | None = None,
    reset: bool = True,
    sparse_row_id_fn: RowIds | None = None,
    *,
    batch_size: int = 32,
) -> Iterator[tuple[list[NDArray], int, DataBatch | Any]]:
    """Yield, for each batch, copies of the outputs without padding, the batch's number, and the batch.

    >>> import rebind as mx
    >>> module = mx.mod.Module(mx.sym.square(mx.sym.var("data")), label_names=None)
    >>> data = mx.io.NDArrayIter(mx.nd.array([1, 2, 3]), batch_size=2)
    >>> module.bind(data.provide_data, for_training=False)
    >>> module.init_params()
    >>> for outputs, number, _ in module.iter_predict(data):
    ...     print(number, outputs[0].asnumpy())
    0 [1. 4.]
    1 [9.]
    """
    # A generator: nothing happens, and nothing is checked, before the first batch is asked for.
    need_steps(module, "iter_predict()", "bind", "init_params")
    check_kind("iter_predict", FLAG, reset=reset)
    check_kind("iter_predict", or_none(NUMBER), num_batch=num_batch)
    data = as_source(eval_data, "predict: eval_data", module, batch_size=batch_size, labelled=False)
    if reset:
        rewind(data)
    for nbatch, batch in enumerate(first(noted(data, "predict"), num_batch)):
        try:
            module.prepare(batch, sparse_row_id_fn=sparse_row_id_fn)
            module.forward(batch, is_train=False)
        except Exception as error:
            note_batch(error, module, "predict", nbatch, batch)
            raise
        yield _predicted(module, batch), nbatch, batch


@overload
def predict(
    module: Steps,
    eval_data: Trainable,
    num_batch: int | None = None,
    merge_batches: Literal[True] = True,
    reset: bool = True,
    always_output_list: Literal[False] = False,
    sparse_row_id_fn: RowIds | None = None,
    *,
    batch_size: int | None = None,
) -> NDArray | Any: ...  # an array of a network with one output, a list of others


@overload
def predict(
    module: Steps,
    eval_data: Trainable,
    num_batch: int | None = None,
    *,
    merge_batches: Literal[False],
    reset: bool = True,
    always_output_list: bool = False,
    sparse_row_id_fn: RowIds | None = None,
    batch_size: int | None = None,
) -> list[list[NDArray]]: ...


@overload
def predict(
    module: Steps,
    eval_data: Trainable,
    num_batch: int | None = None,
    merge_batches: Literal[True] = True,
    reset: bool = True,
    *,
    always_output_list: Literal[True],
    sparse_row_id_fn: RowIds | None = None,
    batch_size: int | None = None,
) -> list[NDArray]: ...


@overload
def predict(
    module: Steps,
    eval_data: Trainable,
    num_batch: int | None = None,
    merge_batches: bool = True,
    reset: bool = True,
    always_output_list: bool = False,
    sparse_row_id_fn: RowIds | None = None,
    *,
    batch_size: int | None = None,
) -> NDArray | list[Any]: ...


@refuses_unknown
def predict(
    module: Steps,
    eval_data: Trainable,
    num_batch: int | None = None,
    merge_batches: bool = True,
    reset: bool = True,
    always_output_list: bool = False,
    sparse_row_id_fn: RowIds | None = None,
    *,
    batch_size: int | None = None,
) -> NDArray | list[NDArray] | list[list[NDArray]]:
    """Return the outputs for a data set, without padding: an array, or a list where a network has several.

    A module that has parameters and is not bound, as `Module.load` returns it, is bound for inference to the shapes of
    the data; MXNet asks for `bind` first.

    Parameters
    ----------
    eval_data
        An iterator, arrays or an iterable, as for `fit`; labels are not used.
    num_batch
        Stop after this many batches.
    merge_batches
        Join the batches; otherwise a list with the outputs of each batch is returned.
    reset
        Start the iterator from its beginning.
    always_output_list
        Return a list even for a single output.
    batch_size
        For arrays, which are computed as one batch without it.

    Examples
    --------
    >>> import rebind as mx
    >>> module = mx.mod.Module(mx.sym.square(mx.sym.var("data")), label_names=None)
    >>> module.bind([("data", (2,))], for_training=False)
    >>> module.init_params()
    >>> module.predict(mx.nd.array([2, 3])).asnumpy().tolist()
    [4.0, 9.0]
    """
    if module.params_initialized and not module.binded:
        source = as_source(
            eval_data, "predict: eval_data", module, batch_size=batch_size or 32, labelled=False
        )
        module.bind(source.provide_data, for_training=False)
        if not is_arrays(eval_data):
            eval_data = source  # an iterable may be read once only, and its first batch gave the shapes
    need_steps(module, "predict()", "bind", "init_params")
    check_kind(
        "predict", FLAG, merge_batches=merge_batches, reset=reset, always_output_list=always_output_list
    )
    check_kind("predict", or_none(NUMBER), num_batch=num_batch)
    if batch_size is None and is_arrays(eval_data):
        named = arrays_of(eval_data, names_of(module)[0], "predict: eval_data", "inputs")
        # Arrays without a batch size are one batch.
        eval_data = [named_batch(named, names_of(module)[0], "predict: eval_data")]
    batches = [
        outputs
        for outputs, *_ in module.iter_predict(
            eval_data, num_batch, reset, sparse_row_id_fn, batch_size=batch_size or 32
        )
    ]
    if not batches or not merge_batches:
        return batches
    if len({len(outputs) for outputs in batches}) > 1:
        raise ParameterError(
            "predict: batches have different numbers of outputs (bucketing?), which cannot be joined; "
            "set merge_batches=False"
        )
    merged = _joined(batches, module.output_names, module.output_axes())
    return merged if always_output_list or len(merged) > 1 else merged[0]


def _joined(batches: Sequence[Sequence[NDArray]], names: Sequence[str], axes: Sequence[int]) -> list[NDArray]:
    """Join the outputs of all batches, each along its batch axis."""
    merged = []
    for name, pieces, axis in zip(names, zip(*batches, strict=True), axes, strict=True):
        axis = max(axis, 0)
        if len({(*piece.shape[:axis], *piece.shape[axis + 1 :]) for piece in pieces}) > 1:
            raise ShapeError(
                f"predict: output {name!r} of some batches has other shapes ({pieces[0].shape} in the first), so "
                "that they cannot be joined (bucketing?); set merge_batches=False"
            )
        merged.append(NDArray(torch.cat([piece.tensor for piece in pieces], axis), pieces[0].device))
    return merged
