"""From a symbol and its parameters to the text of a `torch.nn.Module`, and its state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ..dtypes import DTypeLike
from ..errors import MXNetError
from ..graph import Application, Entry, Graph, Node, depth_first, infer_shapes, infer_types
from ..ndarray import NDArray
from ..shapes import Shape
from ..symbol import Symbol
from .context import NetworkContext
from .helpers import HELPERS
from .layout import statement
from .names import Names
from .node_writer import NodeWriter, Value
from .tracing import TracedCall, trace_call
from .translations import TRANSLATIONS

__all__ = ["WrittenNetwork", "write_network"]

#: What only the gradient looks at: losses give in inference what comes of their first input alone.
_LOSSES = frozenset(
    (
        "SoftmaxOutput",
        "LinearRegressionOutput",
        "LogisticRegressionOutput",
        "MAERegressionOutput",
        "SVMOutput",
    )
)
#: Names of values that are used again when the value is not needed any more.
_SHORT = ("x", "y", "z")
#: Sizes to try for free ones, by the axis: what is written must hold for any.
_TRIED = (6, 40, 72, 56)


class WrittenNetwork(NamedTuple):
    """A network in PyTorch.

    Attributes
    ----------
    source
        A Python file with a class ``Network``.
    state
        What its ``load_state_dict`` takes.
    names
        From the names of parameters and buffers in `state` to MXNet's.
    inputs
        From the arguments of ``forward``, in their order, to MXNet's names.
    outputs
        MXNet's names of what it returns.
    """

    source: str
    state: dict[str, Tensor]
    names: dict[str, str]
    inputs: dict[str, str]
    outputs: tuple[str, ...]


def write_network(
    symbol: Symbol,
    params: Mapping[str, NDArray],
    shapes: Mapping[str, Shape] | None = None,
    types: Mapping[str, DTypeLike] | None = None,
) -> WrittenNetwork:
    """Write a network; `shapes` of inputs have 0 where a size is free."""
    graph = symbol.graph
    used = depth_first([entry.node for entry in graph.outputs], _sources)
    numbers = {name: value.asnumpy() for name, value in params.items()}
    tensors = {name: torch.from_numpy(value.copy()) for name, value in numbers.items()}
    free, sizes, known = _facts(
        graph, {name: value.shape for name, value in numbers.items()}, shapes, types, params
    )
    reads = Graph(graph.outputs)
    context = NetworkContext(reads, tensors, free, sizes, known)
    return _Writer(context, used).write()


def _sources(node: Node) -> Sequence[Node]:
    inputs = node.inputs
    if isinstance(node, Application) and node.operator.name in _LOSSES:
        inputs = inputs[:1]
    return [entry.node for entry in inputs]


def _facts(
    graph: Graph,
    of_params: Mapping[str, Shape],
    shapes: Mapping[str, Shape] | None,
    types: Mapping[str, DTypeLike] | None,
    params: Mapping[str, NDArray],
) -> tuple[Mapping[Entry, Shape], Mapping[Entry, Shape], Mapping[Entry, torch.dtype]]:
    given: dict[str, DTypeLike | None] = {name: value.dtype for name, value in params.items()}
    known = infer_types(graph, given | dict(types or {}), torch.float32).entries
    given_shapes = {**_guessed(graph, of_params), **(shapes or {}), **of_params}
    free = infer_shapes(graph, given_shapes, known).entries
    tried = {
        name: tuple(size or _TRIED[min(axis, 3)] for axis, size in enumerate(shape))
        for name, shape in given_shapes.items()
    }
    if tried == given_shapes:
        return free, free, known
    try:
        sizes = infer_shapes(graph, tried, known).entries
    except MXNetError:
        if shapes is not None:
            raise
        sizes = {}  # the sizes that would fit are not known; what must be traced asks for `shapes`
    return free, sizes, known


def _guessed(graph: Graph, of_params: Mapping[str, Shape]) -> dict[str, Shape]:
    """Return half-known shapes of inputs that follow from the first layer's kernel."""
    found: dict[str, Shape] = {}
    for node in graph.nodes:
        if isinstance(node, Application) and node.operator.name == "Convolution":
            data, weight = node.inputs[:2]
            shape = of_params.get(weight.name)
            layout = node.params.layout
            if data.node.is_variable and shape and not (layout and layout.endswith("C")):
                found[data.name] = (0, shape[1] * node.params.num_group, *(0 for _ in node.params.kernel))
    return found


class _Writer:
    def __init__(self, context: NetworkContext, used: Sequence[Node]) -> None:
        self._context = context
        self._used = used
        self._names = Names()
        self._values: dict[Entry, str] = {}
        self._lines: list[str] = []
        self._functions: dict[tuple[str, ...], tuple[str, TracedCall]] = {}
        self._function_names = Names()
        self._last = self._last_uses()
        self._current: dict[str, Entry] = {}  # what the short names stand for

    def write(self) -> WrittenNetwork:
        context, graph = self._context, self._context.graph
        chosen = set(self._used)
        inputs: dict[str, str] = {}
        for node in graph.variables:
            if node in chosen and node.name not in context.parameters:
                argument = self._names.new(node.name)
                inputs[argument] = node.name
                self._values[Entry(node)] = context.inputs[Entry(node)] = argument
                if node.name in _SHORT:
                    self._current[node.name] = Entry(node)
        for position, node in enumerate(self._used):
            if isinstance(node, Application):
                self._apply(node, position)
        results = [self._value(entry) for entry in graph.outputs]
        source = self._source(list(inputs), results)
        return WrittenNetwork(source, context.state, context.names, inputs, graph.output_names)

    def _last_uses(self) -> dict[Entry, int]:
        last: dict[Entry, int] = {}
        for position, node in enumerate(self._used):
            for entry in node.inputs:
                last[entry] = position
        last.update(dict.fromkeys(self._context.graph.outputs, len(self._used)))
        return last

    def _value(self, entry: Entry) -> str:
        if entry.node.is_variable and entry.name in self._context.parameters:
            return self._context.parameter(entry.node)
        return self._values[entry]

    def _apply(self, node: Application, position: int) -> None:
        writer = NodeWriter(self._context, node)
        write = TRANSLATIONS.get(node.operator.name)
        result = None
        if write is not None:
            values = [Value(self._value, entry) for entry in node.inputs]
            result = write(writer, *node.operator.signature.arguments(node.params, values))
        if result is None:
            result = self._traced(node)
        if result in self._values.values() and node.visible_outputs == 1:
            self._alias(Entry(node), result)
            return
        if node.visible_outputs == 1:
            self._lines.append(f"{self._name(Entry(node), position)} = {result}")
            return
        name = self._names.new(node.name)
        for i in range(node.visible_outputs):
            self._values[Entry(node, i)] = f"{name}{writer.parts[i] if writer.parts else f'[{i}]'}"
        self._lines.append(f"{name} = {result}")

    def _alias(self, entry: Entry, name: str) -> None:
        """Let a value be another one, which is then needed for as long."""
        self._values[entry] = name
        current = self._current.get(name)
        if current is not None:
            self._last[current] = max(self._last.get(current, -1), self._last.get(entry, -1))

    def _name(self, entry: Entry, position: int) -> str:
        """Name a value: `x` along the main path, `y` and `z` beside it, and after its node what is more."""
        name = ""
        for short in _SHORT:
            current = self._current.get(short)
            if current is None or self._last.get(current, -1) <= position:
                self._current[short], name = entry, short
                break
        name = name or self._names.new(entry.name.removesuffix("_output"))
        self._values[entry] = name
        return name

    def _traced(self, node: Application) -> str:
        context = self._context
        if node.operator.subgraphs:
            raise self._refusal(node, "it runs graphs of its own, a loop's or a branch's")
        if node.operator.kernels.runs_users_code or node.operator.kernels.make is not None:
            raise self._refusal(node, "it runs Python of the user's")
        if node.operator.has_open_size(node.params):
            raise self._refusal(node, "its size must be known; give `shapes` of the inputs")
        described = []
        for entry in node.inputs:
            shape, size = context.shapes.get(entry), context.sizes.get(entry)
            if shape is None or size is None or 0 in size:
                raise self._refusal(
                    node, f"the number of axes of {entry.name!r} must be known; give `shapes` of the inputs"
                )
            axes = tuple(axis for axis, n in enumerate(shape) if n == 0 and size[axis] > 1)
            described.append((size, axes, context.types[entry]))
        values = [self._value(entry) for entry in node.inputs]
        try:
            calls = [trace_call(node, described)]
            if "training" in node.operator.signature.modes:
                in_training = trace_call(node, described, training=True)
                calls += [in_training] if in_training.lines != calls[0].lines else []
        except ValueError as error:
            raise self._refusal(node, str(error)) from error
        if len(calls) > 1 and node.operator.returned_aux:
            raise self._refusal(node, "its auxiliary states move in training")
        written = [self._called(node, call, values) for call in calls]
        return written[0] if len(written) == 1 else f"{written[1]} if self.training else {written[0]}"

    def _called(self, node: Application, call: TracedCall, values: Sequence[str]) -> str:
        """Return a call of a function of the file, which is written once for all calls that compute the same."""
        context = self._context
        constants = [context.constant(f"{node.name}_{name}", value) for name, value in call.constants.items()]
        key = (node.operator.name, *call.arguments, "", *call.lines, "", *call.results)
        if key not in self._functions:
            self._functions[key] = self._function_names.new(f"{node.operator.name.strip('_')}_function"), call
        return f"{self._functions[key][0]}({', '.join([*values, *constants])})"

    def _refusal(self, node: Application, reason: str) -> MXNetError:
        return node.locate(MXNetError(f"it cannot be written in plain PyTorch: {reason}"))

    def _source(self, inputs: Sequence[str], results: Sequence[str]) -> str:
        context = self._context
        blocks = [HELPERS[name] for name in sorted(context.helpers)]
        blocks += [_function(name, call) for name, call in self._functions.values()]
        blocks.append(self._network(inputs, results))
        body = "\n\n".join(blocks)
        heads = ["import torch"] if "torch." in body else []
        heads += ["import torch.nn.functional as F"] if "F." in body else []
        heads += ["from torch import Tensor, nn"]
        return '"""A network that rebind wrote in plain PyTorch."""\n\n' + "\n".join(heads) + "\n\n\n" + body

    def _network(self, inputs: Sequence[str], results: Sequence[str]) -> str:
        lines = ["class Network(nn.Module):", '    """The layers of the symbol, in its order."""', ""]
        lines += [f"    {name}: Tensor" for name in self._context.buffers]
        lines += [""] if self._context.buffers else []
        lines += ["    def __init__(self) -> None:", "        super().__init__()"]
        for line in self._context.members:
            lines += statement(line, 8)
        result = "Tensor" if len(results) == 1 else f"tuple[{', '.join(['Tensor'] * len(results))}]"
        arguments = ", ".join(["self", *(f"{name}: Tensor" for name in inputs)])
        lines += ["", *statement(f"def forward({arguments}) -> {result}:", 4)]
        for line in self._lines:
            lines += statement(line, 8)
        lines += statement(f"return {', '.join(results)}", 8)
        return "\n".join(lines) + "\n"


def _function(name: str, call: TracedCall) -> str:
    arguments = ", ".join(f"{argument}: Tensor" for argument in call.arguments)
    result = "Tensor" if len(call.results) == 1 else f"tuple[{', '.join(['Tensor'] * len(call.results))}]"
    lines = ["# fmt: off", f"def {name}({arguments}) -> {result}:"]
    lines += [f"    {line}" for line in call.lines if line]
    lines += [f"    return {', '.join(call.results)}", "# fmt: on"]
    return "\n".join(lines) + "\n"
