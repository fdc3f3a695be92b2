"""What a pass is given beside a graph: facts about its entries, and the target that it is made ready for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, TypeAlias, TypeVar

import torch

from ..device import Device
from ..ops.storage_types import DENSE
from ..shapes import Shape
from ..tuning import Tuning, current
from .graph import Entry, Graph, Node
from .inference import Inferred

__all__ = ["CUDA_GRAPHS", "EntryFacts", "Facts", "Recompute", "Target"]

#: The backend that has a GPU run again what the network's operators launched.
CUDA_GRAPHS = "cudagraphs"

T = TypeVar("T")
#: Which results backward computes again, instead of forward keeping them: see `rebind.executor.recompute`.
Recompute: TypeAlias = Literal["none", "marked", "cheap"]
_CPU = torch.device("cpu")


@dataclass(frozen=True)
class Target:
    """What a graph is made ready for: a mode, devices and a backend. Equal targets share plans.

    Attributes
    ----------
    training
        The mode of operators such as `Dropout` and `BatchNorm`.
    device
        Where a node runs whose context group has no device of its own.
    groups
        Context groups and their devices (``group2ctx``), sorted by name.
    backend
        The name of the list of passes; see `rebind.graph.passes`.
    traced
        Whether a compiler traces the code. Nothing is written in place then, and random numbers come from a seed that
        is an input of the code, rather than from a generator.
    recorded
        Whether gradients may be asked for. Otherwise the passes are those that the backend has for inference.
    recompute
        Which results backward computes again; a compiler decides that by itself.
    only_infers
        Whether it is for an executor that never computes gradients.
    tuning
        The numbers by which passes, lowering and executors decide: those in use when it is made.
    """

    training: bool = False
    device: torch.device = _CPU
    groups: tuple[tuple[str, torch.device], ...] = ()
    backend: str = "default"
    traced: bool = False
    recorded: bool = True
    recompute: Recompute = "none"
    only_infers: bool = False
    tuning: Tuning = field(default_factory=current, repr=False)

    @classmethod
    def at(
        cls,
        device: Device,
        training: bool = False,
        groups: Mapping[str, Device] | None = None,
        backend: str = "default",
        traced: bool = False,
        recorded: bool = True,
        recompute: Recompute = "none",
        only_infers: bool = False,
    ) -> Target:
        """Return the target for MXNet's devices.

        >>> import rebind as mx
        >>> Target.at(mx.cpu(0), training=True) == Target.at(mx.cpu(1), training=True)
        True
        """
        # Sorted: targets are keys, and equal dicts must make equal ones.
        devices = tuple(sorted((name, each.torch) for name, each in (groups or {}).items()))
        return cls(bool(training), device.torch, devices, backend, traced, recorded, recompute, only_infers)

    def device_of(self, node: Node) -> torch.device:
        """Return the device that a node runs on: that of its context group, if it has one.

        >>> import rebind as mx
        >>> with mx.AttrScope(ctx_group="second"):
        ...     x = mx.sym.var("x")
        >>> Target(groups=(("second", torch.device("cuda:1")),)).device_of(x.graph.nodes[0])
        device(type='cuda', index=1)
        """
        group = node.attributes.get("__ctx_group__", "")
        return dict(self.groups).get(group, self.device) if self.groups else self.device

    @property
    def is_compiled(self) -> bool:
        """Whether a compiler writes kernels for the code; CUDA graphs have those of the operators.

        >>> [Target(backend=name, traced=True).is_compiled for name in ("inductor", CUDA_GRAPHS)]
        [True, False]
        """
        return self.traced and self.backend != CUDA_GRAPHS

    @property
    def spans_devices(self) -> bool:
        """Whether nodes run on more than one device, so that values travel between them."""
        return any(device != self.device for _, device in self.groups)


class EntryFacts(NamedTuple):
    """What is known of one entry; None where nothing is."""

    shape: Shape | None
    dtype: torch.dtype | None
    storage: str
    layout: str | None
    device: torch.device | None


@dataclass(frozen=True)
class Facts:
    """What is known of a graph's entries. What is not known is absent.

    Attributes
    ----------
    shapes, types
        As inference found them; a size that is not known is 0.
    storage
        The storage type, where it is not ``'default'``.
    layouts
        The order of axes in memory (``'NHWC'``), where a pass chose another one than the symbol's.
    devices
        Where an entry is computed, for a target that spans several devices.
    origins
        The entry of the user's graph whose value this one has, where a pass made a new one.

    Examples
    --------
    >>> import rebind as mx
    >>> from rebind.graph import infer_shapes, infer_types
    >>> graph = (mx.sym.var("x") * 2).graph
    >>> facts = Facts.of(infer_shapes(graph, {"x": (3, 4)}), infer_types(graph, {"x": "float32"}))
    >>> facts[graph.outputs[0]].shape
    (3, 4)
    """

    shapes: Mapping[Entry, Shape] = field(default_factory=dict)
    types: Mapping[Entry, torch.dtype] = field(default_factory=dict)
    storage: Mapping[Entry, str] = field(default_factory=dict)
    layouts: Mapping[Entry, str] = field(default_factory=dict)
    devices: Mapping[Entry, torch.device] = field(default_factory=dict)
    origins: Mapping[Entry, Entry] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        shapes: Inferred[Shape] | None,
        types: Inferred[torch.dtype] | None = None,
        storage: Mapping[Entry, str] | None = None,
    ) -> Facts:
        """Return the facts that inference found.

        >>> import rebind as mx
        >>> from rebind.graph import infer_types
        >>> graph = mx.sym.Cast(mx.sym.var("x"), dtype="int32").graph
        >>> Facts.of(None, infer_types(graph, {"x": "float32"}))[graph.outputs[0]].dtype
        torch.int32
        """
        return cls(
            {} if shapes is None else shapes.entries,
            {} if types is None else types.entries,
            {entry: stype for entry, stype in (storage or {}).items() if stype != DENSE},
        )

    def __getitem__(self, entry: Entry) -> EntryFacts:
        return EntryFacts(
            self.shapes.get(entry),
            self.types.get(entry),
            self.storage.get(entry, DENSE),
            self.layouts.get(entry),
            self.devices.get(entry),
        )

    def after(self, replaced: Mapping[Entry, Entry]) -> Facts:
        """Return the facts for a rewritten graph: what was known of an entry holds for what replaced it.

        `replaced` maps entries of the old graph to those of the new one, as `rewrite_with_map` returns it. A pass that
        changes a value (its layout, its type) corrects the facts of that entry afterwards.

        >>> import rebind as mx
        >>> from rebind.graph import rewrite_with_map
        >>> x = mx.sym.var("x")
        >>> graph, value = mx.sym.exp(x, name="e").graph, x.graph.outputs[0]
        >>> facts = Facts(shapes={graph.outputs[0]: (2,)})
        >>> new, replaced = rewrite_with_map(
        ...     graph, lambda node, inputs: None if node.is_variable else [value]
        ... )
        >>> facts.after(replaced)[value].shape
        (2,)
        """

        def carried(known: Mapping[Entry, T]) -> Mapping[Entry, T]:
            # An old entry may still be in the new graph, as an input of what replaced it, and keeps its facts.
            return {**{new: known[old] for old, new in replaced.items() if old in known}, **known}

        return Facts(
            shapes=carried(self.shapes),
            types=carried(self.types),
            storage=carried(self.storage),
            layouts=carried(self.layouts),
            devices=carried(self.devices),
            # Through several passes: back to the graph that inference saw.
            origins={**{new: self.origins.get(old, old) for old, new in replaced.items()}, **self.origins},
        )

    def from_origins(self, known: Mapping[Entry, T]) -> Mapping[Entry, T]:
        """Return for the entries of a rewritten graph what is known of their origins."""
        if not self.origins or not known:
            return known
        return {**{new: known[old] for new, old in self.origins.items() if old in known}, **known}

    def on(self, graph: Graph, target: Target) -> Facts:
        """Return the facts with the device of each node; unchanged for a target on one device."""
        if not target.spans_devices:
            return self
        devices = {
            Entry(node, i): target.device_of(node)
            for node in graph.nodes
            for i in range(len(node.output_names))
        }
        return replace(self, devices=devices)
