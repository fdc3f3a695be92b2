"""What the long signatures of `Module`, `fit`, `bind` and the like are parsed into, once, at the entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..callback.hooks import Hook, hooks_of
from ..checkpoint import Checkpoint
from ..checks import LIST, NUMBER, check_instance, check_kind, check_numbers, or_none
from ..device import Device, as_devices
from ..errors import ArgumentError, ParameterError, shown
from ..executor import GradReqs
from ..initializer import Initializer
from ..initializer.base import as_initializer
from ..io import DataDesc
from ..kvstore import KVStoreBase
from ..metric.base import Source as MetricSource
from ..monitor import Monitor
from ..ndarray import NDArray
from ..optimizer import Optimizer
from ..profiler.profile import Profile
from ..protocols import Batch, Callback, DataSource
from .batches import as_callbacks

__all__ = [
    "Binding",
    "Callbacks",
    "FitSettings",
    "InitialValues",
    "InitializerSpec",
    "MetricSpec",
    "OptimizerParams",
    "OptimizerSettings",
    "RowIds",
    "RowIdsOfParameter",
    "SomeCallbacks",
    "StoreSpec",
    "read_devices",
]

#: What gives arrays their first values: ``initializer(name, array)``, or its registered name.
InitializerSpec: TypeAlias = Initializer | str | Callable[[str, NDArray], object] | None
#: What `metric.create` takes.
MetricSpec: TypeAlias = MetricSource
#: A name, a store, or None for no store.
StoreSpec: TypeAlias = str | KVStoreBase | None
SomeCallbacks: TypeAlias = Callback | Sequence[Callback] | None
#: ``sparse_row_id_fn``: from a batch to the rows of each sparse parameter that it needs.
RowIds: TypeAlias = "Callable[[Batch], Mapping[str, RowIdsOfParameter]]"
#: An array for all devices, or a list with one for each.
RowIdsOfParameter: TypeAlias = NDArray | Sequence[NDArray]
#: The settings of an optimizer that is named: a dict, or pairs.
OptimizerParams: TypeAlias = Mapping[str, object] | Iterable[tuple[str, object]] | None


def read_devices(
    context: Device | Sequence[Device] | None, work_load_list: Sequence[float] | None
) -> tuple[list[Device], list[float]]:
    """Return the devices of a module, and the share of each in a batch: the current device, and equal shares, for None.

    >>> import rebind as mx
    >>> read_devices([mx.cpu(0), mx.cpu(1)], None)
    ([cpu(0), cpu(1)], [1.0, 1.0])
    """
    check_kind("Module", or_none(LIST), work_load_list=work_load_list)
    devices = as_devices(context, "Module: context")
    work_loads = [1.0] * len(devices) if work_load_list is None else list(work_load_list)
    for i, share in enumerate(work_loads):
        check_kind("Module", NUMBER, **{f"work_load_list[{i}]": share})
    if len(work_loads) != len(devices):
        raise ParameterError(
            f"Module: work_load_list must have a number for each of {devices}; got {work_load_list}"
        )
    return devices, work_loads


@dataclass(frozen=True, kw_only=True)
class Binding:
    """What a module is bound to.

    Parameters
    ----------
    data, labels
        Descriptions of inputs and labels; None for no labels.
    for_training, inputs_need_grad, grad_req
        As for `Module.bind`.

    Examples
    --------
    >>> Binding(data=[DataDesc("data", (2, 3))], labels=None).grad_req
    'write'
    """

    data: list[DataDesc]
    labels: list[DataDesc] | None
    for_training: bool = True
    inputs_need_grad: bool = False
    grad_req: GradReqs = "write"


@dataclass(frozen=True, kw_only=True)
class InitialValues:
    """Where the first values of parameters come from; see `Module.init_params`.

    >>> InitialValues(allow_missing=True).force_init
    False
    """

    initializer: InitializerSpec = None
    arg_params: Mapping[str, NDArray] | None = None
    aux_params: Mapping[str, NDArray] | None = None
    allow_missing: bool = False
    force_init: bool = False
    allow_extra: bool = False

    def __post_init__(self) -> None:
        made = as_initializer(self.initializer, "init_params: initializer")
        object.__setattr__(self, "initializer", made)  # frozen for others; a name becomes what it names


@dataclass(frozen=True)
class OptimizerSettings:
    """What updates the parameters; see `Module.init_optimizer`.

    >>> OptimizerSettings("device", "adam").kvstore
    'device'
    """

    kvstore: StoreSpec = "local"
    optimizer: str | Optimizer = "sgd"
    optimizer_params: OptimizerParams = (("learning_rate", 0.01),)
    force_init: bool = False

    @property
    def params(self) -> dict[str, Any]:
        """`optimizer_params` as a dict.

        Raises
        ------
        ArgumentError
            For what is neither a dict nor pairs of a name and a value.

        Examples
        --------
        >>> OptimizerSettings(optimizer_params=[("learning_rate", 0.1)]).params
        {'learning_rate': 0.1}
        """
        given: Any = self.optimizer_params
        if given is None:
            return {}
        several = isinstance(given, Iterable) and not isinstance(given, str)
        pairs = list(given.items() if isinstance(given, Mapping) else given) if several else [given]
        for pair in pairs:
            if not (isinstance(pair, (tuple, list)) and len(pair) == 2 and isinstance(pair[0], str)):
                raise ArgumentError(
                    "Module.init_optimizer: optimizer_params must be a dict, or pairs of a name and a value; got "
                    f"{shown(given)}. Write {{'learning_rate': 0.01}}."
                )
        return dict(pairs)


@dataclass(frozen=True)
class Callbacks:
    """The functions that a training run calls.

    >>> Callbacks.read(print, None, None, None).epoch_end == [print]
    True
    """

    epoch_end: list[Callback] = field(default_factory=list)
    batch_end: list[Callback] = field(default_factory=list)
    eval_end: list[Callback] = field(default_factory=list)
    eval_batch_end: list[Callback] = field(default_factory=list)
    #: Objects that have hooks for several events: `callback.Callback`.
    members: list[object] = field(default_factory=list)

    @classmethod
    def read(cls, *given: SomeCallbacks, members: Sequence[object] = ()) -> Callbacks:
        """Return the record of what `fit` was given: for each kind a function, several, or None; and `callbacks`.

        >>> read = Callbacks.read(None, [print, repr], None, None)
        >>> len(read.epoch_end), len(read.batch_end)
        (0, 2)
        """
        epoch_end, batch_end, eval_end, eval_batch_end = map(as_callbacks, given)
        # One callback alone is taken for a list of it, as in the other arguments.
        several = members if isinstance(members, Iterable) else [members]
        return cls(epoch_end, batch_end, eval_end, eval_batch_end, list(several))

    def hooks(self, event: str) -> list[Hook]:
        """Return what is called at an event, such as ``on_batch_end``: MXNet's slots first.

        >>> from rebind.callback import Speedometer
        >>> len(Callbacks(batch_end=[print], members=[Speedometer(8)]).hooks("on_batch_end"))
        2
        """
        slots: dict[str, list[Callback]] = {
            "on_batch_end": self.batch_end,
            "on_eval_batch_end": self.eval_batch_end,
            "on_eval_end": self.eval_end,
        }
        return [*slots.get(event, ()), *hooks_of(self.members, event)]

    def call(self, event: str, *arguments: object) -> None:
        """Call the hooks for an event.

        >>> from rebind.callback import Callback
        >>> class Quick(Callback):
        ...     def on_epoch_begin(self, epoch):
        ...         print("epoch", epoch)
        >>> Callbacks(members=[Quick()]).call("on_epoch_begin", 3)
        epoch 3
        """
        for hook in self.hooks(event):
            hook(*arguments)

    def all(self) -> list[object]:
        """Return the callbacks of all kinds.

        >>> Callbacks.read(len, None, None, repr).all() == [len, repr]
        True
        """
        return [*self.epoch_end, *self.batch_end, *self.eval_end, *self.eval_batch_end, *self.members]


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """The arguments of `fit`, checked; see there.

    Raises
    ------
    ParameterError
        When the number of epochs is missing, or `accumulate` is not positive.
    ArgumentError
        When the training data cannot be bound to.

    Examples
    --------
    >>> import rebind as mx
    >>> data = mx.io.NDArrayIter(mx.nd.zeros((4, 1)))
    >>> FitSettings(train_data=data, num_epoch=3).begin_epoch
    0
    """

    train_data: DataSource
    eval_data: DataSource | None = None
    eval_metric: MetricSpec = "acc"
    validation_metric: MetricSpec | None = None
    callbacks: Callbacks = field(default_factory=Callbacks)
    optimizer: OptimizerSettings = field(default_factory=OptimizerSettings)
    values: InitialValues = field(default_factory=InitialValues)
    begin_epoch: int = 0
    num_epoch: int | None = None
    force_rebind: bool = False
    monitor: Monitor | None = None
    sparse_row_id_fn: RowIds | None = None
    progress: bool | None = None
    checkpoint: Checkpoint | None = None
    accumulate: int = 1
    profile: Profile | None = None

    def __post_init__(self) -> None:
        if self.num_epoch is None:
            raise ParameterError("fit: num_epoch must be given: epochs run from begin_epoch to num_epoch - 1")
        check_numbers(
            "fit", num_epoch=self.num_epoch, begin_epoch=self.begin_epoch, accumulate=self.accumulate
        )
        for name, value in (("num_epoch", self.num_epoch), ("begin_epoch", self.begin_epoch)):
            if not hasattr(value, "__index__"):
                raise ArgumentError(f"fit: {name} must be an int; got {shown(value)}. Convert it with int().")
        for name in ("train_data", "eval_data", "monitor", "checkpoint"):
            check_instance(getattr(self, name), f"fit: {name}")
        if self.monitor is not None and not hasattr(self.monitor, "install"):
            raise ArgumentError(
                f"fit: monitor must be a Monitor; got {shown(self.monitor)}. Give mx.mon.Monitor(interval)."
            )
        if self.accumulate < 1:
            raise ParameterError(f"fit: accumulate must be >= 1; got {self.accumulate}")
        if not hasattr(self.train_data, "provide_data"):
            raise ArgumentError(
                "fit: train_data must be an iterator with provide_data and provide_label; "
                f"got {type(self.train_data).__name__}. For arrays use io.NDArrayIter."
            )

    @property
    def last_epoch(self) -> int:
        """The number of the epoch before which to stop."""
        assert self.num_epoch is not None  # __post_init__ has checked it
        return self.num_epoch
