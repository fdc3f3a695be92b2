"""The arrays of a bound network on its devices, as `Parameters` and updates take them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from ..ndarray import NDArray
from ..protocols import ArrayDict

__all__ = ["DeviceArrays", "Trained", "copy_across"]


class DeviceArrays(Protocol):
    """The arrays of a bound network: for each parameter and each auxiliary state a list with each device's array."""

    @property
    def param_arrays(self) -> Sequence[Sequence[NDArray]]:
        """The parameters."""

    @property
    def aux_arrays(self) -> Sequence[Sequence[NDArray]]:
        """The auxiliary states."""

    @property
    def grad_arrays(self) -> Sequence[Sequence[NDArray | None]] | None:
        """The gradients of the parameters, None for those that have none; None when not bound for training."""

    def set_params(
        self,
        arg_params: Mapping[str, NDArray],
        aux_params: Mapping[str, NDArray] | None,
        allow_extra: bool = False,
    ) -> None:
        """Copy values to all devices."""

    def get_params(self, arg_params: ArrayDict, aux_params: ArrayDict) -> None:
        """Write the means over the devices into the dicts, as new arrays on the CPU."""

    def unify_auxiliary(self) -> None:
        """Give all devices the mean of their auxiliary states."""


class Trained(NamedTuple):
    """A parameter that has gradients: its arrays, and its gradients, on each device.

    >>> from rebind import nd
    >>> Trained("w", weights=[nd.ones((1,))], gradients=[nd.zeros((1,))]).name
    'w'
    """

    name: str
    weights: Sequence[NDArray]
    gradients: Sequence[NDArray]


def copy_across(sources: Iterable[NDArray], targets: Iterable[NDArray]) -> None:
    """Copy each source into its target."""
    for source, target in zip(sources, targets, strict=True):
        source.copyto(target)
