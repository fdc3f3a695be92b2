"""`plot_network`: a symbol as a picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from ..checks import DICT, check_kind, or_none, warn_user
from ..dtypes import DTypeLike
from ..symbol import Symbol
from . import style
from .graph_view import Entry, GraphView, Node, looks_like_parameter, read_symbol
from .plot import NetworkPlot, checked_format

__all__ = ["plot_network"]


def _warn_of_equal_names(nodes: Sequence[Node]) -> None:
    """Warn of variables that share a name: a module gives them one array, and a reader sees one name twice."""
    counts = Counter(node.name for node in nodes if node.is_variable)
    repeated = [name for name, count in counts.items() if count > 1]
    if repeated:
        warn_user(f"plot_network: several variables have one name: {', '.join(map(repr, repeated))}")


def plot_network(
    symbol: Symbol,
    title: str = "plot",
    save_format: str = "pdf",
    shape: Mapping[str, Sequence[int]] | None = None,
    dtype: Mapping[str, DTypeLike] | None = None,
    node_attrs: Mapping[str, str] | None = None,
    hide_weights: bool = True,
) -> NetworkPlot:
    """Draw a network, inputs on top.

    Unlike MXNet's, it needs neither graphviz nor its `dot` program, and lays the graph out itself. What it returns has
    the methods of `graphviz.Digraph`.

    Parameters
    ----------
    symbol
        The network.
    title
        Heading, and file name of `NetworkPlot.render`: ``title.gv.pdf``.
    save_format
        What `NetworkPlot.render` writes: 'svg', 'pdf' or 'png' (the last two with the extra ``viz``), or a format of
        graphviz's.
    shape
        Shapes of the inputs, by name; with it edges are labelled with shapes, without the first (batch) axis.
    dtype
        Types of the inputs, by name; with it edges are labelled with types.
    node_attrs
        Attributes of the boxes, as in graphviz: 'fillcolor', 'color' (the border), 'fontcolor', and 'shape'
        ('box', 'rect', 'oval', 'ellipse'). A box always fits its text. Others have an effect where graphviz draws.
    hide_weights
        Leave out variables that look like parameters (`conv1_weight`, `bn_moving_mean`, ...).

    Returns
    -------
    NetworkPlot
        With ``save(path)``, ``render(name)``, ``source`` (DOT) and ``svg``.

    Raises
    ------
    TypeError, ValueError
        If `symbol` is no symbol, or an argument does not fit.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=10, name="fc")
    >>> plot_network(net, shape={"data": (1, 784)})
    <NetworkPlot 'plot': 2 boxes>
    """
    check_kind("plot_network", or_none(DICT), node_attrs=node_attrs)
    view = read_symbol(symbol, who="plot_network", shape=shape, dtype=dtype)
    _warn_of_equal_names(view.nodes)
    plot = NetworkPlot(title, format=checked_format(save_format))
    names = _different([node.name for node in view.nodes])
    shown = {
        i
        for i, node in enumerate(view.nodes)
        if not (hide_weights and node.is_variable and looks_like_parameter(node.name))
    }
    for i in sorted(shown):
        plot.node(names[i], _attributes={**_attributes(view.nodes[i]), **(node_attrs or {})})
    # Only where it matters does a label have the number of the output.
    several = {entry.node for node in view.nodes for entry in node.inputs if entry.output}
    for i in sorted(shown):
        for entry in view.nodes[i].inputs:
            if entry.node in shown:
                label = edge_label(view, entry, several=entry.node in several)
                plot.edge(names[entry.node], names[i], label or None)
    return plot


def _different(names: Sequence[str]) -> list[str]:
    """Return the names, the later ones of equal ones with a number."""
    seen: Counter[str] = Counter()
    different = []
    for name in names:
        different.append(f"{name} ({seen[name] + 1})" if seen[name] else name)
        seen[name] += 1
    return different


def edge_label(view: GraphView, entry: Entry, *, several: bool = False) -> str:
    """Return shape and type of an output, as far as known: ``20×24×24``, without the batch axis if one is likely.

    Where `several` outputs of a node are used, the label begins with the output's index: ``[2] 200``.

    >>> import rebind as mx
    >>> view = read_symbol(mx.sym.var("x") * 2, who="example", shape={"x": (8, 3, 5)})
    >>> edge_label(view, view.heads[0])
    '3×5'
    """
    # A parameter has no batch axis to leave out.
    parts = [f"[{entry.output}]"] if several else []
    node, shape = view.nodes[entry.node], view.shape(entry)
    if shape is not None:
        whole = node.is_variable and looks_like_parameter(node.name)
        parts.append("×".join(map(str, shape if whole else shape[1:])))
    parts.append(view.type(entry) or "")
    return " ".join(filter(None, parts))


def _attributes(node: Node) -> dict[str, str]:
    """Return the attributes that a node has in DOT."""
    if node.is_variable:
        kind = "parameter" if looks_like_parameter(node.name) else "input"
        lines, note = [node.name], node.name
    else:
        kind = kind_of(node.op)
        lines = [node.op, *filter(None, [describe(node)])]
        note = "\n".join(
            [f"{node.name} ({node.op})", *(f"{key} = {value}" for key, value in node.attrs.items())]
        )
    fill, border = style.KINDS[kind]
    return {
        "label": "\n".join(lines).replace("\\", r"\\"),
        "tooltip": note.replace("\\", r"\\"),
        "fillcolor": fill,
        "color": border,
        "shape": "oval" if kind == "input" else "box",
        "style": "filled" if kind == "input" else "rounded,filled",
    }


def describe(node: Node) -> str:
    """Return the most important parameters of a node, in a few characters: ``5×5/1, 20``.

    >>> describe(Node("fc1", "FullyConnected", {"num_hidden": "10"}, ()))
    '10'
    """
    if node.op in DETAILS:
        return DETAILS[node.op](node.attrs)
    # Any other operator: its first two parameters. Names with two underscores are attributes of the user's.
    few = [f"{key}={value}" for key, value in node.attrs.items() if not key.startswith("__")][:2]
    text = ", ".join(few)
    return text if len(text) <= 32 else text[:31] + "…"


def _numbers(text: str) -> list[str]:
    """Return the entries of a printed tuple."""
    return [part.strip() for part in text.strip("()[] ").split(",") if part.strip()]


def _window(attrs: Mapping[str, str]) -> str:
    """Return kernel and stride, ``3×3/2``; the stride in full when its axes differ."""
    kernel = "×".join(_numbers(attrs.get("kernel", "")))
    strides = _numbers(attrs.get("stride", "")) or ["1"]
    return f"{kernel}/{strides[0] if len(set(strides)) == 1 else '×'.join(strides)}"


def _convolution(attrs: Mapping[str, str]) -> str:
    return f"{_window(attrs)}, {attrs.get('num_filter', '?')}"


def _pooling(attrs: Mapping[str, str]) -> str:
    kind = attrs.get("pool_type", "max")
    return (
        f"global {kind}" if attrs.get("global_pool") in ("True", "1", "true") else f"{kind}, {_window(attrs)}"
    )


def _recurrent(attrs: Mapping[str, str]) -> str:
    return f"{attrs.get('mode', '?')}, {attrs.get('num_layers', '?')}×{attrs.get('state_size', '?')}"


def _value(key: str, default: str = "", form: str = "{}") -> Callable[[Mapping[str, str]], str]:
    return lambda attrs: form.format(attrs.get(key, default))


def _nothing(attrs: Mapping[str, str]) -> str:
    return ""


DETAILS: dict[str, Callable[[Mapping[str, str]], str]] = {
    "Convolution": _convolution,
    "Deconvolution": _convolution,
    "FullyConnected": _value("num_hidden", "?"),
    "Activation": _value("act_type", "?"),
    "LeakyReLU": _value("act_type", "leaky"),
    "Pooling": _pooling,
    "RNN": _recurrent,
    "Embedding": lambda attrs: f"{attrs.get('input_dim', '?')} → {attrs.get('output_dim', '?')}",
    "Dropout": _value("p", "0.5", "p = {}"),
    "Concat": _value("dim", "1", "axis {}"),
    "SliceChannel": lambda attrs: f"{attrs.get('num_outputs', '?')} along axis {attrs.get('axis', '1')}",
    "Reshape": _value("shape"),
    "transpose": _value("axes"),
    "BatchNorm": _nothing,
    "LayerNorm": _nothing,
    "Flatten": _nothing,
    "SoftmaxOutput": _nothing,
}

# Colours by family. Aliases are listed too, since a file may have any of an operator's names.
_FAMILIES: dict[str, tuple[str, ...]] = {
    "layer": ("Convolution", "Deconvolution", "FullyConnected", "dot", "batch_dot", "DeformableConvolution"),
    "activation": (
        "Activation",
        "LeakyReLU",
        "relu",
        "sigmoid",
        "tanh",
        "softmax",
        "log_softmax",
        "SoftmaxActivation",
    ),
    "normalization": ("BatchNorm", "LayerNorm", "InstanceNorm", "GroupNorm", "L2Normalization", "LRN"),
    "pooling": ("Pooling", "ROIPooling", "mean", "sum", "max", "UpSampling"),
    "join": (
        *("Concat", "concat", "stack", "add_n", "ElementWiseSum", "where", "_Plus", "_Minus", "_Mul", "_Div"),
        *("elemwise_add", "elemwise_sub", "elemwise_mul", "elemwise_div", "_plus", "_minus", "_mul", "_div"),
        *(
            "broadcast_add",
            "broadcast_sub",
            "broadcast_mul",
            "broadcast_div",
            "broadcast_plus",
            "broadcast_minus",
        ),
    ),
    "reshape": (
        *(
            "Flatten",
            "Reshape",
            "reshape",
            "transpose",
            "SliceChannel",
            "split",
            "slice",
            "slice_axis",
            "SwapAxis",
        ),
        *("expand_dims", "squeeze", "Pad", "Crop", "Cast", "tile", "repeat", "reverse", "flip", "slice_like"),
    ),
    "dropout": ("Dropout", "BlockGrad", "identity", "_copy"),
    "recurrent": ("RNN", "Embedding"),
    "loss": (
        *(
            "SoftmaxOutput",
            "Softmax",
            "LinearRegressionOutput",
            "LogisticRegressionOutput",
            "MakeLoss",
            "make_loss",
        ),
        *("MAERegressionOutput", "SVMOutput", "softmax_cross_entropy", "CTCLoss", "WarpCTC"),
    ),
}
# The other way round, for look-up by operator.
_KIND_OF = {op: kind for kind, ops in _FAMILIES.items() for op in ops}


def kind_of(op: str) -> str:
    """Return the kind of box for an operator, which is its colour.

    >>> kind_of("Convolution"), kind_of("mine")
    ('layer', 'other')
    """
    return _KIND_OF.get(op, "other")
