"""How many products operators make, and how much memory the results of a graph take."""

import pytest

import rebind as mx
from rebind.executor.cost_model import bytes_of_results
from rebind.graph import Facts, infer_shapes, infer_types
from rebind.tuning import current

X = mx.sym.var("x")


@pytest.mark.parametrize(
    ("symbol", "shape", "expected"),
    [
        (mx.sym.FullyConnected(X, num_hidden=10), (8, 20, 5), 8 * 100 * 10),
        (mx.sym.FullyConnected(X, num_hidden=10, flatten=False), (8, 20, 5), 8 * 20 * 5 * 10),
        (mx.sym.Convolution(X, kernel=(3, 3), num_filter=4), (2, 5, 8, 8), 2 * 4 * 36 * (5 * 9)),
        (
            mx.sym.Convolution(X, kernel=(3,), num_filter=24, num_group=3, stride=(2,), no_bias=True),
            (2, 9, 7),
            2 * 24 * 3 * (3 * 3),
        ),
        (mx.sym.RNN(X, state_size=5, num_layers=1, mode="rnn_tanh"), (7, 2, 3), 7 * 2 * 50),
    ],
    ids=lambda each: "-".join(each.list_outputs()) if isinstance(each, mx.sym.Symbol) else "",
)
def test_products_of_an_operator(symbol, shape, expected):
    shapes = Facts.of(infer_shapes(symbol.graph, {"x": shape})).shapes
    node = symbol.graph.nodes[-1]
    inputs = dict(zip(node.input_names, (shapes[entry] for entry in node.inputs), strict=True))
    assert node.operator.inference.products_rule(inputs, node.params) == expected


def test_a_graph_without_known_shapes_is_not_small():
    assert bytes_of_results(mx.sym.tanh(X).graph, Facts()) > current().explicit_result_bytes


@pytest.mark.parametrize(
    ("symbol", "rows", "dtype", "expected"),
    [
        (mx.sym.tanh(X), 2048, "float32", True),
        (mx.sym.tanh(X), 2049, "float32", False),
        (mx.sym.tanh(X), 2048, "float64", False),
        (mx.sym.tanh(mx.sym.tanh(X)), 2048, "float32", False),  # of two results
        (mx.sym.sum(X), 10**6, "float32", True),  # whatever it reads
    ],
)
def test_small_results_take_8_megabytes_together(symbol, rows, dtype, expected):
    graph = symbol.graph
    facts = Facts.of(infer_shapes(graph, {"x": (rows, 1024)}), infer_types(graph, {"x": dtype}))
    assert (bytes_of_results(graph, facts) <= current().explicit_result_bytes) == expected
