"""How many threads compute a graph, and how much memory its results take."""

import pytest
import torch

import rebind as mx
from rebind.executor.effort import are_small, bytes_of_results, is_small, multiply_adds
from rebind.graph import Facts, infer_shapes, infer_types

X = mx.sym.var("x")


def known(symbol, **shapes):
    return symbol.graph, Facts.of(infer_shapes(symbol.graph, shapes))


@pytest.mark.parametrize(
    ("symbol", "shape", "expected"),
    [
        (mx.sym.FullyConnected(X, num_hidden=10), (8, 20, 5), 8 * 100 * 10 + 80),
        (mx.sym.FullyConnected(X, num_hidden=10, flatten=False), (8, 20, 5), 8 * 20 * 5 * 10 + 1600),
        (mx.sym.Convolution(X, kernel=(3, 3), num_filter=4), (2, 5, 8, 8), 2 * 4 * 36 * (5 * 9) + 2 * 4 * 36),
        (
            mx.sym.Convolution(X, kernel=(3,), num_filter=24, num_group=3, stride=(2,), no_bias=True),
            (2, 9, 7),
            2 * 24 * 3 * (3 * 3) + 2 * 24 * 3,
        ),
        # Where few products are made of many numbers, reading these takes longer.
        (
            mx.sym.Convolution(X, kernel=(3,), num_filter=6, num_group=3, stride=(2,), no_bias=True),
            (2, 9, 7),
            5 * 2 * 9 * 7 + 2 * 6 * 3,
        ),
        (mx.sym.FullyConnected(X, num_hidden=10), (2, 100), 5 * 100 * 10 + 20),
        (mx.sym.tanh(X) + 1, (3, 4), 24),
        (mx.sym.RNN(X, state_size=5, num_layers=1, mode="rnn_tanh"), (7, 2, 3), 7 * 2 * 50 + 7 * 2 * 5),
        # Of what no rule says how much it computes nothing is known.
        (mx.sym.linalg.syrk(X), (4, 4), None),
    ],
    ids=lambda each: "-".join(each.list_outputs()) if isinstance(each, mx.sym.Symbol) else "",
)
def test_multiply_adds(symbol, shape, expected):
    assert multiply_adds(*known(symbol, x=shape)) == expected


def threads_seen(symbol, **shapes):
    """Return the threads that PyTorch has while the graph runs forward and backward."""
    seen = []

    class Seeing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append(torch.get_num_threads())
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            seen.append(torch.get_num_threads())
            return gradient

    executor = symbol.simple_bind(mx.cpu(), **shapes)
    plan = executor.runner.plans.get(is_train=True)
    call = next(node for node in plan.code.graph.nodes if node.op == "call_function")
    first = call.target
    call.target = lambda *args, **kwargs: Seeing.apply(first(*args, **kwargs))
    plan.code.recompile()
    executor.forward(is_train=True)
    executor.backward([mx.nd.ones(executor.outputs[0].shape)])
    return seen, torch.get_num_threads()


def threads_seen_in_inference(symbol, **shapes):
    """Return the threads that PyTorch has while the graph runs in inference."""
    seen = []
    executor = symbol.simple_bind(mx.cpu(), grad_req="null", **shapes)
    plan = executor.runner.plans.get(is_train=False, recorded=False)
    call = next(node for node in plan.code.graph.nodes if node.op == "call_function")
    first = call.target

    def seeing(*args, **kwargs):
        seen.append(torch.get_num_threads())
        return first(*args, **kwargs)

    call.target = seeing
    plan.code.recompile()
    executor.forward(is_train=False)
    return seen, torch.get_num_threads()


@pytest.mark.parametrize(
    ("units", "in_training", "in_inference"), [(10, 1, 1), (400, 1, 1), (500, 1, 3), (1000, 3, 3)]
)
def test_a_small_graph_is_computed_by_one_thread(units, in_training, in_inference):
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        net = mx.sym.FullyConnected(mx.sym.tanh(X), num_hidden=units, name="fc")
        assert threads_seen(net, x=(110, 100)) == ([in_training] * 2, 3)
        assert threads_seen_in_inference(net, x=(110, 100)) == ([in_inference], 3)
    finally:
        torch.set_num_threads(before)


def test_a_graph_without_known_shapes_is_not_small():
    effort = multiply_adds(mx.sym.tanh(X).graph, Facts())
    assert effort is None and not is_small(effort)
    assert not are_small(bytes_of_results(mx.sym.tanh(X).graph, Facts()))


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
    assert are_small(bytes_of_results(graph, facts)) == expected
