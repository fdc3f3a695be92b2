"""What a network takes: its inputs, their shapes as far as they follow from the checkpoint, and what must be asked."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..errors import MXNetError, NameLookupError, ParameterError, ShapeError, near_names
from ..graph import Application, Entry, Graph, Node, Variable, infer_shapes
from ..graph.inference import declared_shape
from ..shapes import Shape

__all__ = ["Inputs", "ask_for_shape", "find_inputs"]

#: Operators that give the channels of their data on, so that what follows tells them.
_KEEP_CHANNELS = frozenset([
    "Activation", "BatchNorm", "BatchNorm_v1", "BlockGrad", "Cast", "Dropout", "LRN", "LeakyReLU", "Pad", "Pooling",
    "Pooling_v1", "_copy", "_div_scalar", "_minus_scalar", "_mul_scalar", "_plus_scalar", "_rminus_scalar", "amp_cast",
    "broadcast_add", "broadcast_div", "broadcast_mul", "broadcast_sub", "clip", "relu", "sigmoid", "tanh",
])  # fmt: skip
#: The inputs of layers that hold states from step to step.
_STATES = frozenset({"state", "state_cell"})

#: What layers learn or keep up to date.
_PARAMETERS = frozenset({"weight", "bias", "gamma", "beta", "moving_mean", "moving_var", "parameters"})


@dataclass(frozen=True)
class Inputs:
    """What a network takes.

    Attributes
    ----------
    data
        The shapes of what is given for each batch, by name, in the order in which the network takes them; 0 for free
        sizes.
    states
        The shapes of states, such as those of recurrent layers, which begin as zeros.
    """

    data: Mapping[str, Shape]
    states: Mapping[str, Shape]

    @property
    def shapes(self) -> dict[str, Shape]:
        """All of them."""
        return {**self.data, **self.states}


def find_inputs(
    graph: Graph,
    parameters: Mapping[str, Shape],
    given: Mapping[str, Shape] | None = None,
    beside: Mapping[str, Shape] | None = None,
    samples: Mapping[str, Shape] | None = None,
) -> Inputs:
    """Return the inputs of a network with their shapes.

    A shape is what is given; else what files beside the checkpoint say, what the variable was declared with, or what
    follows from weights: channels, the length of vectors. What does not follow is that of `samples`. The size of the
    batch is free, unless it is given; so are height and width where no later layer needs to know them.

    Parameters
    ----------
    graph
        The network.
    parameters
        The shapes of its parameters.
    given
        Shapes that the user names; 0 for a free size.
    beside
        Shapes from files; those that do not fit the weights are of another network, and are not used.
    samples
        The shapes of data that the network is to be run on.

    Raises
    ------
    ParameterError
        When a parameter or auxiliary state of a layer is missing.
    NameLookupError
        When a shape is given for something else than an input.
    ShapeError
        When a shape does not follow; the message shows how to give it.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    >>> find_inputs(net.graph, {"fc_weight": (2, 5), "fc_bias": (2,)}).data
    {'data': (0, 5)}
    """
    given, beside, samples = given or {}, beside or {}, samples or {}
    inputs = [node for node in graph.arguments if node.name not in parameters]
    _check_parameters(graph, parameters)
    _check_names(given, [node.name for node in inputs])
    states = [node.name for node in inputs if node.name not in given and _is_state(graph, node)]
    beside = {name: shape for name, shape in beside.items() if _fits(graph, {**parameters, name: shape})}
    shapes = {
        node.name: given.get(node.name) or beside.get(node.name) or _from_network(graph, node, parameters)
        for node in inputs
        if node.name not in states
    }
    known = {name: shape for name, shape in shapes.items() if shape is not None}
    inferred = infer_shapes(graph, {**parameters, **known})
    for node in inputs:
        if node.name in shapes and shapes[node.name] is None:
            shapes[node.name] = inferred.of(Entry(node)) or _of_any_batch(samples.get(node.name))
    data = _settled(graph, parameters, shapes, samples)
    return Inputs(data, _state_shapes(graph, states, {**parameters, **data}))


def _check_parameters(graph: Graph, parameters: Mapping[str, Shape]) -> None:
    """Check that what composing names after its layer has values, but for inputs of that layer."""
    for node in graph.nodes:
        for taken, entry in zip(node.input_names, node.inputs, strict=True):
            name = entry.node.name
            if (
                entry.node.is_variable
                and name not in parameters
                and name == f"{node.name}_{taken}"
                and taken in _PARAMETERS
            ):
                raise ParameterError(
                    f"the checkpoint must have values of {name!r}, a parameter of {node!r}; it has none"
                )


def _check_names(given: Mapping[str, Shape], names: Sequence[str]) -> None:
    for name in given:
        if name not in names:
            raise NameLookupError(
                f"shape: {name!r} must be an input of the network, {', '.join(map(repr, names)) or 'which has none'}"
                f"{near_names(name, names)}"
            )


def _uses(graph: Graph, entry: Entry) -> Iterator[tuple[Application, str]]:
    """Yield the nodes that take an entry, and as what."""
    for node in graph.nodes:
        if isinstance(node, Application):
            for name, source in zip(node.input_names, node.inputs, strict=True):
                if source == entry:
                    yield node, name


def _is_state(graph: Graph, variable: Node) -> bool:
    uses = list(_uses(graph, Entry(variable)))
    return "begin_state" in variable.name or any(
        name in _STATES and node.operator.name == "RNN" for node, name in uses
    )


def _from_network(graph: Graph, variable: Node, parameters: Mapping[str, Shape]) -> Shape | None:
    """Return the shape of an input that its declaration and the first layers tell, with 0 for what they do not."""
    declared = declared_shape(variable, 0)
    if declared:
        return (0, *declared[1:])
    for node, name in _uses(graph, Entry(variable)):
        shape = _from_layer(graph, node, name, parameters)
        if shape is not None:
            return shape
    return None


def _from_layer(graph: Graph, node: Application, name: str, parameters: Mapping[str, Shape]) -> Shape | None:
    """Return the shape of an input that one layer tells."""
    operator, p = node.operator.name, node.params
    if name not in ("data", "lhs"):
        return None
    weight = next(
        (
            parameters.get(entry.node.name)
            for taken, entry in zip(node.input_names, node.inputs)
            if taken == "weight"
        ),
        None,
    )
    if operator in ("Convolution", "Convolution_v1", "Deconvolution") and weight is not None:
        return _from_convolution(node, weight)
    if operator == "FullyConnected" and weight is not None:
        return (0, weight[1]) if p.flatten else None
    if operator == "RNN":
        return _from_recurrent(node, parameters)
    if operator in _KEEP_CHANNELS:
        return (
            _from_network(graph, node, parameters)
            if node.is_variable
            else _from_following(graph, node, parameters)
        )
    return None


def _from_following(graph: Graph, node: Application, parameters: Mapping[str, Shape]) -> Shape | None:
    for user, name in _uses(graph, Entry(node)):
        shape = _from_layer(graph, user, name, parameters)
        if shape is not None:
            return shape
    return None


def _from_convolution(node: Application, weight: Shape) -> Shape | None:
    """Return (0, channels, 0, ...) for a convolution whose channels are on axis 1."""
    p = node.params
    if "layout" in p and p.layout is not None and not p.layout.startswith("NC"):
        return None
    channels = weight[0] if node.operator.name == "Deconvolution" else weight[1] * p.num_group
    return (0, channels, *[0] * len(p.kernel))


def _from_recurrent(node: Application, parameters: Mapping[str, Shape]) -> Shape | None:
    """Return (0, 0, C): of each layer the number of parameters grows by a constant with C."""
    packed = next(
        (
            parameters.get(entry.node.name)
            for name, entry in zip(node.input_names, node.inputs)
            if name == "parameters"
        ),
        None,
    )
    if packed is None:
        return None
    one, two = (_packed_size(node, channels) for channels in (1, 2))
    channels, rest = divmod(packed[0] - one, two - one)
    return (0, 0, 1 + channels) if rest == 0 else None


def _packed_size(node: Application, channels: int) -> int:
    """Return how many parameters a recurrent layer has for data of as many channels."""
    alone = node.with_inputs([Entry(Variable(name)) for name in node.input_names])
    found = infer_shapes(Graph(alone.outputs), {"data": (1, 1, channels)})
    shape = found.of(alone.inputs[node.input_names.index("parameters")])
    assert shape is not None  # it follows from the data
    return shape[0]


def _of_any_batch(shape: Shape | None) -> Shape | None:
    return (0, *shape[1:]) if shape else shape


def _settled(
    graph: Graph,
    parameters: Mapping[str, Shape],
    shapes: Mapping[str, Shape | None],
    samples: Mapping[str, Shape],
) -> dict[str, Shape]:
    """Return the shapes of data, with sizes of samples where they are needed; an error asks for what is unknown."""
    data = {name: shape for name, shape in shapes.items() if shape is not None}
    for name, shape in shapes.items():
        if shape is None:
            raise ShapeError(
                f"the shape of the input {name!r} cannot be inferred from the checkpoint: "
                f"{ask_for_shape(name, _that_fits(graph, {**parameters, **data}, name, None))}"
            )
    if (node := _first_that_needs_sizes(graph, {**parameters, **data})) is None:
        return data
    sized = {name: _with_sizes_of(shape, samples.get(name)) for name, shape in data.items()}
    if sized != data and _first_that_needs_sizes(graph, {**parameters, **sized}) is None:
        return sized
    name = next((name for name, shape in data.items() if 0 in shape[1:]), next(iter(data), ""))
    raise ShapeError(
        f"all sizes of the input {name!r} must be given, since {node.operator.name} {node.name!r} takes all of a "
        f"picture or sequence as one vector: "
        f"{ask_for_shape(name, _that_fits(graph, {**parameters, **data}, name, data.get(name)))}"
    )


def _with_sizes_of(shape: Shape, sample: Shape | None) -> Shape:
    """Return a shape with a sample's sizes for those that are free, but not for that of the batch."""
    if sample is None or len(sample) != len(shape):
        return shape
    return (*shape[:1], *(size or other for size, other in zip(shape[1:], sample[1:], strict=True)))


#: What pictures and sequences often are, then all small sizes.
_SIDES = (224, 28, 32, 299, 300, 512, 227, 64, 96, 112, 128, 160, 192, 256, 320, 416, 448, 608, 640)
_LENGTHS = (16, 10, 20, 32, 50, 64, 100, 128)
_SMALL = range(1, 129)
#: What data of unknown shape often are: pictures, classes or words, vectors.
_SHAPES = ((1, 3, 224, 224), (1, 1, 28, 28), (1, 224, 224, 3), (1, 16), (1, 16, 16), (16,))


def _of_dense_layer(graph: Graph, known: Mapping[str, Shape]) -> Iterator[Shape]:
    """Yield shapes of data that give the first dense layer as many numbers as its weight has columns."""
    weights = (
        known.get(entry.node.name)
        for node in graph.nodes
        if isinstance(node, Application) and node.operator.name == "FullyConnected"
        for name, entry in zip(node.input_names, node.inputs, strict=True)
        if name == "weight"
    )
    for weight in itertools.islice(weights, 1):
        size = weight[1] if weight is not None else 0
        sides = ((channels, math.isqrt(size // channels)) for channels in (3, 1))
        yield from (
            (1, channels, side, side) for channels, side in sides if channels * side * side == size > 1
        )
        yield (1, size)
        yield from ((1, length, size) for length in (*_LENGTHS, *_SMALL))


def _that_fits(graph: Graph, known: Mapping[str, Shape], name: str, shape: Shape | None) -> Shape | None:
    """Return a shape without free sizes that fits the weights, for an example; as it is if none does."""
    words = ((1, length) for length in (*_LENGTHS, *_SMALL))
    tried: Iterable[Shape] = (*_of_dense_layer(graph, known), *_SHAPES, *words)
    if shape is not None:
        sizes = (*(_SIDES if len(shape) == 4 else _LENGTHS), *_SMALL)
        tried = ((shape[0] or 1, *(each or size for each in shape[1:])) for size in sizes)
    for whole in tried:
        try:
            if _first_that_needs_sizes(graph, {**known, name: whole}) is None:
                return whole
        except MXNetError:  # a layer's weights do not fit
            continue
    return shape


def _fits(graph: Graph, shapes: Mapping[str, Shape]) -> bool:
    """Return whether shapes of inputs and weights contradict each other nowhere."""
    try:
        infer_shapes(graph, shapes)
    except MXNetError:
        return False
    return True


def _first_that_needs_sizes(graph: Graph, shapes: Mapping[str, Shape]) -> Application | None:
    """Return the first layer whose weights have a size of their own for each position of data of a free size."""
    inferred = infer_shapes(graph, shapes)
    for node in graph.nodes:
        if isinstance(node, Application) and node.operator.name == "FullyConnected":
            shape = inferred.of(node.inputs[0])
            if shape is None or 0 in (shape[1:] if node.params.flatten else shape[-1:]):
                return node
    return None


def ask_for_shape(name: str, shape: Shape | None, *, may_be_free: bool = True) -> str:
    """Return how to give a shape: an example with the sizes that are known.

    >>> ask_for_shape("data", (0, 3, 0, 0))
    "give it, as in --shape data:1,3,224,224 (shape={'data': (1, 3, 224, 224)}); 0 is a size that stays free."
    """
    example = [3, 224, 224] if shape is None or len(shape) == 4 else [16] * (len(shape) - 1)
    sizes = [1, *example] if shape is None else [size or other for size, other in zip(shape, [1, *example])]
    free = "; 0 is a size that stays free" if may_be_free else ""
    return f"give it, as in --shape {name}:{','.join(map(str, sizes))} (shape={{{name!r}: {tuple(sizes)}}}){free}."


def _state_shapes(graph: Graph, names: Sequence[str], shapes: Mapping[str, Shape]) -> dict[str, Shape]:
    """Return the shapes of states, which follow from those of the data."""
    if not names:
        return {}
    inferred = infer_shapes(graph, shapes)
    found = {node.name: inferred.of(Entry(node)) for node in graph.variables if node.name in names}
    for name, shape in found.items():
        if shape is None:
            raise ShapeError(
                f"the shape of the state {name!r} cannot be inferred from the checkpoint: {ask_for_shape(name, (0, 0))}"
            )
    return {name: shape for name, shape in found.items() if shape is not None}
