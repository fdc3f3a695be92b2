"""plot_network: what the picture holds, and what it is written as."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

import rebind as mx
from rebind.viz import plot_network
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
    assert expected <= set(texts(plot_network(lenet, **LENET, **arguments).source))


def test_notes_of_a_picture(lenet):
    svg = plot_network(lenet, **LENET).source
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
    assert {"[0] 16", "[1] 16"} <= set(texts(plot_network(hand_made, shape={"data": (8, 4, 16)}).source))


def test_every_kind_and_odd_characters_make_good_xml():
    boxes = [Box(kind, f"<{kind}> & 'more'", ('"a" < b',), kind, note='<&"') for kind in KINDS]
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
    assert path.read_bytes().startswith(magic)


@pytest.mark.parametrize("name", ["a", "a.b", "folder/a"])
def test_render_names_the_file(lenet, tmp_path, name):
    (tmp_path / "folder").mkdir()
    plot = plot_network(lenet, title="lenet", save_format="svg")
    path = tmp_path / f"{name}.svg"
    assert plot.render(tmp_path / name) == str(path)
    assert path.read_text(encoding="utf-8") == plot.source == plot._repr_svg_()


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ({"fillcolor": "white", "shape": "oval", "fixedsize": "false"}, 'fill="white"'),
        ({"fillcolor": "#abcdef"}, 'fill="#abcdef"'),
    ],
)
def test_looks_in_graphviz_words(lenet, attributes, text):
    assert text in plot_network(lenet, node_attrs=attributes).source


def test_looks_without_an_effect_are_a_warning(lenet):
    with pytest.warns(UserWarning, match=r"node_attrs \['peripheries'\] have no effect"):
        plot_network(lenet, node_attrs={"peripheries": "2"})


@pytest.mark.parametrize(
    "arguments, error, says",
    [
        ({"symbol": 3}, TypeError, "symbol must be a Symbol; got int"),
        ({"save_format": "gif"}, ValueError, "save_format must be one of 'svg', 'pdf', 'png'; got 'gif'"),
        (
            {"node_attrs": {"shape": "star"}},
            ValueError,
            "must be one of 'box', 'rect', 'oval', 'ellipse'; got 'star'",
        ),
        ({"shape": (1, 2)}, TypeError, r"shape must be a dict from input name to shape; got \(1, 2\)"),
        ({"shape": {"dta": (1, 2)}}, ValueError, "shape must name enough inputs to know all shapes"),
    ],
)
def test_bad_arguments(lenet, arguments, error, says):
    with pytest.raises(error, match=f"plot_network: .*{says}"):
        plot_network(**{"symbol": lenet, **arguments})


def test_unknown_suffix(lenet, tmp_path):
    with pytest.raises(ValueError, match=r"must end in .svg, .pdf or .png; got"):
        plot_network(lenet).save(tmp_path / "network.bmp")


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
