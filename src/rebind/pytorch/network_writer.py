"""From a symbol and its parameters to the text of a `torch.nn.Module`, and its state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..checks import warn_user
from ..dtypes import DTypeLike
from ..errors import MXNetError
from ..graph import Application, Entry, Graph, Node, depth_first
from ..ndarray import NDArray, array
from ..shapes import Shape
from ..symbol import Symbol
from .context import NetworkContext
from .control_flow import ControlFlow
from .facts import network_facts
from .helpers import helper_texts
from .layout import statement
from .names import Names
from .node_writer import NodeWriter, Value
from .tracing import TracedCall, trace_call
from .translations import TRANSLATIONS
from .unit_classes import UnitClasses, UnitMember, UnitText, class_text, member_lines
from .units import Unit, find_units, in_sequences, relative_name, sequence_label
from .unrolled_cells import in_layers

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
    *,
    units: bool = False,
) -> WrittenNetwork:
    """Write a network; free sizes of inputs are 0 in `shapes`; with `units` what repeats becomes a class or a layer."""
    graph = symbol.graph
    params = _checked(params, depth_first([entry.node for entry in graph.outputs], _sources))
    if units:
        graph = in_layers(graph, params)
    used = depth_first([entry.node for entry in graph.outputs], _sources)
    tensors = {name: torch.from_numpy(value.asnumpy().copy()) for name, value in params.items()}
    context = NetworkContext(Graph(graph.outputs), tensors, network_facts(graph, params, shapes, types))
    writer = _Writer(context, used, units=find_units(context.graph, used, tensors) if units else ())
    return writer.write()._replace(outputs=symbol.graph.output_names)


#: Inputs that are parameters, by the operators' names of them.
_PARAMETERS = frozenset(("weight", "bias", "gamma", "beta", "moving_mean", "moving_var", "parameters"))


def _checked(params: Mapping[str, Any], used: Sequence[Node]) -> dict[str, NDArray]:
    """Return parameters by their names, also those of a file, ``arg:fc1_weight``; warn of those that are missing."""
    found = {
        name.removeprefix("arg:").removeprefix("aux:"): value if isinstance(value, NDArray) else array(value)
        for name, value in params.items()
    }
    missing = {
        entry.name: f"the {slot} of {node.operator.name} {node.name!r}"
        for node in used
        if isinstance(node, Application)
        for slot, entry in zip(node.input_names, node.inputs, strict=False)
        if slot in _PARAMETERS and entry.node.is_variable and entry.name not in found
    }
    if found and missing:
        name, what = next(iter(missing.items()))
        more = f", and {len(missing) - 1} more" if len(missing) > 1 else ""
        warn_user(
            f"parameters are missing for {name!r}, {what}{more}. They become inputs of the written network."
        )
    return found


def _sources(node: Node) -> Sequence[Node]:
    inputs = node.inputs
    if isinstance(node, Application) and node.operator.name in _LOSSES:
        inputs = inputs[:1]
    return [entry.node for entry in inputs]


class _Writer:
    def __init__(
        self,
        context: NetworkContext,
        used: Sequence[Node],
        outer: _Writer | None = None,
        *,
        units: Sequence[Unit] = (),
        unit: Unit | None = None,
    ) -> None:
        self._context = context
        self._used = used
        self._units = units
        self._outputs = (unit.output,) if unit else context.graph.outputs
        self._names = Names()
        self._values: dict[Entry, str] = {}
        self._lines: list[str] = []
        # Functions and methods of the file, to which bodies of loops add theirs.
        self._functions: dict[tuple[str, ...], tuple[str, TracedCall]] = outer._functions if outer else {}
        self._function_names: Names = outer._function_names if outer else Names()
        self._methods: list[str] = outer._methods if outer else []
        self._classes: UnitClasses = outer._classes if outer else UnitClasses()
        self._positions = {node: position for position, node in enumerate(used)}
        self._last = self._last_uses()
        self._current: dict[str, Entry] = {}  # what the short names stand for

    def write(self) -> WrittenNetwork:
        context, graph = self._context, self._context.graph
        chosen = set(self._used)
        variables = [
            node for node in graph.variables if node in chosen and node.name not in context.parameters
        ]
        inputs = {self._argument(node): node.name for node in variables}
        results = self._write_nodes()
        source = self._source(list(inputs), results)
        return WrittenNetwork(source, context.state, context.names, inputs, graph.output_names)

    def _argument(self, variable: Node) -> str:
        argument = self._names.new(variable.name)
        self._values[Entry(variable)] = self._context.inputs[Entry(variable)] = argument
        if argument in _SHORT:
            self._current[argument] = Entry(variable)
        return argument

    def _write_nodes(self) -> list[str]:
        """Write what the nodes compute, and return the names of the outputs."""
        for item in in_sequences(self._context.graph, self._used, self._units):
            if isinstance(item, tuple):
                self._apply_units(item)
            else:
                self._apply(item, self._positions[item])
        return [self._value(entry) for entry in self._outputs]

    def _apply_units(self, units: Sequence[Unit]) -> None:
        """Write units that follow each other as one layer."""
        context, label = self._context, sequence_label(units)
        name = "layers" if label == context.label else relative_name(label, context.label)
        member = context.member_names.new(name)
        texts = []
        for number, unit in enumerate(units):
            own = context.of_unit(unit.label)
            texts.append(_Writer(own, unit.nodes, self, units=self._units, unit=unit)._write_unit(unit))
            context.take_over(member if len(units) == 1 else f"{member}.{number}", own)
        context.members.append(UnitMember(member, tuple(texts)))
        values = ", ".join(self._value(entry) for entry in units[0].inputs)
        result = self._name(units[-1].output, self._positions[units[-1].nodes[-1]], name)
        self._lines.append(f"{result} = self.{member}({values})")

    def _write_unit(self, unit: Unit) -> UnitText:
        arguments = _SHORT[: len(unit.inputs)]
        for argument, entry in zip(arguments, unit.inputs, strict=True):
            self._values[entry], self._current[argument] = argument, entry
        (result,) = self._write_nodes()
        context = self._context
        text = UnitText(unit.label, context.members, context.buffers, arguments, self._lines, result)
        self._classes.add(text)
        return text

    def _last_uses(self) -> dict[Entry, int]:
        last: dict[Entry, int] = {}
        for position, node in enumerate(self._used):
            for entry in node.inputs:
                last[entry] = position
        last.update(dict.fromkeys(self._outputs, len(self._used)))
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
        elif node.operator.subgraphs:
            result = self._control_flow(writer)
        if result is None:
            result = self._traced(node)
        if result in self._values.values() and node.visible_outputs == 1:
            self._alias(Entry(node), result)
            return
        used = [i for i in range(node.visible_outputs) if Entry(node, i) in self._last]
        if node.visible_outputs == 1 or (len(used) == 1 and writer.parts):
            result += writer.parts[used[0]] if writer.parts else ""
            self._lines.append(f"{self._name(Entry(node, used[0]), position)} = {result}")
            return
        name = self._names.new(relative_name(node.name, self._context.label))
        for i in range(node.visible_outputs):
            self._values[Entry(node, i)] = f"{name}{writer.parts[i] if writer.parts else f'[{i}]'}"
        self._lines.append(f"{name} = {result}")

    def _alias(self, entry: Entry, name: str) -> None:
        """Let a value be another one, which is then needed for as long."""
        self._values[entry] = name
        current = self._current.get(name)
        if current is not None:
            self._last[current] = max(self._last.get(current, -1), self._last.get(entry, -1))

    def _name(self, entry: Entry, position: int, own_name: str = "") -> str:
        """Name a value: `x` along the main path, `y` and `z` beside it, else `own_name`, by default the node's."""
        name = ""
        for short in _SHORT:
            current = self._current.get(short)
            if current is None or self._last.get(current, -1) <= position:
                self._current[short], name = entry, short
                break
        own_name = own_name or relative_name(entry.name.removesuffix("_output"), self._context.label)
        name = name or self._names.new(own_name)
        self._values[entry] = name
        return name

    def _control_flow(self, writer: NodeWriter) -> str:
        """Return a call of a loop or a branch, whose bodies are methods."""
        flow = ControlFlow(self._context, writer.node)
        bodies = [
            self._body(f"{writer.node.name}_{part}", context, [flow.variable(body, i) for i in flow.passed])
            for part, body, context in flow.bodies
        ]
        values = [self._value(writer.node.inputs[index]) for index in flow.passed]
        call = flow.call(writer.helper(flow.helper), bodies, values)
        return call if writer.node.visible_outputs > 1 else f"{call}[0]"

    def _body(self, name: str, context: NetworkContext, arguments: Sequence[Node | None]) -> str:
        """Write a body as a method, and return how it is called; an argument that it does not use is None."""
        inner = _Writer(context, depth_first([entry.node for entry in context.graph.outputs], _sources), self)
        names = [inner._names.new("_") if node is None else inner._argument(node) for node in arguments]
        results = inner._write_nodes()
        method = context.member_names.new(name)
        inputs = ", ".join(["self", *(f"{each}: Tensor" for each in names)])
        self._methods += ["", *statement(f"def {method}({inputs}) -> tuple[Tensor, ...]:", 4)]
        returned = ", ".join(results) if len(results) > 1 else f"({results[0]},)"
        for line in [*inner._lines, f"return {returned}"]:
            self._methods += statement(line, 8)
        return f"self.{method}"

    def _traced(self, node: Application) -> str:
        if node.operator.kernels.runs_users_code or node.operator.kernels.make is not None:
            raise self._refusal(node, "it runs Python code of the user")
        if node.operator.has_open_size(node.params):
            raise self._refusal(node, "its size must be known; give the shapes of the inputs in `shapes`")
        described = self._described(node)
        values = [self._value(entry) for entry in node.inputs]
        try:
            calls = [trace_call(node, described)]
            if "training" in node.operator.signature.modes:
                in_training = trace_call(node, described, training=True)
                calls += [in_training] if in_training.lines != calls[0].lines else []
        except ValueError as error:
            raise self._refusal(node, str(error)) from error
        if len(calls) > 1 and node.operator.returned_aux:
            raise self._refusal(node, "its auxiliary states are updated in training")
        written = [self._called(node, call, values) for call in calls]
        return written[0] if len(written) == 1 else f"{written[1]} if self.training else {written[0]}"

    def _described(self, node: Application) -> list[tuple[Shape, tuple[int, ...], torch.dtype]]:
        """Return the shape of each input with numbers to try, its free axes, and its type."""
        facts = self._context.facts
        described, other_numbers = [], dict[int, int]()
        for entry in node.inputs:
            shape, size = facts.shapes.get(entry), facts.sizes.get(entry)
            if shape is None or size is None or 0 in size:
                raise self._refusal(
                    node,
                    f"the number of axes of {entry.name!r} must be known; give the shapes of the inputs in `shapes`",
                )
            axes = tuple(axis for axis, n in enumerate(shape) if n == 0 and size[axis] > 1)
            for axis in axes:
                other = facts.other_sizes[entry][axis]
                if other_numbers.setdefault(size[axis], other) != other:
                    raise self._refusal(
                        node,
                        "two of its free sizes cannot be distinguished; give one of them as a number in `shapes`",
                    )
            described.append((size, axes, facts.types[entry]))
        return described

    def _called(self, node: Application, call: TracedCall, values: Sequence[str]) -> str:
        """Return a call of a function of the file, which is written once for all calls that compute the same."""
        context = self._context
        constants = [context.constant(f"{node.name}_{name}", value) for name, value in call.constants.items()]
        key = (node.operator.name, *call.arguments, "", *call.lines, "", *call.results)
        if key not in self._functions:
            self._functions[key] = self._function_names.new(f"{node.operator.name.strip('_')}_function"), call
        return f"{self._functions[key][0]}({', '.join([*values, *constants])})"

    def _refusal(self, node: Application, reason: str) -> MXNetError:
        return node.locate(MXNetError(f"cannot be written in plain PyTorch: {reason}"))

    def _source(self, inputs: Sequence[str], results: Sequence[str]) -> str:
        context = self._context
        blocks = helper_texts(context.helpers)
        blocks += [_function(name, call) for name, call in self._functions.values()]
        blocks += [f"{text}\n" for text in self._classes.texts(["Network", "F", "Tensor", *context.helpers])]
        blocks.append(self._network(inputs, results))
        body = "\n\n".join(blocks)
        heads = ["import math"] if "math." in body else []
        heads += ["from collections.abc import Callable"] if "Callable[" in body else []
        heads += [""] if heads else []
        heads += ["import torch"] if "torch." in body else []
        heads += ["import torch.nn.functional as F"] if "F." in body else []
        heads += ["from torch import Tensor, nn"]
        return '"""A network that rebind wrote in plain PyTorch."""\n\n' + "\n".join(heads) + "\n\n\n" + body

    def _network(self, inputs: Sequence[str], results: Sequence[str]) -> str:
        context = self._context
        doc, members = "The layers of the symbol, in its order.", member_lines(context.members)
        text = class_text("Network", doc, members, context.buffers, inputs, self._lines, results)
        return "\n".join([text, *self._methods]) + "\n"


def _function(name: str, call: TracedCall) -> str:
    arguments = ", ".join(f"{argument}: Tensor" for argument in call.arguments)
    result = "Tensor" if len(call.results) == 1 else f"tuple[{', '.join(['Tensor'] * len(call.results))}]"
    lines = ["# fmt: off", f"def {name}({arguments}) -> {result}:"]
    lines += [f"    {line}" for line in call.lines if line]
    lines += [f"    return {', '.join(call.results)}", "# fmt: on"]
    return "\n".join(lines) + "\n"
