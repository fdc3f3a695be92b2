"""What a module needs of an object that scales its losses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from .. import optimizer as opt
from ..ndarray import NDArray
from ..protocols import StateTree
from ..symbol import Symbol

__all__ = ["LossScaling"]


class LossScaling(Protocol):
    """What scales the losses of a run in float16; `contrib.amp.LossScaler` does."""

    @property
    def loss_scale(self) -> float:
        """The scale of the current gradients."""

    def scaled(self, symbol: Symbol, *, outputs: bool = True) -> Symbol:
        """Return a network with scaled gradients; without `outputs`, those that begin in it only."""

    def update(
        self,
        optimizers: Iterable[opt.Optimizer],
        gradients: Sequence[Sequence[NDArray]],
        apply: Callable[[], None],
        on_any_worker: Callable[[bool], bool] = bool,
    ) -> bool:
        """Call `apply`, which updates by the optimizers, if all gradients are finite; return whether they were.

        `on_any_worker` returns whether a condition holds on one of the workers: all update, or none.
        """

    def unscale(self, gradients: Sequence[Sequence[NDArray]]) -> None:
        """Divide gradients by the scale."""

    def has_overflow(
        self, params: Iterable[NDArray | Sequence[NDArray]], on_any_worker: Callable[[bool], bool] = bool
    ) -> bool:
        """Return whether gradients are not all finite, and change the scale accordingly."""

    def state_dict(self) -> StateTree:
        """Return the scale and the counts."""

    def load_state_dict(self, state: StateTree) -> None:
        """Continue from what `state_dict` returned."""
