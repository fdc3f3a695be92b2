"""print_summary: the counts are right, whatever shares what."""

from __future__ import annotations

import pytest

from rebind.viz import print_summary
from rebind.viz.graph_view import read_symbol
from rebind.viz.summary import summarize

SHAPE = {"data": (64, 1, 28, 28)}


def summary_of(symbol, shape):
    return summarize(read_symbol(symbol, who="test", shape=shape), inputs=tuple(shape))


def test_lenet_counts(lenet):
    summary = summary_of(lenet, SHAPE)
    counts = {row.name: row.parameters for row in summary.rows}
    assert counts["conv1"] == 20 * 25
    assert counts["conv2"] == 50 * 20 * 25
    assert counts["fc1"] == 500 * 800 + 500
    assert counts["fc2"] == 10 * 500 + 10
    assert summary.parameters == sum(counts.values())
    assert summary.auxiliary == 0


def test_resnet_18_has_its_known_number_of_parameters(resnet):
    """11,689,512 as first published; with pre-activation 896 + 448 normalized channels go and 512 come."""
    summary = summary_of(resnet, {"data": (32, 3, 224, 224)})
    assert summary.parameters == sum(row.parameters for row in summary.rows) == 11_689_512 - 2 * 832
    assert summary.auxiliary == sum(2 * row.shape[1] for row in summary.rows if row.op == "BatchNorm")


def test_rows_name_what_comes_before(resnet):
    rows = {row.name: row for row in summary_of(resnet, {"data": (32, 3, 224, 224)}).rows}
    assert rows["stage2_unit1_plus"].previous == ("stage2_unit1_conv2", "stage2_unit1_sc")
    assert rows["conv0"].previous == ("data",)
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


def test_printed_table(lenet, capsys):
    print_summary(lenet, SHAPE, line_length=100)
    out = capsys.readouterr().out
    assert "conv1 (Convolution)" in out
    assert "20x24x24" in out
    assert "400,500" in out
    assert "Total params: 431,010" in out
    assert max(map(len, out.splitlines())) <= 100


def test_moving_averages_are_told_apart(resnet, capsys):
    print_summary(resnet, {"data": (32, 3, 224, 224)})
    out = capsys.readouterr().out
    assert "Total params: 11,687,848" in out
    assert "Moving averages:" in out


def test_without_shapes(lenet, capsys):
    print_summary(lenet)
    assert "Total params: unknown; give the inputs' shapes" in capsys.readouterr().out


def test_narrow_columns_fold_and_lose_nothing(lenet, capsys):
    print_summary(lenet, SHAPE, line_length=48)
    out = capsys.readouterr().out
    assert "Total params: 431,010" in out
    assert max(map(len, out.splitlines())) <= 61  # the last line is free text


@pytest.mark.parametrize("positions", [(0.5, 0.4, 0.7, 1.0), (0.5, 1.0), (0.0, 0.1, 0.2, 1.0)])
def test_bad_positions(lenet, positions):
    with pytest.raises(ValueError, match="positions must be four increasing numbers above 0"):
        print_summary(lenet, SHAPE, positions=positions)
