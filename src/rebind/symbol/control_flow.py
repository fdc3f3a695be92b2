"""Loops and branches as nodes of a graph (``sym.contrib``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from ..checks import FUNCTION, check_kind
from ..errors import ArgumentError, MXNetError
from ..graph import Application, Entry, Graph, Node, Variable
from ..graph.control_flow import control_flow_operator
from ..nested import flatten, pair, read_limit, restore
from ..ops import find
from ..params import format_value
from ..scope import AttrScope, NameManager
from .creation import var
from .symbol import Symbol, compose

__all__ = ["cond", "foreach", "while_loop"]

_SCOPE = "__subgraph_name__"
_counts: Counter[str] = (
    Counter()
)  # bodies of one name are counted, so that no two in a graph have the same name


def foreach(body: Callable[..., Any], data: Any, init_states: Any, name: str = "foreach") -> tuple[Any, Any]:
    """Run `body` on each slice of arrays along axis 0; states go from one step to the next.

    Parameters
    ----------
    body
        ``body(slices, states) -> (outputs, new states)``, called once, on symbols. It may use symbols from outside. All
        slices and states must be used.
    data, init_states
        A symbol, or (nested) lists.
    name
        What the names of the body's nodes are marked with.

    Returns
    -------
    outputs, states
        The outputs of all steps, stacked along axis 0, and the last states.

    Examples
    --------
    >>> import rebind as mx
    >>> step = lambda x, total: (x * 10, total + x)
    >>> outputs, total = mx.sym.contrib.foreach(step, mx.sym.var("data"), mx.sym.var("total"))
    >>> executor = mx.sym.Group([outputs, total]).bind(
    ...     mx.cpu(), {"data": mx.nd.array([[1], [2], [3]]), "total": mx.nd.zeros((1,))}
    ... )
    >>> [value.asnumpy().ravel().tolist() for value in executor.forward()]
    [[10.0, 20.0, 30.0], [6.0]]
    """
    check_kind("contrib.foreach", FUNCTION, body=body)
    arrays, data_nesting = flatten(data, Symbol, "contrib.foreach: data")
    states, state_nesting = flatten(init_states, Symbol, "contrib.foreach: init_states")
    with _BodyScope(name) as scope:
        slices, inner_states = scope.stand_ins(arrays), scope.stand_ins(states)
        outputs, new = pair(
            body(restore(slices, data_nesting), restore(inner_states, state_nesting)), "contrib.foreach: body"
        )
        found, nesting = flatten(outputs, Symbol, "contrib.foreach: the body's output")
        new_states, new_nesting = flatten(new, Symbol, "contrib.foreach: the body's new states")
        if new_nesting != state_nesting:
            raise ArgumentError(
                f"contrib.foreach: the body must return new states nested as init_states, {init_states!r}; got {new!r}"
            )
        graph, outside = scope.cut(found, new_states)
    positions = scope.positions(graph)
    # Variables of the body that are neither slices nor states: what it takes from outside.
    remaining = [position for position, variable in enumerate(graph.variables) if variable.name in outside]
    given = {
        "num_outputs": len(graph.outputs),
        "num_out_data": len(found),
        "in_state_locs": [positions(symbol, "contrib.foreach: a state") for symbol in inner_states],
        "in_data_locs": [positions(symbol, "contrib.foreach: data") for symbol in slices],
        "remain_locs": remaining,
    }
    inputs = [_entry(symbol) for symbol in (*arrays, *states)]
    inputs += [outside[graph.variables[position].name] for position in remaining]
    results = _apply("_foreach", given, [graph], inputs)
    return restore(results[: len(found)], nesting), restore(results[len(found) :], state_nesting)


def while_loop(
    cond: Callable[..., Any],
    func: Callable[..., Any],
    loop_vars: Any,
    max_iterations: int | None = None,
    name: str = "while_loop",
) -> tuple[Any, Any]:
    """Run `func` as long as `cond` holds, at most `max_iterations` times.

    Parameters
    ----------
    cond
        ``cond(*loop_vars)``: a symbol of one number; the loop ends when it is 0.
    func
        ``func(*loop_vars) -> (outputs, new loop_vars)``. All loop variables must be used.
    loop_vars
        The first values, a symbol or (nested) lists.
    max_iterations
        The largest number of steps.
    name
        What the names of the bodies' nodes are marked with.

    Returns
    -------
    outputs, loop_vars
        The outputs of all steps, stacked along axis 0 and filled up with zeros to `max_iterations` (MXNet leaves what
        was in memory there), and the last values.

    Examples
    --------
    >>> import rebind as mx
    >>> outputs, (i, total) = mx.sym.contrib.while_loop(
    ...     lambda i, total: i < 3,
    ...     lambda i, total: (i * i, [i + 1, total + i]),
    ...     [mx.sym.var("i"), mx.sym.var("total")],
    ...     max_iterations=4,
    ... )
    >>> found = mx.sym.Group([outputs, total]).eval(i=mx.nd.zeros((1,)), total=mx.nd.zeros((1,)))
    >>> [value.asnumpy().ravel().tolist() for value in found]
    [[0.0, 1.0, 4.0, 0.0], [3.0]]
    """
    check_kind("contrib.while_loop", FUNCTION, cond=cond, func=func)
    limit = read_limit(max_iterations)
    values, nesting = flatten(loop_vars, Symbol, "contrib.while_loop: loop_vars")
    with _BodyScope(f"{name}_cond") as condition:
        stand_ins = condition.stand_ins(values)
        holds = cond(*(stand_ins if nesting is None else restore(stand_ins, nesting)))
        if not isinstance(holds, Symbol):
            raise ArgumentError(f"contrib.while_loop: cond must return a Symbol; got {holds!r}")
        condition_graph, condition_outside = condition.cut([holds], [])
    with _BodyScope(f"{name}_func") as step:
        stand_ins = step.stand_ins(values)
        outputs, new = pair(
            func(*(stand_ins if nesting is None else restore(stand_ins, nesting))), "contrib.while_loop: func"
        )
        found, output_nesting = flatten(
            [] if outputs is None else outputs, Symbol, "contrib.while_loop: an output of func"
        )
        # One loop variable need not be in a list.
        new_values, new_nesting = flatten(
            [new] if nesting == [None] and isinstance(new, Symbol) else new,
            Symbol,
            "contrib.while_loop: a new loop variable",
        )
        if new_nesting != nesting:
            raise ArgumentError(
                f"contrib.while_loop: func must return new variables nested as loop_vars, {loop_vars!r}; got {new!r}"
            )
        graph, outside = step.cut(found, new_values)
    # The stand-ins of a loop variable have one name in both bodies.
    names = [_entry(symbol).node.name for symbol in stand_ins]
    first = dict(zip(names, map(_entry, values), strict=True))
    inputs = _Inputs()
    condition_places = [inputs.position(v.name, first, condition_outside) for v in condition_graph.variables]
    step_places = [inputs.position(v.name, first, outside) for v in graph.variables]
    positions = step.positions(graph)
    given = {
        "num_outputs": len(graph.outputs),
        "num_out_data": len(found),
        "max_iterations": limit,
        "cond_input_locs": condition_places,
        "func_input_locs": step_places,
        "func_var_locs": [positions(symbol, "contrib.while_loop: a loop variable") for symbol in stand_ins],
    }
    # Outputs of all steps come first, then the loop variables as the last step left them.
    results = _apply("_while_loop", given, [condition_graph, graph], inputs.entries)
    return restore(results[: len(found)], output_nesting), restore(results[len(found) :], nesting)


def cond(pred: Symbol, then_func: Callable[[], Any], else_func: Callable[[], Any], name: str = "cond") -> Any:
    """Return what `then_func` makes where `pred`, one number, is not 0, else what `else_func` makes.

    Both are called once; only one of the two bodies runs. They must make as many outputs, of one shape each.

    Examples
    --------
    >>> import rebind as mx
    >>> a, b = mx.sym.var("a"), mx.sym.var("b")
    >>> chosen = mx.sym.contrib.cond(a * b < 5, lambda: (a + 5) * (b + 5), lambda: (a - 5) * (b - 5))
    >>> chosen.eval(a=mx.nd.array([1.0]), b=mx.nd.array([2.0]))[0].item()
    42.0
    """
    if not isinstance(pred, Symbol):
        raise ArgumentError(f"contrib.cond: pred must be a Symbol; got {pred!r}")
    check_kind("contrib.cond", FUNCTION, then_func=then_func, else_func=else_func)
    graphs, outsides, nestings = [], [], []
    # The condition is a graph as well, though it is given as a symbol.
    for part, which, function in (
        ("pred", "pred", lambda: pred),
        ("then", "then_func", then_func),
        ("else", "else_func", else_func),
    ):
        with _BodyScope(f"{name}_{part}") as scope:
            found, nesting = flatten(function(), Symbol, f"contrib.cond: an output of {which}")
            graph, outside = scope.cut(found, [])
        graphs.append(graph)
        outsides.append(outside)
        nestings.append(nesting)
    if nestings[1] != nestings[2]:
        raise ArgumentError(
            "contrib.cond: then_func and else_func must return as many outputs, nested in the same way; got "
            f"{len(graphs[1].outputs)} and {len(graphs[2].outputs)}"
        )
    inputs = _Inputs()
    # Where the variables of each graph are among the inputs, which all three share.
    locations = [
        [inputs.position(v.name, {}, outside) for v in graph.variables]
        for graph, outside in zip(graphs, outsides, strict=True)
    ]
    given = {
        "num_outputs": len(graphs[1].outputs),
        "cond_input_locs": locations[0],
        "then_input_locs": locations[1],
        "else_input_locs": locations[2],
    }
    return restore(_apply("_cond", given, graphs, inputs.entries), nestings[1])


class _Inputs:
    """The inputs of a node, each once; variables of one name are one."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._position: dict[str, int] = {}

    def position(self, name: str, first: dict[str, Entry], outside: dict[str, Entry]) -> int:
        """Return the number of the input that gives a variable of a body its value."""
        if name not in self._position:
            self._position[name] = len(self.entries)
            self.entries.append(first[name] if name in first else outside[name])
        return self._position[name]


class _BodyScope(AttrScope):
    """A scope whose nodes become a body: a graph of their own, cut off from what is outside.

    An attribute marks them, since the user's function may use symbols from inside and outside.
    """

    def __init__(self, name: str) -> None:
        outer = AttrScope.current.get(None).get(_SCOPE)
        # Each body has a name of its own, also where one user's function is used in several loops.
        number = _counts[name]
        _counts[name] += 1
        name += str(number)
        self.name = f"{outer}${name}" if outer else name
        super().__init__(**{_SCOPE: self.name})
        self._stand_ins: set[Node] = set()
        self._names: set[str] = set()

    def stand_ins(self, symbols: Sequence[Symbol]) -> list[Symbol]:
        """Return a variable for each symbol: inside, it is that symbol or one slice of it."""
        found = []
        for symbol in symbols:
            entry = _entry(symbol)
            name = base = f"{entry.node.name}-{entry.index}"
            # Names of stand-ins are what the body's variables are called in a saved symbol.
            while name in self._names:  # two symbols of one name
                name += f"-{base}"
            self._names.add(name)
            found.append(var(name))
            self._stand_ins.add(_entry(found[-1]).node)
        return found

    def cut(self, outputs: Sequence[Symbol], carried: Sequence[Symbol]) -> tuple[Graph, dict[str, Entry]]:
        """Return the body that makes `outputs` and the states `carried`, and by name what it takes from outside.

        Each output is made by an operator of the body, and each state by one of its own.
        """
        results: list[Entry] = []
        for symbol in (*outputs, *carried):
            entry = _entry(symbol)
            # An identity is put between where an output is no node of the body, or a state comes from the node of
            # another result.
            again = len(results) >= len(outputs) and any(entry.node is result.node for result in results)
            if again or entry.node.is_variable or not self._is_inside(entry.node):
                symbol = compose(find("_copy"), "identity", (symbol,), {})
                entry = _entry(symbol)
            results.append(entry)
        outside: dict[str, Entry] = {}
        inner: dict[str, Entry] = {}

        def within(entry: Entry) -> Entry:
            """Return the entry inside that has the value of this one."""
            node = entry.node
            if node in self._stand_ins:
                return entry
            # What comes from outside becomes a variable of the body and an input of the loop, once for each name.
            if node.is_variable or not self._is_inside(node):
                name = entry.name
                outside.setdefault(name, entry)
                if name not in inner:
                    variable = node if self._is_inside(node) else Variable(name)
                    inner[name] = Entry(variable)
                return inner[name]
            return new[node][entry.index]

        new: dict[Node, list[Entry]] = {}
        for node in Graph(results).nodes:
            if not node.is_variable and self._is_inside(node):
                inputs = tuple(within(entry) for entry in node.inputs)
                copied = node if inputs == node.inputs else node.with_inputs(inputs)
                new[node] = [Entry(copied, i) for i in range(len(node.output_names))]
        return Graph([new[entry.node][entry.index] for entry in results]), outside

    def _is_inside(self, node: Node) -> bool:
        return node.attributes.get(_SCOPE) == self.name

    @staticmethod
    def positions(graph: Graph) -> Callable[[Symbol, str], int]:
        """Return a function that gives the number of a stand-in among the body's variables."""
        numbers = {variable: position for position, variable in enumerate(graph.variables)}

        def position(symbol: Symbol, who: str) -> int:
            node = _entry(symbol).node
            if node not in numbers:
                raise ArgumentError(
                    f"{who} must be used in the body of the loop; {node.name.rpartition('-')[0]!r} is not used"
                )
            return numbers[node]

        return position


def _entry(symbol: Symbol) -> Entry:
    if len(symbol.graph.outputs) != 1:
        raise ArgumentError(
            f"symbols of a loop or a branch must have one output each; got {symbol!r}, with {len(symbol.graph.outputs)}"
        )
    return symbol.graph.outputs[0]


def _apply(
    name: str, given: dict[str, Any], graphs: Sequence[Graph], inputs: Sequence[Entry]
) -> list[Symbol]:
    """Return the outputs of a new node."""
    template = find(name)
    # As MXNet counts: subgraphs are arguments too.
    given = {"num_args": len(inputs) + len(graphs), **given}
    node_name, called_as = NameManager.current.get(None, name), f"contrib.{name.removeprefix('_')}"
    try:
        p = template.parse(given)
        op = control_flow_operator(template, p, graphs, len(inputs))
    except MXNetError as error:
        error.locate(name, called_as=called_as, node=node_name)
        raise
    texts = {key: format_value(value) for key, value in given.items()}
    node = Application(op, node_name, tuple(inputs), p, texts, AttrScope.current.get(None), called_as)
    return [Symbol([Entry(node, i)]) for i in range(node.visible_outputs)]
