"""`TrainingLoop`: one call of `fit`, a method for each of its steps."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from .. import metric as metrics
from ..callback import StopTraining
from ..callback.saving import writes_or_assists
from ..callback.shared import shared_run
from ..checkpoint import Position
from ..logs import resolve
from ..observing import observing
from ..overriding import declares_steps, overrides
from .batches import AnyBatch, nonempty, rewind
from .data_checks import NaNSearch
from .distributed_run import distributed_run
from .notes import note_batch, note_interrupt, noted
from .optimizer_setup import rescaled
from .preflight import check_losses, check_settings, checked_first
from .preparation import prepare
from .reporter import Reporter
from .settings import FitSettings
from .steps import Steps
from .training_run import History, TrainingRun
from .workers import Workers, stopping_together

__all__ = ["TrainingLoop"]


@declares_steps("train_batch", "update")
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
    reporter
        What shows the figures, and holds the history.
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
    >>> class LoudModule(mx.mod.Module):
    ...     def training_loop(self, settings):
    ...         return Loud(self, settings)
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1)
    >>> module = LoudModule(mx.sym.LinearRegressionOutput(net, mx.sym.var("label")), label_names=["label"])
    >>> data = mx.io.NDArrayIter(mx.nd.ones((4, 2)), mx.nd.ones((4, 1)), 2, label_name="label")
    >>> history = module.fit(data, eval_metric="mse", num_epoch=2)
    epoch 0
    epoch 1
    """

    def __init__(self, module: Steps, settings: FitSettings) -> None:
        self.module, self.settings = module, settings
        #: Those that train together; None for a run of one.
        self.workers: Workers | None = None
        self._sends_gradients = False  # whether they may be sent before `update`
        self._joins_update = False  # whether `update` may be made together with `forward_backward`
        self.metric = metrics.create(settings.eval_metric)
        given = settings.validation_metric
        self.validation_metric = self.metric if given is None else metrics.create(given)
        self.reporter = Reporter(settings)
        self.history: History = self.reporter.history
        self.position = Position(settings.begin_epoch, 0)
        self.waiting = 0
        self._is_checked = False  # whether the first batch is
        self._nan_search = NaNSearch(module, settings.train_data)
        self._saved: TrainingRun | None = None  # where the run is saved, if it is
        self._batch_end = settings.callbacks.hooks("on_batch_end")  # looked up once: each batch asks for it

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
        try:
            return self.run_all()
        except KeyboardInterrupt as error:
            note_interrupt(error, "In fit, epoch {}, batch {} (counted from 0).".format(*self.position))
            raise

    def run_all(self) -> History:
        """Prepare the module, and train for all epochs."""
        self.prepare()
        if self.resume():  # a callback had ended the run: training on would undo that
            return self.history
        with distributed_run(self.module, self.settings, self.metric, self.position) as self.workers:
            if self.workers is not None:
                self._sends_gradients = self.workers.all_of(self._sends_gradients, "fit (sending gradients)")
            if self._saved is not None:
                self._saved.save_start(self.position)
            self.run_epochs()
        return self.history

    def run_epochs(self) -> None:
        """Train for the epochs that are left."""
        settings, module, first = self.settings, self.module, self.position.epoch
        try:
            with self.reporter.show(first, module.logger, self.workers):
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
        if settings.profile is not None and settings.profile.reports and self.speaks:
            self.say(settings.profile.report())

    def run_epoch(self, epoch: int) -> None:
        """Train for an epoch, or for the rest of the one in which the run resumes."""
        self.begin_epoch(epoch)
        for batch in self.batches(epoch):
            number = self.position.batch
            try:
                if batch is None:
                    self.train_without_batch()
                else:
                    self.train_batch(batch)
                self.end_batch(epoch, batch)
            except Exception as error:
                if batch is not None and not isinstance(error, StopTraining):
                    note_batch(error, self.module, f"fit, epoch {epoch}", number, batch)
                raise
        self.close_epoch(epoch)
        self.rewind()
        self.save()

    def close_epoch(self, epoch: int) -> None:
        """Take the steps that follow an epoch's batches; if a callback of one worker ends the run, all end it here."""
        for step in (lambda: self.end_epoch(epoch), lambda: self.validate(epoch), self.finish_epoch):
            stopping_together(self.workers, step)
        if self.workers is not None:
            self.workers.raise_together("fit, the end of the epoch")

    # The steps.

    def prepare(self) -> None:
        """Bind the module, and give it parameters and an optimizer, where it has none."""
        module, settings = self.module, self.settings
        prepare(module, settings)
        # A user's own step, or a monitor, may look at the gradients, or change them, before the update.
        self._sends_gradients = (
            settings.accumulate == 1
            and settings.monitor is None
            and not overrides(module, "forward_backward", "backward", "update")
            and not overrides(self, "train_batch", "update")
        )
        self._joins_update = self._sends_gradients and not overrides(module, "forward")
        if not overrides(self, "train_batch"):  # another loop may give head gradients
            check_losses(module)

    def resume(self) -> bool:
        """Restore the newest checkpoint, if there is one; return whether the run was stopped there."""
        settings = self.settings
        if settings.checkpoint is None:
            return False
        self._saved = TrainingRun(settings, self.module, self.metric, self.history)
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
        if not self.position.batch:  # otherwise the checkpoint had the sums of the batches before
            self.metric.reset()
        self.reporter.begin_epoch(epoch, self.position.batch)
        self.settings.callbacks.call("on_epoch_begin", epoch)

    def batches(self, epoch: int) -> Iterator[AnyBatch | None]:
        """Yield the batches of the epoch, or the rest of them; None for a step in which only other workers have one."""
        data = self.settings.train_data
        source: Iterable[AnyBatch] = data if self._saved is None else self._saved.batches()
        source = noted(source, f"fit, epoch {epoch}", self.position.batch)
        if not self._is_checked:
            self._is_checked = True
            source = checked_first(source, self.module, self.metric, data)
        source = self._nan_search.watched(source, epoch, self.position.batch)
        shared = source if self.workers is None else self.workers.in_step(source)
        if self.settings.profile is not None:
            shared = self.settings.profile.watch(shared)
        if observing.batches is not None:
            shared = observing.batches(shared)
        return nonempty(shared, epoch, self.position.batch)

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
        if not (self._joins_update and self.workers is None and module.forward_backward_update(batch)):
            self.add_gradients(module.forward_backward, batch)
        # After the update, as in MXNet; the outputs are those of before it.
        module.measure(self.metric, batch)
        if monitor is not None:
            monitor.toc_print() if self.speaks else monitor.toc()

    def train_without_batch(self) -> None:
        """Take part in a step in which only other workers have a batch."""
        self.add_gradients(self.module.take_no_batch)

    def add_gradients(self, compute: Callable[..., None], *batch: AnyBatch) -> None:
        """Let the module compute gradients, and update by them once those of enough batches wait.

        It sends them meanwhile, if nothing looks at them before the update.
        """
        self.module.sends_gradients = self._sends_gradients
        try:
            compute(*batch)
        finally:
            self.module.sends_gradients = False
        self.waiting += 1
        if self.waiting == self.settings.accumulate:
            self.update()

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

    def end_batch(self, epoch: int, batch: AnyBatch | None) -> None:
        """Count a batch, call the callbacks, and save the run if it is due."""
        # Counted before the callbacks: a run that one of them stops has finished this batch.
        number = self.position.batch
        self.position = Position(epoch, number + 1)
        shown = self.metric if self.workers is None else self.workers.watched(self.metric)
        if batch is not None:
            self.reporter.bar.advance(batch, shown)
        if callbacks := self._batch_end:
            record = self.module.batch_record(epoch, number, self.metric, batch)
            for callback in callbacks:
                # On other workers the next callback may add up figures with this one.
                stopping_together(self.workers, callback, record)
        self.save()

    def end_epoch(self, epoch: int) -> None:
        """Use gradients that are left over, report the training metric, and call the callbacks."""
        module = self.module
        if self.waiting:
            self.use_waiting()
        self.reporter.bar.end_epoch()
        self._nan_search.end_epoch()
        # First, so that callbacks save, and the validation measures, what all workers and devices agree on.
        self.average()
        module.unify_devices()
        if self.workers is not None:
            self.workers.unify(module.auxiliary_arrays())
            self.workers.note_shortage(module.logger, epoch)
            self.workers.hold_total(self.metric, "fit, the training metric")
        self.position = Position(epoch + 1, 0)
        seconds = self.reporter.begin_record(epoch, module)
        self.report(epoch, "Train", self.metric.get_global_name_value())
        self.log("Epoch[%d] Time cost=%.3f", epoch, seconds)
        run = shared_run(module)
        callbacks = [
            each for each in self.settings.callbacks.epoch_end if writes_or_assists(run, each, epoch)
        ]
        if callbacks:  # copying parameters costs; only if somebody looks
            params = module.get_params()
            for callback in callbacks:
                stopping_together(self.workers, callback, epoch, module.symbol, *params)

    def average(self) -> None:
        """Average the weights of workers that have updated their own since the last average."""
        if any([store.synchronize() for store in self.module.stores()]):
            self.module.pull_weights()

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
        score: Callable[..., object] = self.module.score
        if self.workers is not None and not overrides(self.module, "score"):
            score = partial(score, together=self.workers.shares_validation)
        try:
            score(
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
        self.reporter.finish_epoch()

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
        self.log(text, *self.position, stop)
        self.reporter.bar.say(text % (*self.position, stop))
        self.average()
        self.save(stopped=True)

    @property
    def speaks(self) -> bool:
        """Whether this worker shows figures; worker 0 does, for all."""
        return self.workers is None or self.workers.speaks

    def log(self, text: str, *arguments: object) -> None:
        """Log a line of the run, where figures are shown."""
        if self.speaks:
            resolve(self.module.logger).info(text, *arguments)

    def say(self, text: str) -> None:
        """Log what the program asked for; print it where no line of the log is shown."""
        logger = resolve(self.module.logger)
        if isinstance(logger, logging.Logger) and not logger.isEnabledFor(logging.INFO):
            print(text)
        else:
            self.log("%s", text)

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
        for name, value in values:
            self.log("Epoch[%d] %s-%s=%f", epoch, kind, name, value)
        self.reporter.add(kind.lower(), values)
