"""`BaseModule`: what trains, measures and predicts in steps, for every kind of module."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .. import checkpoint as checkpoints
from ..absent import old_names
from ..callback import BatchEndParam
from ..checkpoint import Checkpoint
from ..first_use import OnFirstUse
from ..initializer import Uniform
from ..monitor import Monitor
from ..ndarray import NDArray
from ..optimizer import Optimizer
from ..overriding import declares_steps
from .evaluation import Evaluation
from .mistakes import unknown_argument
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
from .training_loop import TrainingLoop
from .training_run import History

__all__ = ["BaseModule", "BatchEndParam", "History"]

# Tables are made above modules in the layers, where they are found when a notebook asks for one.
_SHOWN = OnFirstUse.from_modules("rebind.viz", {"module_html": "notebook"})


@declares_steps(
    "bind", "init_params", "init_optimizer", "forward", "backward", "forward_backward", "update", "apply_gradients",
    "update_metric", "get_outputs", "score",
)  # fmt: skip
class BaseModule(Evaluation):
    """What computes outputs from batches and learns from them, in steps.

    The steps are, in order, `bind` (shapes, memory), `init_params`, `init_optimizer`, then for each batch `forward`,
    `backward`, `update`, `update_metric`. `fit`, `score` and `predict` are made of them. A subclass defines the steps.

    Examples
    --------
    >>> import rebind as mx
    >>> class Doubler(BaseModule):
    ...     binded = params_initialized = True
    ...     output_names = ["doubled"]
    ...
    ...     def forward(self, data_batch, is_train=None):
    ...         self.outputs = [data_batch.data[0] * 2]
    ...
    ...     def get_outputs(self, merge_multi_context=True):
    ...         return self.outputs
    >>> Doubler().predict(mx.nd.array([1, 2])).asnumpy().tolist()
    [2.0, 4.0]
    """

    def _repr_html_(self) -> str:
        return _SHOWN["module_html"](self)

    def set_params(
        self,
        arg_params: Mapping[str, NDArray] | None,
        aux_params: Mapping[str, NDArray] | None,
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """Set parameters and auxiliary states from copies of the given arrays.

        Parameters
        ----------
        arg_params, aux_params
            Values by name.
        allow_missing
            Leave what is not given as it is; names that the module lacks are then an error unless `allow_extra`.
        force_init
            With False, parameters that have values stay, with a warning.
        allow_extra
            Ignore names that the module lacks.

        Examples
        --------
        >>> import rebind as mx
        >>> module = mx.mod.Module(mx.sym.var("data") * mx.sym.var("w", shape=(1,)), label_names=None)
        >>> module.bind([("data", (1,))])
        >>> module.set_params({"w": mx.nd.array([5])}, {})
        >>> module.get_params()[0]["w"].item()
        5.0
        """
        self.init_params(
            initializer=None,
            arg_params=arg_params,
            aux_params=aux_params,
            allow_missing=allow_missing,
            force_init=force_init,
            allow_extra=allow_extra,
        )

    def save_params(self, fname: str) -> None:
        """Write parameters and auxiliary states to a file, which appears whole or not at all.

        >>> import tempfile, rebind as mx
        >>> module = mx.mod.Module(mx.sym.var("data") * mx.sym.var("w_weight", shape=(1,)), label_names=None)
        >>> module.bind([("data", (1,))])
        >>> module.init_params(mx.init.One())
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     module.save_params(f"{folder}/net.params")
        ...     print(list(mx.nd.load(f"{folder}/net.params")))
        ['arg:w_weight']
        """
        checkpoints.write_params(fname, *self.get_params())

    def load_params(self, fname: str) -> None:
        """Set parameters and auxiliary states from a file.

        >>> import tempfile, rebind as mx
        >>> module = mx.mod.Module(mx.sym.var("data") * mx.sym.var("w_weight", shape=(1,)), label_names=None)
        >>> module.bind([("data", (1,))])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     mx.nd.save(f"{folder}/net.params", {"arg:w_weight": mx.nd.array([5])})
        ...     module.load_params(f"{folder}/net.params")
        >>> module.get_params()[0]["w_weight"].item()
        5.0
        """
        self.set_params(*checkpoints.read_params(fname))

    def fit(
        self,
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
        y: ArrayGroup | None = None,
        batch_size: int = 32,
        shuffle: bool = True,
        **unknown: object,
    ) -> History:
        """Train.

        For each epoch: the batches (each: compute, update, metric, ``batch_end_callback(BatchEndParam)``), the
        training metric and the time are logged, ``epoch_end_callback(epoch, symbol, arg_params, aux_params)``, then
        the validation with its callbacks.

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
        >>> history = module.fit(
        ...     (x, x[:, 0]), num_epoch=5, batch_size=4, optimizer_params={"learning_rate": 1}
        ... )
        >>> history["train"]["accuracy"][-1]
        1.0
        """
        if unknown:
            raise unknown_argument(next(iter(unknown)), BaseModule.fit)
        slots = (epoch_end_callback, batch_end_callback, eval_end_callback, eval_batch_end_callback)
        settings = FitSettings(
            train_data=as_source(
                train_data, "fit: train_data", self, y=y, batch_size=batch_size, shuffle=shuffle
            ),
            eval_data=None
            if eval_data is None
            else as_source(eval_data, "fit: eval_data", self, batch_size=batch_size),
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
        )
        return self.training_loop(settings).run()

    def training_loop(self, settings: FitSettings) -> TrainingLoop:
        """Return what `fit` runs; a module that trains in another way returns one with overridden steps.

        >>> import rebind as mx
        >>> from rebind.module.training_loop import TrainingLoop
        >>> class Counted(TrainingLoop):
        ...     def train_batch(self, batch):
        ...         super().train_batch(batch)
        ...         print("batch", self.position.batch)
        >>> class CountingModule(mx.mod.Module):
        ...     def training_loop(self, settings):
        ...         return Counted(self, settings)
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1)
        >>> net = mx.sym.LinearRegressionOutput(net, mx.sym.var("label"))
        >>> data = mx.io.NDArrayIter(mx.nd.ones((4, 2)), mx.nd.ones((4, 1)), 2, label_name="label")
        >>> module = CountingModule(net, label_names=["label"])
        >>> history = module.fit(data, eval_metric="mse", num_epoch=1)
        batch 0
        batch 1
        """
        return TrainingLoop(self, settings)


if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
