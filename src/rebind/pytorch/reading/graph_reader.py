"""From the graph of a program to a symbol: weights become parameters, and each node what its reading writes."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind

from ...errors import MXNetError, missing_operators
from ...graph import Application, Entry
from ...ndarray import NDArray, from_torch
from ...symbol import Symbol, generated, var
from ...unique_names import unique_name
from .names import ModuleNames
from .node_reader import NodeReader
from .readings import find_reading
from .sizes import Size, is_free, sizes_of
from .values import Weight

__all__ = ["GraphReader"]

_STATISTICS = "aten._native_batch_norm_legit_functional"
_RECURRENT = {"lstm", "gru", "rnn_tanh", "rnn_relu"}


class GraphReader:
    """Reads one program.

    Parameters
    ----------
    program
        The program.
    names
        Names that parameters and buffers have in MXNet, by those in the program, where they are known.

    Attributes
    ----------
    params
        The parameters and auxiliary states that the symbol uses so far, by name.
    trains
        Whether a BatchNorm of the program uses the statistics of its batch.
    """

    def __init__(self, program: ExportedProgram, names: Mapping[str, str] | None = None) -> None:
        self.params: dict[str, NDArray] = {}
        self._program = program
        self._names_of_parameters = names or {}
        self._nodes: Sequence[fx.Node] = _used(program)
        self.trains = any(str(node.target).startswith(_STATISTICS) for node in self._nodes)
        self._values: dict[fx.Node, Any] = {}
        self._integers: dict[fx.Node, Symbol] = {}
        self._inputs: list[fx.Node] = []
        self._names: set[str] = set()
        self._rename = ModuleNames(program.state_dict)
        self._modules = _operators_of_modules(self._nodes)

    def read(self) -> Symbol:
        """Read the graph, and return its outputs."""
        self._check_operators()
        self._check_mutations()
        self._read_placeholders()
        for node in self._nodes:
            if node.op == "call_function":
                self._read_node(node)
        by_name = {node.name: node for node in self._nodes}
        outputs = [self.symbol(by_name[name]) for name in self._program.graph_signature.user_outputs if name]
        return Symbol([entry for symbol in outputs for entry in symbol.graph.outputs])

    # What nodes ask

    def value(self, node: fx.Node) -> Any:
        """Return a symbol, numbers, a `Weight`, or a sequence of these; None for zeros that a recurrent layer makes."""
        return self._values.get(node)

    def symbol(self, node: fx.Node, suffix: str | None = None) -> Symbol:
        """Return the symbol of a value; a weight's variable ends with the suffix, by default as in PyTorch."""
        if node not in self._values:
            raise self.no_tensor(node)
        value = self._values[node]
        if isinstance(value, Weight):
            return self._variable(value, suffix)
        if isinstance(value, Tensor):
            value = self._values[node] = self.parameter(value, self._name(node), trained=False)
        if node in self._inputs and not node.meta["val"].is_floating_point():
            if node not in self._integers:
                dtype = str(node.meta["val"].dtype).removeprefix("torch.")
                self._integers[node] = generated.Cast(
                    value, dtype=dtype, name=unique_name(f"{node.name}_cast", self._names)
                )
            return self._integers[node]
        found: Symbol = value
        return found

    def parameter(self, numbers: Tensor, name: str, *, trained: bool) -> Symbol:
        """Return a variable with these numbers; what training must not change is behind a `BlockGrad`."""
        name = unique_name(name, self._names)
        numbers = numbers.detach().cpu().reshape(numbers.shape or (1,))
        self.params[name] = from_torch(numbers.contiguous().clone())
        variable = var(name, shape=tuple(numbers.shape), dtype=self.params[name].dtype)
        if trained and numbers.is_floating_point():
            return variable
        return generated.BlockGrad(variable, name=f"{name}_constant")

    def no_tensor(self, node: fx.Node) -> MXNetError:
        """Return the error that a node gives a number that is known only when the network runs."""
        return MXNetError(
            f"from_torch: {node.target} {node.name!r}: its result must be a tensor, as MXNet's operators take "
            "no numbers that depend on the input, such as x.item() or a free (dynamic) size. Use x instead of "
            "x.item(), or give dynamic_shapes=({},) for fixed sizes."
        )

    def state(self, node: fx.Node, suffix: str) -> Symbol:
        """Return a variable for statistics, which training changes in its own way."""
        weight = self._values[node]
        if not isinstance(weight, Weight):
            raise MXNetError(
                f"from_torch: running statistics must be a buffer of the module; got {node.name!r}"
            )
        weight.trained = True
        return self._variable(weight, suffix)

    def axis_with(self, size: Size) -> tuple[Symbol, int] | None:
        """Return an input with a free size, and its axis."""
        for node in self._inputs:
            for axis, own in enumerate(sizes_of(node.meta["val"])):
                if own == size:
                    return self._values[node], axis
        return None

    def read_body(self, source: fx.Node, inputs: Sequence[Symbol]) -> list[Symbol]:
        """Read the graph that a node stands for, such as a loop's step, on symbols for its inputs."""
        body = _body(source)
        assert body is not None
        nodes = list(body.graph.nodes)
        placeholders = [node for node in nodes if node.op == "placeholder"]
        self._values.update(zip(placeholders, inputs, strict=True))
        for node in nodes:
            if node.op == "call_function":
                self._read_node(node)
        outputs = nodes[-1].args[0]
        return [self.symbol(node) for node in (outputs if isinstance(outputs, Sequence) else [outputs])]

    # Names

    def _name(self, node: fx.Node) -> str:
        """Return a name after the module that a node is in, and the operator if the module has several."""
        path, kind = _module_path(node), _kind(node)
        name = self._rename(path) if path else ""
        if not name or len(self._modules.get(path, ())) != 1:
            name = f"{name}_{kind}".strip("_")
        return name

    def _variable(self, weight: Weight, suffix: str | None) -> Symbol:
        if weight.symbol is None:
            module, _, own = weight.path.rpartition(".")
            parts = (self._rename(module) if module else "", suffix or own)
            name = self._names_of_parameters.get(weight.path) or "_".join(filter(None, parts))
            weight.symbol = self.parameter(weight.tensor, name, trained=weight.trained)
        return weight.symbol

    # Reading

    def _check_operators(self) -> None:
        """Name all operators that are not read before any is."""
        missing: dict[str, str] = {}
        for node in _with_bodies(self._nodes):
            if node.op == "call_function" and not _is_size(node) and node.target is not operator.getitem:
                if find_reading(node.target) is None:
                    missing.setdefault(str(node.target).removesuffix(".default"), node.name)
            elif node.op not in ("call_function", "placeholder", "output") and _body(node) is None:
                missing.setdefault(f"{node.op} {node.target}", node.name)
        if missing:
            raise missing_operators("from_torch", missing)

    def _check_mutations(self) -> None:
        """Refuse programs that write into buffers, but for statistics of a BatchNorm and counters of batches."""
        by_name = {node.name: node for node in self._program.graph.nodes}
        for spec in self._program.graph_signature.output_specs:
            if spec.kind in (OutputKind.USER_OUTPUT, OutputKind.LOSS_OUTPUT):
                continue
            node = by_name[spec.arg.name]
            maker: Any = node.args[0] if node.target is operator.getitem else node
            counts = isinstance(node.meta["val"], Tensor) and not node.meta["val"].is_floating_point()
            if not counts and not str(maker.target).startswith(_STATISTICS):
                raise MXNetError(
                    f"from_torch: forward must not change {spec.target!r}, as networks have no states but BatchNorm's"
                )

    def _read_placeholders(self) -> None:
        program = self._program
        specs = {spec.arg.name: spec for spec in program.graph_signature.input_specs}
        for node in self._nodes:
            if node.op != "placeholder":
                continue
            spec = specs[node.name]
            if spec.kind is InputKind.USER_INPUT:
                self._inputs.append(node)
                self._values[node] = var(unique_name(self._rename.input or node.name, self._names))
                continue
            path = spec.target or node.name
            tensor = program.state_dict.get(path)
            tensor = program.constants[path] if tensor is None else tensor
            is_constant = spec.kind is InputKind.CONSTANT_TENSOR
            trained = spec.kind is InputKind.PARAMETER
            self._values[node] = tensor if is_constant else Weight(path, tensor, trained)

    def _read_node(self, node: fx.Node) -> None:
        if _is_size(node):
            return
        if node.target is operator.getitem:
            source, index = node.args
            assert isinstance(source, fx.Node) and isinstance(index, int)
            self._values[node] = self._values[source][index]
            return
        folded = self._fold(node)
        if folded is not None:
            self._values[node] = folded
            return
        function = find_reading(node.target)
        assert function is not None
        reader = NodeReader(self, node, unique_name(self._name(node), self._names))
        result = function(reader)
        if isinstance(result, Symbol):
            (self._values[node],) = self._named(reader, [result])
        else:
            self._values[node] = self._named(reader, result)

    def _fold(self, node: fx.Node) -> Any:
        """Compute a node of constants and buffers now; None where the network must."""
        target: Any = node.target
        if torch.Tag.nondeterministic_seeded in getattr(target, "tags", ()) or any(
            is_free(size) for value in _tensors(node.meta["val"]) for size in sizes_of(value)
        ):
            return None
        values: dict[fx.Node, Any] = {}
        for source in node.all_input_nodes:
            value = self._values.get(source)
            if isinstance(value, Weight) and not value.trained:
                value = value.tensor
            if not isinstance(value, Tensor):
                return None
            values[source] = value
        args, kwargs = fx.node.map_arg((node.args, dict(node.kwargs)), lambda source: values[source])
        with torch.no_grad():
            return target(*args, **kwargs)

    def _named(self, reader: NodeReader, results: Sequence[Symbol | None]) -> list[Symbol | None]:
        """Give the node that makes all results the name of PyTorch's."""
        makers = {symbol.graph.outputs[0].node for symbol in results if symbol is not None}
        maker = makers.pop() if len(makers) == 1 else None
        if not isinstance(maker, Application) or maker.name not in reader.written:
            return list(results)  # several, or an input or a constant that is handed on
        renamed = replace(maker, name=reader.name)
        return [
            None if symbol is None else Symbol([Entry(renamed, symbol.graph.outputs[0].index)])
            for symbol in results
        ]


def _used(program: ExportedProgram) -> list[fx.Node]:
    """Return the nodes that outputs need, and the inputs."""
    names = set(program.graph_signature.user_outputs)
    nodes = list(program.graph.nodes)
    used = {node for node in nodes if node.name in names}
    for node in reversed(nodes):
        if node in used:
            used.update(node.all_input_nodes)
    inputs = set(program.graph_signature.user_inputs)
    used = {node for node in used if not _is_first_state(node)}
    return [node for node in nodes if node in used or (node.op == "placeholder" and node.name in inputs)]


def _body(node: fx.Node) -> fx.GraphModule | None:
    """Return the graph that a node stands for, such as a loop's step; None for a node that computes."""
    found = getattr(node.graph.owning_module, str(node.target), None) if node.op == "get_attr" else None
    return found if isinstance(found, fx.GraphModule) else None


def _with_bodies(nodes: Iterable[fx.Node]) -> Iterable[fx.Node]:
    """Return nodes, and those of the graphs that they stand for."""
    for node in nodes:
        yield node
        body = _body(node)
        if body is not None:
            yield from _with_bodies(body.graph.nodes)


def _is_first_state(node: fx.Node) -> bool:
    """Say whether a node makes zeros for recurrent layers alone, which make their own."""
    return (
        node.op == "call_function"
        and _kind(node) == "zeros"
        and {_kind(user) for user in node.users} <= _RECURRENT
    )


def _is_size(node: fx.Node) -> bool:
    """Say whether a node computes a number, which its users know by what it is of free sizes."""
    return not list(_tensors(node.meta.get("val")))


def _tensors(value: Any) -> Iterable[Tensor]:
    values = value if isinstance(value, tuple | list) else [value]
    return [each for each in values if isinstance(each, Tensor)]


def _module_path(node: fx.Node) -> str:
    modules = [path for path, _ in node.meta.get("nn_module_stack", {}).values()]
    return modules[-1] if modules else ""


def _kind(node: fx.Node) -> str:
    return str(node.target).split(".")[1].strip("_") if "." in str(node.target) else node.name


def _operators_of_modules(nodes: Iterable[fx.Node]) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for node in nodes:
        if node.op == "call_function" and node.target is not operator.getitem and not _is_size(node):
            found.setdefault(_module_path(node), Counter())[_kind(node)] += 1
    return found
