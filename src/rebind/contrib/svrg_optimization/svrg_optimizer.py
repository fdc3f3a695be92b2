"""The optimizer of a store with weights, which it updates, and full gradients, which it only stores."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from ... import optimizer as opt
from ...errors import ArgumentError, ParameterError
from ...ndarray import NDArray
from ...optimizer.arrays import StoredState

__all__: list[str] = []  # both are helpers of SVRGModule; MXNet's names for them begin with an underscore

FULL = "_full"

#: What `update` takes for each of its arguments: one, or a list with one for each weight.
ArrayOrList: TypeAlias = "NDArray | Sequence[NDArray]"
StateOrList: TypeAlias = "StoredState | Sequence[StoredState]"


@dataclass(kw_only=True, eq=False, repr=False)
class _AssignmentOptimizer(opt.Optimizer):
    """Replaces the stored value by the one that is pushed."""

    def update(self, index: Hashable, weight: NDArray, grad: NDArray, state: StoredState) -> None:
        """Assign the gradient, in its storage type and with its rows alone."""
        grad.copyto(weight)

    def update_multi_precision(
        self, index: Hashable, weight: NDArray, grad: NDArray, state: StoredState
    ) -> None:
        """Assign the gradient: no sum of small steps is lost."""
        self.update(index, weight, grad, state)


class _SVRGOptimizer(opt.Optimizer):
    """An optimizer that leaves full gradients alone: they are assigned, everything else goes to `default_opt`.

    It has the settings, counts and multipliers of `default_opt`; a change of one is a change of the other.

    Parameters
    ----------
    default_optimizer
        What updates the weights: a name, with its settings in `kwargs`, or an optimizer.
    accumulators
        The keys of the full gradients. By default, the names in `param_idx2name` that are another name followed by
        ``_full``. (MXNet takes every name that has ``full`` in it, such as ``fullyconnected0_weight``.)
    **kwargs
        The settings of `default_optimizer`.

    Examples
    --------
    >>> from rebind import kvstore, nd
    >>> store = kvstore.create("local")
    >>> names = {0: "weight", 1: "weight_full"}
    >>> store.set_optimizer(_SVRGOptimizer("sgd", param_idx2name=names, learning_rate=1.0))
    >>> store.init([0, 1], [nd.array([5.0]), nd.array([5.0])])
    >>> store.push([0, 1], [nd.array([2.0]), nd.array([2.0])])
    >>> weight, full = nd.zeros((1,)), nd.zeros((1,))
    >>> store.pull([0, 1], out=[weight, full])
    >>> weight.item(), full.item()
    (3.0, 2.0)
    """

    # In slots, since the __dict__ is that of `default_opt`: these three must not appear among its settings.
    __slots__ = ("accumulators", "aux_opt", "default_opt")

    def __init__(
        self,
        default_optimizer: str | opt.Optimizer,
        accumulators: Collection[Hashable] | None = None,
        **kwargs: object,
    ) -> None:
        made = default_optimizer
        if isinstance(made, str):
            made = opt.create(made, **kwargs)
        elif not isinstance(made, opt.Optimizer):
            raise ArgumentError(
                f"_SVRGOptimizer: default_optimizer must be a name or an Optimizer; got {made!r}"
            )
        elif kwargs:
            raise ParameterError(
                f"_SVRGOptimizer: settings are for an optimizer's name; got {made!r} and {sorted(kwargs)}"
            )
        # Settings, counts and rates are those of `default_opt`, read or set on either.
        self.__dict__ = vars(made)
        self.default_opt: opt.Optimizer = made
        self.aux_opt = _AssignmentOptimizer()
        self.accumulators = frozenset(_full_names(self.idx2name) if accumulators is None else accumulators)

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor, so that a copy shares the __dict__ with its own `default_opt`.
        return _SVRGOptimizer, (self.default_opt, self.accumulators)

    def __repr__(self) -> str:
        return f"_SVRGOptimizer({self.default_opt!r})"

    @property
    def takes_all(self) -> bool:
        """Whether one call takes all weights; here always."""
        return True

    def create_state(self, index: Hashable, weight: NDArray) -> StoredState:
        """Return the state of a weight; a full gradient has none."""
        return self._optimizer_of(index).create_state(index, weight)

    def create_state_multi_precision(self, index: Hashable, weight: NDArray) -> StoredState:
        """Return the state of a weight, with its master copy where it has one."""
        if self._optimizer_of(index) is self.aux_opt:
            return None
        return self.default_opt.create_state_multi_precision(index, weight)

    def update(
        self,
        index: Hashable | Sequence[Hashable],
        weight: ArrayOrList,
        grad: ArrayOrList,
        state: StateOrList,
    ) -> None:
        """Update weights, and assign full gradients; one or several, given as lists."""
        self._pass_on("update", index, weight, grad, state)

    def update_multi_precision(
        self,
        index: Hashable | Sequence[Hashable],
        weight: ArrayOrList,
        grad: ArrayOrList,
        state: StateOrList,
    ) -> None:
        """Update weights, those of low precision through their master copies, and assign full gradients."""
        self._pass_on("update_multi_precision", index, weight, grad, state)

    def _optimizer_of(self, index: Hashable) -> opt.Optimizer:
        # By key in a store, by index on the devices.
        full = index in self.accumulators or self.idx2name.get(index) in self.accumulators
        return self.aux_opt if full else self.default_opt

    def _pass_on(
        self,
        method: Literal["update", "update_multi_precision"],
        index: Hashable | Sequence[Hashable],
        *arrays: ArrayOrList | StateOrList,
    ) -> None:
        """Call a method of the optimizers that own these indices."""
        if isinstance(index, (list, tuple)):
            indices, columns = index, cast("tuple[Sequence[object], ...]", arrays)
        else:
            indices, columns = [index], tuple([each] for each in arrays)
        # Two calls at most, so that each optimizer can update its weights together.
        owners = [self._optimizer_of(i) for i in indices]
        for optimizer in (self.default_opt, self.aux_opt):
            own = [k for k, owner in enumerate(owners) if owner is optimizer]
            own_arrays = [[each[k] for k in own] for each in (indices, *columns)]
            if own and optimizer.takes_lists:
                getattr(optimizer, method)(*own_arrays)
            elif own:
                for each in zip(*own_arrays, strict=True):
                    getattr(optimizer, method)(*each)


def full_keys(names: Sequence[str]) -> dict[str, str]:
    """Return the key of each parameter's full gradient: ``<name>_full``, longer where that is taken.

    >>> full_keys(["w", "b"]), full_keys(["w", "w_full"])
    ({'w': 'w_full', 'b': 'b_full'}, {'w': 'w_full_full', 'w_full': 'w_full_full_full'})
    """
    keys: dict[str, str] = {}
    taken = set(names)
    for name in names:
        key = name + FULL
        while key in taken:
            key += FULL
        taken.add(key)
        keys[name] = key
    return keys


def _full_names(idx2name: Mapping[Hashable, str]) -> set[str]:
    names = set(idx2name.values())
    return {name for name in names if name.endswith(FULL) and name.removesuffix(FULL) in names}
