"""`Averaging`: how often the workers of a job average their weights, and what is made of the mean."""

from __future__ import annotations

from dataclasses import dataclass

from .. import config
from ..checks import COUNT, NUMBER, Kind, check_kind, or_none
from ..errors import ArgumentError, ParameterError
from ..optimizer import Optimizer, create

__all__ = ["Averaging", "read_averaging"]

#: The outer learning rate with momentum, unless it is given: DiLoCo's.
_RATE_WITH_MOMENTUM = 0.7

_FRACTION = Kind("a number in [0, 1)", lambda value: NUMBER.allows(value) and 0 <= value < 1, ParameterError)
_POSITIVE = Kind("a number > 0", lambda value: NUMBER.allows(value) and value > 0, ParameterError)


@dataclass(frozen=True, kw_only=True)
class Averaging:
    """How often workers average the weights that each updates by itself, and what is made of the mean.

    What the workers' weights differ from the last common ones, on average, is a gradient: the outer one, by which an
    outer optimizer updates the common weights. It is SGD with Nesterov's momentum, as in DiLoCo (Douillard and others,
    2023); without momentum and with a rate of 1 the common weights become the mean, which is local SGD (Stich, 2019).

    Parameters
    ----------
    update_every
        After how many updates of its own a worker averages with the others; 2 or more.
    outer_momentum, outer_learning_rate
        Of the outer optimizer.

    Examples
    --------
    >>> averaging = Averaging(update_every=8, outer_momentum=0.9, outer_learning_rate=0.7)
    >>> outer = averaging.outer_optimizer(num_workers=4)
    >>> type(outer).__name__, outer.lr, outer.momentum, outer.rescale_grad
    ('NAG', 0.7, 0.9, 0.25)
    """

    update_every: int
    outer_momentum: float = 0.0
    outer_learning_rate: float = 1.0

    def outer_optimizer(self, num_workers: int) -> Optimizer:
        """Return a new optimizer for the common weights, which is given sums over the workers."""
        rates = {"learning_rate": self.outer_learning_rate, "rescale_grad": 1 / num_workers}
        if self.outer_momentum:
            return create("nag", momentum=self.outer_momentum, **rates)
        return create("sgd", **rates)


def read_averaging(
    update_every: int | None, outer_momentum: float | None, outer_learning_rate: float | None
) -> Averaging | None:
    """Return how workers average, as `kvstore.create` is asked; None where each update is by the gradients of all.

    Parameters
    ----------
    update_every, outer_momentum, outer_learning_rate
        As for `create`. For None ``REBIND_UPDATE_EVERY`` and ``REBIND_OUTER_MOMENTUM`` count.

    Examples
    --------
    >>> read_averaging(8, 0.9, None)
    Averaging(update_every=8, outer_momentum=0.9, outer_learning_rate=0.7)
    >>> read_averaging(1, 0.9, None)
    Traceback (most recent call last):
    rebind.errors.ArgumentError: kvstore.create: outer_momentum is for update_every of 2 or more; got 0.9 with 1
    """
    who = "kvstore.create"
    check_kind(who, or_none(COUNT), update_every=update_every)
    check_kind(who, or_none(_FRACTION), outer_momentum=outer_momentum)
    check_kind(who, or_none(_POSITIVE), outer_learning_rate=outer_learning_rate)
    if update_every is None:
        update_every = config.get("REBIND_UPDATE_EVERY")
        check_kind("environment variable", COUNT, REBIND_UPDATE_EVERY=update_every)
    if update_every == 1:
        given = {"outer_momentum": outer_momentum, "outer_learning_rate": outer_learning_rate}
        for name, value in given.items():
            if value is not None:
                raise ArgumentError(f"{who}: {name} is for update_every of 2 or more; got {value} with 1")
        return None
    if outer_momentum is None:
        outer_momentum = config.get("REBIND_OUTER_MOMENTUM")
        check_kind("environment variable", _FRACTION, REBIND_OUTER_MOMENTUM=outer_momentum)
    if outer_learning_rate is None:
        outer_learning_rate = _RATE_WITH_MOMENTUM if outer_momentum else 1.0
    return Averaging(
        update_every=int(update_every),
        outer_momentum=float(outer_momentum),
        outer_learning_rate=float(outer_learning_rate),
    )
