"""What `FeedForward.fit` adds to `Module.fit`: how far training is, and what depends on that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypedDict, cast

from ..callback import BatchCallback, EpochCallback
from ..checks import check_instance
from ..errors import ArgumentError, StateError
from ..kvstore import Capabilities, KVStore
from ..metric import EvalMetric
from ..module import BatchEndParam, Module
from ..module.batches import rewind
from ..module.settings import FitSettings, OptimizerSettings
from ..module.training_loop import TrainingLoop
from ..optimizer import Optimizer
from ..overriding import declares_steps
from ..protocols import ArrayDict, Batch, DataSource, StateTree, is_resumable
from ..symbol import Symbol

__all__ = [
    "AllreduceStore",
    "CountedFromOne",
    "Epochs",
    "Following",
    "ScheduleByEpoch",
    "Trainer",
    "TrainingState",
]


class HasParams(Protocol):
    """A model whose parameters follow the training."""

    arg_params: ArrayDict | None
    aux_params: ArrayDict | None


@dataclass(frozen=True)
class TrainingState:
    """How far training is, as `callback.BatchCallback` and `callback.EpochCallback` see it.

    Parameters
    ----------
    curr_epoch
        The number of the epoch, from 1; before the first epoch of all it is 0. Training that begins at
        ``begin_epoch=3`` has 3 before its first epoch and 4 in it: always the number in the name of the checkpoint's
        file.
    curr_batch
        Batches of this epoch so far.
    curr_iter
        Batches since the start of `fit`.
    batch_size
        Samples in a batch.

    Examples
    --------
    >>> TrainingState(curr_epoch=1, curr_batch=0, curr_iter=0, batch_size=8).curr_epoch
    1
    """

    curr_epoch: int
    curr_batch: int
    curr_iter: int
    batch_size: int


class Following:
    """Follows a training run: calls the callbacks, and gives the model its new parameters after each epoch.

    It is the first of the run's batch callbacks itself.

    Parameters
    ----------
    model
        The model that is trained.
    callbacks
        `callback.BatchCallback` and `callback.EpochCallback` objects.
    metric
        The training metric.
    on_epoch
        ``on_epoch(epoch)`` is called before each epoch.

    Examples
    --------
    >>> import rebind as mx
    >>> shown = mx.callback.BatchCallback(lambda state: print(state.curr_epoch, state.curr_batch))
    >>> model = mx.model.FeedForward(mx.sym.var("data"))
    >>> following = Following(model, [shown], mx.metric.create("mse"), on_epoch=lambda epoch: None)
    >>> following.begin_epoch(epoch=0, nbatch=0, batch_size=8)
    1 0
    >>> following(BatchEndParam(epoch=0, nbatch=0, eval_metric=None, locals=None))
    1 1
    """

    def __init__(
        self,
        model: HasParams,
        callbacks: Sequence[object],
        metric: EvalMetric,
        on_epoch: Callable[[int], None],
    ) -> None:
        for callback in callbacks:
            check_instance(callback, "FeedForward.fit: a member of callbacks")
            if not isinstance(callback, (BatchCallback, EpochCallback)):
                raise ArgumentError(
                    "FeedForward.fit: callbacks must hold callback.BatchCallback and callback.EpochCallback objects; "
                    f"got {callback!r}. Plain functions are for batch_end_callback and epoch_end_callback."
                )
        self._model, self._metric, self._on_epoch = model, metric, on_epoch
        self._of_batches = [callback for callback in callbacks if isinstance(callback, BatchCallback)]
        self._of_epochs = [callback for callback in callbacks if isinstance(callback, EpochCallback)]
        self._started = False
        self.finished_epochs = self._batches = self._iterations = self._batch_size = 0

    @property
    def state(self) -> TrainingState:
        """How far training is.

        >>> import rebind as mx
        >>> model = mx.model.FeedForward(mx.sym.var("data"))
        >>> Following(model, [], mx.metric.create("mse"), on_epoch=print).state
        TrainingState(curr_epoch=0, curr_batch=0, curr_iter=0, batch_size=0)
        """
        return TrainingState(
            self.finished_epochs + self._started, self._batches, self._iterations, self._batch_size
        )

    def begin_epoch(self, epoch: int, nbatch: int, batch_size: int) -> None:
        """Note that an epoch begins, or resumes after `nbatch` batches.

        >>> import rebind as mx
        >>> model = mx.model.FeedForward(mx.sym.var("data"))
        >>> following = Following(model, [], mx.metric.create("mse"), on_epoch=lambda epoch: None)
        >>> following.begin_epoch(epoch=3, nbatch=120, batch_size=8)
        >>> following.state
        TrainingState(curr_epoch=4, curr_batch=120, curr_iter=0, batch_size=8)
        """
        self.finished_epochs, self._batches = epoch, nbatch
        if not self._started:
            self._batch_size = batch_size  # later the module may be bound to the validation's
            self._call_epoch([])  # nothing is measured yet
            self._started = True
        self._on_epoch(epoch)
        if not nbatch:  # the start of an epoch counts as its batch 0
            self._call_batch()

    def __call__(self, record: BatchEndParam) -> None:
        """Count a batch."""
        self._batches = record.nbatch + 1  # `nbatch` is the number of the batch, from 0
        self._iterations += 1
        self._call_batch()

    def take_params(self, epoch: int, symbol: Symbol, arg_params: ArrayDict, aux_params: ArrayDict) -> None:
        """Give the model its parameters; the first epoch callback.

        >>> import rebind as mx
        >>> model = mx.model.FeedForward(mx.sym.var("w"))
        >>> following = Following(model, [], mx.metric.create("mse"), on_epoch=lambda epoch: None)
        >>> following.take_params(0, model.symbol, {"w": mx.nd.array([3])}, {})
        >>> model.arg_params["w"].item()
        3.0
        """
        self._model.arg_params, self._model.aux_params = arg_params, aux_params

    def end_epoch(self, *_: object) -> None:
        """Call the callbacks at the end of an epoch; the last epoch callback."""
        self._call_epoch(self._metric.get_global_name_value())

    def _call_batch(self) -> None:
        for callback in self._of_batches:
            callback(self.state)

    def _call_epoch(self, measured: list[tuple[str, float]]) -> None:
        for callback in self._of_epochs:
            callback(self._model, self.state, measured)

    def state_dict(self) -> StateTree:
        """Return what a run that resumes after a kill cannot know by itself.

        >>> import rebind as mx
        >>> model = mx.model.FeedForward(mx.sym.var("w"))
        >>> following = Following(model, [], mx.metric.create("mse"), on_epoch=lambda epoch: None)
        >>> following(BatchEndParam(epoch=0, nbatch=0, eval_metric=None, locals=None))
        >>> following.state_dict()
        {'iterations': 1}
        """
        return {"iterations": self._iterations}

    def load_state_dict(self, state: StateTree) -> None:
        """Continue from what `state_dict` returned.

        >>> import rebind as mx
        >>> model = mx.model.FeedForward(mx.sym.var("w"))
        >>> following = Following(model, [], mx.metric.create("mse"), on_epoch=lambda epoch: None)
        >>> following.load_state_dict({"iterations": 500})
        >>> following.state.curr_iter
        500
        """
        self._iterations = cast(int, state["iterations"])


class FollowedLoop(TrainingLoop):
    """A training loop that something follows."""

    module: Trainer

    def begin_epoch(self, epoch: int) -> None:
        """Begin an epoch, and report it to the follower."""
        super().begin_epoch(epoch)
        self.module.follow_epoch(epoch, self.position.batch)

    def close_epoch(self, epoch: int) -> None:
        """Take the steps that follow an epoch's batches; the data start over before them, as in MXNet."""
        super().rewind()
        super().close_epoch(epoch)

    def rewind(self) -> None:
        """Do nothing: `close_epoch` has reset the data."""

    def validate(self, epoch: int) -> None:
        """Measure an epoch's parameters; the validation's data start over after it too, as in MXNet."""
        super().validate(epoch)
        if self.settings.eval_data is not None:
            rewind(self.settings.eval_data)


@declares_steps()
class Trainer(Module):
    """A Module as FeedForward trains it.

    Parameters
    ----------
    symbol
        The network.
    following
        What follows the run.
    lr_decay
        ``'batch'``, or ``'epoch'`` for a schedule that goes by the number of finished epochs.
    **kwargs
        For `Module`.
    """

    def __init__(self, symbol: Symbol, *, following: Following, lr_decay: str, **kwargs: Any) -> None:
        super().__init__(symbol, **kwargs)
        self._following = following
        self._lr_decay = lr_decay

    def training_loop(self, settings: FitSettings) -> TrainingLoop:
        """Return what `fit` runs."""
        return FollowedLoop(self, settings)

    def follow_epoch(self, epoch: int, nbatch: int) -> None:
        """Let the follower note that an epoch begins, or resumes after `nbatch` batches."""
        self._following.begin_epoch(epoch, nbatch, self._network.executors("fit()").batch_size)

    def _make_optimizer(
        self, settings: OptimizerSettings, rescale: float, names: Mapping[int, str]
    ) -> Optimizer:
        """Make the optimizer; a `rescale_grad` of 0 counts as none, any other is the user's own."""
        given = settings.optimizer
        if isinstance(given, Optimizer):
            given.rescale_grad = rescale = given.rescale_grad or rescale
        else:
            params = settings.params
            params["rescale_grad"] = params.get("rescale_grad") or rescale
            settings = replace(settings, optimizer_params=params)
        made = super()._make_optimizer(settings, rescale, names)
        if self._lr_decay == "epoch" and made.lr_scheduler is not None:
            made.lr_scheduler = ScheduleByEpoch(made.lr_scheduler, self._following)
        return made


class ScheduleByEpoch:
    """A schedule that goes by the number of finished epochs, whatever number of updates it is called with."""

    def __init__(self, schedule: Callable[[int], float], following: Following) -> None:
        self.schedule = schedule
        self._following = following

    def __call__(self, num_update: int) -> float:
        """Return the learning rate."""
        return self.schedule(self._following.finished_epochs)


class AllreduceStore(KVStore):
    """A store that sums gradients and leaves the updates to the devices: for large arrays.

    >>> AllreduceStore("local_allreduce_cpu").is_capable("optimizer")
    False
    """

    capabilities = Capabilities(updates_weights=False)


class CountedFromOne:
    """Wraps a batch callback so that it sees batches numbered from 1; it is otherwise the callback itself.

    >>> counted = CountedFromOne(lambda record: print(record.nbatch))
    >>> counted(BatchEndParam(epoch=0, nbatch=0, eval_metric=None, locals=None))
    1
    """

    def __init__(self, callback: Callable[[BatchEndParam], object]) -> None:
        self._callback = callback
        self.__wrapped__ = callback  # for `inspect.signature`, which `fit` asks what it takes

    def __call__(self, record: BatchEndParam) -> object:
        """Take the record of a batch."""
        number = record.nbatch + 1
        return self._callback(
            record._replace(nbatch=number, locals={**(record.locals or {}), "nbatch": number})
        )

    def __getattr__(self, name: str) -> Any:
        # So that a callback with a state is saved with the run, though it is wrapped.
        return getattr(self._callback, name)


class EpochsState(TypedDict):
    """What `Epochs.state_dict` returns."""

    data: StateTree
    taken: int


class Epochs:
    """The batches of an iterator in epochs of a given size; it starts over at its end, within an epoch.

    Parameters
    ----------
    data
        The iterator.
    size
        Batches in an epoch, which begins where the last one ended. A source that starts over whenever it is iterated
        does so in each epoch, as in MXNet.

    Examples
    --------
    >>> import rebind as mx
    >>> data = Epochs(mx.io.NDArrayIter(mx.nd.array([1, 2, 3])), size=2)
    >>> for _ in range(3):
    ...     print([batch.data[0].item() for batch in data])
    [1.0, 2.0]
    [3.0, 1.0]
    [2.0, 3.0]
    """

    def __init__(self, data: DataSource, size: int) -> None:
        self.data = data
        self.size = size
        self._taken = 0

    def __getattr__(self, name: str) -> Any:
        # What `fit` and the progress bar ask of an iterator: shapes, batch size, number of samples.
        return getattr(self.data, name)

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Batch]:
        """Yield the batches of an epoch; after `load_state_dict`, the rest of it."""
        rounds = 0  # without a batch: the first may begin at the end of the data, a second finds none, as `fit` reports
        while self._taken < self.size and rounds < 2:
            rounds += 1
            for batch in self.data:
                rounds = 0
                self._taken += 1
                yield batch
                if self._taken == self.size:
                    break
            else:
                rewind(self.data)
        self._taken = 0  # not reached by whoever stops within an epoch: the next loop gets the rest of it

    def reset(self) -> None:
        """Do nothing: the next epoch begins where the last one ended, or at the start.

        >>> import rebind as mx
        >>> data = Epochs(mx.io.NDArrayIter(mx.nd.array([1, 2, 3])), size=1)
        >>> [batch.data[0].item() for batch in data]
        [1.0]
        >>> data.reset()
        >>> [batch.data[0].item() for batch in data]
        [2.0]
        """

    def state_dict(self) -> StateTree:
        """Return the position in the data and in the epoch.

        >>> import rebind as mx
        >>> data = Epochs(mx.io.NDArrayIter(mx.nd.array([1, 2, 3])), size=2)
        >>> batch = next(iter(data))
        >>> data.state_dict()["taken"]
        1
        """
        if not is_resumable(self.data):
            raise StateError(
                "fit: epoch_size and checkpoint together need train_data that knows its position (state_dict); "
                f"{type(self.data).__name__} does not. Leave one of them out."
            )
        return {"data": self.data.state_dict(), "taken": self._taken}

    def load_state_dict(self, state: StateTree) -> None:
        """Restore a position that `state_dict` returned.

        >>> import rebind as mx
        >>> data = Epochs(mx.io.NDArrayIter(mx.nd.array([1, 2, 3])), size=2)
        >>> state = data.state_dict()
        >>> for _ in range(2):
        ...     print([batch.data[0].item() for batch in data])
        ...     data.load_state_dict(state)
        [1.0, 2.0]
        [1.0, 2.0]
        """
        saved = cast(EpochsState, state)
        if is_resumable(self.data):
            self.data.load_state_dict(saved["data"])
        self._taken = saved["taken"]
