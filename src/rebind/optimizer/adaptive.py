"""Optimizers with a rate for each element from the gradients so far: AdaGrad, AdaDelta, RMSProp."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import InitVar, dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from ..errors import ParameterError
from ..ndarray import NDArray
from ..ops import update as rules
from .algorithm import UpdateScope
from .arrays import StoredState
from .base import Group, Optimizer, optimizers
from .schedule import Names, Variables

__all__ = ["AdaDelta", "AdaGrad", "GroupAdaGrad", "RMSProp"]


class History(NamedTuple):
    """Sum of the squares of a gradient."""

    history: Tensor


@optimizers.register("adagrad")
@dataclass(kw_only=True, eq=False, repr=False)
class AdaGrad(Optimizer[History]):
    """Steps that shrink with the gradients so far (Duchi, Hazan and Singer, 2011).

    ``history += grad ** 2``, ``weight -= lr * (grad / sqrt(history + eps) + wd * weight)``. torch.optim.Adagrad
    adds its epsilon to the root, and takes weight decay in the gradient. Of a row_sparse gradient only its rows are
    updated, and decay (MXNet refuses decay there).

    Parameters
    ----------
    eps
        Added below the root. The attribute is `float_stable_eps`.

    Examples
    --------
    >>> AdaGrad(eps=1e-6).float_stable_eps
    1e-06
    """

    update_scope: ClassVar[UpdateScope] = "element"
    lazy_update: ClassVar[bool] = True

    eps: InitVar[float] = 1e-7

    state_type: ClassVar[type[tuple] | None] = History

    def __post_init__(
        self, param_idx2name: Names, learning_rate: float | None, sym: Variables | None, eps: float
    ) -> None:
        super().__post_init__(param_idx2name, learning_rate, sym)
        # The argument's and the attribute's names are MXNet's; files have the second.
        self.float_stable_eps = eps

    def update_group(self, group: Group) -> None:
        """Update weights and histories in place.

        >>> group = Group(
        ...     [0], [torch.ones(1)], [torch.tensor([4.0])], [(torch.zeros(1),)], lr=0.5, wd=0.0, t=1
        ... )
        >>> AdaGrad().update_group(group)
        >>> group.weights, group.states
        ([tensor([0.5000])], [(tensor([16.]),)])
        """
        rules.adagrad(*group.arrays, **group.settings, epsilon=self.float_stable_eps)


@optimizers.register("groupadagrad")
@dataclass(kw_only=True, eq=False, repr=False)
class GroupAdaGrad(AdaGrad):
    """AdaGrad with one rate for each row, for embeddings; there is no weight decay.

    ``history += mean(grad ** 2)`` over each row, ``weight -= lr * grad / sqrt(history + eps)``. A row is what has one
    index on the first axis; MXNet takes two axes only. PyTorch has no such optimizer.

    Parameters
    ----------
    eps
        Added below the root. The attribute is `float_stable_eps`.

    Examples
    --------
    >>> GroupAdaGrad(learning_rate=0.1).float_stable_eps
    1e-05
    """

    eps: InitVar[float] = 1e-5

    def init_state(self, weight: Tensor) -> History:
        """Return zeros, one for each row.

        >>> GroupAdaGrad().init_state(torch.ones(3, 4)).history.shape
        torch.Size([3, 1])
        """
        return History(weight.new_zeros(weight.shape[:1] + (1,) * (weight.ndim - 1)))

    def update_group(self, group: Group) -> None:
        """Update weights and histories in place.

        >>> group = Group(
        ...     [0],
        ...     [torch.ones(2, 2)],
        ...     [torch.tensor([[3.0, 3.0], [0.0, 0.0]])],
        ...     [(torch.zeros(2, 1),)],
        ...     0.5,
        ...     0.0,
        ...     1,
        ... )
        >>> GroupAdaGrad().update_group(group)
        >>> group.weights
        [tensor([[0.5000, 0.5000],
                [1.0000, 1.0000]])]
        """
        rules.group_adagrad(
            *group.arrays,
            lr=group.lr,
            rescale_grad=group.rescale_grad,
            clip_gradient=group.clip_gradient,
            epsilon=self.float_stable_eps,
        )

    def next_rates(self, index: Sequence[Hashable]) -> tuple[list[float], list[float]]:
        """Return learning rates, and zeros: there is no weight decay."""
        lrs, decays = super().next_rates(index)
        if any(decays):
            names = [self.idx2name.get(i, i) for i, wd in zip(index, decays, strict=True) if wd]
            raise ParameterError(
                f"GroupAdaGrad: wd must be 0, as it has no weight decay; got {max(decays)} for {names}. "
                "Set wd=0, or their wd_mult to 0."
            )
        return lrs, decays


class Deltas(NamedTuple):
    """Running means of the squares of a gradient and of its deltas."""

    squares: Tensor
    deltas: Tensor


@optimizers.register("adadelta")
@dataclass(kw_only=True, eq=False, repr=False)
class AdaDelta(Optimizer[Deltas]):
    """Steps as large as the last ones were, for the size of the gradient (Zeiler, 2012).

    ``n = rho * n + (1 - rho) * grad ** 2``, ``delta = sqrt(d + epsilon) / sqrt(n + epsilon) * grad``, ``d = rho *
    d + (1 - rho) * delta ** 2``, ``weight -= delta + wd * weight``.

    As in MXNet `learning_rate` and `lr_mult` count for nothing, weight decay neither (torch.optim.Adadelta multiplies
    by a rate, and takes weight decay in the gradient).

    Parameters
    ----------
    rho
        The fraction of the running means that remains at an update.
    epsilon
        Added below both roots.

    Examples
    --------
    >>> AdaDelta().rho
    0.9
    """

    update_scope: ClassVar[UpdateScope] = "element"
    asked: ClassVar[tuple[str, ...]] = ("_get_wd", "_update_count")

    rho: float = 0.9
    epsilon: float = 1e-5

    state_type: ClassVar[type[tuple] | None] = Deltas

    def update_group(self, group: Group) -> None:
        """Update weights and states in place.

        >>> group = Group(
        ...     [0], [torch.ones(1)], [torch.ones(1)], [(torch.zeros(1), torch.zeros(1))], lr=0.5, wd=0.0, t=1
        ... )
        >>> AdaDelta(rho=0.5, epsilon=0.5).update_group(group)
        >>> group.states
        [(tensor([0.5000]), tensor([0.2500]))]
        """
        rules.adadelta(
            *group.arrays,
            wd=group.wd,
            rescale_grad=group.rescale_grad,
            clip_gradient=group.clip_gradient,
            rho=self.rho,
            epsilon=self.epsilon,
        )


class Squares(NamedTuple):
    """Running means of the square of a gradient and of the gradient, and the last move; the first alone if plain."""

    squares: Tensor
    means: Tensor
    deltas: Tensor


@optimizers.register("rmsprop")
@dataclass(kw_only=True, eq=False, repr=False)
class RMSProp(Optimizer[Squares]):
    """Steps by the size of recent gradients, in two forms.

    With ``g = clip(grad + wd * weight)`` and ``n = gamma1 * n + (1 - gamma1) * g ** 2``: plain (Tieleman and
    Hinton, 2012) ``weight -= lr * g / sqrt(n + epsilon)``; centered (Graves, 2013) ``m = gamma1 * m + (1 -
    gamma1) * g``, ``delta = gamma2 * delta - lr * g / sqrt(n - m ** 2 + epsilon)``, ``weight += delta``.
    torch.optim.RMSprop adds its epsilon to the root, and has a momentum in both forms.

    Parameters
    ----------
    gamma1
        The fraction of the running means that remains at an update.
    gamma2
        The fraction of the last step that is added to the next; for the centered form.
    epsilon
        Added below the root.
    centered
        Whether it is the second form.
    clip_weights
        Each element of a new weight is cut to this size; None cuts nothing.

    Examples
    --------
    >>> RMSProp(centered=True).gamma2
    0.9
    """

    update_scope: ClassVar[UpdateScope] = "element"

    gamma1: float = 0.9
    gamma2: float = 0.9
    epsilon: float = 1e-8
    centered: bool = False
    clip_weights: float | None = None

    default_learning_rate: ClassVar[float | None] = 0.001
    state_type: ClassVar[type[tuple] | None] = Squares

    def create_state(self, index: Hashable, weight: NDArray) -> StoredState:
        """Return the state as arrays: three; of the plain form a tuple of one.

        >>> weight = NDArray(torch.ones(2))
        >>> len(RMSProp().create_state(0, weight)), len(RMSProp(centered=True).create_state(0, weight))
        (1, 3)
        """
        if self.centered:
            return super().create_state(index, weight)
        # A tuple also of one: so it is in MXNet's files.
        return (NDArray(torch.zeros_like(weight.tensor), weight.context),)

    def update_group(self, group: Group) -> None:
        """Update weights and states in place.

        >>> group = Group(
        ...     [0], [torch.ones(1)], [torch.tensor([4.0])], [(torch.zeros(1),)], lr=0.5, wd=0.0, t=1
        ... )
        >>> RMSProp(gamma1=0.75).update_group(group)
        >>> group.weights, group.states
        ([tensor([0.])], [(tensor([4.]),)])
        """
        rule: Callable[..., None] = rules.rmsprop
        if self.centered:
            rule = functools.partial(rules.rmsprop_centered, gamma2=self.gamma2)
        rule(
            *group.arrays,
            **group.settings,
            gamma1=self.gamma1,
            epsilon=self.epsilon,
            clip_weights=self.clip_weights or None,  # 0 cuts nothing, as in MXNet
        )
