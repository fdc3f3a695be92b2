"""From a graph of ONNX to a symbol: initializers become parameters, and each node what its reading writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
import onnx_ir as ir

from ... import dtypes
from ...errors import FormatError, MXNetError, missing_operators
from ...graph import Application, Entry
from ...ndarray import NDArray
from ...symbol import Symbol, generated, var
from ...unique_names import unique_name
from .element_types import FLOATS, NARROW, as_ndarray
from .folding import SIZE_FUNCTIONS, fold, gives_sizes
from .node_reader import NodeReader
from .readings import Result, find_reading
from .symbol_shapes import SymbolShapes
from .values import Shape, Value

__all__ = ["GraphReader", "UnknownNumbersError"]

#: What may give numbers outside the range of a type without a sign, or cut to few bits.
_MAY_LEAVE_RANGE = frozenset(
    (
        "Add", "BitShift", "BitwiseNot", "Col2Im", "CumProd", "CumSum", "Einsum", "Gemm", "MatMul", "Mul", "ReduceL1",
        "ReduceProd", "ReduceSum", "ReduceSumSquare", "ScatterElements", "ScatterND", "Shrink", "Sub",
    )
)  # fmt: skip


class UnknownNumbersError(MXNetError):
    """An operator of MXNet needs numbers in advance that the network computes, or is given as an input.

    Attributes
    ----------
    sources
        The names of the model's inputs from which they are computed.
    """

    def __init__(self, message: str, inputs: list[str]) -> None:
        super().__init__(message)
        self.sources = inputs


class GraphReader:
    """Reads one model.

    Attributes
    ----------
    params
        The parameters and auxiliary states that the symbol uses so far, by name.
    """

    def __init__(self, model: ir.Model) -> None:
        self.params: dict[str, NDArray] = {}
        self.inputs: list[str] = []
        self._model = model
        self._values: dict[ir.Value, Value] = {}
        self._names: set[str] = set()
        self._shapes = SymbolShapes()
        self._free_sizes: dict[str, tuple[ir.Value, int]] = {}

    def read(self) -> Symbol:
        """Read the graph, and return its outputs."""
        graph = self._model.graph
        self._read_initializers(graph)
        for value in graph.inputs:
            if value not in self._values:
                self._values[value] = Value(self._input(value))
        self._check_operators(graph)
        self._read_nodes(graph)
        outputs = [self.symbol(value) for value in graph.outputs]
        return Symbol([entry for symbol in outputs for entry in symbol.graph.outputs])

    def opset(self, node: ir.Node) -> int:
        """Return the version of a node's operators."""
        domain = "" if node.domain == "ai.onnx" else node.domain
        return self._model.opset_imports.get(domain, self._model.opset_imports.get("ai.onnx", 1))

    def value(self, value: ir.Value) -> Value:
        """Return what is known of a value."""
        if value not in self._values:
            if value.const_value is None:
                raise FormatError(
                    f"import_model: value {value.name!r} is neither an input, an initializer nor the output of a node"
                )
            self._values[value] = Value(numbers=_numbers(value), trained=True)
        return self._values[value]

    def symbol(self, value: ir.Value) -> Symbol:
        """Return the symbol of a value; numbers become a parameter or a constant of that name."""
        known = self.value(value)
        if known.symbol is None:
            if known.make_symbol is not None:
                known.symbol = known.make_symbol()
            else:
                assert known.numbers is not None
                known.symbol = self.parameter(
                    _plain(known.numbers), value.name or "constant", trained=known.trained
                )
        return known.symbol

    def shape(self, value: ir.Value) -> Shape:
        """Return the shape of a value: sizes, symbols for free ones; None where nothing is known."""
        known = self._values.get(value)
        if known is not None and known.numbers is not None:
            return list(known.numbers.shape)
        shape = None
        if value.shape is not None:
            shape = [n if isinstance(n, int) or n.value is not None else None for n in value.shape.dims]
            if all(isinstance(n, int) for n in shape):
                return shape
        own = None if known is None or known.symbol is None else self._shapes.of(known.symbol)
        if own is None or (shape is None and own == (1,)):  # it may stand for a number without axes
            return shape
        if shape is None or len(shape) != len(own):
            return [size or None for size in own]
        return [size if isinstance(size, int) else (one or size) for size, one in zip(shape, own)]

    def axis_of(self, size: ir.SymbolicDim) -> tuple[Symbol, int] | None:
        """Return an array and its axis that has a free size; None for one that is computed from others."""
        if str(size) not in self._free_sizes:
            return None
        value, axis = self._free_sizes[str(size)]
        return self.symbol(value), axis

    def parameter(self, numbers: np.ndarray, name: str, *, trained: bool) -> Symbol:
        """Return a variable with these numbers; what training must not change is behind a `BlockGrad`."""
        name = unique_name(name, self._names)
        self.params[name] = as_ndarray(numbers, name)
        variable = var(name, shape=self.params[name].shape, dtype=self.params[name].dtype)
        if trained and dtypes.name(self.params[name].dtype) in FLOATS:
            return variable
        return generated.BlockGrad(variable, name=f"{name}_constant")

    def unknown(self, refuse: Callable[[str], MXNetError], value: ir.Value, what: str) -> UnknownNumbersError:
        """Return the error that a value must be constant, with what it depends on."""
        message = f"{what} ({value.name!r}) must be constant"
        inputs = [name for name in _sources(value) if name in self.inputs]
        if inputs:
            given = ", ".join(f"{name!r}: ..." for name in inputs)
            message += f"; it depends on inputs. Give their values: import_model(..., constants={{{given}}})"
        elif self._free_sizes:
            message += (
                "; it depends on free (dynamic) sizes of the file. Export the network with fixed sizes."
            )
        return UnknownNumbersError(refuse(message).args[0], inputs)

    def read_body(self, graph: ir.Graph, inputs: Sequence[Symbol], shapes: Sequence[Shape]) -> list[Symbol]:
        """Read a body of a loop or a branch on symbols for its inputs, whose shapes are as `shapes` says."""
        self._read_initializers(graph)
        for value, symbol, shape in zip(graph.inputs, inputs, shapes, strict=True):
            self._values[value] = Value(symbol)
            if shape is not None:
                self._shapes.set(symbol, tuple(n if isinstance(n, int) else 0 for n in shape) or (1,))
        self._read_nodes(graph)
        return [self.symbol(value) for value in graph.outputs]

    def _read_initializers(self, graph: ir.Graph) -> None:
        for value in graph.initializers.values():
            self._values[value] = Value(numbers=_numbers(value), trained=True)

    def _input(self, value: ir.Value) -> Symbol:
        name = unique_name(value.name or "data", self._names)
        if not isinstance(value.type, ir.TensorType):
            raise MXNetError(f"import_model: input {name!r} must be a tensor; got {value.type}")
        self.inputs.append(name)
        symbol = var(name)
        if value.shape is not None:
            sizes = tuple(size if isinstance(size, int) else 0 for size in value.shape.dims)
            self._shapes.set(symbol, sizes or (1,))
        return symbol

    def _check_operators(self, graph: ir.Graph) -> None:
        """Name all operators that are not read before any is."""
        missing: dict[str, str] = {}
        for node in graph.all_nodes():
            is_standard = node.domain in ("", "ai.onnx")
            if node.op_type == "Constant" or (is_standard and find_reading(node.op_type, self.opset(node))):
                continue
            name = f"{node.domain}::{node.op_type}" if not is_standard else node.op_type
            missing.setdefault(name, node.name or node.outputs[0].name or "")
        if missing:
            raise missing_operators("import_model", missing)

    def _read_nodes(self, nodes: Iterable[ir.Node]) -> None:
        for node in nodes:
            try:
                self._read_node(node)
            except MXNetError:
                raise
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
                raise FormatError(
                    f"import_model: {node.op_type} {NodeReader(self, node).name!r} must be a valid node of opset "
                    f"{self.opset(node)}; reading it failed with {type(error).__name__}: {error}"
                ) from error

    def _read_node(self, node: ir.Node) -> None:
        if node.op_type == "Constant":
            self._values[node.outputs[0]] = Value(numbers=_constant(node))
        elif not self._fold(node):
            for value, result in zip(node.outputs, self._apply(node)):
                if isinstance(result, np.ndarray):
                    self._values[value] = Value(numbers=result)
                elif result is not None:
                    self._values[value] = Value(result)

    def _fold(self, node: ir.Node) -> bool:
        """Compute a node of constants, or of sizes, now; False where the network must."""
        if node.op_type in ("Shape", "Size"):
            return self._fold_shape(node)
        if node.op_type == "CastLike":
            return self._fold_cast(node)
        if node.op_type == "If":
            return self._fold_branch(node)
        given = [None if value is None else self.value(value) for value in node.inputs]
        if not given or any(each is not None and each.numbers is None for each in given):
            return False
        numbers = [None if each is None else each.numbers for each in given]
        if any(each is not None and each.dtype == object for each in numbers):
            return self._fold_sizes(node, numbers)
        folded = fold(node, numbers, self.opset(node))
        if folded is None:
            return False
        trained = any(each is not None and each.trained for each in given)
        for value, result in zip(node.outputs, folded, strict=True):
            self._values[value] = Value(numbers=result, trained=trained)
        return True

    def _fold_branch(self, node: ir.Node) -> bool:
        """Read one branch only where the condition is known, as if its nodes were the graph's own."""
        reader = NodeReader(self, node)
        known = reader.constant(0)
        if known is None:
            return False
        body = reader.body("then_branch" if known.reshape(-1)[0] else "else_branch")
        self._read_initializers(body)
        self._read_nodes(body)
        for value, inner in zip(node.outputs, body.outputs, strict=True):
            self._values[value] = self.value(inner)
        return True

    def _fold_cast(self, node: ir.Node) -> bool:
        reader = NodeReader(self, node)
        numbers, dtype = reader.constant(0), node.inputs[1].dtype if node.inputs[1] is not None else None
        if numbers is None or dtype is None or dtype in NARROW:
            return False
        self._values[node.outputs[0]] = Value(
            numbers=numbers.astype(dtype.numpy()), trained=reader.value(0).trained
        )
        return True

    def _fold_shape(self, node: ir.Node) -> bool:
        reader = NodeReader(self, node)
        given = node.inputs[0]
        if given is None:
            return False
        known = self.value(given).numbers
        shape = self.shape(given) if known is None else list(known.shape)
        if shape is None or None in shape:
            return False
        for axis, size in enumerate(shape):
            if isinstance(size, ir.SymbolicDim):
                self._free_sizes.setdefault(str(size), (given, axis))
        if node.op_type == "Size":
            sizes = np.array(1, object)
            for size in shape:
                sizes = np.array(sizes[()] * size, object)
        else:
            sizes = np.array(shape, object)[
                reader.attribute("start", 0) : reader.attribute("end", len(shape))
            ]
        self._values[node.outputs[0]] = self._sizes(node, sizes)
        return True

    def _fold_sizes(self, node: ir.Node, numbers: Sequence[np.ndarray | None]) -> bool:
        arrays = [each for each in numbers if each is not None]
        if len(arrays) < len(numbers) or not gives_sizes(node, arrays):
            return False
        self._values[node.outputs[0]] = self._sizes(node, SIZE_FUNCTIONS[node.op_type](node, *arrays))
        return True

    def _sizes(self, node: ir.Node, sizes: np.ndarray) -> Value:
        """Return a value of sizes: a constant if none is free."""
        if all(isinstance(size, (int, np.integer)) for size in np.asarray(sizes).reshape(-1)):
            dtype = node.outputs[0].dtype
            return Value(numbers=np.asarray(sizes).astype(np.int64 if dtype is None else dtype.numpy()))
        return Value(numbers=np.asarray(sizes, object), make_symbol=lambda: self._apply(node)[0])  # type: ignore[return-value, arg-type]

    def _apply(self, node: ir.Node) -> Sequence[Result]:
        reader = NodeReader(self, node)
        function = find_reading(node.op_type, reader.opset)
        assert function is not None
        result = function(reader)
        results: list[Result] = (
            [result] if result is None or isinstance(result, (Symbol, np.ndarray)) else list(result)
        )
        if node.op_type in _MAY_LEAVE_RANGE:
            results = [_in_range(reader, value, result) for value, result in zip(node.outputs, results)]
        return self._named(reader.name, results)

    def _named(self, name: str, results: list[Result]) -> list[Result]:
        """Give the node that makes all results the name of ONNX's node."""
        makers = {symbol.graph.outputs[0].node for symbol in results if isinstance(symbol, Symbol)}
        if len(makers) != 1:
            return results
        maker = makers.pop()
        if not isinstance(maker, Application) or not maker.name.startswith(f"{name}_"):
            return results  # an input or a constant that is handed on
        renamed = replace(maker, name=unique_name(name, self._names))
        return [
            Symbol([Entry(renamed, result.graph.outputs[0].index)]) if isinstance(result, Symbol) else result
            for result in results
        ]


def _in_range(reader: NodeReader, value: ir.Value, result: Result) -> Result:
    """Return the result of arithmetic, brought into the range of its type where its array is of a wider one."""
    if not isinstance(result, Symbol) or value.dtype not in NARROW:
        return result
    return reader.narrow(result, value.dtype)


def _sources(value: ir.Value) -> list[str]:
    """Return the names of inputs, of the model or of bodies, from whose numbers a value is computed."""
    found, seen, waiting = [], {value}, [value]
    while waiting:
        one = waiting.pop()
        if one.is_graph_input() and one.name:
            found.append(one.name)
        maker = one.producer()
        if maker is not None and maker.op_type not in ("Shape", "Size"):
            bodies = [a.value for a in maker.attributes.values() if a.type == ir.AttributeType.GRAPH]
            sources = [*maker.inputs, *(output for body in bodies for output in body.outputs)]
            new = [each for each in sources if each is not None and each not in seen]
            seen.update(new)
            waiting += new
    return sorted(found)


def _numbers(value: ir.Value) -> np.ndarray:
    tensor = value.const_value
    if tensor is None:
        raise FormatError(f"import_model: the initializer {value.name!r} has no data")
    try:
        return tensor.numpy()
    except Exception as error:  # of NumPy, protobuf and the file system
        raise FormatError(f"import_model: the tensor {value.name!r} is malformed: {error}") from error


def _constant(node: ir.Node) -> np.ndarray:
    for name, attribute in node.attributes.items():
        if name == "value":
            try:
                return attribute.value.numpy()
            except Exception as error:  # of NumPy and protobuf
                raise FormatError(f"import_model: Constant {node.name!r} is malformed: {error}") from error
        if name in ("value_float", "value_floats"):
            return np.array(attribute.value, np.float32)
        if name in ("value_int", "value_ints"):
            return np.array(attribute.value, np.int64)
    raise MXNetError(
        f"import_model: Constant {node.name!r} must hold a dense tensor of numbers; got {', '.join(node.attributes)}"
    )


def _plain(numbers: np.ndarray) -> np.ndarray:
    return numbers.astype(np.int64) if numbers.dtype == object else numbers
