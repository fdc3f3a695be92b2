"""What a translation writes with: layers, and what is known of one node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..graph import Application, Entry
from ..params import Params
from ..shapes import Shape

if TYPE_CHECKING:
    from .context import NetworkContext

__all__ = ["NodeWriter", "Value"]


class Value:
    """A value, which is its name in an expression; one of a parameter is written when it is used outside of a layer."""

    __slots__ = ("_entry", "_name")

    def __init__(self, name: Callable[[Entry], str], entry: Entry) -> None:
        self._name, self._entry = name, entry

    def __str__(self) -> str:
        return self._name(self._entry)


class NodeWriter:
    """Writes one node of the symbol in PyTorch.

    Attributes
    ----------
    node, params
        The node, and its parsed parameters.
    parts
        Of an expression for several outputs, how each is got from it: ``"[1][0]"``. Without it they are its items.
    """

    def __init__(self, network: NetworkContext, node: Application) -> None:
        self.network = network
        self.node = node
        self.params: Params = node.params
        self.parts: tuple[str, ...] = ()

    @property
    def trains_here(self) -> bool:
        """Whether auxiliary states are the module's, which would have to move in training."""
        return any(
            entry.name in self.network.parameters and self.node.operator.signature.is_auxiliary(name)
            for name, entry in zip(self.node.input_names, self.node.inputs, strict=True)
        )

    def owns_all(self, *names: str) -> bool:
        """Whether a layer may have these inputs for itself: they are parameters that nothing else uses."""
        entries = [self.entry(name) for name in names]
        return all(entry is not None and self.network.owns(entry) for entry in entries)

    def layer(
        self,
        constructor: str,
        inputs: Mapping[str, str],
        fixed: Mapping[str, Tensor] | None = None,
        name: str = "",
    ) -> str:
        """Write a layer that owns its parameters (see `owns_all`), and return its name.

        Parameters
        ----------
        constructor
            What makes it: ``nn.Linear(3, 4)``.
        inputs
            By the layer's names of parameters, the operator's: ``{"bias": "beta"}``.
        fixed
            By the layer's names, numbers that are not those of the input, and are not trained.
        name
            Of the layer, by default the node's.
        """
        entries = {part: self.entry(source) for part, source in inputs.items()}
        owned = {part: entry.name for part, entry in entries.items() if entry is not None}
        types = {self.network.parameters[source].dtype for source in owned.values()}
        if len(types) == 1 and (dtype := types.pop()) is not torch.float32:
            constructor = f"{constructor[:-1]}, dtype={dtype})"
        return self.network.add_layer(name or self.node.name, constructor, owned, fixed or {})

    def numbers(self, name: str) -> Tensor | None:
        """Return the numbers of an input that is a parameter of this node alone; None for any other."""
        entry = self.entry(name)
        return self.network.parameters[entry.name] if entry is not None and self.owns_all(name) else None

    def split_layer(self, constructor: str, source: str, parts: Mapping[str, Tensor]) -> str:
        """Write a layer whose parameters are parts of one input (see `numbers`), and return its name."""
        entry = self.entry(source)
        assert entry is not None
        member = self.network.add_layer(self.node.name, constructor, {}, {})
        for part, value in parts.items():
            full = f"{member.removeprefix('self.')}.{part}"
            self.network.state[full], self.network.names[full] = value, entry.name
        return member

    def plain_layer(self, constructor: str) -> str:
        """Write a layer without parameters, such as dropout, and return its name."""
        return self.network.add_layer(self.node.name, constructor, {}, {})

    def helper(self, name: str) -> str:
        """Have a class or function of `helpers` written in the file, and return its name."""
        self.network.helpers.add(name)
        return name

    def entry(self, name: str) -> Entry | None:
        """Return where the input of that name comes from; None for an absent one."""
        return dict(zip(self.node.input_names, self.node.inputs, strict=True)).get(name)

    def known_shape(self, index: int = 0) -> Shape | None:
        """Return the shape of an input with 0 where a size is free; None when nothing is known of it."""
        return self.network.facts.shapes.get(self.node.inputs[index])

    def rank(self, index: int = 0) -> int | None:
        """Return how many axes an input has; None when that is not known."""
        shape = self.known_shape(index)
        return None if shape is None else len(shape)

    def dtype(self, index: int = 0) -> torch.dtype:
        """Return the type of an input."""
        return self.network.facts.types.get(self.node.inputs[index], torch.float32)

    def output_dtype(self, index: int = 0) -> torch.dtype:
        """Return the type of an output."""
        return self.network.facts.types.get(Entry(self.node, index), torch.float32)

    def output_shape(self, index: int = 0) -> Shape | None:
        """Return the shape of an output with 0 where a size is free; None when nothing is known of it."""
        return self.network.facts.shapes.get(Entry(self.node, index))

    def sizes(self, index: int = 0) -> list[str] | None:
        """Return the sizes of an output as expressions: free ones are asked of an input of the network."""
        entry, facts = Entry(self.node, index), self.network.facts
        shape, tried = facts.shapes.get(entry), facts.sizes.get(entry)
        if shape is None or tried is None or not shape:
            return None
        found = []
        for axis, free in enumerate(shape):
            source = str(tried[axis]) if free else self._input_with(entry, axis)
            if source is None:
                return None
            found.append(source)
        return found

    def _input_with(self, wanted: Entry, wanted_axis: int) -> str | None:
        """Return where a free size can be asked: of an input that has it."""
        facts = self.network.facts
        for entry, name in self.network.inputs.items():
            for axis, known in enumerate(facts.shapes.get(entry, ())):
                if not known and all(
                    sizes[entry][axis] == sizes[wanted][wanted_axis]
                    for sizes in (facts.sizes, facts.other_sizes)
                ):
                    return f"{name}.shape[{axis}]"
        return None
