"""What an optimizer computes, on tensors: the state of a weight, and the update of a group of weights."""

from __future__ import annotations

import operator
from collections.abc import Hashable, Sequence
from itertools import repeat
from typing import Any, ClassVar, Generic, Literal, TypeAlias, cast

from torch import Tensor
from typing_extensions import TypeVar

from .. import huge_pages
from ..device import device_of
from ..draws import Source
from ..generators import generator
from ..ops.update import lists
from ..ops.update.lists import Number, Tensors
from .group import Group, InnerState
from .schedule import Schedule

__all__ = ["Algorithm", "State", "UpdateScope"]

State = TypeVar("State", bound=tuple, default=Any)  # a program's own optimizer need not name it
#: What an update must see at once.
UpdateScope: TypeAlias = Literal["element", "weight", "optimizer"]

#: What the weights of a group have in common, besides numbers.
_kind_of = operator.attrgetter("dtype", "device")


class Algorithm(Schedule, Generic[State]):
    """An algorithm with the rates of its weights, apart from arrays, master copies and files; see `Optimizer`."""

    #: The NamedTuple of the state's tensors.
    state_type: ClassVar[type[tuple] | None] = None
    #: Whether an update draws random numbers.
    draws: ClassVar[bool] = False
    #: What an update must see at once, where workers share the work: ``'element'``, when each element of a weight is
    #: updated by itself; ``'weight'``, when it depends on others of its weight, such as their norm; ``'optimizer'``,
    #: when updates of one weight change those of others. It counts for the class that declares it, not for subclasses.
    update_scope: ClassVar[UpdateScope] = "weight"

    def init_state(self, weight: Tensor) -> State | None:
        """Return the state of a weight that was not updated yet; zeros for each field of `state_type`.

        >>> import torch
        >>> from rebind.optimizer import SGD, Adam
        >>> Adam().init_state(torch.ones(2))
        Moments(mean=tensor([0., 0.]), var=tensor([0., 0.]))
        >>> SGD(momentum=0.0).init_state(torch.ones(2)) is None
        True
        """
        if self.state_type is None:
            return None
        return self.state_type(*(huge_pages.zeros_like(weight) for _ in self.state_type._fields))  # type: ignore  # a NamedTuple

    def step(
        self, weight: Tensor, grad: Tensor, state: State | None, *, lr: Number, wd: Number, t: Number
    ) -> tuple[Tensor, State | None]:
        """Return the weight and the state after an update; a pure function.

        Parameters
        ----------
        weight, grad
            The weight, and its gradient, rescaled and clipped.
        state
            What `init_state` or the last `step` returned.
        lr, wd
            Learning rate and weight decay, multipliers included: numbers or, in an `UpdatePart`, tensors without axes.
        t
            The number of this update of the weight, from 1; a number or a tensor.

        Examples
        --------
        >>> import torch
        >>> from rebind.optimizer import Optimizer
        >>> class Sign(Optimizer):
        ...     def step(self, weight, grad, state, *, lr, wd, t):
        ...         return weight - lr * grad.sign(), state
        >>> Sign().step(torch.ones(2), torch.tensor([3.0, -3.0]), None, lr=0.5, wd=0.0, t=1)
        (tensor([0.5000, 1.5000]), None)
        """
        raise NotImplementedError(
            f"{type(self).__name__} must define step() or update_group(), or create_state() and update()"
        )

    def update_group(self, group: Group) -> None:
        """Update weights and states in place; here with `step` on each of them.

        >>> import torch
        >>> from rebind.optimizer import SGD
        >>> group = Group([0], [torch.ones(1)], [torch.ones(1)], [None], lr=0.5, wd=0.0, t=1)
        >>> SGD().update_group(group)
        >>> group.weights
        [tensor([0.5000])]
        """
        ready, _ = lists.prepare(group.grads, group.rescale_grad, group.clip_gradient)
        for k, (weight, grad, old) in enumerate(zip(group.weights, ready, group.states, strict=True)):
            state = None if old is None else cast(State, self.state_type(*old))  # type: ignore  # it is a NamedTuple
            lr, wd, t = (lists.of_weight(rate, k) for rate in (group.lr, group.wd, group.t))
            new_weight, new_state = self.step(weight, grad, state, lr=lr, wd=wd, t=t)
            # In place: executors and other arrays refer to these very tensors.
            weight.copy_(new_weight)
            for target, value in zip(cast("tuple[Tensor, ...]", old or ()), new_state or (), strict=True):
                target.copy_(value)

    def more_rates(self, index: Hashable, t: int) -> dict[str, float]:
        """Return what changes from one update to the next besides learning rate, decay and count: `Group.more`.

        >>> from rebind.optimizer import LARS, SGD
        >>> SGD().more_rates(0, t=1), LARS(momentum=0.9).more_rates(0, t=1)
        ({}, {'momentum': 0.9})
        """
        return {}

    @property
    def clip_limit(self) -> float | None:
        """`clip_gradient` if it cuts, else None.

        >>> from rebind.optimizer import SGD
        >>> SGD(clip_gradient=2.0).clip_limit, SGD(clip_gradient=-1.0).clip_limit
        (2.0, None)
        """
        return self.clip_gradient if self.clip_gradient is not None and self.clip_gradient > 0 else None

    def sources(self, weights: Sequence[Tensor]) -> Sequence[Source | None]:
        """Return where the random numbers for each weight come from: the generator of its device."""
        return [generator(device_of(weight.device)) for weight in weights]

    def update_traced(self, group: Group) -> None:
        """Update copies of weights and states in place, with rates that are tensors: `update_group`."""
        self.update_group(group)

    def _apply(
        self,
        index: Sequence[Hashable],
        weights: Tensors,
        grads: Tensors,
        states: Sequence[InnerState | None],
        lrs: Sequence[float],
        wds: Sequence[float],
    ) -> None:
        """Put together what has one rate, decay, count, type and device, and update each group."""
        # Weights with one set of numbers are updated by single calls of torch for all of them.
        counts = [*map(self._index_update_count.get, index, repeat(0))]
        sources = self.sources(weights) if self.draws else []
        kinds = [*zip(lrs, wds, counts, map(_kind_of, weights), strict=True)]
        groups: dict[tuple[float, float, int, object], list[int]] = {}
        if kinds and kinds.count(kinds[0]) == len(kinds):  # the usual case, and it is asked at every update
            groups[kinds[0]] = [*range(len(kinds))]
        else:
            for k, kind in enumerate(kinds):
                groups.setdefault(kind, []).append(k)
        for (lr, wd, t, _), members in groups.items():
            whole = Group(
                index, weights, grads, states, lr, wd, t,
                self.rescale_grad, self.clip_limit, self.more_rates(index[members[0]], t), sources,
            )  # fmt: skip
            self.update_group(whole.subset(members))
