"""The plans of one executor, each lowered when it is needed first."""

from __future__ import annotations

from collections.abc import Mapping

from ..device import Device
from ..graph import Entry, Facts, Graph, Target
from ..graph.control_flow import is_stateful
from ..threads import OneThread
from .effort import is_small
from .lower import Kernels, Plan, lower

__all__ = ["Plans", "with_all_outputs"]


def with_all_outputs(graph: Graph) -> Graph:
    """Return a graph with all outputs of all nodes as further outputs.

    >>> import rebind as mx
    >>> with_all_outputs(mx.sym.exp(mx.sym.var("x"), name="e").graph).output_names
    ('e_output', 'x', 'e_output')
    """
    entries = (Entry(node, i) for node in graph.nodes for i in range(len(node.output_names)))
    return Graph((*graph.outputs, *entries))


class Plans:
    """The forward parts of an executor: for each mode, and for runs that a monitor watches.

    Parameters
    ----------
    graph
        The user's graph.
    device
        Where it runs.
    groups
        The device of each ``ctx_group``.

    Attributes
    ----------
    facts
        Shapes and types, for the passes that use them; set before the first `get`.

    Examples
    --------
    >>> import rebind as mx
    >>> plans = Plans(mx.sym.var("x").graph, mx.cpu(), {})
    >>> plans.get(is_train=True) is plans.get(is_train=True), plans.get(is_train=False).target.training
    (True, False)
    """

    def __init__(self, graph: Graph, device: Device, groups: Mapping[str, Device]) -> None:
        self.graph, self.device, self.groups = graph, device, dict(groups)
        self.facts = Facts()
        self._plans: dict[tuple[bool, str], Plan] = {}
        self._is_small: bool | None = None
        self._watched: Graph | None = None
        # Operators that remember something from one run to the next do so for each executor by itself.
        self._kernels: Kernels | None = {} if is_stateful(graph) else None

    def get(self, is_train: bool, backend: str = "default") -> Plan:
        """Return the plan for a mode: of the list of passes ``"default"``, ``"inference"`` or ``"plain"``.

        A plain run goes node by node, as the user wrote the network. It is for a monitor: the plan has the results of
        all nodes as further outputs.

        >>> import rebind as mx
        >>> plans = Plans(mx.sym.exp(mx.sym.var("x")).graph, mx.cpu(), {})
        >>> len(plans.get(is_train=False).outputs), len(plans.get(is_train=False, backend="plain").outputs)
        (1, 3)
        """
        key = (bool(is_train), backend)
        plan = self._plans.get(key)
        if plan is None:
            graph = self.graph
            if backend == "plain":
                # One graph for both modes, so that `lower` finds its plans again.
                graph = self._watched = self._watched or with_all_outputs(graph)
            target = self.target(is_train, backend)
            plan = self._plans[key] = lower(graph, target, self.facts, self._kernels)
        return plan

    def target(self, is_train: bool, backend: str = "default") -> Target:
        """Return what the graph is lowered for: mode, devices and list of passes.

        >>> import rebind as mx
        >>> Plans(mx.sym.var("x").graph, mx.cpu(), {}).target(is_train=True).training
        True
        """
        return Target.at(self.device, is_train, self.groups, backend)

    @property
    def threads(self) -> OneThread:
        """For the ``with`` block of a run: one thread if the graph is small, otherwise as many as there are.

        >>> import rebind as mx
        >>> plans = Plans(mx.sym.var("x").graph, mx.cpu(), {})
        >>> with plans.threads:
        ...     pass
        """
        if self._is_small is None:
            self._is_small = is_small(self.graph, self.facts)
        return OneThread(self._is_small)

    @property
    def has_watched(self) -> bool:
        """Whether a watched run was ever asked for."""
        return self._watched is not None
