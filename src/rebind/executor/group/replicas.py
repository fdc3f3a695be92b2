"""One network bound on several devices: what is bound, where, and whose arrays it uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from ...device import Device, as_device
from ...errors import ArgumentError, ParameterError
from ...graph import Entry, Graph, infer_shapes
from ...protocols import InputDesc
from ...shapes import Shape
from ..allocate import Sharing
from ..arguments import GradReq, GradReqs, read_grad_req, warn_of_near_names
from ..bind import simple_bind
from ..executor import Executor
from ..holder import GraphHolder
from .split import Split, split_batch

__all__ = [
    "Devices", "GroupDevices", "Network", "Replicas", "bind_replicas",
    "groups_per_device",
]  # fmt: skip

#: The devices of each ``ctx_group``: for all executors at once, or a dict for each of them.
GroupDevices: TypeAlias = (
    "Mapping[str, Device | list[Device] | tuple[Device, ...]] | Sequence[Mapping[str, Device] | None] | None"
)


@dataclass(frozen=True)
class Network:
    """What is bound: a network, and what each of its arguments is.

    Attributes
    ----------
    symbol
        The network's handle, as it was given.
    param_names, state_names
        Arguments that are parameters, and inputs whose values persist from batch to batch. The others are inputs.
    requests
        The request for the gradient of each argument.
    """

    symbol: GraphHolder
    param_names: tuple[str, ...]
    state_names: tuple[str, ...]
    requests: Mapping[str, GradReq]

    @classmethod
    def read(
        cls,
        symbol: GraphHolder,
        param_names: Sequence[str],
        state_names: Sequence[str],
        grad_req: GradReqs,
        with_gradient: set[str],
    ) -> Network:
        """Read MXNet's arguments; `with_gradient` get gradients unless `grad_req` has another request for them.

        >>> import rebind as mx
        >>> Network.read(mx.sym.var("x") * mx.sym.var("w"), ["w"], [], "write", {"w"}).requests
        {'x': 'null', 'w': 'write'}
        """
        names = [node.name for node in symbol.graph.arguments]
        requests = read_requests(grad_req, names, with_gradient)
        return cls(symbol, tuple(param_names), tuple(state_names), requests)

    @property
    def graph(self) -> Graph:
        """The network's graph."""
        return self.symbol.graph

    @property
    def arg_names(self) -> list[str]:
        """The names of all arguments."""
        return [node.name for node in self.graph.arguments]

    @property
    def aux_names(self) -> list[str]:
        """The names of the auxiliary states."""
        return [node.name for node in self.graph.auxiliary]


@dataclass(frozen=True)
class Devices:
    """Where a network is bound.

    Attributes
    ----------
    devices
        One for each executor.
    work_loads
        The share of each in a batch.
    groups
        For each executor the device of each ``ctx_group``.

    Examples
    --------
    >>> import rebind as mx
    >>> Devices.read([mx.cpu(0), mx.cpu(1)], [1, 3]).split(8)
    Split(slices=(slice(0, 2, None), slice(2, 8, None)))
    """

    devices: tuple[Device, ...]
    work_loads: tuple[float, ...]
    groups: tuple[Mapping[str, Device], ...]

    @classmethod
    def read(
        cls, devices: Sequence[Device], work_loads: Sequence[float] | None = None, groups: GroupDevices = None
    ) -> Devices:
        """Read the arguments `contexts`, `workload` and `group2ctxs` of MXNet's interface.

        >>> import rebind as mx
        >>> Devices.read([mx.cpu(0), mx.cpu(1)]).work_loads
        (1.0, 1.0)
        """
        loads = [1.0] * len(devices) if work_loads is None else work_loads
        return cls(tuple(devices), tuple(loads), tuple(groups_per_device(groups, len(devices))))

    def split(self, batch_size: int) -> Split:
        """Return which slice of a batch each device gets.

        >>> import rebind as mx
        >>> Devices.read([mx.cpu(0), mx.cpu(1)]).split(5).sizes
        (2, 3)
        """
        return Split(tuple(split_batch(batch_size, self.work_loads)))


class Replicas(NamedTuple):
    """The executors of one network, and which samples each has."""

    split: Split
    executors: Sequence[Executor]


def read_requests(
    grad_req: GradReqs,
    arg_names: Sequence[str],
    with_gradient: set[str],
) -> dict[str, GradReq]:
    """Return the request for each argument's gradient: the caller's, else the default of its kind.

    Parameters
    ----------
    grad_req
        One request for all of `with_gradient`, or requests by name, or a list with one for every argument.
    arg_names
        All arguments.
    with_gradient
        Those that get a gradient by default.

    Examples
    --------
    >>> read_requests({"bias": "add"}, ["data", "weight", "bias"], {"weight"})
    {'data': 'null', 'weight': 'write', 'bias': 'add'}
    """
    if not isinstance(grad_req, (str, Mapping)):
        return read_grad_req(grad_req, arg_names, "Module.bind")
    if isinstance(grad_req, Mapping):
        warn_of_near_names(grad_req, arg_names, "Module.bind")
    # A dict may name some arguments only: for the others the default is 'write'.
    word = grad_req if isinstance(grad_req, str) else "write"
    by_name = grad_req if isinstance(grad_req, Mapping) else {}
    wanted = {name: by_name.get(name, word if name in with_gradient else "null") for name in arg_names}
    return read_grad_req(wanted, arg_names, "Module.bind")


def bind_replicas(
    network: Network,
    devices: Devices,
    split: Split,
    descs: Sequence[InputDesc],
    shared: Replicas | None = None,
) -> list[Executor]:
    """Return an executor for each device, bound for its slice of the inputs that `descs` describe.

    `shared` are executors of the same devices whose parameters are used, in the types that they have.

    >>> import rebind as mx
    >>> net = Network.read(mx.sym.var("x") * 2, [], [], "null", set())
    >>> devices, descs = Devices.read([mx.cpu(0), mx.cpu(1)]), [mx.io.DataDesc("x", (5,))]
    >>> [exe.arg_dict["x"].shape for exe in bind_replicas(net, devices, devices.split(5), descs)]
    [(2,), (3,)]
    """
    arguments = set(network.arg_names)
    # A batch may hold what the network has no argument for, such as labels in inference.
    known = [desc for desc in descs if desc.name in arguments]
    executors = []
    for k, device in enumerate(devices.devices):
        shapes = {desc.name: split.shape_of(desc, k) for desc in known}
        types = {desc.name: desc.dtype for desc in known}
        sharing = None
        if shared is not None:
            source = shared.executors[k]
            same_size = split.sizes[k] == shared.split.sizes[k]
            sharing = Sharing(source, _shared_names(network, shapes, same_size, source))
            # A shared parameter has its type already; the others follow from it.
            arrays = source.arg_dict
            types.update({name: arrays[name].dtype for name in sharing.names or ()})
        executors.append(
            simple_bind(network.symbol, device, shapes, types, network.requests, devices.groups[k], sharing)
        )
    return executors


def _shared_names(
    network: Network, shapes: Mapping[str, Shape], same_size: bool, source: Executor
) -> list[str]:
    """Return which arguments to take from `source`: its parameters, and states that still fit the samples."""
    have = source.arg_dict
    names = [name for name in network.param_names if name in have]
    # States hold a value for each sample: for other samples they start again.
    if network.state_names and same_size:
        inferred = infer_shapes(network.graph, shapes)
        needed = {node.name: inferred.of(Entry(node)) for node in network.graph.arguments}
        names += [name for name in network.state_names if name in have and have[name].shape == needed[name]]
    return names


def groups_per_device(group2ctxs: GroupDevices, devices: int) -> list[dict[str, Device]]:
    """Return the device of each ``ctx_group`` for each executor, from a dict or a list of dicts.

    >>> import rebind as mx
    >>> groups_per_device({"a": mx.cpu(1), "b": [mx.cpu(2), mx.cpu(3)]}, 2)
    [{'a': cpu(1), 'b': cpu(2)}, {'a': cpu(1), 'b': cpu(3)}]
    """
    if group2ctxs is None:
        return [{} for _ in range(devices)]
    if isinstance(group2ctxs, Mapping):
        # From devices by group to groups by device.
        spread = {name: _spread(name, given, devices) for name, given in group2ctxs.items()}
        return [_checked({name: each[k] for name, each in spread.items()}) for k in range(devices)]
    if not isinstance(group2ctxs, (list, tuple)):
        raise ArgumentError(
            f"group2ctxs: must be a dict from group to device or devices, or a list of dicts; got {group2ctxs!r}"
        )
    groups = list(group2ctxs)
    if len(groups) != devices:
        raise ParameterError(f"group2ctxs: must hold a dict for each of {devices} devices; got {len(groups)}")
    return [_checked(group or {}) for group in groups]


def _spread(name: str, given: Device | list[Device] | tuple[Device, ...], devices: int) -> list[Device]:
    """Return a device for each executor; one alone, in a list or not, serves all."""
    several = list(given) if isinstance(given, (list, tuple)) else [given]  # a misfit is found by _checked
    if len(several) == 1:
        return several * devices
    if len(several) != devices:
        raise ParameterError(f"group2ctxs: {name!r} must have a device for each of {devices}; got {several}")
    return several


def _checked(groups: Mapping[str, Device]) -> dict[str, Device]:
    for name, device in groups.items():
        if device is None:
            raise ArgumentError(f"group2ctxs: {name!r} must have a Device; got None")
    return {name: as_device(device, f"group2ctxs: {name!r}") for name, device in groups.items()}
