"""One network while it is written in PyTorch: its layers, parameters and helpers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ..graph import Entry, Graph, Node
from .facts import Facts
from .names import Names
from .unit_classes import Member
from .units import relative_name

__all__ = ["NetworkContext"]


@dataclass
class NetworkContext:
    """What is known of a graph, and what is written of it so far.

    Attributes
    ----------
    graph
        What inference computes: without labels.
    parameters
        The numbers of parameters and auxiliary states, by MXNet's names.
    facts
        Shapes and types of each entry.
    inputs
        The names of the network's inputs.
    members
        The lines that make the module's layers, parameters and buffers.
    buffers
        The names of buffers that are no layer's.
    state
        The module's state by its names.
    names
        From the module's names of parameters and buffers to MXNet's.
    helpers
        The names of classes that the file needs besides PyTorch's.
    label
        Of a unit, what the names of its nodes have in common: its layers are named without it.
    """

    graph: Graph
    parameters: Mapping[str, Tensor]
    facts: Facts
    inputs: dict[Entry, str] = field(default_factory=dict)
    members: list[Member] = field(default_factory=list)
    buffers: list[str] = field(default_factory=list)
    state: dict[str, Tensor] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    helpers: set[str] = field(default_factory=set)
    member_names: Names = field(default_factory=lambda: Names(members=True))
    label: str = ""
    _alone: dict[Node, str] = field(default_factory=dict)

    def of_unit(self, label: str) -> NetworkContext:
        """Return the context of a part of the network, which becomes a module with names of its own."""
        return NetworkContext(self.graph, self.parameters, self.facts, helpers=self.helpers, label=label)

    def take_over(self, member: str, unit: NetworkContext) -> None:
        """Take over the state of a unit, which is a member or an item of one."""
        self.state.update({f"{member}.{name}": value for name, value in unit.state.items()})
        self.names.update({f"{member}.{name}": source for name, source in unit.names.items()})

    def _new_member(self, name: str) -> str:
        return self.member_names.new(relative_name(name, self.label))

    def owns(self, entry: Entry) -> bool:
        """Whether a layer may have this parameter for itself: nothing else uses it."""
        return entry.name in self.parameters and entry.node.is_variable and self.graph.uses[entry] == 1

    def add_layer(
        self, name: str, constructor: str, owned: Mapping[str, str], fixed: Mapping[str, Tensor]
    ) -> str:
        """Write a layer and take over its parameters; return how it is called."""
        member = self._new_member(name)
        self.members.append(f"self.{member} = {constructor}")
        for part, source in owned.items():
            full = f"{member}.{part}"
            self.state[full] = fixed.get(part, self.parameters[source])
            self.names[full] = source
            if part == "running_mean":  # PyTorch's layer counts its batches
                self.state[f"{member}.num_batches_tracked"] = torch.tensor(0)
            if part in fixed:
                self.members.append(f"self.{full}.requires_grad_(False)")
        return f"self.{member}"

    def parameter(self, node: Node) -> str:
        """Return a parameter or auxiliary state that belongs to no layer; it is written once."""
        if node in self._alone:
            return self._alone[node]
        value = self.parameters[node.name]
        member = self._new_member(node.name)
        is_state = any(node is each for each in self.graph.auxiliary) or not value.is_floating_point()
        dtype = "" if value.dtype is torch.float32 else f", dtype={value.dtype}"
        made = f"torch.zeros({tuple(value.shape)}{dtype})"
        if is_state:
            self.buffers.append(member)
            self.members.append(f'self.register_buffer("{member}", {made})')
        else:
            self.members.append(f"self.{member} = nn.Parameter({made})")
        self.state[member], self.names[member] = value, node.name
        self._alone[node] = f"self.{member}"
        return self._alone[node]

    def constant(self, name: str, value: Tensor) -> str:
        """Write numbers that do not change as a buffer of the module, and return how it is called."""
        member = self._new_member(name)
        dtype = "" if value.dtype is torch.float32 else f", dtype={value.dtype}"
        self.buffers.append(member)
        self.members.append(f'self.register_buffer("{member}", torch.zeros({tuple(value.shape)}{dtype}))')
        self.state[member] = value
        return f"self.{member}"
