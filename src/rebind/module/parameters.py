"""`Parameters`: the values of a network's parameters and auxiliary states, wherever they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypedDict

import torch

from ..device import Device
from ..dtypes import name as dtype_name
from ..errors import StateError
from ..executor import DataParallelExecutorGroup
from ..ndarray import NDArray, zeros
from ..protocols import ArrayDict
from .first_values import first_values, warn_prefixes
from .settings import InitialValues

__all__ = ["Parameters", "ParametersState", "Trained", "copy_across"]


class ParametersState(TypedDict):
    """What `Parameters.state_dict` returns."""

    args: dict[str, NDArray]
    aux: dict[str, list[NDArray]]


class Trained(NamedTuple):
    """A parameter that has gradients: its arrays, and its gradients, on each device.

    >>> from rebind import nd
    >>> Trained("w", weights=[nd.ones((1,))], gradients=[nd.zeros((1,))]).name
    'w'
    """

    name: str
    weights: Sequence[NDArray]
    gradients: Sequence[NDArray]


class Parameters:
    """The parameters and auxiliary states of one network.

    Before a bind, values wait on the CPU (`hold`); after it they are in the arrays of the devices, and nowhere else, so
    that nothing is ever out of date. What is returned is a copy, except where a docstring has it otherwise.

    Parameters
    ----------
    names, aux_names
        The parameters, and the auxiliary states.
    devices
        The devices that hold them.
    fixed
        Names of parameters that are not trained, and of auxiliary states that do not change.

    Examples
    --------
    >>> import rebind as mx
    >>> parameters = Parameters(["w"], [], [mx.cpu()])
    >>> parameters.hold({"w": mx.nd.ones((2,))}, {})
    >>> parameters.copies()[0]["w"].asnumpy().tolist()
    [1.0, 1.0]
    """

    def __init__(
        self,
        names: Iterable[str],
        aux_names: Iterable[str],
        devices: Iterable[Device],
        fixed: Iterable[str] = (),
    ) -> None:
        self.names, self.aux_names = list(names), list(aux_names)
        self.devices, self.fixed = list(devices), list(fixed)
        self._arrays: DataParallelExecutorGroup | None = None
        self._waiting: tuple[ArrayDict, ArrayDict] | None = None
        self._initialized = False
        #: The types of values that were held, as of a file: copies have them, whatever a network computes in.
        self.types: dict[str, torch.dtype] = {}

    # What there is.

    @property
    def initialized(self) -> bool:
        """Whether the parameters have values."""
        return self._initialized

    @initialized.setter
    def initialized(self, value: bool) -> None:
        if value and self._arrays is None and self._waiting is None:
            raise StateError(
                "Module.params_initialized: there must be parameters; call init_params() or set _arg_params"
            )
        self._initialized = bool(value)

    @property
    def has_values(self) -> bool:
        """Whether there are values to copy: in use, or waiting for a bind."""
        return self._initialized or self._waiting is not None

    @property
    def trained_names(self) -> list[str]:
        """The parameters that training changes."""
        return [name for name in self.names if name not in self.fixed]

    @property
    def frozen_statistics(self) -> set[str]:
        """The auxiliary states that do not change."""
        return {*self.fixed} & {*self.aux_names}

    def missing_from(self, owner: Parameters) -> list[str]:
        """Return the names that another owner lacks."""
        have = {*owner.names, *owner.aux_names}
        return [name for name in (*self.names, *self.aux_names) if name not in have]

    def _bound(self) -> DataParallelExecutorGroup:
        if self._arrays is None:
            raise StateError("Module: its parameters need bind() first")
        return self._arrays

    # Where the values are.

    def attach(self, arrays: DataParallelExecutorGroup, *, shared: Parameters | None = None) -> None:
        """Use the arrays of the devices from now on; existing values are copied into them.

        With `shared` the arrays are that owner's, and hold its values.
        """
        if shared is not None:
            self._initialized = True
            self.types = dict(shared.types)
        elif self._initialized:
            # A checkpoint of a larger network may have been held.
            arrays.set_params(*self._values(), allow_extra=True)
        self._arrays, self._waiting = arrays, None

    def __getstate__(self) -> dict[str, object]:
        # Without the devices' arrays, as after `detach`: a copy is bound again.
        waiting = self._values() if self._initialized else None
        return {**vars(self), "_waiting": waiting, "_arrays": None}

    def detach(self) -> None:
        """Drop the devices' arrays; the values wait for the next bind."""
        self._waiting = self._values() if self._initialized else None
        self._arrays = None

    def hold(
        self,
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        *,
        initialized: bool = True,
    ) -> None:
        """Store values, not copies, until the network is bound; if it is bound, copy them in.

        Whichever of the two is None stays as it is.
        """
        given = {**(arg_params or {}), **(aux_params or {})}
        self.types.update((name, value.storage.dtype) for name, value in given.items())
        if self._arrays is not None:
            self._arrays.set_params(arg_params or {}, aux_params or {}, allow_extra=True)
            return
        args, aux = self._waiting or ({}, {})  # a setter of old names gives one of the two at a time
        self._waiting = (
            args if arg_params is None else dict(arg_params),
            aux if aux_params is None else dict(aux_params),
        )
        self._initialized = self._initialized or initialized

    # In and out.

    def copies(self) -> tuple[ArrayDict, ArrayDict]:
        """Return copies of parameters and auxiliary states on the CPU; with several devices their means.

        They have the types of the file that they were loaded from, if they were, as in MXNet: a checkpoint of float16
        is saved as one. Types of whole numbers are left, which would drop what was learned.
        """
        args, aux = (
            {name: self._in_own_type(name, each) for name, each in arrays.items()}
            for arrays in self._values()
        )
        return args, aux

    def _in_own_type(self, name: str, value: NDArray) -> NDArray:
        wanted = self.types.get(name, value.storage.dtype)
        same = wanted == value.storage.dtype or not wanted.is_floating_point
        return value if same else value.astype(dtype_name(wanted))

    def _values(self) -> tuple[ArrayDict, ArrayDict]:
        """Return copies in the types that they are computed in."""
        if self._arrays is None:
            assert self._waiting is not None  # the caller checks has_values
            args, aux = ({name: each.copy() for name, each in arrays.items()} for arrays in self._waiting)
            return args, aux
        arg_params: ArrayDict = {}
        aux_params: ArrayDict = {}
        self._arrays.get_params(arg_params, aux_params)
        return arg_params, aux_params

    def assign(
        self,
        arg_params: Mapping[str, NDArray] | None,
        aux_params: Mapping[str, NDArray] | None,
        *,
        allow_extra: bool,
    ) -> None:
        """Copy values in by name; what is not given stays. An unknown name is an error unless `allow_extra`."""
        warn_prefixes([*self.names, *self.aux_names], {**(arg_params or {}), **(aux_params or {})})
        self._bound().set_params(arg_params or {}, aux_params, allow_extra=allow_extra)
        self._initialized = True

    def initialize(self, values: InitialValues, attributes: Mapping[str, Mapping[str, str]]) -> None:
        """Give all their first values.

        Parameters
        ----------
        values
            Where they come from.
        attributes
            The attributes of the network's variables, which may name an initializer of their own.

        Raises
        ------
        ParameterError
            When a value is missing, without `allow_missing`; nothing has changed then.
        """
        # All values are found before the first is set: an error leaves the parameters as they were.
        arrays = self._bound()
        warn_prefixes(
            [*self.names, *self.aux_names], {**(values.arg_params or {}), **(values.aux_params or {})}
        )
        first = partial(
            first_values,
            values=values,
            attributes=attributes,
            known={*self.names, *self.aux_names},
            keep=self._initialized,
        )
        args = first(self.names, arrays.param_arrays, values.arg_params)
        aux = first(self.aux_names, arrays.aux_arrays, values.aux_params)
        arrays.set_params(args, aux, allow_extra=True)
        self._initialized = True

    def on_first_device(self) -> ArrayDict:
        """Return the trained parameters as they are on the first device; not copies."""
        return {
            name: arrays[0]
            for name, arrays in zip(self.names, self._bound().param_arrays, strict=True)
            if name not in self.fixed
        }

    def by_device(self) -> dict[str, Sequence[NDArray]]:
        """Return the arrays of each parameter, one for each device; not copies."""
        return dict(zip(self.names, self._bound().param_arrays, strict=True))

    def unify_devices(self) -> None:
        """Give all devices the mean of their auxiliary states, which each changes by its own slices of the batches."""
        self._bound().unify_auxiliary()

    # Gradients.

    def trained(self) -> list[Trained]:
        """Return the parameters that have gradients, in their order.

        Raises
        ------
        StateError
            When the network is not bound for training.
        """
        arrays = self._bound()
        gradients = arrays.grad_arrays
        if gradients is None:
            raise StateError("Module.update() needs bind(for_training=True)")
        return [
            Trained(name, weights, of_devices)  # one device has none only when all have none
            for name, weights, of_devices in zip(self.names, arrays.param_arrays, gradients, strict=True)
            if of_devices[0] is not None
        ]

    def gradient_state(self) -> Sequence[Sequence[NDArray | None]] | None:
        """Return the gradients of all parameters, to save sums over batches that are not used yet."""
        return self._bound().grad_arrays

    def load_gradient_state(self, saved: Sequence[Sequence[NDArray | None]] | None) -> None:
        """Continue with gradients that `gradient_state` returned; on another number of devices too."""
        for targets, sources in zip(self._bound().grad_arrays or (), saved or (), strict=False):
            own = [source for source in sources if source is not None]
            if own and len(targets) != len(own):  # only their sum matters
                total = _sum(own)
                own = [total, *(zeros(total.shape) for _ in targets[1:])]
            if own:
                copy_across(own, [target for target in targets if target is not None])

    # A run that is saved.

    def state_dict(self) -> ParametersState:
        """Return the arrays, not copies: the first device's parameters, all devices' auxiliary states."""
        arrays = self._bound()
        return {
            "args": {
                name: of_devices[0] for name, of_devices in zip(self.names, arrays.param_arrays, strict=True)
            },
            "aux": {
                name: list(of_devices)
                for name, of_devices in zip(self.aux_names, arrays.aux_arrays, strict=True)
            },
        }

    def load_state_dict(self, state: ParametersState) -> None:
        """Continue with arrays that `state_dict` returned.

        On another number of devices each gets the mean of the auxiliary states, as at the end of an epoch.
        """
        arrays = self._bound()
        args = {name: [value] for name, value in state["args"].items()}
        for names, of_devices, saved in (
            (self.names, arrays.param_arrays, args),
            (self.aux_names, arrays.aux_arrays, state["aux"]),
        ):
            for name, targets in zip(names, of_devices, strict=True):
                sources = saved[name]  # one array for all devices, or each device's own
                if len(sources) not in (1, len(targets)):
                    sources = [_sum(sources) / len(sources)]
                copy_across(sources * (len(targets) // len(sources)), targets)
        self._initialized = True


def _sum(arrays: Sequence[NDArray]) -> NDArray:
    total = arrays[0].copy()
    for array in arrays[1:]:
        total.accumulate(array)
    return total


def copy_across(sources: Iterable[NDArray], targets: Iterable[NDArray]) -> None:
    """Copy each source into its target."""
    for source, target in zip(sources, targets, strict=True):
        source.copyto(target)
