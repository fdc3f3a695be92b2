"""Ever new shapes: what does not follow from them is found out once, and numbers are those of a network of its own."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from tests.newer_torch import uses_private_names

import rebind as mx
from rebind.executor import bound
from rebind.graph import inference
from rebind.graph.passes import pipeline

# The package has functions of these names.
bind, lower = sys.modules["rebind.executor.bind"], sys.modules["rebind.executor.lower"]
FIRST, *SIZES = (22, 24, 25, 31, 40, 52)  # of no picture are the convolutions tiny


def layer(data: Any, name: str, filters: int = 8, **given: Any) -> Any:
    data = mx.sym.Convolution(data, num_filter=filters, kernel=(3, 3), pad=(1, 1), name=name, **given)
    return mx.sym.Activation(mx.sym.BatchNorm(data, name=f"{name}_norm", fix_gamma=False), act_type="relu")


def classifier() -> Any:
    data = layer(mx.sym.var("data"), "first")
    data = data + layer(data, "second")
    data = mx.sym.Pooling(data, global_pool=True, kernel=(2, 2), pool_type="avg")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(data, num_hidden=4, name="dense"), name="softmax")


def sometimes_of_one_shape() -> Any:
    """A sum that is an ordinary one for pictures of up to 40 by 40, and broadcasts for larger ones."""
    wide = layer(mx.sym.var("data"), "first")
    other = mx.sym.slice(
        mx.sym.Convolution(wide, num_filter=8, kernel=(1, 1), name="last"),
        begin=(0, 0, 0, 0),
        end=(2, 8, 1, 1),
    )
    return mx.sym.broadcast_add(layer(wide, "second", stride=(40, 40)), other)


def transposed() -> Any:
    data = layer(mx.sym.var("data"), "first")
    return mx.sym.Deconvolution(
        data, num_filter=2, kernel=(4, 4), stride=(2, 2), target_shape=(40, 40), name="up", no_bias=True
    )


NETWORKS: dict[str, Callable[[], Any]] = {
    "classifier": classifier,
    "sum of one shape by chance": sometimes_of_one_shape,
    "padding from the size": transposed,
}


def filled(exe: Any) -> Any:
    random = np.random.RandomState(3)
    for name, array in [*sorted(exe.arg_dict.items()), *sorted(exe.aux_dict.items())]:
        if name != "data" and not name.endswith("label"):
            array[:] = (
                random.uniform(0.5, 1.5, array.shape)
                if name.endswith("var")
                else random.normal(size=array.shape)
            )
    return exe


def picture(size: int) -> mx.nd.NDArray:
    return mx.nd.array(np.random.RandomState(size).normal(size=(2, 3, size, size)))


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch, *places: tuple[Any, str]) -> Iterator[dict[str, int]]:
    """How often functions are called, by name; a function in several modules counts for all."""
    found: dict[str, int] = {}

    def count(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        found.setdefault(name, 0)

        def call(*args: Any, **kwargs: Any) -> Any:
            found[name] += 1
            return function(*args, **kwargs)

        return call

    with monkeypatch.context() as patch:
        for module, name in places:
            patch.setattr(module, name, count(name, getattr(module, name)))
        yield found


def own(network: Any, exe: Any, size: int) -> np.ndarray:
    """What an executor of a network of its own gives."""
    again = mx.sym.load_json(network.tojson()).simple_bind(mx.cpu(), grad_req="null", data=(2, 3, size, size))
    for mine, theirs in ((again.arg_dict, exe.arg_dict), (again.aux_dict, exe.aux_dict)):
        for name in mine:
            if mine[name].shape == theirs[name].shape:
                mine[name][:] = theirs[name]
    return again.forward(data=picture(size))[0].asnumpy()


@pytest.mark.parametrize("make", NETWORKS.values(), ids=NETWORKS)
@pytest.mark.parametrize("turns", [1, 2], ids=["each size once", "each size twice"])
def test_numbers_are_those_of_a_network_for_the_size(make: Callable[[], Any], turns: int) -> None:
    network = make()
    exe = filled(network.simple_bind(mx.cpu(), grad_req="null", data=(2, 3, FIRST, FIRST)))
    for size in SIZES:
        exe = exe.reshape(data=(2, 3, size, size), allow_up_sizing=True, partial_shaping=True)
        for _ in range(turns):
            found = exe.forward(data=picture(size))[0].asnumpy()
        np.testing.assert_allclose(found, own(network, exe, size), rtol=1e-4, atol=1e-5)


def module_of(network: Any) -> mx.mod.Module:
    module = mx.mod.Module(network)
    module.bind([("data", (2, 3, FIRST, FIRST))], [("softmax_label", (2,))], for_training=False)
    module.init_params(mx.init.Xavier())
    return module


@uses_private_names
def test_a_module_writes_code_once_for_sizes_that_come_once(monkeypatch: pytest.MonkeyPatch) -> None:
    module, label = module_of(classifier()), [mx.nd.zeros((2,))]
    with counted(monkeypatch, (lower, "_make_plan")) as calls:
        for size in (FIRST, *SIZES):
            module.forward(mx.io.DataBatch([picture(size)], label))
        assert calls == {"_make_plan": 1}
        # A size that comes again is worth filters that are packed for it.
        module.forward(mx.io.DataBatch([picture(SIZES[-1])], label))
        assert calls == {"_make_plan": 2}


def test_an_executor_writes_code_once_for_sizes_that_come_once(monkeypatch: pytest.MonkeyPatch) -> None:
    exe = filled(classifier().simple_bind(mx.cpu(), data=(2, 3, FIRST, FIRST)))
    with counted(monkeypatch, (lower, "_make_plan")) as calls:
        for size in (FIRST, *SIZES):
            exe = exe.reshape(data=(2, 3, size, size), softmax_label=(2,), allow_up_sizing=True)
            exe.forward()
        assert calls == {"_make_plan": 1}


@pytest.mark.parametrize("training", [False, True])
def test_shapes_are_inferred_once_for_a_size_and_types_not_again(
    training: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, label = module_of(classifier()), [mx.nd.zeros((2,))]
    module.forward(mx.io.DataBatch([picture(FIRST)], label), is_train=training)
    places = [
        (bind, "infer_shapes"),
        (bind, "infer_types"),
        (bound, "infer_shapes"),
        (bound, "infer_types"),
    ]
    with counted(monkeypatch, *places) as calls:
        for size in SIZES:
            module.forward(mx.io.DataBatch([picture(size)], label), is_train=training)
    assert calls == {"infer_shapes": len(SIZES), "infer_types": 0}


def test_inference_visits_each_node_once_where_that_settles_it(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = classifier().graph
    places = [(inference._ShapeInference, "visit")]
    with counted(monkeypatch, *places) as calls:
        inference.infer_shapes(graph, {"data": (2, 3, 9, 9)})
    assert calls == {"visit": sum(not node.is_variable for node in graph.nodes)}


def test_sizes_that_come_once_leave_nothing_behind() -> None:
    network = classifier()
    module, label = module_of(network), [mx.nd.zeros((2,))]

    def stored() -> int:
        gc.collect()
        graphs = [graph for graph in pipeline._made if graph.variables[0] is network.graph.variables[0]]
        return sum(len(pipeline._made[graph]) for graph in graphs)

    found = []
    for size in (FIRST, *SIZES):
        module.forward(mx.io.DataBatch([picture(size)], label))
        found.append(stored())
    assert found[1:] == found[:1] * len(SIZES)
