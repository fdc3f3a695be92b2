"""`Buckets`: the modules of a `BucketingModule`, by the keys of their buckets."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias, TypedDict, cast

from .. import dtypes
from ..device import Device
from ..errors import ArgumentError, ParameterError, StateError
from ..executor import DataParallelExecutorGroup
from ..executor.group.replicas import GroupDevices
from ..io import DataDesc
from ..monitor import Monitor
from ..ndarray import NDArray
from ..protocols import Batch, Logger
from ..scope import NameManager
from ..symbol import Symbol
from .batches import AnyBatch, is_sliced, labels_of
from .checkpoints import load_states
from .descs import Shapes, described, read_descs
from .module import Module

__all__ = ["BucketState", "Buckets", "ModuleSettings", "NetworkOf"]

#: ``sym_gen``: from a bucket's key to its ``(symbol, data_names, label_names)``.
NetworkOf: TypeAlias = Callable[[Hashable], tuple[Symbol, Sequence[str] | None, Sequence[str] | None]]


class ModuleSettings(TypedDict):
    """What the modules of all buckets are made with; see `Module`."""

    logger: Logger
    context: Device | Sequence[Device] | None
    work_load_list: Sequence[float] | None
    fixed_param_names: Sequence[str] | None
    state_names: Sequence[str] | None
    group2ctxs: GroupDevices
    compression_params: Mapping[str, object] | None
    backend: str | None
    recompute: bool | None


class BucketState(TypedDict):
    """The states of one bucket in a saved run, and what it was bound to."""

    key: Hashable
    data: list[tuple[str, tuple[int, ...], str, str | None]]
    labels: list[tuple[str, tuple[int, ...], str, str | None]] | None
    states: list[list[NDArray]]


class Buckets:
    """A module for each bucket; all use the parameters, gradients and optimizer of the default one.

    Parameters
    ----------
    network_of
        From a key to its ``(symbol, data_names, label_names)``.
    default_key
        The key of the default bucket.
    settings
        What the modules are made with.

    Examples
    --------
    >>> import rebind as mx
    >>> def network(length):
    ...     return mx.sym.sum(mx.sym.var("data"), axis=1, name="total"), ["data"], None
    >>> mx.mod.BucketingModule(network, default_bucket_key=8).buckets.default.output_names
    ['total_output']
    """

    def __init__(self, network_of: NetworkOf, default_key: Hashable, settings: ModuleSettings) -> None:
        self.network_of, self.default_key, self.settings = network_of, default_key, settings
        # What does not fit is found now, not at the first batch.
        self.modules: dict[Hashable, Module] = {default_key: self._make(default_key)}
        self.current_key: Hashable = default_key
        self._monitors: list[Monitor] = []

    def __getstate__(self) -> dict[str, object]:
        # A copy has the default bucket, whose parameters the others share; they are made again when they are used.
        modules = {self.default_key: self.default}
        settings = {
            **self.settings,
            "logger": None if self.settings["logger"] is logging else self.settings["logger"],
        }
        return {
            **vars(self), "modules": modules, "current_key": self.default_key, "_monitors": [], "settings": settings,
        }  # fmt: skip

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)
        self.settings["logger"] = self.settings["logger"] or logging

    @property
    def default(self) -> Module:
        """The module of the default bucket, the owner of parameters and optimizer."""
        return self.modules[self.default_key]

    @property
    def current(self) -> Module:
        """The module of the current bucket."""
        return self.modules[self.current_key]

    def bound(self) -> list[Module]:
        """Return the modules that are bound, and the default one."""
        return [module for module in self.modules.values() if module is self.default or module.binded]

    def others(self) -> list[Module]:
        """Return the modules that are bound, without the default one."""
        return [module for module in self.bound() if module is not self.default]

    def _make(self, key: Hashable, network: Symbol | None = None) -> Module:
        """Return a bucket's module, not bound; `network` replaces the one that the user's function gives."""
        # Automatic names start over, so that a layer without a name has the same parameters in every bucket.
        with NameManager():
            made = self.network_of(key)
        if not isinstance(made, (tuple, list)) or len(made) != 3:
            raise ArgumentError(
                f"BucketingModule: sym_gen must return (symbol, data_names, label_names); for key {key!r} it "
                f"returned {made!r}"
            )
        network = made[0] if network is None else network
        settings = self.settings.copy()
        if key != self.default_key:  # another bucket may have fewer parameters and states
            # A bucket may lack a parameter that is fixed in others.
            known = {*network.list_arguments(), *network.list_auxiliary_states()}
            settings["fixed_param_names"] = [n for n in settings["fixed_param_names"] or () if n in known]
            settings["state_names"] = [n for n in settings["state_names"] or () if n in known]
        return Module(network, data_names=made[1], label_names=made[2], **settings)

    def use_networks(self, networks: Mapping[Hashable, Symbol]) -> None:
        """Use these networks, by key, instead of those that the user's function gives."""
        for key, network in networks.items():
            self.modules[key] = self._make(key, network)

    def changed(self, change: Callable[[Symbol, list[str]], Symbol]) -> NetworkOf:
        """Return a function that gives the networks of these buckets after a change of each and its inputs' names."""

        def network_of(key: Hashable) -> tuple[Symbol, Sequence[str] | None, Sequence[str] | None]:
            network, data_names, label_names = self.network_of(key)
            if key in self.modules:  # its network can come from a file
                network = self.modules[key].symbol
            arguments = network.list_arguments()
            given = (*(data_names or ()), *(label_names or ()), *(self.settings["state_names"] or ()))
            return change(network, [name for name in given if name in arguments]), data_names, label_names

        return network_of

    def forget(self) -> None:
        """Drop what is bound for buckets other than the default one; networks from files stay."""
        for module in self.others():
            module.params_initialized = False  # they are the default bucket's
            module.binded = False
        self.current_key = self.default_key

    def install_monitor(self, monitor: Monitor) -> None:
        """Let a monitor watch all buckets, also those that are yet to come."""
        self._monitors.append(monitor)
        for module in self.bound():
            module.install_monitor(monitor)

    def install_monitors_again(self) -> None:
        """Let the monitors watch the default bucket, which was bound again."""
        for monitor in self._monitors:
            self.default.install_monitor(monitor)

    # Which bucket is the current one.

    def switch(self, key: Hashable, data_shapes: Shapes, label_shapes: Shapes | None = None) -> None:
        """Make a bucket the current one; bind it if it is new."""
        module = self._module(key)
        if not module.binded:
            self._bind(module, key, data_shapes, label_shapes)
        elif label_shapes and not _labels_of_binding(module) and _labels_of_binding(self.default):
            # It was bound for a batch without labels, and would leave these unread.
            module.reshape(data_shapes or module.data_shapes, label_shapes)
        self._make_current(key)

    def switch_to(self, batch: AnyBatch) -> None:
        """Make the bucket of a batch the current one; bind it if it is new."""
        key = self.key_of(batch)
        module = self.modules.get(key)
        has_labels = bool(_labels_of_binding(self.default) and getattr(batch, "label", None))
        # Bound, and to labels if the batch brings any: nothing to do.
        if module is not None and module.binded and (_labels_of_binding(module) or not has_labels):
            self._make_current(key)
            return
        if is_sliced(batch):
            raise ArgumentError(
                f"BucketingModule: the first batch of a bucket must be whole; got a list of {len(batch)} for {key!r}"
            )
        first = cast(Batch, batch)
        if not hasattr(first, "data"):
            raise ArgumentError(
                f"BucketingModule: a batch must have data, a list of arrays; got {type(first).__name__}"
            )
        module = self._module(key)
        data = described(first.data, self._like(module.data_names), getattr(first, "provide_data", None))
        labels: Shapes | None = None
        if has_labels:
            own = getattr(first, "provide_label", None)
            labels = described(labels_of(first), self._like(module.label_names), own)
        self.switch(key, data, labels)

    def get_ready(self, batch: Batch) -> Module:
        """Return the module, bound, for a later batch; the current bucket stays current."""
        key, current = self.key_of(batch), self.current_key
        if not self._is_bound(key):
            self.switch_to(batch)
            self.current_key = current
        return self.modules[key]

    def key_of(self, batch: AnyBatch) -> Hashable:
        """Return the key of a batch's bucket: the default key for a batch that has none."""
        one: AnyBatch = batch[0] if is_sliced(batch) else batch
        key = getattr(one, "bucket_key", None)
        return self.default_key if key is None else key

    def _is_bound(self, key: Hashable) -> bool:
        return key in self.modules and self.modules[key].binded

    def _make_current(self, key: Hashable) -> None:
        if key != self.current_key:
            # No backward can follow for the old batch; so the memory is that of the largest bucket, not of all.
            self.current.release()
            self.current_key = key

    def _module(self, key: Hashable) -> Module:
        if key not in self.modules:
            self.modules[key] = self._make(key)
        return self.modules[key]

    def _bind(self, module: Module, key: Hashable, data: Shapes, labels: Shapes | None) -> None:
        default, binding = self.default, self.default.binding
        if binding is None or not default.params_initialized:
            raise StateError("BucketingModule.switch_bucket() to a new bucket needs init_params() first")
        if missing := module.parameters.missing_from(default.parameters):
            self.modules.pop(key)  # the next batch asks for the network again, and fails in the same way
            raise ParameterError(
                f"BucketingModule: the network of the default bucket, {self.default_key!r}, must have all "
                f"parameters; that of {key!r} has also {', '.join(map(repr, missing))}"
            )
        own = replace(
            binding, data=read_descs(data, "data_shapes"), labels=read_descs(labels, "label_shapes") or None
        )
        module.bind_to(own, shared=default)
        module.batches_per_update = default.batches_per_update
        for monitor in self._monitors:
            module.install_monitor(monitor)

    def _like(self, names: Sequence[str]) -> list[DataDesc]:
        """Return the default bucket's descriptions of inputs, whose types and layouts are those of others too."""
        default = {
            desc.name: desc for desc in (*self.default.data_shapes, *(_labels_of_binding(self.default) or ()))
        }
        return [default.get(name, DataDesc(name, ())) for name in names]

    # A run that is saved: the default bucket's module saves all but the states of the others.

    def state(self) -> list[BucketState]:
        """Return the states of the buckets that do not share those of the default one."""
        found: list[BucketState] = []
        for key, module in self.modules.items():
            group = module.executors
            if module is self.default or group is None or not self._has_own_states(group):
                continue
            found.append(
                {
                    "key": key,
                    "data": [_plain(desc) for desc in module.data_shapes],
                    "labels": [_plain(desc) for desc in _labels_of_binding(module) or ()] or None,
                    "states": [list(arrays) for arrays in group.state_arrays],
                }
            )
        return found

    def load_state(self, saved: Sequence[BucketState]) -> None:
        """Bind the buckets that `state` returned, and continue with their states."""
        for each in saved:
            self.switch(each["key"], cast(Shapes, each["data"]), cast("Shapes | None", each["labels"]))
            group = self.current.executors
            assert group is not None  # it is bound now
            load_states(group.state_arrays, each["states"], "BucketingModule")
        self._make_current(self.default_key)

    def _has_own_states(self, group: DataParallelExecutorGroup) -> bool:
        # States of one shape share memory with the default bucket's, in arrays of their own: compare addresses.
        shared = self.default.executors
        assert shared is not None  # no other bucket is bound without it
        of_default = {array.tensor.data_ptr() for arrays in shared.state_arrays for array in arrays}
        return any(
            array.tensor.data_ptr() not in of_default for arrays in group.state_arrays for array in arrays
        )


def _labels_of_binding(module: Module) -> list[DataDesc] | None:
    return None if module.binding is None else module.binding.labels


def _plain(desc: DataDesc) -> tuple[str, tuple[int, ...], str, str | None]:
    return desc.name, tuple(desc.shape), dtypes.name(desc.dtype), desc.layout
