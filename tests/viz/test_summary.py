"""print_summary: the counts are right, whatever shares what."""

from __future__ import annotations

import pytest

from rebind.viz import print_summary
from rebind.viz.graph_view import read_symbol
from rebind.viz.summary import summarize

SHAPE = {"data": (64, 1, 28, 28)}
IMAGES = {"data": (32, 3, 224, 224)}


def summary_of(symbol, shape):
    return summarize(read_symbol(symbol, who="test", shape=shape), inputs=tuple(shape))


@pytest.mark.parametrize(
    ("layer", "parameters"),
    [
        ("conv1", 20 * 25),
        ("conv2", 50 * 20 * 25),
        ("fc1", 500 * 800 + 500),
        ("fc2", 10 * 500 + 10),
        ("softmax", 0),
    ],
)
def test_parameters_of_a_layer(lenet, layer, parameters):
    counts = {row.name: row.parameters for row in summary_of(lenet, SHAPE).rows}
    assert counts[layer] == parameters


@pytest.mark.parametrize(
    ("network", "shape", "parameters"),
    [
        ("lenet", SHAPE, 431_010),
        # 11,689,512 as first published; with pre-activation 896 + 448 normalized channels go and 512 come.
        ("resnet", IMAGES, 11_689_512 - 2 * 832),
    ],
)
def test_totals_of_a_network(network, shape, parameters, request):
    summary = summary_of(request.getfixturevalue(network), shape)
    assert summary.parameters == sum(row.parameters for row in summary.rows) == parameters
    assert summary.auxiliary == sum(2 * row.shape[1] for row in summary.rows if row.op == "BatchNorm")


@pytest.mark.parametrize(
    ("layer", "previous"),
    [("stage2_unit1_plus", ("stage2_unit1_conv2", "stage2_unit1_sc")), ("conv0", ("data",))],
)
def test_rows_name_what_comes_before(resnet, layer, previous):
    rows = {row.name: row for row in summary_of(resnet, IMAGES).rows}
    assert rows[layer].previous == previous
    assert "softmax_label" not in rows


def test_shared_parameters_count_once(hand_made):
    x = hand_made.variable("data", (4, 10))
    weight = hand_made.variable("shared_weight", (10, 10))
    for name in ("a", "b", "c"):
        x = hand_made.op("FullyConnected", name, [x, weight], (4, 10), num_hidden=10, no_bias=True)
    summary = summary_of(hand_made, {"data": (4, 10)})
    assert [row.parameters for row in summary.rows] == [0, 100, 0, 0]
    assert summary.parameters == 100


def test_a_name_that_begins_with_another(hand_made):
    """`fc` has outputs of its own kind; those of `fc_b` are not its."""
    x = hand_made.variable("data", (4, 10))
    a = hand_made.op("RNN", "fc", [x], (4, 7))
    hand_made.op("Flatten", "fc_b", [a], (4, 9))
    hand_made.shapes = {"data": (4, 10), "fc_state": (4, 7), "fc_b_output": (4, 9)}
    assert [row.shape for row in summary_of(hand_made, {"data": (4, 10)}).rows] == [(4, 10), (4, 7), (4, 9)]


@pytest.mark.parametrize(
    ("network", "arguments", "expected"),
    [
        pytest.param(
            "lenet",
            {"shape": SHAPE, "line_length": 100},
            ["conv1 (Convolution)", "20x24x24", "400,500", "Total params: 431,010"],
            id="wide",
        ),
        pytest.param(
            "lenet", {"shape": SHAPE, "line_length": 48}, ["Total params: 431,010"], id="columns fold"
        ),
        pytest.param(
            "resnet",
            {"shape": IMAGES},
            ["Total params: 11,687,848", "Moving averages:"],
            id="moving averages are counted apart",
        ),
        pytest.param("lenet", {}, ["Total params: unknown; give the inputs' shapes"], id="without shapes"),
    ],
)
def test_printed_table(network, arguments, expected, request, capsys):
    print_summary(request.getfixturevalue(network), **arguments)
    out = capsys.readouterr().out
    assert all(text in out for text in expected)
    if "line_length" in arguments:
        free = 61  # of the last line, which is text
        assert max(map(len, out.splitlines())) <= max(arguments["line_length"], free)


@pytest.mark.parametrize("positions", [(0.5, 0.4, 0.7, 1.0), (0.5, 1.0), (0.0, 0.1, 0.2, 1.0)])
def test_bad_positions(lenet, positions):
    with pytest.raises(ValueError, match="positions must be four increasing numbers above 0"):
        print_summary(lenet, SHAPE, positions=positions)
