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
        """The scale of the current gradients.

        >>> from rebind.contrib.amp import LossScaler
        >>> LossScaler().loss_scale
        65536.0
        """

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

        >>> import rebind as mx
        >>> scaler = mx.contrib.amp.LossScaler()
        >>> scaler.update([], [[mx.nd.array([float("inf")])]], apply=lambda: print("never called"))
        False
        """

    def unscale(self, gradients: Sequence[Sequence[NDArray]]) -> None:
        """Divide gradients by the scale.

        >>> import rebind as mx
        >>> scaler, gradient = mx.contrib.amp.LossScaler(), mx.nd.array([65536])
        >>> scaler.unscale([[gradient]])
        >>> gradient.item()
        1.0
        """

    def has_overflow(
        self, params: Iterable[NDArray | Sequence[NDArray]], on_any_worker: Callable[[bool], bool] = bool
    ) -> bool:
        """Return whether gradients are not all finite, and change the scale accordingly.

        >>> import rebind as mx
        >>> scaler = mx.contrib.amp.LossScaler()
        >>> scaler.has_overflow([mx.nd.array([float("inf")])]), scaler.loss_scale
        (True, 32768.0)
        """

    def state_dict(self) -> StateTree:
        """Return the scale and the counts."""

    def load_state_dict(self, state: StateTree) -> None:
        """Continue from what `state_dict` returned."""
