"""The update as a pure function of tensors, which a compiler can take together with forward and backward.

What changes from one update to the next is an argument (`Rates`), what does not is in the `UpdatePart`.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol, TypeAlias, cast

import numpy
import torch
from torch import Tensor

from ..draws import derive
from ..ndarray import NDArray
from ..ndarray.sending import sent
from ..ops.update.lists import Limit
from .arrays import ArrayTree
from .group import LOW_PRECISION, Group, InnerState, clip_together

__all__ = ["Rates", "StateTree", "UpdatePart", "make_rates", "state_tensors", "write_state"]

#: The state of a weight, as an optimizer's `create_state_multi_precision` returns it, with tensors in it.
StateTree: TypeAlias = "Tensor | tuple[StateTree, ...] | None"


#: The settings that `Rates` holds, or that lead to what it holds.
_RATES = frozenset(("rescale_grad", "wd", "lr_scheduler", "begin_num_update", "param_dict"))


class Rates(NamedTuple):
    """What an update takes that is another one each time: tensors of float64, with an element for each weight.

    They are parts of one tensor, which is one copy to a device and one argument of compiled code.

    Attributes
    ----------
    numbers
        `rescale_grad`, then the others, one after the other.
    names
        Of what is in `more`.
    seed
        For an optimizer that draws: of int64, without axes. None elsewhere.

    Examples
    --------
    >>> rates = make_rates(
    ...     [0.5, 0.25], [0.0, 0.0], [1, 1], 2.0, [{"share": 0.1}, {"share": 0.2}], None, "cpu"
    ... )
    >>> rates.lr, rates.rescale_grad, rates.more["share"]  # doctest: +NORMALIZE_WHITESPACE
    (tensor([0.5000, 0.2500], dtype=torch.float64), tensor(2., dtype=torch.float64),
     tensor([0.1000, 0.2000], dtype=torch.float64))
    """

    numbers: Tensor
    names: tuple[str, ...]
    seed: Tensor | None

    def _column(self, position: int) -> Tensor:
        weights = (len(self.numbers) - 1) // (3 + len(self.names))
        return self.numbers[1 + position * weights : 1 + (position + 1) * weights]

    @property
    def rescale_grad(self) -> Tensor:
        """What gradients are multiplied by; without axes."""
        return self.numbers[0]

    @property
    def lr(self) -> Tensor:
        """Learning rates, multipliers included."""
        return self._column(0)

    @property
    def wd(self) -> Tensor:
        """Weight decays, multipliers included."""
        return self._column(1)

    @property
    def t(self) -> Tensor:
        """The number of this update of each weight, from 1."""
        return self._column(2)

    @property
    def more(self) -> dict[str, Tensor]:
        """What an optimizer has besides: the schedule of Nadam's momentum, for example."""
        return {name: self._column(3 + k) for k, name in enumerate(self.names)}


class Updating(Protocol):
    """What `UpdatePart` asks of an optimizer."""

    multi_precision: bool
    master_first: ClassVar[bool]
    clip_global_norm: float | None

    @property
    def clip_limit(self) -> Limit:
        """`clip_gradient` if it cuts, else None."""

    def update_traced(self, group: Group) -> None:
        """Update copies of weights and states in place, with rates that are tensors."""


@dataclass(frozen=True, eq=False)
class UpdatePart:
    """An update of some weights: a pure function, made by `Optimizer.update_part`.

    ``new_weights, new_states = part(weights, grads, states, rates)``. Nothing that is given is written; nothing is
    recorded; no tensor is read into Python. It is the optimizer's rule, in place, on copies, which a compiler takes
    away.

    Parameters
    ----------
    optimizer
        Its settings are constants of the function.
    index
        The indices of the weights.

    Examples
    --------
    >>> from rebind.optimizer import SGD
    >>> optimizer = SGD(learning_rate=0.5, momentum=0.9)
    >>> part = optimizer.update_part([0])
    >>> weights, states = [torch.ones(2)], [torch.zeros(2)]
    >>> new_weights, new_states = part(weights, [torch.ones(2)], states, optimizer.rates([0]))
    >>> new_weights, new_states, weights
    ([tensor([0.5000, 0.5000])], [tensor([-0.5000, -0.5000])], [tensor([1., 1.])])
    """

    optimizer: Updating
    index: tuple[Hashable, ...]

    @property
    def settings(self) -> tuple[object, ...]:
        """What the function depends on besides its arguments: the optimizer's settings, without its rates.

        >>> from rebind.optimizer import SGD
        >>> parts = [SGD(momentum=momentum).update_part([0]) for momentum in (0.5, 0.5, 0.9)]
        >>> parts[0].settings == parts[1].settings, parts[1].settings == parts[2].settings
        (True, False)
        """
        return _settings_of(type(self.optimizer))(self.optimizer)

    def __call__(
        self, weights: Sequence[Tensor], grads: Sequence[Tensor], states: Sequence[StateTree], rates: Rates
    ) -> tuple[list[Tensor], list[StateTree]]:
        """Return new weights and new states.

        Parameters
        ----------
        weights, grads
            A tensor for each index.
        states
            For each index what `Optimizer.step_state` returns: tensors in the tree in which the `Updater` has arrays.
        rates
            What `Optimizer.rates` returns.
        """
        with torch.no_grad():
            # A pure function: what it was given is not written to.
            new_weights = [weight.clone() for weight in weights]
            new_states = [_clone(state) for state in states]
            self._update(new_weights, list(grads), new_states, rates)
        return new_weights, new_states

    def _update(
        self, weights: list[Tensor], grads: list[Tensor], states: list[StateTree], rates: Rates
    ) -> None:
        """Update copies in place, those of low precision through their masters."""
        optimizer = self.optimizer
        # What the rules write to: the weights, or their masters.
        targets, inner = list(weights), []
        for k, state in enumerate(states):
            if optimizer.multi_precision and weights[k].dtype in LOW_PRECISION:
                pair = cast("tuple[StateTree, StateTree]", state)
                master, state = pair if optimizer.master_first else pair[::-1]
                targets[k] = cast(Tensor, master)
                grads[k] = grads[k].float()
            inner.append(_inner_state(state))
        grads = clip_together(grads, optimizer.clip_global_norm, rates.rescale_grad)
        # One group for each type and device; rates are lists here, so that they need not be equal within one.
        kinds: dict[tuple[torch.dtype, torch.device], list[int]] = {}
        for k, target in enumerate(targets):
            kinds.setdefault((target.dtype, target.device), []).append(k)
        whole = Group(
            self.index, targets, grads, inner,
            rates.lr.unbind(), rates.wd.unbind(), rates.t.unbind(), rates.rescale_grad, optimizer.clip_limit,
            {name: rate.unbind() for name, rate in rates.more.items()},
            () if rates.seed is None else [derive(rates.seed, k) for k in range(len(targets))],
        )  # fmt: skip
        for members in kinds.values():
            optimizer.update_traced(whole.subset(members))
        for weight, target in zip(weights, targets, strict=True):
            # A weight of low precision is rounded from its master.
            if target is not weight:
                weight.copy_(target)


@functools.lru_cache
def _settings_of(kind: type) -> Callable[[object], tuple[object, ...]]:
    """Return what reads the settings of a kind of optimizer that are no rates."""
    names = [each.name for each in dataclasses.fields(kind) if each.name not in _RATES]
    return operator.attrgetter(*names)


def make_rates(
    lr: Sequence[float],
    wd: Sequence[float],
    t: Sequence[int],
    rescale_grad: float,
    more: Sequence[Mapping[str, float]],
    seed: Tensor | None,
    device: torch.device | str,
    last: Rates | None = None,
) -> Rates:
    """Return numbers as tensors on a device, in one copy; `more` is given by weight.

    On the CPU they may be in the memory of the `last` ones, of the same weights, which nobody reads any more.

    >>> make_rates([0.5, 0.25], [0.0, 0.0], [1, 1], 1.0, [{}, {}], None, "cpu").lr
    tensor([0.5000, 0.2500], dtype=torch.float64)
    """
    names = tuple(more[0]) if more else ()
    flat = [rescale_grad, *lr, *wd, *t]
    if names:
        flat += [of_weight[name] for name in names for of_weight in more]
    if last is not None and last.numbers.is_cpu:
        last.numbers.numpy()[:] = flat
        return last if seed is None else last._replace(seed=seed)
    numbers = torch.from_numpy(numpy.array(flat, numpy.float64))
    return Rates(sent(numbers, torch.device(device)), names, seed)


def state_tensors(state: ArrayTree) -> StateTree:
    """Return a state with the tensors of its arrays.

    >>> state_tensors((NDArray(torch.ones(1)), None))
    (tensor([1.]), None)
    """
    if isinstance(state, NDArray):
        return state.tensor
    return None if state is None else tuple(state_tensors(each) for each in state)


def write_state(state: ArrayTree, new: StateTree) -> None:
    """Write new tensors into the arrays of a state.

    >>> state = (NDArray(torch.ones(1)), None)
    >>> write_state(state, (torch.zeros(1), None))
    >>> state[0].tensor
    tensor([0.])
    """
    if isinstance(state, NDArray):
        state.write_unrecorded(cast(Tensor, new))
    elif state is not None:
        for each, value in zip(state, cast("tuple[StateTree, ...]", new), strict=True):
            write_state(each, value)


def _clone(state: StateTree) -> StateTree:
    if isinstance(state, Tensor):
        return state.clone()
    return None if state is None else tuple(_clone(each) for each in state)


def _inner_state(state: StateTree) -> InnerState | None:
    """Return the tensors of a state without master as the rules take them."""
    return (state,) if isinstance(state, Tensor) else cast("InnerState | None", state)
