"""plot_network: what the picture holds, and what it is written as."""

from __future__ import annotations

import re
import shutil
import sys
from xml.etree import ElementTree

import pytest

import rebind as mx
from rebind.viz import plot_network
from rebind.viz.dot import quoted
from rebind.viz.graph_view import Node
from rebind.viz.network import describe
from rebind.viz.picture import Box, Edge, compose
from rebind.viz.style import KINDS
from rebind.viz.svg import to_svg

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [element.text for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def notes(svg: str) -> str:
    return "\n".join(element.text for element in ElementTree.fromstring(svg).iter(f"{SVG}title"))


LENET = {"shape": {"data": (64, 1, 28, 28)}}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(
            {"title": "lenet"},
            {
                *("lenet", "data", "Convolution", "5×5/1, 20", "max, 2×2/2"),
                *("tanh", "500", "20×24×24", "800"),
            },
            id="title, operators, shapes",
        ),
        pytest.param(
            {"hide_weights": False}, {"conv1_weight", "20×1×5×5", "fc2_bias"}, id="weights when asked for"
        ),
        pytest.param({"dtype": {"data": "float16"}}, {"20×24×24 float16"}, id="types on edges"),
    ],
)
def test_texts_of_a_picture(lenet, arguments, expected):
    assert expected <= set(texts(plot_network(lenet, **LENET, **arguments).svg))


def test_notes_of_a_picture(lenet):
    svg = plot_network(lenet, **LENET).svg
    assert "conv1 (Convolution)" in notes(svg)
    assert "num_filter = 20" in notes(svg)
    assert "conv1_weight" not in svg


def test_resnet_has_every_layer_and_no_overlap(resnet):
    plot = plot_network(resnet, title="resnet-18", shape={"data": (32, 3, 224, 224)})
    operators = [node for node in resnet.nodes if node["op"] != "null"]
    assert len(plot.picture.boxes) == len(operators) + 2  # data and label
    labels = plot.picture.labels
    assert not any(a.overlaps(b) for i, a in enumerate(labels) for b in labels[i + 1 :])


def test_outputs_of_one_node_are_numbered(hand_made):
    x = hand_made.variable("data", (8, 4, 16))
    parts = hand_made.op("SliceChannel", "slice", [x], (8, 16), outputs=2, num_outputs=2)
    hand_made.op("elemwise_add", "sum", [(parts, 0), (parts, 1)], (8, 16))
    assert {"[0] 16", "[1] 16"} <= set(texts(plot_network(hand_made, shape={"data": (8, 4, 16)}).svg))


def test_every_kind_and_odd_characters_make_good_xml():
    boxes = [
        Box(kind, f"<{kind}> & 'more'", ('"a" < b',), '<&"', fill, border)
        for kind, (fill, border) in KINDS.items()
    ]
    edges = [Edge("input", kind, "<&>") for kind in KINDS if kind != "input"]
    svg = to_svg(compose(boxes, edges, heading="a < b & c"))
    assert "a < b & c" in texts(svg)
    assert {f"<{kind}> & 'more'" for kind in KINDS} <= set(texts(svg))


def test_colours_are_escaped():
    svg = to_svg(compose([Box("a", "a", fill='"/><script>', text='"x')], []))
    assert ElementTree.fromstring(svg).find(".//script") is None


@pytest.mark.parametrize("network", ["lenet", "resnet"])
def test_same_symbol_same_file(network, request):
    symbol = request.getfixturevalue(network)
    assert plot_network(symbol).source == plot_network(symbol).source


@pytest.mark.parametrize("suffix, magic", [("svg", b"<svg"), ("pdf", b"%PDF"), ("png", b"\x89PNG")])
def test_save(lenet, tmp_path, suffix, magic):
    if suffix != "svg":
        pytest.importorskip("matplotlib")
    path = plot_network(lenet, title="lenet").save(tmp_path / f"network.{suffix}")
    assert path == str(tmp_path / f"network.{suffix}")
    assert (tmp_path / f"network.{suffix}").read_bytes().startswith(magic)


@pytest.mark.parametrize(
    ("arguments", "picture", "source"),
    [
        # What graphviz.Digraph.render answers and writes.
        ({}, "lenet.gv.svg", "lenet.gv"),
        ({"filename": "a"}, "a.svg", "a"),
        ({"filename": "a.b"}, "a.b.svg", "a.b"),
        ({"filename": "q.svg"}, "q.svg.svg", "q.svg"),
        ({"filename": "a", "directory": "new/folder"}, "new/folder/a.svg", "new/folder/a"),
        ({"filename": "a", "cleanup": True}, "a.svg", None),
        ({"outfile": "z.svg"}, "z.svg", "z.gv"),
    ],
)
def test_render_names_the_files(lenet, tmp_path, monkeypatch, arguments, picture, source):
    monkeypatch.chdir(tmp_path)
    plot = plot_network(lenet, title="lenet", save_format="svg")
    assert plot.render(**arguments) == picture
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {picture, source} - {None}
    assert (tmp_path / picture).read_text(encoding="utf-8") == plot.svg == plot._repr_svg_()
    assert plot.pipe() == plot.svg.encode() and plot.pipe(encoding="utf-8") == plot.svg


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ({"fillcolor": "white", "shape": "oval", "fixedsize": "false"}, 'fill="white"'),
        ({"fillcolor": "#abcdef"}, 'fill="#abcdef"'),
    ],
)
def test_looks_in_graphviz_words(lenet, attributes, text):
    assert text in plot_network(lenet, node_attrs=attributes).svg


@pytest.mark.parametrize(
    ("change", "line", "says"),
    [
        (
            lambda plot: plot.node("fc1", peripheries="2"),
            "fc1 [peripheries=2]",
            "node attribute 'peripheries'",
        ),
        (lambda plot: plot.node("fc1", shape="star"), "fc1 [shape=star]", "node attribute 'shape=star'"),
        (lambda plot: plot.attr(rankdir="LR"), "graph [rankdir=LR]", "graph attribute 'rankdir'"),
        (
            lambda plot: plot.graph_attr.update(rankdir="LR"),
            "graph [rankdir=LR]",
            "graph attribute 'rankdir'",
        ),
        (
            lambda plot: plot.edge("fc1", "x", style="dashed"),
            "fc1 -> x [style=dashed]",
            "edge attribute 'style'",
        ),
        (lambda plot: plot.body.append("{rank=same fc1 fc2}"), "{rank=same fc1 fc2}", "the line '{rank=same"),
    ],
)
def test_what_only_graphviz_can_draw_is_a_warning(lenet, monkeypatch, change, line, says):
    plot = plot_network(lenet)
    change(plot)
    assert line in plot.source
    monkeypatch.setattr(shutil, "which", lambda program: None)
    with pytest.warns(
        UserWarning, match=re.escape(f"plot_network: {says}") + ".* have no effect on this drawing"
    ):
        plot.pipe("svg")


def test_what_is_added_by_hand_is_drawn(lenet):
    """The methods of graphviz.Digraph, in the DOT text and in the picture."""
    plot = plot_network(lenet)
    plot.node("note", r"first\nsecond", fillcolor="yellow")
    plot.node("fc1", color="#123456")
    plot.edge("note", "fc1", label="here")
    plot.edges(["ab", ("b", "conv1")])
    plot.attr("node", shape="box")
    plot.edge("late", "softmax")
    found = texts(plot.svg)
    assert {"first", "second", "here", "a", "b", "late"} <= set(found)
    assert 'fill="yellow"' in plot.svg and 'stroke="#123456"' in plot.svg
    boxes = {box.key: box for box in plot.picture.boxes}
    assert boxes["a"].oval and not boxes["late"].oval
    assert plot.source.endswith(
        '\tnote [label="first\\nsecond" fillcolor=yellow]\n\tfc1 [color="#123456"]\n\tnote -> fc1 [label=here]\n'
        "\ta -> b\n\tb -> conv1\n\tnode [shape=box]\n\tlate -> softmax\n}\n"
    )
    other = plot.copy()
    other.clear()
    assert (other.source, len(plot.picture.boxes)) == ("digraph plot {\n}\n", len(boxes))


def test_subgraphs(lenet, monkeypatch):
    plot = plot_network(lenet)
    with plot.subgraph(name="cluster_0") as part:
        part.attr(label="block")
        part.node("inside")
    assert plot.source.endswith("\tsubgraph cluster_0 {\n\t\tgraph [label=block]\n\t\tinside\n\t}\n}\n")
    assert "inside" in {box.key for box in plot.picture.boxes}


# Answers of graphviz.Digraph; an ID in DOT.
@pytest.mark.parametrize(
    ("name", "dot"),
    [
        *[("conv1", "conv1"), ("a b", '"a b"'), ("node", '"node"'), ("1.5", "1.5"), ("-3", "-3"), ("", '""')],
        *[
            ("n/1", '"n/1"'),
            ('q"q', r'"q\"q"'),
            ("<<b>x</b>>", "<<b>x</b>>"),
            ("back\\slash", r'"back\slash"'),
        ],
        ("ends\\", r'"ends\\"'),
        ("é", '"é"'),
    ],
)
def test_names_in_dot(name, dot):
    assert quoted(name) == dot


@pytest.mark.skipif(shutil.which("dot") is None, reason="graphviz's program is not installed")
@pytest.mark.parametrize("network", ["lenet", "resnet"])
def test_graphviz_reads_the_source(network, request):
    plot = plot_network(request.getfixturevalue(network), hide_weights=False, node_attrs={"style": "filled"})
    plot.node('odd "name" \\ <b>', "<a> & b\\")
    plot.attr(rankdir="LR")
    assert plot.pipe("gif").startswith(b"GIF8")
    drawn = plot.pipe("svg", encoding="utf-8")
    assert "FullyConnected" in drawn and drawn.count('class="node"') == len(plot.picture.boxes)


def test_a_format_that_needs_graphviz(lenet, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda program: None)
    with pytest.raises(ImportError, match=r"'gif' needs graphviz's program 'dot', which is not installed"):
        plot_network(lenet).pipe("gif")


def test_view_without_a_viewer(lenet, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda program: None)
    monkeypatch.setattr(sys, "platform", "linux")
    with pytest.warns(
        UserWarning, match="no program to show '.*a.svg' was found; the picture is in that file"
    ):
        path = plot_network(lenet, save_format="svg").view("a", tmp_path)
    assert path == str(tmp_path / "a.svg")


@pytest.mark.parametrize(
    "arguments, error, says",
    [
        ({"symbol": 3}, TypeError, "symbol must be a Symbol; got int"),
        (
            {"save_format": "gift"},
            ValueError,
            "save_format must be one of 'svg', 'pdf', 'png', or .*; got 'gift'",
        ),
        ({"shape": (1, 2)}, TypeError, r"shape must be a dict from input name to shape; got \(1, 2\)"),
        ({"shape": {"dta": (1, 2)}}, ValueError, "shape must name enough inputs to know all shapes"),
    ],
)
def test_bad_arguments(lenet, arguments, error, says):
    with pytest.raises(error, match=f"plot_network: .*{says}"):
        plot_network(**{"symbol": lenet, **arguments})


@pytest.mark.parametrize("name", ["network.dot", "network.gv", "network"])
def test_save_writes_dot(lenet, tmp_path, name):
    plot = plot_network(lenet)
    assert plot.save(name, tmp_path / "new") == str(tmp_path / "new" / name)
    assert (tmp_path / "new" / name).read_text(encoding="utf-8") == plot.source


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda plot: plot.attr("nod", a="1"), "attr: kw must be 'graph', 'node' or 'edge'; got 'nod'"),
        (lambda plot: plot.edges(["abc"]), "edges: must be pairs of names; got 'abc'"),
        (lambda plot: plot.node(3), "node: a node's name must be a string; got 3"),
        (lambda plot: plot.render("x", engine="dott"), "engine must be one of dot, .*; got 'dott'"),
    ],
)
def test_mistakes_with_a_plot(lenet, call, says):
    with pytest.raises(mx.MXNetError, match=says):
        call(plot_network(lenet))


@pytest.mark.parametrize(
    "op, attrs, text",
    [
        ("Convolution", {"kernel": "(3, 3)", "num_filter": "8"}, "3×3/1, 8"),
        ("Convolution", {"kernel": "(3, 5)", "stride": "(1, 2)", "num_filter": "8"}, "3×5/1×2, 8"),
        ("Pooling", {"global_pool": "True", "pool_type": "avg"}, "global avg"),
        ("Embedding", {"input_dim": "10000", "output_dim": "200"}, "10000 → 200"),
        ("Dropout", {}, "p = 0.5"),
        ("BatchNorm", {"eps": "1e-5"}, ""),
        ("clip", {"a_min": "0", "a_max": "1", "__mirror__": "x"}, "a_min=0, a_max=1"),
        ("odd", {"text": "x" * 60}, "text=" + "x" * 26 + "…"),
    ],
)
def test_details(op, attrs, text):
    assert describe(Node("n", op, attrs, ())) == text


def test_variables_of_one_name_are_reported():
    first, second = mx.sym.var("w"), mx.sym.var("w")
    with pytest.warns(UserWarning, match="plot_network: several variables have one name: 'w'"):
        plot_network(mx.sym.broadcast_add(first, second))
