"""Adam and its family."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, cast

from torch import Tensor

from ..ops import update as rules
from ..ops.update import lists
from ..ops.update.lists import Number, Rate
from .algorithm import UpdateScope
from .base import Group, Optimizer, optimizers
from .schedule import Names, Variables

__all__ = ["Adam", "AdamW", "Adamax", "Nadam"]


class Moments(NamedTuple):
    """Running means of a gradient and of its square."""

    mean: Tensor
    var: Tensor


@dataclass(kw_only=True, eq=False, repr=False)
class WithMoments(Optimizer[Moments]):
    """Base of optimizers with running means of the gradient and of its square."""

    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8

    default_learning_rate: ClassVar[float | None] = 0.001
    state_type: ClassVar[type[tuple] | None] = Moments


@optimizers.register("adam")
@dataclass(kw_only=True, eq=False, repr=False)
class Adam(WithMoments):
    """Adam (Kingma and Ba, 2015) with weight decay in the gradient.

    The correction of the moments' bias is folded into the learning rate, so `epsilon` is added to the root of the
    uncorrected second moment (the paper's second form; torch.optim.Adam has the first). `clip_gradient` acts on
    the gradient with weight decay in it.

    Parameters
    ----------
    beta1, beta2
        The fraction of the running means that remains at an update.
    epsilon
        Added to the denominator.
    lazy_update
        For sparse gradients: whether only their rows are updated. Dense ones are always updated whole.

    Examples
    --------
    >>> Adam().learning_rate
    0.001
    """

    update_scope: ClassVar[UpdateScope] = "element"

    lazy_update: bool = True

    def corrected_rate(self, lr: Number, t: Number) -> Number:
        """Return the learning rate with the correction of the moments' bias in it.

        >>> round(Adam(learning_rate=0.1).corrected_rate(0.1, 1), 6)
        0.031623
        """
        # Kingma and Ba, end of section 2: both corrections in the rate, none on the moments.
        return lr * lists.root(1 - self.beta2**t) / (1 - self.beta1**t)

    def update_group(self, group: Group) -> None:
        """Update weights and moments in place; on the CPU in one pass, and one more to rescale the gradients.

        >>> import torch
        >>> group = Group(
        ...     [0], [torch.ones(1)], [torch.ones(1)], [(torch.zeros(1), torch.zeros(1))], lr=0.5, wd=0.0, t=1
        ... )
        >>> Adam().update_group(group)
        >>> group.weights
        [tensor([0.5000])]
        """
        rate = lists.each(self.corrected_rate, group.lr, group.t)
        rules.adam(
            *group.arrays,
            **(group.settings | {"lr": rate}),
            beta1=self.beta1,
            beta2=self.beta2,
            epsilon=self.epsilon,
        )


@optimizers.register("adamw")
@dataclass(kw_only=True, eq=False, repr=False)
class AdamW(WithMoments):
    """Adam whose weight decay is not in the gradient (Loshchilov and Hutter, 2019); MXNet 1.9.1 has none.

    ``weight = (1 - lr * wd) * weight - lr * m / (sqrt(v) + epsilon)``, with the running means ``m`` of the gradient and
    ``v`` of its square, both corrected for their start at 0: what torch.optim.AdamW computes. As for all optimizers,
    decay acts on names that end in ``_weight`` or ``_gamma`` unless a multiplier says otherwise.

    Parameters
    ----------
    beta1, beta2
        The fraction of the running means that remains at an update.
    epsilon
        Added to the denominator.
    correct_bias
        Whether the running means are corrected for their start at 0.

    Examples
    --------
    >>> AdamW(wd=0.01).learning_rate
    0.001
    """

    update_scope: ClassVar[UpdateScope] = "element"

    correct_bias: bool = True

    def update_group(self, group: Group) -> None:
        """Update weights and moments in place.

        >>> import torch
        >>> group = Group(
        ...     [0],
        ...     [torch.ones(1)],
        ...     [torch.zeros(1)],
        ...     [(torch.zeros(1), torch.zeros(1))],
        ...     lr=0.5,
        ...     wd=0.5,
        ...     t=1,
        ... )
        >>> AdamW().update_group(group)
        >>> group.weights
        [tensor([0.7500])]
        """
        settings, epsilon = group.settings, cast(Rate, self.epsilon)
        # The rule, MXNet's operator, does not multiply the decay by the rate; this optimizer does.
        settings["wd"] = lists.each(lambda lr, wd: lr * wd, group.lr, group.wd)
        if self.correct_bias:
            # With the corrections in rate and epsilon, the moments need not be copied for them.
            scale = lists.each(lambda t: lists.root(1 - self.beta2**t), group.t)
            settings["lr"] = lists.each(
                lambda lr, scale, t: lr * scale / (1 - self.beta1**t), group.lr, scale, group.t
            )
            epsilon = lists.each(lambda scale: self.epsilon * scale, scale)
        rules.adamw(*group.arrays, **settings, eta=1.0, beta1=self.beta1, beta2=self.beta2, epsilon=epsilon)


class Largest(NamedTuple):
    """Running mean of a gradient, and the largest of its sizes, which fades."""

    mean: Tensor
    largest: Tensor


@optimizers.register("adamax")
@dataclass(kw_only=True, eq=False, repr=False)
class Adamax(Optimizer[Largest]):
    """Adam with the infinity norm in place of the second moment (Kingma and Ba, 2015, section 7).

    With ``g = clip(grad + wd * weight)``: ``m = beta1 * m + (1 - beta1) * g``, ``u = max(beta2 * u, |g|)``,
    ``weight -= lr / (1 - beta1 ** t) * m / u``. An element that had no gradient yet does not change (MXNet
    divides 0 by 0; torch.optim.Adamax adds an epsilon).

    Parameters
    ----------
    beta1, beta2
        The fraction of the mean and of the largest that remains at an update.

    Examples
    --------
    >>> Adamax().learning_rate
    0.002
    """

    update_scope: ClassVar[UpdateScope] = "element"

    beta1: float = 0.9
    beta2: float = 0.999

    default_learning_rate: ClassVar[float | None] = 0.002
    state_type: ClassVar[type[tuple] | None] = Largest

    def update_group(self, group: Group) -> None:
        """Update weights, means and largest sizes in place.

        >>> import torch
        >>> group = Group(
        ...     [0], [torch.ones(1)], [torch.ones(1)], [(torch.zeros(1), torch.zeros(1))], lr=0.5, wd=0.0, t=1
        ... )
        >>> Adamax().update_group(group)
        >>> group.weights
        [tensor([0.5000])]
        """
        rate = lists.each(lambda lr, t: lr / (1 - self.beta1**t), group.lr, group.t)
        rules.adamax(*group.arrays, **(group.settings | {"lr": rate}), beta1=self.beta1, beta2=self.beta2)


@optimizers.register("nadam")
@dataclass(kw_only=True, eq=False, repr=False)
class Nadam(WithMoments):
    """Adam with Nesterov's look ahead, and a share of the mean that grows (Dozat, 2016).

    At update ``i`` the share is ``mu(i) = beta1 * (1 - 0.5 * 0.96 ** (i * schedule_decay))``. With ``g =
    clip(grad + wd * weight)``, running means ``m`` and ``v`` as in `Adam`, and ``p(t)`` the product of ``mu(1)``
    to ``mu(t)``: ``weight -= lr * ((1 - mu(t)) / (1 - p(t)) * g + mu(t + 1) / (1 - p(t + 1)) * m) / (sqrt(v / (1
    - beta2 ** t)) + epsilon)``.

    torch.optim.NAdam is the same with a `momentum_decay` of 0.004. MXNet 1.9.1 multiplies the product again for each
    weight, so that what one weight does depends on how many others there are.

    Parameters
    ----------
    beta1, beta2
        The fraction of the running means that remains at an update.
    epsilon
        Added to the denominator.
    schedule_decay
        How quickly the share grows.

    Examples
    --------
    >>> Nadam().schedule_decay
    0.004
    """

    # The schedule of its momentum is one product over all updates, of whatever weight.
    update_scope: ClassVar[UpdateScope] = "optimizer"

    schedule_decay: float = 0.004

    def __post_init__(
        self, param_idx2name: Names, learning_rate: float | None, sym: Variables | None
    ) -> None:
        super().__post_init__(param_idx2name, learning_rate, sym)
        #: The product of the shares up to the last update.
        self.m_schedule = 1.0
        self._progress = (0, 1.0)  # an update, and the product up to it; MXNet's m_schedule alone is no guide

    def share(self, t: int) -> float:
        """Return how much of the mean counts at an update.

        >>> round(Nadam().share(1), 4), round(Nadam().share(10_000), 4)
        (0.4501, 0.8121)
        """
        # Dozat's schedule: from half of beta1 up to beta1.
        return self.beta1 * (1 - 0.5 * 0.96 ** (t * self.schedule_decay))

    def product(self, t: int) -> float:
        """Return the product of the shares up to an update.

        >>> made = Nadam()
        >>> made.product(2) == made.share(1) * made.share(2)
        True
        """
        # Weights ask for the same or the next update, as a rule; an earlier one starts from the first.
        done, product = self._progress if self._progress[0] <= t else (0, 1.0)
        for i in range(done + 1, t + 1):
            product *= self.share(i)
            if product < 1e-30:  # 1 less it is 1, and stays so
                break
        self._progress = (t, product)
        self.m_schedule = product
        return product

    def update_group(self, group: Group) -> None:
        """Update weights and moments in place.

        >>> from rebind import nd
        >>> optimizer, weight = Nadam(learning_rate=0.5), nd.ones((1,))
        >>> optimizer.update(0, weight, nd.ones((1,)), optimizer.create_state(0, weight))
        >>> weight.asnumpy().round(3).tolist()
        [0.472...]
        """
        rules.nadam(
            *group.arrays,
            **group.settings,
            share=group.more["share"],
            next_share=group.more["next_share"],
            product=group.more["product"],
            t=group.t,
            beta1=self.beta1,
            beta2=self.beta2,
            epsilon=self.epsilon,
        )

    def more_rates(self, index: Hashable, t: int) -> dict[str, float]:
        """Return this and the next share of the mean, and the product of all up to this.

        >>> sorted(Nadam().more_rates(0, t=1))
        ['next_share', 'product', 'share']
        """
        return {"share": self.share(t), "next_share": self.share(t + 1), "product": self.product(t)}
