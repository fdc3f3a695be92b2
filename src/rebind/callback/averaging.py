"""`ExponentialMovingAverage`: parameters, averaged over the updates."""

from __future__ import annotations

from typing import ClassVar, TypedDict, cast

import torch

from .._torch import foreach
from ..checks import check_numbers, refuses_unknown
from ..errors import ParameterError
from ..ndarray import NDArray
from ..protocols import ArrayDict, StateTree
from .hooks import OnBatchEnd
from .records import BatchEndParam, module_of

__all__ = ["ExponentialMovingAverage"]


class AverageState(TypedDict):
    """What `ExponentialMovingAverage.state_dict` returns."""

    num_update: int
    params: ArrayDict


class ExponentialMovingAverage(OnBatchEnd):
    """Averages the parameters over the updates; give it as `batch_end_callback`.

    ``average = decay * average + (1 - decay) * parameter`` after each batch. Auxiliary states are not averaged. With
    several devices the first one's parameters count, which are those of all.

    Parameters
    ----------
    decay
        How much of the average stays at each update, between 0 and 1.
    warm_up
        Let the average follow more closely at first, ``min(decay, (1 + n) / (10 + n))`` after n batches.

    Examples
    --------
    >>> import rebind as mx
    >>> module = mx.mod.Module(mx.sym.var("data") * mx.sym.var("w", shape=(1,)), label_names=None)
    >>> module.bind([("data", (1,))])
    >>> average = ExponentialMovingAverage(decay=0.75)  # fit(..., batch_end_callback=average)
    >>> for value in 0, 8:
    ...     module.set_params({"w": mx.nd.array([value])}, {})
    ...     average(module.batch_record(epoch=0, nbatch=value, metric=None, batch=None))
    >>> average.params["w"].item()
    2.0
    """

    #: The argument of `fit` that takes it.
    slots: ClassVar[tuple[str, ...]] = ("batch_end_callback",)

    @refuses_unknown
    def __init__(self, decay: float = 0.999, warm_up: bool = False) -> None:
        check_numbers("ExponentialMovingAverage", decay=decay)
        if not 0 <= decay < 1:
            raise ParameterError(f"ExponentialMovingAverage: decay must be in [0, 1); got {decay}")
        self.decay, self.warm_up = decay, warm_up
        self.num_update = 0
        self.params: dict[str, NDArray] = {}

    def __call__(self, param: BatchEndParam) -> None:
        """Take the record of a batch."""
        weights = module_of(param).trained_params()
        self.num_update += 1
        decay = self.decay
        if self.warm_up:  # as in TensorFlow's ExponentialMovingAverage with num_updates
            decay = min(decay, (1 + self.num_update) / (10 + self.num_update))
        if not self.params:  # the average starts from the weights: from zero it would lag behind them
            self.params = {name: value.copy() for name, value in weights.items()}
            return
        # In place: whoever took the arrays of `params` sees the newest average.
        averages = [value.tensor for value in self.params.values()]
        with torch.no_grad():  # average + (1 - decay) * (weight - average), for all in one call
            foreach.lerp_(averages, [weights[name].tensor.detach() for name in self.params], 1 - decay)

    def state_dict(self) -> StateTree:
        """Return the average, for `load_state_dict`.

        >>> ExponentialMovingAverage().state_dict()
        {'num_update': 0, 'params': {}}
        """
        return {"num_update": self.num_update, "params": self.params}

    def load_state_dict(self, state: StateTree) -> None:
        """Continue from what `state_dict` returned.

        >>> import rebind as mx
        >>> average = ExponentialMovingAverage()
        >>> average.load_state_dict({"num_update": 100, "params": {"w": mx.nd.array([5])}})
        >>> average.num_update, average.params["w"].item()
        (100, 5.0)
        """
        saved = cast(AverageState, state)
        self.num_update, self.params = saved["num_update"], dict(saved["params"])
