"""`plot_network`: a symbol as a picture."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ..checks import warn_user
from ..dtypes import DTypeLike
from ..symbol import Symbol
from .graph_view import Entry, GraphView, Node, looks_like_parameter, read_symbol
from .pages import write_page
from .picture import Box, Edge, Picture, compose
from .svg import to_svg

__all__ = ["NetworkPlot", "plot_network"]

FORMATS = ("svg", "pdf", "png")


class NetworkPlot:
    """A drawing of a network; a notebook displays it.

    Examples
    --------
    >>> import rebind as mx
    >>> plot = plot_network(mx.sym.Flatten(mx.sym.var("data"), name="flat"), title="small")
    >>> plot, "Flatten" in plot.source  # plot.save("network.svg") writes it
    (<NetworkPlot 'small': 2 boxes>, True)
    """

    def __init__(self, picture: Picture, *, title: str, save_format: str) -> None:
        self.picture = picture
        self.title = title
        self.format = save_format

    @property
    def source(self) -> str:
        """The drawing as an SVG document.

        >>> import rebind as mx
        >>> plot_network(mx.sym.Flatten(mx.sym.var("data"))).source[:4]
        '<svg'
        """
        return to_svg(self.picture)

    def save(self, path: str | Path) -> Path:
        """Write the drawing to `path`, whose suffix names the format: svg, pdf or png.

        SVG needs nothing; the others are drawn by matplotlib, which the extra ``viz`` installs. Returns the path.

        >>> import os, tempfile
        >>> import rebind as mx
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     plot_network(mx.sym.var("data")).save(os.path.join(folder, "network.svg")).name
        'network.svg'
        """
        path = Path(path)
        suffix = path.suffix[1:].lower()
        if suffix not in FORMATS:
            raise ValueError(f"plot_network: the path must end in .svg, .pdf or .png; got '{path}'")
        if suffix == "svg":
            path.write_text(self.source, encoding="utf-8")
        else:
            write_page(self.picture, path)
        return path

    def render(self, filename: str | Path | None = None, *, format: str | None = None) -> str:
        """Write the drawing to `filename` (default: the title) plus the format's suffix; return the path.

        As graphviz does.
        """
        base = str(filename or self.title)
        suffix = f".{_checked_format(format or self.format)}"
        return str(self.save(base if base.endswith(suffix) else base + suffix))

    def _repr_svg_(self) -> str:
        return self.source

    def __repr__(self) -> str:
        return f"<NetworkPlot '{self.title}': {len(self.picture.boxes)} boxes>"


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

    Unlike MXNet's, it needs neither graphviz nor its `dot` program, and lays the graph out itself.

    Parameters
    ----------
    symbol
        The network.
    title
        Heading, and file name of `NetworkPlot.render`.
    save_format
        What `NetworkPlot.render` writes: 'svg', 'pdf' or 'png' (the last two with the extra ``viz``).
    shape
        Shapes of the inputs, by name; with it edges are labelled with shapes, without the first (batch) axis.
    dtype
        Types of the inputs, by name; with it edges are labelled with types.
    node_attrs
        Attributes of the boxes, as in graphviz: 'fillcolor', 'color' (the border), 'fontcolor', and 'shape'
        ('box', 'rect', 'oval', 'ellipse'). 'fixedsize' is always 'false': a box fits its text. Others warn.
    hide_weights
        Leave out variables that look like parameters (`conv1_weight`, `bn_moving_mean`, ...).

    Returns
    -------
    NetworkPlot
        With ``save(path)``, ``render(name)`` and ``source``.

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
    save_format = _checked_format(save_format)
    looks = _looks(node_attrs or {})
    view = read_symbol(symbol, who="plot_network", shape=shape, dtype=dtype)
    _warn_of_equal_names(view.nodes)
    shown = {
        i
        for i, node in enumerate(view.nodes)
        if not (hide_weights and node.is_variable and looks_like_parameter(node.name))
    }
    # Boxes are keyed by the numbers of nodes, since names may repeat.
    boxes = [looks.of(_box(i, view.nodes[i])) for i in sorted(shown)]
    # Only where it matters does a label have the number of the output.
    several = {entry.node for node in view.nodes for entry in node.inputs if entry.output}
    edges = [
        Edge(str(entry.node), str(i), edge_label(view, entry, several=entry.node in several))
        for i in sorted(shown)
        for entry in view.nodes[i].inputs
        if entry.node in shown
    ]
    return NetworkPlot(compose(boxes, edges, heading=title), title=title, save_format=save_format)


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


def _checked_format(name: str) -> str:
    if name not in FORMATS:
        raise ValueError(f"plot_network: save_format must be one of 'svg', 'pdf', 'png'; got {name!r}")
    return name


class _Looks(NamedTuple):
    """Attributes of all boxes that the caller sets; None: those of the box's kind."""

    fill: str | None
    border: str | None
    text: str | None
    oval: bool

    def of(self, box: Box) -> Box:
        """Return the box with these attributes."""
        return dataclasses.replace(box, fill=self.fill, border=self.border, text=self.text, oval=self.oval)


def _looks(node_attrs: Mapping[str, str]) -> _Looks:
    """Translate graphviz's attributes; warn of those without effect."""
    shape = node_attrs.get("shape", "box")
    if shape not in ("box", "rect", "oval", "ellipse"):
        raise ValueError(
            f"plot_network: node_attrs['shape'] must be one of 'box', 'rect', 'oval', 'ellipse'; got {shape!r}"
        )
    # MXNet's examples set `fixedsize`; it is accepted without effect.
    known = ["fillcolor", "color", "fontcolor", "shape", "fixedsize"]
    unknown = sorted(set(node_attrs) - {*known})
    if unknown:
        message = f"plot_network: node_attrs {unknown} have no effect; known: {known}"
        warn_user(message)
    fill, border, text = (node_attrs.get(word) for word in known[:3])
    return _Looks(fill, border, text, oval=shape in ("oval", "ellipse"))


def _box(index: int, node: Node) -> Box:
    if node.is_variable:
        kind = "parameter" if looks_like_parameter(node.name) else "input"
        return Box(str(index), node.name, (), kind, note=node.name)
    attributes = [f"{key} = {value}" for key, value in node.attrs.items()]
    note = "\n".join([f"{node.name} ({node.op})", *attributes])
    detail = describe(node)
    return Box(str(index), node.op, (detail,) if detail else (), kind_of(node.op), note=note)


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
        *("MAERegressionOutput", "SVMOutput", "softmax_cross_entropy", "CTCLoss"),
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
