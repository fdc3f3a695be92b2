"""Nodes that hold the layer that MXNet fused: what a file may say of them, and what runs."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.errors import FormatError
from rebind.graph import Facts, Target
from rebind.graph.passes import BACKENDS, optimize

X = mx.sym.var("x")


def fused(
    body: Any, op: str = "_sg_mkldnn_conv", ranges: int = 0, subgraphs: int = 1, **attributes: str
) -> dict[str, Any]:
    """A file with one fused layer, whose inputs are the variables of its graph and the ends of ranges."""
    held = json.loads(body.tojson())
    held.pop("attrs")
    names = body.list_inputs() + [f"end{i}" for i in range(2 * ranges)]
    inputs = [{"op": "null", "name": name, "inputs": []} for name in names]
    node = {
        "op": op,
        "name": "fused",
        "attrs": attributes,
        "inputs": [[i, 0, 0] for i in range(len(names))],
        "subgraphs": [held] * subgraphs,
    }
    return {
        "nodes": [*inputs, node],
        "arg_nodes": list(range(len(names))),
        "node_row_ptr": list(range(len(names) + 2)),
        "heads": [[len(names), 0, 0]],
        "attrs": {"mxnet_version": ["int", 10901]},
    }


def conv(x: Any = X, name: str = "conv") -> Any:
    return mx.sym.Convolution(x, kernel=(1, 1), num_filter=2, name=name)


@pytest.mark.parametrize(
    ("file", "says"),
    [
        (fused(mx.sym.relu(X)), r"its subgraph must begin with Convolution; got relu"),
        (fused(X), r"its subgraph must begin with Convolution; got none"),
        (fused(conv(), subgraphs=2), r"must hold one subgraph with one output; got 2 subgraphs"),
        (fused(mx.sym.Group([conv(), X])), r"must hold one subgraph with one output; got 1 subgraph"),
        (fused(conv(), ranges=1), r"must have 3 inputs for a subgraph of 3; got 5"),
        (fused(conv(), quantized="true"), r"must have 5 or 9 inputs for a subgraph of 3; got 3"),
        (fused(conv(), quantized="perhaps"), r"quantized must be a bool; got 'perhaps'"),
    ],
)
def test_errors_name_the_node(file: dict[str, Any], says: str) -> None:
    with pytest.raises(FormatError, match=says) as caught:
        mx.sym.load_json(json.dumps(file))
    assert "'fused'" in str(caught.value)


def test_a_file_without_the_graph() -> None:
    file = fused(conv())
    del file["nodes"][-1]["subgraphs"]
    with pytest.raises(FormatError, match="must have a list 'subgraphs'"):
        mx.sym.load_json(json.dumps(file))


@pytest.mark.parametrize("backend", [*(name for name in BACKENDS if BACKENDS[name].compiler is None)])
@pytest.mark.parametrize("training", [False, True])
def test_every_backend_opens_them(backend: str, training: bool) -> None:
    symbol = mx.sym.load_json(json.dumps(fused(mx.sym.relu(conv()))))
    for recorded in (training, True):
        target = Target(backend=backend, training=training, recorded=recorded)
        graph, _ = optimize(symbol.graph, Facts(), target)
        assert {node.operator.name for node in graph.nodes if node.operator is not None} >= {
            "relu",
            "Convolution",
        }


def test_names_and_context_groups_stay() -> None:
    file = fused(mx.sym.relu(conv()))
    file["nodes"][-1]["attrs"]["__ctx_group__"] = "second"
    symbol = mx.sym.load_json(json.dumps(file))
    assert symbol.attr_dict()["fused"]["__ctx_group__"] == "second"
    graph, _ = optimize(symbol.graph, Facts(), Target(groups=(("second", torch.device("cpu")),)))
    assert all(node.attributes["__ctx_group__"] == "second" for node in graph.nodes if node.operator)
    assert json.loads(symbol.tojson())["nodes"] == file["nodes"]


def test_module_and_a_monitor() -> None:
    symbol = mx.sym.load_json(json.dumps(fused(mx.sym.relu(conv()))))
    module = mx.mod.Module(symbol, data_names=["x"], label_names=None)
    module.bind([("x", (2, 3, 4, 4))], for_training=False)
    module.init_params(mx.init.One())
    batch = mx.io.DataBatch([mx.nd.ones((2, 3, 4, 4))])
    module.forward(batch)
    plain = module.get_outputs()[0].asnumpy()
    monitor = mx.mon.Monitor(1, stat_func=lambda array: array.max(), pattern=".*output")
    module.install_monitor(monitor)
    monitor.tic()
    module.forward(batch)
    assert [name for _, name, _ in monitor.toc()] == ["conv_output", "fused_output"]
    np.testing.assert_array_equal(module.get_outputs()[0].asnumpy(), plain)
    assert plain.max() == 3


def test_a_compiler_takes_what_is_not_quantized(recwarn: pytest.WarningsRecorder) -> None:
    symbol = mx.sym.load_json(json.dumps(fused(conv())))
    given = {
        "x": mx.nd.ones((1, 3, 2, 2)),
        "conv_weight": mx.nd.ones((2, 3, 1, 1)),
        "conv_bias": mx.nd.ones(2),
    }
    executor = symbol.bind(mx.cpu(), given, grad_req="null", backend="eager")
    found = executor.forward(is_train=False)[0].asnumpy()
    np.testing.assert_array_equal(found, np.full((1, 2, 2, 2), 4, np.float32))
    assert not [each for each in recwarn if "default mode" in str(each.message)]


def test_a_compiler_leaves_quantized_ones_to_the_default_mode() -> None:
    symbol = mx.sym.load_json(json.dumps(fused(conv(), ranges=1, quantized="true")))
    with pytest.warns(UserWarning, match="runs in the default mode: it has layers of 8 bits"):
        executor = symbol.simple_bind(
            mx.cpu(), grad_req="null", x=(1, 3, 2, 2), type_dict={"x": "int8"}, backend="eager"
        )
        (sums,) = executor.forward(is_train=False)
    assert (sums.dtype, sums.shape) == (np.int32, (1, 2, 2, 2))
