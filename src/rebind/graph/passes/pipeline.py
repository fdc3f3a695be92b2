"""Which passes a graph goes through before it is run, and which compiler takes its code: a `Backend`, by its name.

A pass is a function ``(graph, facts, target) -> (graph, facts)``. The default list:

=================  ====================================================================================
`join_cells`       chains of recurrent cells with the same weights become one layer
`join_layers`      independent layers with the same weights become one matrix product
`fill_sizes`       arrays of a size that only their consumers know are made in that size (uses shapes)
`pool_first`       activations come after the maximum over windows of what they give
`channels_last`    what convolutions take, and give, has its channels last in memory
`keep_order`       it is put in order where it must be
=================  ====================================================================================

In inference, where no gradients are asked for, there are others in place of the two before `keep_order`:

===================  ==================================================================================
`drop_identities`    what does nothing in inference is left out
`hoist_casts`         parameters of mixed precision are cast once
`fold_batch_norm`    batch norms become part of the weights of the layer before them,
`fold_norm_before`   and others part of those of the layer after them
`keep_constants`     what depends on no array is computed once
`fuse_levels`        layers between levels of 8 bits are computed in whole numbers (uses shapes)
`fuse_convolutions`  convolution, sum and activation become one call, with packed weights (uses shapes)
`fuse_dense`         dense layer and activation become one call, with packed weights
`channels_last`      what transposed convolutions take, and give, has its channels last in memory
===================  ==================================================================================

Results are cached as long as the graph that they were given, for each target. Passes that use no shapes run once
for all shapes; what follows the first one that does is cached by shapes of the graph's variables. A pass that changes
nothing returns the graph itself, so that all shapes share one plan where no pass has anything to do with them.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from ... import config
from ...checks import TEXT, Kind, check_kind, or_none
from ...errors import NameLookupError, ParameterError, near_names
from ..facts import CUDA_GRAPHS, Facts, Target
from ..fused_layers import FROM_LEVELS
from ..graph import Entry, Graph, check
from .channels_last import CONVOLUTIONS, TRANSPOSED, channels_last
from .drop_identities import IDENTITIES, drop_identities
from .fill_sizes import fill_sizes, has_open_sizes
from .fold_batch_norm import fold_batch_norm
from .fold_norm_before import fold_norm_before
from .fuse_convolutions import fuse_convolutions
from .fuse_dense import DENSE, fuse_dense
from .fuse_levels import fuse_levels
from .fuse_relu import fuse_relu
from .hoist_casts import hoist_casts
from .join_cells import join_cells
from .join_layers import join_layers
from .keep_constants import has_constants, keep_constants
from .keep_order import keep_order
from .mixed_precision import CASTS
from .open_fused_layers import has_fused_layers, open_fused_layers
from .pool_first import pool_first

__all__ = [
    "BACKENDS",
    "DEFAULT",
    "Backend",
    "Compiler",
    "Pass",
    "backend_named",
    "names_of_changes",
    "optimize",
    "optimize_without_shapes",
    "passes_of",
    "register_backend",
    "uses_shapes",
]

PassFunction: TypeAlias = Callable[[Graph, Facts, Target], tuple[Graph, Facts]]
#: A backend of `torch.compile`: its name, or a function ``(graph_module, example_inputs) -> function``.
Compiler: TypeAlias = str | Callable[..., Callable[..., object]]

#: What passes made of a graph, as long as it lives; None for a graph that they left as it was.
_made: weakref.WeakKeyDictionary[Graph, dict[Hashable, tuple[Graph | None, Facts]]] = (
    weakref.WeakKeyDictionary()
)


@dataclass(frozen=True)
class Pass:
    """One step from graph to graph, and what it needs to know.

    Attributes
    ----------
    run
        The function ``(graph, facts, target) -> (graph, facts)``. It returns the graph itself where it changes nothing,
        and carries the facts over (`rebind.graph.rewrite_with_map`, `Facts.after`).
    uses_shapes
        Whether it reads `Facts.shapes`. It is then run for each combination of shapes of the variables.
    applies
        Whether it has something to do on a graph, as far as that can be seen without shapes; None: always.
    """

    run: PassFunction
    uses_shapes: bool = False
    applies: Callable[[Graph], bool] | None = None

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.run.__name__


@dataclass(frozen=True)
class Backend:
    """A way to run a graph.

    Attributes
    ----------
    passes
        What is made of the graph.
    compiler
        What compiles the code of the result; None: it runs as it is.
    inference
        What is made of it for inference without gradients; None: the same.
    freezing
        Whether the compiler makes constants of the parameters, and takes inference only. All else runs in the default
        mode.
    """

    passes: tuple[Pass, ...]
    compiler: Compiler | None = None
    inference: tuple[Pass, ...] | None = None
    freezing: bool = False

    @property
    def has_inference(self) -> bool:
        """Whether inference that nothing is differentiated of is another thing than inference that is recorded.

        >>> backend_named("default").has_inference, backend_named("plain").has_inference
        (True, False)
        """
        return self.inference is not None or self.freezing

    def passes_for(self, target: Target) -> tuple[Pass, ...]:
        """Return the passes for a target.

        >>> names = [each.name for each in backend_named("inductor").passes_for(Target(recorded=False))]
        >>> "fold_batch_norm" in names, "pool_first" in names
        (True, False)
        """
        return self.passes if self.inference is None or target.recorded or target.training else self.inference


def _has(*names: str) -> Callable[[Graph], bool]:
    """Return whether a graph has one of some operators."""
    return lambda graph: any(
        node.operator is not None and node.operator.name in names for node in graph.nodes
    )


_FOR_ALL: tuple[Pass, ...] = (
    Pass(join_cells),
    Pass(join_layers),
    Pass(fill_sizes, uses_shapes=True, applies=has_open_sizes),
)

DEFAULT: tuple[Pass, ...] = (
    *_FOR_ALL,
    Pass(pool_first, applies=_has("Pooling")),
    Pass(channels_last, applies=_has(*CONVOLUTIONS, TRANSPOSED)),
    Pass(keep_order, applies=_has(*CONVOLUTIONS, TRANSPOSED)),
)

_INFERENCE = (
    *_FOR_ALL,
    Pass(drop_identities, applies=_has(*IDENTITIES)),
    Pass(hoist_casts, applies=_has(*CASTS)),
    Pass(fold_batch_norm, applies=_has("BatchNorm")),
    Pass(fold_norm_before, applies=_has("BatchNorm")),
    Pass(keep_constants, applies=has_constants),
    Pass(fuse_levels, uses_shapes=True, applies=_has(*FROM_LEVELS)),
    Pass(fuse_convolutions, uses_shapes=True, applies=_has(*CONVOLUTIONS, TRANSPOSED)),
    Pass(fuse_dense, applies=_has(DENSE)),
    Pass(channels_last, applies=_has(*CONVOLUTIONS, TRANSPOSED)),
    Pass(fuse_relu, uses_shapes=True, applies=_has(*CONVOLUTIONS)),
    Pass(keep_order, applies=_has(*CONVOLUTIONS, TRANSPOSED, *FROM_LEVELS)),
)

# For engines that have their own ways to fold and to pack.
_LEFT_OPEN = (*_FOR_ALL, Pass(drop_identities, applies=_has(*IDENTITIES)))

# For every backend, those of users too: nothing runs a fused layer as it is.
_OPEN = Pass(open_fused_layers, applies=has_fused_layers)

# Node by node, as the user wrote them.
_PLAIN = tuple(each for each in DEFAULT if each.run is fill_sizes)

#: The backends, by name.
BACKENDS: dict[str, Backend] = {
    "default": Backend(DEFAULT, inference=_INFERENCE),
    # For monitors.
    "plain": Backend(_PLAIN),
    # Those of torch.compile. Only the first compiles kernels; the second has a GPU run what was launched once (CUDA
    # graphs), and the last two show where a network meets the compiler's limits.
    **{name: Backend(DEFAULT, name, _INFERENCE) for name in ("inductor", CUDA_GRAPHS, "aot_eager", "eager")},
    # An engine for inference on processors.
    "openvino": Backend(DEFAULT, "openvino", _LEFT_OPEN, freezing=True),
    # MXNet's own, for programs that name them: what they did is done by the kernels here.
    **dict.fromkeys(("MKLDNN", "MKLDNN_QUANTIZE", "ONEDNN", "ONEDNN_QUANTIZE", "TensorRT"), Backend(_PLAIN)),
}


_PASSES = Kind(
    "a list of passes, each a Pass or a function",
    lambda value: (
        isinstance(value, (list, tuple)) and all(isinstance(each, Pass) or callable(each) for each in value)
    ),
)


def register_backend(
    name: str,
    passes: Sequence[Pass | PassFunction],
    *,
    compiler: Compiler | None = None,
    inference: Sequence[Pass | PassFunction] | None = None,
    freezing: bool = False,
    override: bool = False,
) -> None:
    """Register a backend, which ``symbol.optimize_for(name)`` and ``bind(..., backend=name)`` use.

    Parameters
    ----------
    name
        The backend's name.
    passes
        What to run, in order: functions ``(graph, facts, target) -> (graph, facts)``, or `Pass` records for those that
        use shapes. To add to what is done anyway, start from `DEFAULT`.
    compiler
        What compiles the result: the name of a backend of `torch.compile`, or a function as `torch.compile` takes it.
    inference
        What to run instead for inference without gradients; None: the same.
    freezing
        Whether the compiler is one for inference only, with parameters as constants: a function ``(module, data) ->
        function``, which is given a `torch.nn.Module` that has them as buffers, and the tensors that it takes. What it
        returns takes such tensors and returns the outputs, as a sequence. It is asked once for each combination of
        shapes, and again when a parameter was written; training, and runs that may be differentiated, go in the
        default mode.
    override
        Whether a backend of this name may be there already.

    Examples
    --------
    >>> import rebind as mx
    >>> from rebind.graph import rewrite_with_map
    >>> def without_dropout(graph, facts, target):
    ...     def replace(node, inputs):
    ...         if node.operator is not None and node.operator.name == "Dropout":
    ...             return [inputs[0], inputs[0]]  # its output, and its hidden mask
    ...
    ...     graph, replaced = rewrite_with_map(graph, replace)
    ...     return graph, facts.after(replaced)
    >>> register_backend("no-dropout", [*DEFAULT, without_dropout])
    >>> net = mx.sym.Dropout(mx.sym.tanh(mx.sym.var("x"), name="tanh"), name="drop")
    >>> net.optimize_for("no-dropout").list_outputs()
    ['tanh_output']
    """
    check_kind("register_backend", TEXT, name=name)
    check_kind("register_backend", _PASSES, passes=passes)
    check_kind("register_backend", or_none(_PASSES), inference=inference)
    if name in BACKENDS and not override:
        raise ParameterError(
            f"register_backend: name must be new; got {name!r}, which is registered. Set override=True to replace it."
        )
    if freezing and not callable(compiler):
        raise ParameterError(
            f"register_backend: compiler must be a function with freezing=True; got {compiler!r}"
        )
    for_inference = None if inference is None else _read(inference)
    BACKENDS[name] = Backend(_read(passes), compiler, for_inference, freezing)
    # What a replaced list made must not be found again.
    _made.clear()


def _read(passes: Sequence[Pass | PassFunction]) -> tuple[Pass, ...]:
    return tuple(each if isinstance(each, Pass) else Pass(each) for each in passes)


def backend_named(backend: str) -> Backend:
    """Return the backend of a name; NameLookupError when there is none.

    >>> backend_named("inductor").compiler
    'inductor'
    """
    found = BACKENDS.get(backend)
    if found is None:
        raise NameLookupError(
            f"backend: no backend {backend!r}{near_names(backend, BACKENDS)} Registered: {', '.join(BACKENDS)}."
        )
    return found


def passes_of(backend: str) -> tuple[Pass, ...]:
    """Return the passes of a backend; NameLookupError when there is none of that name.

    >>> [each.name for each in passes_of("default")]
    ['join_cells', 'join_layers', 'fill_sizes', 'pool_first', 'channels_last', 'keep_order']
    """
    return backend_named(backend).passes


def uses_shapes(graph: Graph, target: Target) -> bool:
    """Whether a pass for `target` needs the shapes in this graph: its plan then holds for these shapes only.

    >>> import rebind as mx
    >>> uses_shapes(mx.sym.exp(mx.sym.var("x")).graph, Target())
    False
    """
    return any(each.uses_shapes for each in _passes_for(graph, target))


def optimize(graph: Graph, facts: Facts, target: Target, *, is_stored: bool = True) -> tuple[Graph, Facts]:
    """Return the graph that is run for `target`, and what is known of its entries.

    The same graph object is returned for the same input, so that what is made from it can be cached with it; without
    `is_stored`, what is made for these shapes is not.

    Examples
    --------
    >>> import rebind as mx
    >>> weight = mx.sym.var("w")
    >>> layers = [mx.sym.FullyConnected(mx.sym.var(x), weight, num_hidden=2, no_bias=True) for x in "ab"]
    >>> graph = mx.sym.Group(layers).graph
    >>> [node.operator.name for node in optimize(graph, Facts(), Target())[0].nodes if node.operator]
    ['_joint_fully_connected']
    """
    facts = facts.on(graph, target)
    passes = _passes_for(graph, target)
    # What comes before the first pass that uses shapes is made once for all of them.
    first = next((i for i, each in enumerate(passes) if each.uses_shapes), len(passes))
    graph, facts = _without_shapes(graph, facts, passes[:first], target)
    if first == len(passes):
        return graph, facts
    shapes = tuple(facts.shapes.get(Entry(node)) for node in graph.variables)
    return _once(graph, (target, _types(graph, facts), shapes), passes[first:], facts, target, is_stored)


def names_of_changes(graph: Graph, facts: Facts, target: Target) -> list[str]:
    """Return the names of the passes that change a graph for a target, in their order.

    >>> import rebind as mx
    >>> weight = mx.sym.var("w")
    >>> layers = [mx.sym.FullyConnected(mx.sym.var(x), weight, num_hidden=2, no_bias=True) for x in "ab"]
    >>> names_of_changes(mx.sym.Group(layers).graph, Facts(), Target())
    ['join_layers']
    """
    facts, names = facts.on(graph, target), []
    for each in _passes_for(graph, target):
        new, facts = each.run(graph, facts, target)
        if new is not graph:
            names.append(each.name)
        graph = new
    return names


def optimize_without_shapes(graph: Graph, facts: Facts, target: Target) -> tuple[Graph, Facts]:
    """As `optimize`, but leave out the passes that use shapes: what the others make holds for all shapes.

    >>> import rebind as mx
    >>> graph = mx.sym.exp(mx.sym.var("x")).graph
    >>> optimize_without_shapes(graph, Facts(), Target())[0] is graph  # no pass had anything to do
    True
    """
    passes = [each for each in _passes_for(graph, target) if not each.uses_shapes]
    return _without_shapes(graph, facts.on(graph, target), passes, target)


def _passes_for(graph: Graph, target: Target) -> list[Pass]:
    passes = backend_named(target.backend).passes_for(target)
    if _OPEN.applies is not None and _OPEN.applies(graph):
        # What is in them is not known yet: none can be left out.
        return [_OPEN, *passes]
    return [each for each in passes if each.applies is None or each.applies(graph)]


def _without_shapes(
    graph: Graph, facts: Facts, passes: Sequence[Pass], target: Target
) -> tuple[Graph, Facts]:
    # A pass that does not declare that it uses shapes gets none: what it makes is cached for all shapes.
    key = (target, _types(graph, facts), tuple(passes))
    graph, known = _once(graph, key, passes, replace(facts, shapes={}), target)
    return graph, replace(known, shapes=known.from_origins(facts.shapes))


def _types(graph: Graph, facts: Facts) -> Hashable:
    """Return what passes may know of the variables beside their shapes."""
    return tuple((facts.types.get(entry), facts.storage.get(entry)) for entry in map(Entry, graph.variables))


def _once(
    graph: Graph,
    key: Hashable,
    passes: Sequence[Pass],
    facts: Facts,
    target: Target,
    is_stored: bool = True,
) -> tuple[Graph, Facts]:
    """Run passes, or return what they made of the graph before for this key."""
    made = _made.setdefault(graph, {})
    if key not in made:
        new, known = _run(passes, graph, facts, target)
        if not is_stored:
            return new, known
        # A graph must not be held by its own entry here, or it would live for ever.
        made[key] = (None if new is graph else new, known)
    new_or_none, known = made[key]
    return (graph if new_or_none is None else new_or_none), known


def _run(passes: Sequence[Pass], graph: Graph, facts: Facts, target: Target) -> tuple[Graph, Facts]:
    checks = config.get("REBIND_CHECK_GRAPHS")
    for each in passes:
        graph, facts = each.run(graph, facts, target)
        if checks:
            check(graph)
    return graph, facts
