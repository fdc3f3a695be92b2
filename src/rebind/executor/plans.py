"""The plans of one executor, each lowered when it is needed first."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Hashable, Mapping

from .. import config
from ..checks import warn_user
from ..device import Device
from ..graph import Application, Entry, Facts, Graph, Target, infer_gradient_storage
from ..graph.facts import CUDA_GRAPHS, Recompute
from ..graph.passes import backend_named, uses_shapes
from ..ops.storage_types import DENSE
from ..shapes import is_known
from ..threads import OneThread
from .compiling import obstacle
from .cost_model import bytes_of_results, is_small, multiply_adds
from .losses import losses_of
from .lower import Plan, lower
from .recompute import has_marks
from .storage_kernels import storage_kernels, storage_of, stored_entries, uncompiled_nodes

__all__ = ["Plans", "with_all_outputs"]

#: The combinations of shapes that each graph was compiled for.
_compiled_for: weakref.WeakKeyDictionary[Graph, set[Hashable]] = weakref.WeakKeyDictionary()


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
    backend
        The name of the backend; None: that of the environment (``REBIND_BACKEND``).
    recompute
        Whether backward computes again what takes little time; None: the environment says so
        (``MXNET_BACKWARD_DO_MIRROR``).
    only_infers
        Whether the executor never computes gradients.

    Attributes
    ----------
    facts
        Shapes and types, for the passes that use them; set before the first `get`.
    compiles
        Whether runs that nobody watches use the backend's compiler.
    freezing
        Whether that takes inference only.
    failure
        Why the backend's compiler does not run the network; None where nothing went wrong.

    Examples
    --------
    >>> import rebind as mx
    >>> plans = Plans(mx.sym.var("x").graph, mx.cpu(), {})
    >>> plans.get(is_train=True) is plans.get(is_train=True), plans.get(is_train=False).target.training
    (True, False)
    """

    def __init__(
        self,
        graph: Graph,
        device: Device,
        groups: Mapping[str, Device],
        backend: str | None = None,
        recompute: bool | None = None,
        only_infers: bool = False,
    ) -> None:
        self.graph, self.device, self.groups = graph, device, dict(groups)
        self.only_infers = only_infers
        self.backend = config.get("REBIND_BACKEND") if backend is None else backend
        chosen = backend_named(self.backend)
        self._captures, self.freezing = chosen.compiler == CUDA_GRAPHS, chosen.freezing
        self._uncompiled = self.backend if chosen.compiler is None else "default"
        # Of a CPU there is nothing to capture.
        self.compiles = chosen.compiler is not None and (device.device_type == "gpu" or not self._captures)
        self.facts = Facts()
        self.failure: str | None = None
        if recompute is None:
            recompute = bool(config.get("MXNET_BACKWARD_DO_MIRROR"))
        self.recompute: Recompute = "cheap" if recompute else "marked" if has_marks(graph) else "none"
        self._plans: dict[tuple[bool, str, bool, bool, Recompute], Plan] = {}
        self._watched: Graph | None = None
        # Operators that remember something from one run to the next do so for each executor by itself.
        made = [(node, node.operator.kernels.make) for node in graph.nodes if isinstance(node, Application)]
        self._kernels = {node: make(node.locate) for node, make in made if make is not None}
        if self.compiles and (reason := obstacle(graph, self.target(is_train=False))):
            self._run_uncompiled(reason)

    def get(
        self,
        is_train: bool,
        *,
        watched: bool = False,
        recorded: bool = True,
        compiled: bool = True,
        is_first: bool = False,
    ) -> Plan:
        """Return the plan for a mode.

        Parameters
        ----------
        is_train
            The mode.
        watched
            Whether a monitor looks at the run: it goes node by node, as the user wrote the network, is never compiled,
            and has the results of all nodes as further outputs.
        recorded
            Whether the run may be differentiated. Otherwise inference has passes of its own.
        compiled
            Whether it may be compiled.
        is_first
            Whether it is for the executor's first run, which may be its only one: see `lower`.

        Examples
        --------
        >>> import rebind as mx
        >>> plans = Plans(mx.sym.exp(mx.sym.var("x")).graph, mx.cpu(), {})
        >>> len(plans.get(is_train=False).outputs), len(plans.get(is_train=False, watched=True).outputs)
        (1, 3)
        """
        traced = compiled and self.compiles and not watched
        if self.freezing and (is_train or recorded):
            traced = False
        backend = "plain" if watched else self.backend if traced else self._uncompiled
        # Only where backward may follow; a compiler decides by itself, and a monitor is to see each node once.
        again = self.recompute if (recorded or is_train) and not (traced or watched) else "none"
        recorded = recorded or is_train or not backend_named(backend).has_inference
        key = (bool(is_train), backend, traced, recorded, again)
        plan = self._plans.get(key)
        if plan is None:
            graph = self.graph
            if watched:
                # One graph for both modes, so that `lower` finds its plans again.
                graph = self._watched = self._watched or with_all_outputs(graph)
            target = self.target(*key)
            if traced and not recorded and self._has_other_shapes(target):
                plan = self._plans[key] = self.get(is_train, recorded=False, compiled=False)
                return plan
            kernels = list(self._kernels.values()) if self._kernels else None
            plan = lower(graph, target, self.facts, kernels, is_first=is_first)
            if not is_first:
                self._plans[key] = plan
        if plan.compiled is not None and plan.compiled.failure is not None:  # when another executor ran it
            self.compiles = False
            return self.get(is_train, recorded=recorded)
        return plan

    @property
    def remembers(self) -> bool:
        """Whether an operator remembers something from one run to the next."""
        return bool(self._kernels)

    def create_operators(self) -> None:
        """Create what remembers, for the shapes and types of `facts`; what was remembered so far is forgotten."""
        if self.compiles and (reason := self._other_storage_types()):
            self._run_uncompiled(reason)
        for node, kernel in self._kernels.items():
            device = self.groups.get(node.attributes.get("__ctx_group__", ""), self.device)
            shapes = [self.facts.shapes.get(entry) for entry in node.inputs]
            types = [self.facts.types[entry] for entry in node.inputs]
            inputs = [
                (shape, dtype)
                for shape, dtype in zip(shapes, types, strict=True)
                if shape is not None and is_known(shape)
            ]
            if len(inputs) == len(shapes):  # otherwise they follow from values: each run creates its own
                kernel.create(device, inputs, has_gradients=not self.only_infers)

    def _other_storage_types(self) -> str | None:
        """Return what a compiler would make dense; None where a part of the network, or all, does without that."""
        if not (self.freezing or self._captures) and self._has_dense_part():
            return None
        stypes = {storage_of(node, self.facts) for node in self.graph.variables} - {DENSE}
        if stypes:
            return f"compilers take dense arrays only; got storage type {', '.join(sorted(stypes))}"
        # Dense arrays, with gradients or results that are not: a compiler's are of a table's size.
        gradients = {} if self.only_infers else infer_gradient_storage(self.graph, self.facts.storage)
        stypes = set(gradients.values()) | set(self.facts.storage.values())
        if stypes:
            return f"compilers give dense arrays only; wanted storage type {', '.join(sorted(stypes))}"
        return None

    def _has_dense_part(self) -> bool:
        """Return whether kernels for other storage types leave a part to a compiler, and its end."""
        operators = {node for node in self.graph.nodes if node.operator is not None}
        losses = {loss.node for loss in losses_of(self.graph, self.target(is_train=True)) if loss is not None}
        kernels = storage_kernels(self.graph, self.facts, () if self.only_infers else operators - losses)
        # Compiled code returns with the outputs the inputs of losses, which backward begins at.
        ends = {*self.graph.outputs, *(entry for node in losses for entry in node.inputs)}
        if not ends.isdisjoint(stored_entries(self.graph, self.facts, kernels)):
            return False
        return not uncompiled_nodes(self.graph, self.facts, kernels).issuperset(operators)

    def _has_other_shapes(self, target: Target) -> bool:
        """Return whether a pass for `target` uses shapes, and enough others of them were compiled for."""
        if not (self.freezing or uses_shapes(self.graph, target)):
            return False
        shapes = tuple(self.facts.shapes.get(Entry(node)) for node in self.graph.variables)
        known = _compiled_for.setdefault(self.graph, set())
        if len(known) < target.tuning.compiled_shape_combinations:
            known.add(shapes)
        return shapes not in known

    def give_up(self, plan: Plan, reason: str) -> None:
        """Run the network uncompiled from now on, since the compiler failed for a `reason`, and say so."""
        assert plan.compiled is not None
        plan.compiled.give_up(reason)
        self._run_uncompiled(plan.compiled.failure)

    def say_not_joined(self, steps: str, plan: Plan, reason: str) -> None:
        """Say why the compiler failed on several steps as one, which it takes one by one, if it does."""
        if plan.compiled is not None and plan.compiled.failure is None:  # or it was said of all
            self._say(f"is compiled, but not {steps} as one: {reason}")

    def _run_uncompiled(self, reason: str | None) -> None:
        self.compiles, self.failure = False, reason
        self._say(f"is not compiled, and runs in the default mode: {reason}")

    def _say(self, what: str) -> None:
        names = self.graph.output_names
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        warn_user(f"backend={self.backend!r}: the network of {names[0]!r}{more} {what}")

    def target(
        self,
        is_train: bool,
        backend: str | None = None,
        traced: bool = False,
        recorded: bool = True,
        recompute: Recompute = "none",
    ) -> Target:
        """Return what the graph is lowered for: mode, devices, backend, who takes the code, whether it is recorded.

        >>> import rebind as mx
        >>> Plans(mx.sym.var("x").graph, mx.cpu(), {}).target(is_train=True).training
        True
        """
        chosen = backend or self.backend
        only_infers = self.only_infers and not recorded
        return Target.at(self.device, is_train, self.groups, chosen, traced, recorded, recompute, only_infers)

    def threads(self, inference: bool = False) -> OneThread:
        """For the ``with`` block of a run: one thread if the graph is small, otherwise as many as there are.

        Threads meet at the end of every operator, which takes longer than a small one does. Beside other work each
        waits for one that does not run: a perceptron's step of 1 ms took 180 with two threads on two cores at a load
        of 30.

        >>> import rebind as mx
        >>> plans = Plans(mx.sym.var("x").graph, mx.cpu(), {})
        >>> with plans.threads():
        ...     pass
        """
        return OneThread(self._is_small[inference])

    @functools.cached_property
    def _is_small(self) -> tuple[bool, bool]:
        effort = multiply_adds(self.graph, self.facts)
        return is_small(effort), is_small(effort, inference=True)

    @functools.cached_property
    def bytes_of_results(self) -> float:
        """How much memory the results of the graph's operators take together; infinity where that is not known."""
        return bytes_of_results(self.graph, self.facts)

    @property
    def captures(self) -> bool:
        """Whether runs are captured as CUDA graphs: forward and backward together."""
        return self._captures and self.compiles

    @property
    def has_watched(self) -> bool:
        """Whether a watched run was ever asked for."""
        return self._watched is not None
