"""`TrainingLoop`: one call of `fit`, a method for each of its steps."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial

from .. import metric as metrics
from ..callback import EpochRecord, StopTraining
from ..checkpoint import Position
from ..checks import warn_user
from ..errors import StateError
from ..progress import Progress, is_logged
from .batches import AnyBatch, nonempty, rewind
from .evaluation import Evaluation
from .notes import note_batch
from .optimizer_setup import ignored_optimizer, rescaled
from .preflight import check_losses, check_multipliers, check_settings, checked_first, is_ours
from .run_settings import optimizers_of
from .settings import FitSettings
from .training_run import History, TrainingRun
from .workers import job_of

__all__ = ["TrainingLoop"]


class TrainingLoop:
    """Trains a module: `run` calls the other methods, in the order in which they are defined.

    A kind of training that differs in a step overrides it, and `BaseModule.training_loop` returns it: SVRG takes its
    snapshot in `begin_epoch`, `FeedForward` follows the run there.

    Parameters
    ----------
    module
        What is trained.
    settings
        The arguments of `fit`.

    Attributes
    ----------
    metric
        The training metric.
    history
        The figures of the epochs that are finished.
    position
        How far the run is: epochs, and batches of the next.
    waiting
        How many batches' gradients are summed but not used yet.

    Examples
    --------
    >>> import rebind as mx
    >>> class Loud(TrainingLoop):
    ...     def begin_epoch(self, epoch):
    ...         super().begin_epoch(epoch)
    ...         print("epoch", epoch)
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1)
    >>> module = mx.mod.Module(mx.sym.LinearRegressionOutput(net, mx.sym.var("label")), label_names=["label"])
    >>> data = mx.io.NDArrayIter(mx.nd.ones((4, 2)), mx.nd.ones((4, 1)), 2, label_name="label")
    >>> history = Loud(module, FitSettings(train_data=data, eval_metric="mse", num_epoch=2)).run()
    epoch 0
    epoch 1
    """

    def __init__(self, module: Evaluation, settings: FitSettings) -> None:
        self.module, self.settings = module, settings
        self.metric = metrics.create(settings.eval_metric)
        given = settings.validation_metric
        self.validation_metric = self.metric if given is None else metrics.create(given)
        self.history: History = {"train": {}, "validation": {}}
        self.position = Position(settings.begin_epoch, 0)
        self.waiting = 0
        self._sends_gradients = False  # whether they may be sent before `update`
        self._is_checked = False  # whether the first batch is
        self._saved: TrainingRun | None = None  # where the run is saved, if it is
        self.bar = Progress(settings.last_epoch, wanted=False)  # until `run` opens one
        self._epoch_started = 0.0
        self._record: EpochRecord | None = None  # of the epoch whose batches have ended
        # Looked up once: the first is asked for in every batch.
        self._batch_end = settings.callbacks.hooks("on_batch_end")
        self._epoch_end = settings.callbacks.hooks("on_epoch_end")

    def run(self) -> History:
        """Train, and return the history.

        >>> import rebind as mx
        >>> net = mx.sym.LinearRegressionOutput(mx.sym.var("data"), mx.sym.var("label"))
        >>> module = mx.mod.Module(net, label_names=["label"])
        >>> data = mx.io.NDArrayIter(mx.nd.array([1, 2]), mx.nd.array([1, 4]), 2, label_name="label")
        >>> TrainingLoop(module, FitSettings(train_data=data, eval_metric="mse", num_epoch=2)).run()
        {'train': {'mse': [2.0, 2.0]}, 'validation': {}}
        """
        check_settings(self.settings)
        self.prepare()
        if self.resume():  # a callback had ended the run: training on would undo that
            return self.history
        settings, module, first = self.settings, self.module, self.position.epoch
        lines = not is_logged(module.logger)
        try:
            with Progress(settings.last_epoch, settings.progress, first_epoch=first, lines=lines) as self.bar:
                settings.callbacks.call("on_train_begin", module)
                try:
                    for epoch in range(first, settings.last_epoch):
                        self.run_epoch(epoch)
                except StopTraining:
                    self.finish_epoch()
                    raise
        except StopTraining as stop:  # the bar is gone by now, and does not mix with what is logged
            self.stop_early(stop)
        settings.callbacks.call("on_train_end", module)
        return self.history

    def run_epoch(self, epoch: int) -> None:
        """Train for an epoch, or for the rest of the one in which the run resumes."""
        self.begin_epoch(epoch)
        for batch in self.batches(epoch):
            number = self.position.batch
            try:
                self.train_batch(batch)
                self.end_batch(epoch, batch)
            except StopTraining:
                raise
            except Exception as error:
                note_batch(error, self.module, f"fit, epoch {epoch}", number, batch)
                raise
        self.end_epoch(epoch)
        self.validate(epoch)
        self.finish_epoch()
        self.rewind()
        self.save()

    # The steps.

    def prepare(self) -> None:
        """Bind the module, and give it parameters and an optimizer, where it has none.

        >>> import rebind as mx
        >>> net = mx.sym.LinearRegressionOutput(mx.sym.var("data"), mx.sym.var("label"))
        >>> module = mx.mod.Module(net, label_names=["label"])
        >>> data = mx.io.NDArrayIter(mx.nd.ones((4, 1)), mx.nd.ones((4, 1)), 2, label_name="label")
        >>> TrainingLoop(module, FitSettings(train_data=data, eval_metric="mse", num_epoch=1)).prepare()
        >>> module.binded, module.params_initialized, module.optimizer_initialized
        (True, True, True)
        """
        module, settings = self.module, self.settings
        # Gradients that are summed need another binding than those that are not.
        changed = module.binded and settings.accumulate != module.batches_per_update
        module.batches_per_update = settings.accumulate
        if not module.binded or settings.force_rebind or changed or not is_ours(module, "bind"):
            self._bind(force_rebind=settings.force_rebind or changed)
        elif (binding := getattr(module, "binding", None)) is not None and not binding.for_training:
            raise StateError(
                "fit: the module must be bound with for_training=True; got False. Give force_rebind=True."
            )
        if settings.monitor is not None:
            module.install_monitor(settings.monitor)
        self._init_params()
        self._init_optimizer()
        # A user's own step, or a monitor, may look at the gradients, or change them, before the update.
        self._sends_gradients = (
            settings.accumulate == 1
            and settings.monitor is None
            and all(is_ours(module, name) for name in ("forward_backward", "backward", "update"))
            and all(is_ours(self, name) for name in ("train_batch", "update"))
        )
        check_multipliers(optimizers_of(module), module)
        if is_ours(self, "train_batch"):  # another loop may give head gradients
            check_losses(module)

    # A module of ours that is prepared already is not asked again: it would warn that the call changes nothing.

    def _bind(self, *, force_rebind: bool) -> None:
        module, settings = self.module, self.settings
        # A user's own module need not know `grad_req`.
        bind = module.bind if settings.accumulate == 1 else partial(module.bind, grad_req="add")
        bind(
            data_shapes=settings.train_data.provide_data,
            label_shapes=getattr(settings.train_data, "provide_label", None),
            for_training=True,
            force_rebind=force_rebind,
        )

    def _init_params(self) -> None:
        values = self.settings.values
        has_values = self.module.params_initialized and is_ours(self.module, "init_params")
        if has_values and not values.force_init:
            if values.arg_params or values.aux_params:
                warn_user(
                    "fit: the parameters have values already, so arg_params and aux_params are not used. Set "
                    "force_init=True to use them."
                )
            return
        self.module.init_params(
            initializer=values.initializer,
            arg_params=values.arg_params,
            aux_params=values.aux_params,
            allow_missing=values.allow_missing,
            force_init=values.force_init,
        )

    def _init_optimizer(self) -> None:
        module, update = self.module, self.settings.optimizer
        if not (module.optimizer_initialized and is_ours(module, "init_optimizer")):
            module.init_optimizer(
                kvstore=update.kvstore, optimizer=update.optimizer, optimizer_params=update.optimizer_params
            )
        elif text := ignored_optimizer(update, optimizers_of(module)):
            warn_user(
                f"fit: the module has an optimizer already, so {text} is not used. Call "
                "init_optimizer(..., force_init=True) first to start over with another."
            )

    def resume(self) -> bool:
        """Restore the newest checkpoint, if there is one; return whether the run was stopped there."""
        settings = self.settings
        if settings.checkpoint is None:
            return False
        self._saved = TrainingRun(
            settings.checkpoint,
            self.module,
            settings.train_data,
            settings.eval_data,
            self.metric,
            self.history,
            settings.callbacks.all(),
            settings.last_epoch,
            accumulate=settings.accumulate,
            job=job_of(self.module.stores()),
        )
        found = self._saved.restore()
        if found is None:
            return False
        self.position, stopped = found
        self.waiting = self._saved.waiting
        if self.waiting and self._saved.regroups:
            self.use_waiting()
        return stopped

    def begin_epoch(self, epoch: int) -> None:
        """Do what comes before an epoch's batches; ``self.position.batch`` of them were done before a kill."""
        self._epoch_started = time.time()
        if not self.position.batch:  # otherwise the checkpoint had the sums of the batches before
            self.metric.reset()
        self.bar.begin_epoch(epoch, self.settings.train_data, self.position.batch)
        self.settings.callbacks.call("on_epoch_begin", epoch)

    def batches(self, epoch: int) -> Iterator[AnyBatch]:
        """Yield the batches of the epoch, or the rest of them."""
        data = self.settings.train_data
        batches: Iterator[AnyBatch] = nonempty(
            data if self._saved is None else self._saved.batches(), epoch, self.position.batch
        )
        if self._is_checked:
            return batches
        self._is_checked = True
        return checked_first(batches, self.module, self.metric, data)

    def train_batch(self, batch: AnyBatch) -> None:
        """Learn from one batch, and measure it.

        >>> import rebind as mx
        >>> class Measured(TrainingLoop):
        ...     def train_batch(self, batch):
        ...         super().train_batch(batch)
        ...         print(self.metric.get())
        >>> net = mx.sym.LinearRegressionOutput(mx.sym.var("data"), mx.sym.var("label"))
        >>> module = mx.mod.Module(net, label_names=["label"])
        >>> data = mx.io.NDArrayIter(mx.nd.array([1, 2]), mx.nd.array([1, 4]), 1, label_name="label")
        >>> history = Measured(module, FitSettings(train_data=data, eval_metric="mse", num_epoch=1)).run()
        ('mse', 0.0)
        ('mse', 2.0)
        """
        module, monitor = self.module, self.settings.monitor
        if monitor is not None:
            monitor.tic()
        module.prepare(batch, sparse_row_id_fn=self.settings.sparse_row_id_fn)
        module.sends_gradients = self._sends_gradients
        try:
            module.forward_backward(batch)
        finally:
            module.sends_gradients = False
        self.waiting += 1
        if self.waiting == self.settings.accumulate:
            self.update()
        # After the update, as in MXNet; the outputs are those of before it.
        module.measure(self.metric, batch)
        if monitor is not None:
            monitor.toc_print()

    def update(self) -> None:
        """Update the parameters by the gradients of the waiting batches."""
        self.module.update()
        if self.settings.accumulate > 1:  # bound with grad_req='add'; otherwise backward overwrites them
            self.module.clear_gradients()
        self.waiting = 0

    def use_waiting(self) -> None:
        """Update the parameters by the gradients of other than `accumulate` batches."""
        with rescaled(self.module.optimizers(), self.settings.accumulate / self.waiting):
            self.update()

    def end_batch(self, epoch: int, batch: AnyBatch) -> None:
        """Count a batch, call the callbacks, and save the run if it is due."""
        # Counted before the callbacks: a run that one of them stops has finished this batch.
        number = self.position.batch
        self.position = Position(epoch, number + 1)
        self.bar.advance(batch, self.metric)
        if callbacks := self._batch_end:
            record = self.module.batch_record(epoch, number, self.metric, batch)
            for callback in callbacks:
                callback(record)
        self.save()

    def end_epoch(self, epoch: int) -> None:
        """Use gradients that are left over, report the training metric, and call the callbacks."""
        module = self.module
        if self.waiting:
            self.use_waiting()
        self.bar.end_epoch()
        # First, so that callbacks save, and the validation measures, auxiliary states that all devices agree on.
        module.unify_devices()
        self.position = Position(epoch + 1, 0)
        seconds = time.time() - self._epoch_started
        self._record = EpochRecord(epoch, module, seconds)
        self.report(epoch, "Train", self.metric.get_global_name_value())
        module.logger.info("Epoch[%d] Time cost=%.3f", epoch, seconds)
        if callbacks := self.settings.callbacks.epoch_end:  # copying parameters costs; only if somebody looks
            params = module.get_params()
            for callback in callbacks:
                callback(epoch, module.symbol, *params)

    def validate(self, epoch: int) -> None:
        """Measure an epoch's parameters; the figures count even if a callback stops the training.

        >>> import rebind as mx
        >>> net = mx.sym.LinearRegressionOutput(mx.sym.var("data"), mx.sym.var("label"))
        >>> module = mx.mod.Module(net, label_names=["label"])
        >>> data = mx.io.NDArrayIter(mx.nd.array([1, 2]), mx.nd.array([1, 4]), 2, label_name="label")
        >>> settings = FitSettings(train_data=data, eval_data=data, eval_metric="mse", num_epoch=1)
        >>> loop = TrainingLoop(module, settings)
        >>> loop.prepare()
        >>> loop.validate(epoch=0)
        >>> loop.history
        {'train': {}, 'validation': {'mse': [2.0]}}
        """
        if self.settings.eval_data is None:
            return
        try:
            self.module.score(
                self.settings.eval_data,
                self.validation_metric,
                score_end_callback=self.settings.callbacks.hooks("on_eval_end"),
                batch_end_callback=self.settings.callbacks.hooks("on_eval_batch_end"),
                epoch=epoch,
            )
        except StopTraining:
            self.report(epoch, "Validation", self.validation_metric.get_name_value())
            raise
        self.report(epoch, "Validation", self.validation_metric.get_name_value())

    def finish_epoch(self) -> None:
        """Show an epoch's line, and call the hooks for its end; once, also if a callback stops the training in it."""
        record, self._record = self._record, None
        if record is None:
            return
        self.bar.finish_epoch()
        stopped: StopTraining | None = None
        for (
            hook
        ) in self._epoch_end:  # all of them: one that stops the run keeps no other from writing its line
            try:
                hook(record)
            except StopTraining as stop:
                stopped = stop
        if stopped is not None:
            raise stopped

    def rewind(self) -> None:
        """Reset the training data."""
        if self._saved is not None:
            self._saved.before_reset()  # resetting may shuffle
        rewind(self.settings.train_data)

    def save(self, *, stopped: bool = False) -> None:
        """Save the run, if it has a checkpoint and one is due."""
        if self._saved is not None:
            self._saved.save(self.position, stopped=stopped, waiting=self.waiting)

    def stop_early(self, stop: StopTraining) -> None:
        """End the run because a callback asks for it.

        >>> import rebind as mx
        >>> def stop(record):
        ...     raise mx.callback.StopTraining("One batch is enough.")
        >>> net = mx.sym.LinearRegressionOutput(mx.sym.var("data"), mx.sym.var("label"))
        >>> module = mx.mod.Module(net, label_names=["label"])
        >>> data = mx.io.NDArrayIter(mx.nd.array([1, 2]), mx.nd.array([1, 4]), 1, label_name="label")
        >>> module.fit(data, eval_metric="mse", num_epoch=1, batch_end_callback=stop)
        {'train': {}, 'validation': {}}
        """
        text = "Training ends early, after %d epochs and %d batches. %s"
        self.module.logger.info(text, *self.position, stop)
        self.bar.say(text % (*self.position, stop))
        self.save(stopped=True)

    def report(self, epoch: int, kind: str, values: Sequence[tuple[str, float]]) -> None:
        """Log an epoch's figures, and add them to the history.

        >>> import rebind as mx
        >>> module = mx.mod.Module(2 * mx.sym.var("data"), label_names=None)
        >>> data = mx.io.NDArrayIter(mx.nd.ones((4, 1)))
        >>> loop = TrainingLoop(module, FitSettings(train_data=data, num_epoch=1))
        >>> loop.report(0, "Train", [("mse", 0.5)])
        >>> loop.history["train"]
        {'mse': [0.5]}
        """
        history = self.history[kind.lower()]
        for name, value in values:
            self.module.logger.info("Epoch[%d] %s-%s=%f", epoch, kind, name, value)
            history.setdefault(name, []).append(float(value))
            self.bar.report(kind.lower(), name, float(value))
            if self._record is not None:
                figures = self._record.train if kind == "Train" else self._record.validation
                figures[name] = float(value)
