"""One call of a recurrent layer instead of cells that were unrolled step by step.

An unrolled network is a chain of cells with the same weights, each on the state that the one before leaves. The whole
is one layer, for which there are kernels, unless an input of the chain is computed from it, as where a decoder reads
its own words. The state after each step stays for the rest of the graph; cells of which more is needed, such as a gate,
are left as they are.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..facts import Facts, Target
from ..graph import Application, Entry, Graph
from .cell_runs import Run, find_runs, in_order
from .sequences import Sequences
from .substitution import application, common_attributes, substitute

__all__ = ["join_cells"]


def join_cells(graph: Graph, facts: Facts, target: Target) -> tuple[Graph, Facts]:
    """Make chains of recurrent cells with the same weights one layer each.

    For a GPU a compiler is given the single steps: it joins them itself, and cannot see into the kernels. For a CPU it
    is given the layer: it calls oneDNN for an LSTM, which is faster than what it makes of the steps, and has less to
    compile; of other cells it sees the steps all the same. Operators between layers that draw random numbers, such as
    `Dropout`, draw for all steps of a layer before those of the next one.

    >>> import rebind as mx
    >>> weights = [mx.sym.var(name) for name in ("iw", "ib", "hw", "hb")]
    >>> state = mx.sym.zeros(shape=(0, 4))
    >>> for x in "abc":
    ...     layers = [
    ...         mx.sym.FullyConnected(data, weight, bias, num_hidden=4)
    ...         for data, weight, bias in ((mx.sym.var(x), *weights[:2]), (state, *weights[2:]))
    ...     ]
    ...     state = mx.sym.Activation(layers[0] + layers[1], act_type="tanh", name=f"step_{x}")
    >>> joined, _ = join_cells(state.graph, Facts(), Target())
    >>> [node.name for node in joined.nodes if not node.is_variable]
    ['step_a to step_c inputs', 'step_a to step_c']
    """
    # A compiler has no kernels for cells on a GPU; CUDA graphs replay cuDNN's.
    if target.is_compiled and target.device.type != "cpu":
        return graph, facts
    runs = in_order(find_runs(graph, facts))
    if not runs:
        return graph, facts
    sequences = Sequences()
    instead: dict[Entry, Entry] = {}
    for run in runs:
        instead |= _joined(run, sequences)
    instead |= _merged(graph, sequences)
    graph, replaced = substitute(graph, instead)
    # What is new has devices too: those of its context group.
    return graph, facts.after(replaced).on(graph, target)


def _joined(run: Run, sequences: Sequences) -> Mapping[Entry, Entry]:
    """Return, for each state of a run that is needed elsewhere, what it becomes."""
    hidden = [step.cell.hidden for step in run.steps]
    name = f"{hidden[0].node.name} to {hidden[-1].node.name}"
    attributes = common_attributes([node for step in run.steps for node in step.cell.nodes])
    inputs = [step.of_input.inputs[0] for step in run.steps]
    data = sequences.whole(inputs)
    if data is None:
        data = Entry(application("_stack_rows", f"{name} inputs", inputs, attributes, num_args=len(inputs)))
    layer = _layer(run, data, name, attributes)
    sequences.add(hidden, Entry(layer))
    given = {"num_outputs": len(hidden), "axis": 0, "squeeze_axis": True}
    by_step = application("SliceChannel", f"{name} by step", [Entry(layer)], attributes, **given)
    instead = {entry: Entry(by_step, i) for i, entry in enumerate(hidden)}
    instead[hidden[-1]] = Entry(layer, 1)
    if run.last.cell.memory is not None:
        instead[run.last.cell.memory] = Entry(layer, 2)
    return instead


def _layer(run: Run, data: Entry, name: str, attributes: dict[str, str]) -> Application:
    """Return the node that computes all steps of a run."""
    cell = run.first.cell
    of_input, of_state = run.first.weights
    from_zero = all(map(_is_open_zero, run.first.before))
    before = () if from_zero else run.first.before
    return application(
        "_joint_cells",
        name,
        [data, *of_input, *before[:1], *of_state, *before[1:]],
        attributes,
        mode=cell.mode,
        state_size=cell.size,
        gates=cell.gates,
        no_i2h_bias=len(of_input) == 1,
        no_h2h_bias=len(of_state) == 1,
        from_zero=from_zero,
    )


def _is_open_zero(state: Entry) -> bool:
    """Whether a state is zeros of as many rows as the data: then there need be no array, nor a plan for each size."""
    op, p = state.node.operator, state.node.params
    return op is not None and op.name == "_zeros" and op.has_open_size(p)


def _merged(graph: Graph, sequences: Sequences) -> Mapping[Entry, Entry]:
    """Return, for nodes that join the states of all steps, the same from the array that the states are sections of."""
    instead: dict[Entry, Entry] = {}
    for node in graph.nodes:
        if node.is_variable or node.operator.name not in ("Concat", "stack") or len(node.inputs) < 2:
            continue
        found = _stacked(node, sequences) or _side_by_side(node, sequences)
        if found is not None:
            instead[Entry(node)] = found
    return instead


def _stacked(node: Application, sequences: Sequences) -> Entry | None:
    """Return states of (batch, features) along a new axis."""
    if node.operator.name == "stack":
        steps, axis = node.inputs, node.params.axis
    else:
        axis = node.params.dim
        if not all(_is_expanded(entry, axis) for entry in node.inputs):
            return None
        steps = tuple(entry.node.inputs[0] for entry in node.inputs)
    whole = sequences.whole(steps)
    if whole not in sequences.of_rows or not -3 <= axis < 3:
        return None
    if axis % 3 == 0:
        return whole
    axes = ((1, 0, 2), (1, 2, 0))[axis % 3 - 1]
    return Entry(application("transpose", node.name, [whole], node.attributes, axes=axes))


def _is_expanded(entry: Entry, axis: int) -> bool:
    node = entry.node
    return not node.is_variable and node.operator.name == "expand_dims" and node.params.axis == axis


def _side_by_side(node: Application, sequences: Sequences) -> Entry | None:
    """Return states of (batch, features) along one of these axes."""
    whole = sequences.whole(node.inputs) if node.operator.name == "Concat" else None
    if whole not in sequences.of_rows or node.params.dim not in (0, 1):
        return None
    if node.params.dim == 0:
        return Entry(application("Reshape", node.name, [whole], node.attributes, shape=(-3, 0)))
    turned = Entry(application("SwapAxis", f"{node.name} by row", [whole], node.attributes, dim1=0, dim2=1))
    return Entry(application("Reshape", node.name, [turned], node.attributes, shape=(0, -3)))
