"""What a reading asks of its node, and writes with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, fx
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from ...errors import MXNetError
from ...symbol import Symbol, generated
from .sizes import Size, is_free, reshape_codes, size_of, sizes_of
from .values import ReadGraph

__all__ = ["NodeReader"]

#: The arguments of operators that take graphs, which have no schema.
_TAKING_GRAPHS: Mapping[Any, Sequence[str]] = {
    torch.ops.higher_order.while_loop: ("cond_fn", "body_fn", "carried_inputs", "additional_inputs"),
}


class NodeReader:
    """Reads one node of a program. Arguments have PyTorch's names; what its documentation calls self is ``input``.

    Attributes
    ----------
    node, name
        The node, and its name in MXNet.
    graph
        What reads the graph that the node is in.
    written
        The names of the nodes that were written for it.
    """

    def __init__(self, graph: ReadGraph, node: fx.Node, name: str) -> None:
        self.graph = graph
        self.node = node
        self.name = name
        self.written: set[str] = set()
        self._arguments = _arguments(node)

    # Arguments

    @property
    def names(self) -> list[str]:
        """The names of all arguments, in order."""
        return list(self._arguments)

    def argument(self, name: str, default: Any = None) -> Any:
        """Return an argument that is no tensor: numbers, texts, types and lists; free sizes as expressions."""
        value = self._arguments.get(name)
        return default if value is None else _plain(value)

    def has(self, name: str) -> bool:
        """Say whether an optional argument is there."""
        return self._arguments.get(name) is not None

    def is_tensor(self, name: str) -> bool:
        """Say whether an argument is a tensor, where it may be a number."""
        value = self._arguments.get(name)
        return isinstance(value, fx.Node) and isinstance(value.meta.get("val"), Tensor)

    def source(self, name: str) -> fx.Node:
        """Return the node that gives an argument."""
        node = self._arguments.get(name)
        if not isinstance(node, fx.Node):
            raise self.refuse(f"{name} must be a tensor; got {node!r}")
        return node

    def sources(self, name: str) -> list[Any]:
        """Return the nodes that give a list of tensors, None where one is absent."""
        return list(self._arguments.get(name) or [])

    def input(self, name: str = "input", suffix: str | None = None) -> Symbol:
        """Return an argument as a symbol; the variable of a weight ends with the suffix."""
        return self.graph.symbol(self.source(name), suffix)

    def optional(self, name: str, suffix: str | None = None) -> Symbol | None:
        """Return an argument as a symbol, or None where it is absent."""
        return self.input(name, suffix) if self.has(name) else None

    def inputs(self, name: str = "tensors") -> list[Symbol]:
        """Return a list of tensors as symbols."""
        return [self.graph.symbol(node) for node in self.sources(name)]

    def numbers(self, name: str) -> Tensor | None:
        """Return the numbers of a constant; None for what the network computes, and for weights."""
        node = self._arguments.get(name)
        value = self.graph.value(node) if isinstance(node, fx.Node) and self.is_tensor(name) else None
        return value if isinstance(value, Tensor) else None

    def scalar(self, name: str) -> float | None:
        """Return an argument that is one number, or a constant without axes; None for any other."""
        if not self.is_tensor(name):
            value = self.argument(name)
            return float(value) if isinstance(value, int | float) else None
        numbers = self.numbers(name)
        return float(numbers) if numbers is not None and numbers.ndim == 0 else None

    # What is known of tensors

    def shape(self, name: str = "input") -> list[Size]:
        """Return the shape of an argument."""
        return sizes_of(self.source(name).meta["val"])

    def rank(self, name: str = "input") -> int:
        """Return how many axes an argument has in MXNet."""
        return len(self.shape(name))

    def output_shape(self, index: int | None = None) -> list[Size]:
        """Return the shape of the output, or of one of several."""
        value = self.node.meta["val"]
        return sizes_of(value if index is None else value[index])

    def dtype(self, name: str = "input") -> str:
        """Return MXNet's name of an argument's type."""
        return str(self.source(name).meta["val"].dtype).removeprefix("torch.")

    def output_dtype(self, index: int | None = None) -> str:
        """Return MXNet's name of the output's type."""
        value = self.node.meta["val"]
        return str((value if index is None else value[index]).dtype).removeprefix("torch.")

    def is_float(self, name: str = "input") -> bool:
        """Say whether an argument has a floating type."""
        return bool(self.source(name).meta["val"].is_floating_point())

    def axis(self, axis: int, rank: int | None = None) -> int:
        """Return an axis counted from the start."""
        return axis % (self.rank() if rank is None else rank)

    def axes(self, name: str = "dim") -> tuple[int, ...] | None:
        """Return axes to reduce, counted from the start: None for all."""
        given = self.argument(name)
        if given is None or given == []:
            return None
        return tuple(sorted(self.axis(axis) for axis in (given if isinstance(given, list) else [given])))

    def wanted(self, output: int) -> bool:
        """Say whether one of several outputs is used."""
        return any(user.args[1] == output for user in self.node.users)

    # Writing

    def op(self, kind: str, /, *inputs: Symbol | None, **params: Any) -> Any:
        """Apply an operator of MXNet; inputs that are None are left out, and so are such parameters."""
        given = {key: value for key, value in params.items() if value is not None}
        arrays = [each for each in inputs if each is not None]
        return getattr(generated, kind)(*arrays, name=self._new_name(kind), **given)

    def slice_axis(self, data: Symbol, axis: int, begin: int, end: int | None) -> Symbol:
        """Return a range of an axis; None is its end."""
        return generated.slice_axis(data, axis=axis, begin=begin, end=end, name=self._new_name("slice_axis"))

    def _new_name(self, kind: str) -> str:
        name = f"{self.name}_{kind.strip('_').lower()}{len(self.written) + 1}"
        self.written.add(name)
        return name

    def fixed(self, numbers: Tensor, suffix: str = "constant") -> Symbol:
        """Return numbers that are no parameters: training does not change them."""
        return self.graph.parameter(numbers, f"{self.name}_{suffix}", trained=False)

    def cast(self, data: Symbol, dtype: str) -> Symbol:
        """Convert to a type of MXNet."""
        return self.op("Cast", data, dtype=dtype)

    def scaled(self, data: Symbol, factor: float) -> Symbol:
        """Multiply by a number."""
        return data if factor == 1 else self.op("_mul_scalar", data, scalar=float(factor))

    def reshape(self, data: Symbol, shape: Sequence[Size], target: Sequence[Size]) -> Symbol:
        """Give data of one shape another."""
        codes = reshape_codes(shape, target)
        if codes is None:
            raise self.refuse(f"at most one size may be -1 or free (dynamic); got {list(map(str, target))}")
        return self.op("Reshape", data, shape=codes)

    def transpose(self, data: Symbol, axes: Sequence[int]) -> Symbol:
        """Order the axes; an order that changes nothing writes nothing."""
        return data if list(axes) == sorted(axes) else self.op("transpose", data, axes=tuple(axes))

    def along(self, data: Symbol, axis: int, rank: int) -> Symbol:
        """Give data of one axis the others, with size 1."""
        return self.op("Reshape", data, shape=tuple(-1 if each == axis else 1 for each in range(rank)))

    def counted(self, size: Size) -> Symbol:
        """Return 0, 1, ... for a size, free or not, as float32."""
        if not is_free(size):
            return self.fixed(torch.arange(size, dtype=torch.float32), "positions")
        data, axis = self._axis_with(size)
        return self.op("_contrib_arange_like", self.cast(data, "float32"), axis=axis)

    def broadcast_to(self, data: Symbol, shape: Sequence[Size], target: Sequence[Size]) -> Symbol:
        """Repeat data of one shape to another, of which free sizes are those of inputs."""
        own = [*[1] * (len(target) - len(shape)), *shape]
        if len(own) > len(shape):
            data = self.reshape(data, shape, own)
        known = tuple(0 if size == wanted or is_free(wanted) else wanted for size, wanted in zip(own, target))
        if any(known):
            data = self.op("broadcast_to", data, shape=known)
        for axis, (size, wanted) in enumerate(zip(own, target)):
            if size != wanted and is_free(wanted):
                like, like_axis = self._axis_with(wanted)
                data = self.op("broadcast_like", data, like, lhs_axes=(axis,), rhs_axes=(like_axis,))
        return data

    def free_size(self, name: str) -> Symbol:
        """Return an argument that is a free size as an array of one 64-bit integer."""
        size = self.argument(name)
        if free_unbacked_symbols(size):  # of no axis, but of numbers
            raise self.graph.no_tensor(self.source(name))
        data, axis = self._axis_with(size)
        return self.slice_axis(self.op("shape_array", data), 0, axis, axis + 1)

    def filled(self, value: float, shape: Sequence[Size], dtype: str) -> Symbol:
        """Return one number in a shape."""
        if not any(map(is_free, shape)):
            return self.op("_full", shape=tuple(shape), value=float(value), dtype=dtype)
        one = self.op("_full", shape=(1,) * len(shape), value=float(value), dtype=dtype)
        return self.broadcast_to(one, [1] * len(shape), shape)

    def refuse(self, reason: str) -> MXNetError:
        """Return the error that this node cannot be read, with the reason."""
        return MXNetError(f"from_torch: {self.node.target} {self.node.name!r}: {reason}")

    def _axis_with(self, size: Size) -> tuple[Symbol, int]:
        """Return an input of the network or of this node that has a free size, and the axis."""
        found = self.graph.axis_with(size)
        if found is not None:
            return found
        for name in filter(self.is_tensor, self.names):
            if size in self.shape(name):
                return self.input(name), self.shape(name).index(size)
        raise self.refuse(f"a free (dynamic) size must be a size of an input; got {size}")


def _arguments(node: fx.Node) -> dict[str, Any]:
    """Return all arguments by name, with defaults."""
    if node.target in _TAKING_GRAPHS:
        return dict(zip(_TAKING_GRAPHS[node.target], node.args, strict=True))
    module = node.graph.owning_module
    assert module is not None
    normal = node.normalized_arguments(module, normalize_to_only_use_kwargs=True)
    if normal is None:
        raise MXNetError(
            f"from_torch: {node.target} {node.name!r}: its arguments match no overload of the operator"
        )
    return dict(normal.kwargs)


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, fx.Node):
        value = value.meta["val"]
    return size_of(value)
