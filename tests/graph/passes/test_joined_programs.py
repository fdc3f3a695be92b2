"""Programs whose cells are joined: what users see of it, and what they do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.contrib import amp
from rebind.errors import StateError
from rebind.executor import lower
from rebind.graph import Entry, Facts, Target, infer_shapes, infer_types
from rebind.graph.passes import BACKENDS
from rebind.graph.passes.join_cells import join_cells

from .unrolled import BATCH, CELLS, SIZE, STEPS, begin, joints, sections, singles, unroll, weights

S = mx.sym
MODES = ["rnn_tanh", "lstm", "gru"]


def network(cell: str, steps: int = STEPS, dtype: str = "float32") -> Any:
    """Return a layer of cells on ``data``, (time, batch, features), with a loss."""
    data = S.SliceChannel(S.var("data"), num_outputs=steps, axis=0, squeeze_axis=True)
    states = tuple(S.zeros(shape=(0, SIZE), dtype=dtype) for _ in begin(cell))
    hidden = [new[0] for new in unroll(cell, list(data), states, weights("a"), "a")]
    return S.MakeLoss(S.sum(S.square(S.stack(*hidden))), name="loss")


def fill(arrays: dict[str, Any]) -> None:
    random = np.random.default_rng(0)
    for array in arrays.values():
        array[:] = random.normal(size=array.shape)


def bound(symbol: Any, **shapes: tuple[int, ...]) -> Any:
    executor = symbol.simple_bind(mx.cpu(), **(shapes or {"data": (STEPS, BATCH, SIZE)}))
    fill(executor.arg_dict)
    return executor


def trained(executor: Any) -> list[np.ndarray]:
    """Return output and gradients of one step."""
    out = executor.forward(is_train=True)[0]
    executor.backward()
    return [out.asnumpy(), *(grad.asnumpy() for grad in executor.grad_arrays if grad is not None)]


@pytest.mark.parametrize("cell", MODES)
def test_the_optimized_symbol_is_one_like_any_other(cell: str) -> None:
    executor = bound(network(cell))
    optimized = executor.get_optimized_symbol()
    assert joints(optimized.graph) == ["a_t0_out to a_t2_out"]
    loaded = mx.sym.load_json(optimized.tojson())
    data = {"data": (STEPS, BATCH, SIZE)}
    wanted = [(name, array.shape) for name, array in executor.arg_dict.items()]
    assert list(zip(loaded.list_arguments(), loaded.infer_shape(**data)[0], strict=True)) == wanted
    again = loaded.simple_bind(mx.cpu(), **data)
    again.copy_params_from(executor.arg_dict)
    for one, other in zip(trained(again), trained(executor), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_a_monitor_sees_every_node() -> None:
    executor = bound(network("lstm"))
    expected = trained(executor)
    seen: list[str] = []
    executor.set_monitor_callback(lambda name, value: seen.append(name))
    found = trained(executor)
    assert {"a_t1_i_output", "a_t1_slice_output0", "a_t2_out_output"} <= set(seen)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_one_plan_for_all_sizes_of_a_batch() -> None:
    graph = network("gru").graph

    def plan(batch: int) -> Any:
        types = infer_types(graph, {}, torch.float32)
        facts = Facts.of(infer_shapes(graph, {"data": (STEPS, batch, SIZE)}, types), types)
        return lower(graph, Target(training=True), facts)

    assert plan(2) is plan(5)


@pytest.mark.parametrize("cell", MODES)
def test_every_bucket_is_joined(cell: str) -> None:
    def fit(backend: str) -> dict[str, np.ndarray]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(BACKENDS, "default", BACKENDS[backend])
            module = mx.mod.BucketingModule(
                lambda steps: (network(cell, steps), ("data",), ()), default_bucket_key=4
            )
            module.bind([mx.io.DataDesc("data", (4, BATCH, SIZE), layout="TNC")], None)
            module.init_params(mx.init.One())
            module.init_optimizer(optimizer_params={"learning_rate": 0.01})
            for steps in (4, 2, 3, 2, 4):
                described = [mx.io.DataDesc("data", (steps, BATCH, SIZE), layout="TNC")]
                data = mx.nd.ones((steps, BATCH, SIZE)) * steps
                module.forward_backward(mx.io.DataBatch([data], [], bucket_key=steps, provide_data=described))
                module.update()
            return {name: array.asnumpy() for name, array in module.get_params()[0].items()}

    joined, plain = fit("default"), fit("plain")
    assert joined.keys() == plain.keys()
    for name, value in plain.items():
        np.testing.assert_allclose(joined[name], value, rtol=1e-5, atol=1e-6)


def test_messages_name_the_outputs_of_the_user() -> None:
    states = unroll("lstm", sections(), begin("lstm"), weights("a"), "a")
    net = S.Group([states[0][0], states[-1][1]])
    executor = net.simple_bind(mx.cpu(), data=(STEPS, BATCH, SIZE), type_dict={"data": "float64"})
    executor.forward(is_train=True)
    with pytest.raises(StateError, match="output 'a_t0_out_output' is no loss"):
        executor.backward()


def test_a_compiler_for_a_gpu_is_given_the_steps() -> None:
    graph = network("lstm").graph
    assert join_cells(graph, Facts(), Target(device=torch.device("meta"), traced=True))[0] is graph
    assert join_cells(graph, Facts(), Target(traced=True))[0] is not graph


def test_whole_numbers_are_no_states() -> None:
    graph = network("rnn_relu").graph
    types = {Entry(node): torch.int32 for node in graph.nodes}
    assert join_cells(graph, Facts(types=types), Target())[0] is graph


def test_a_layer_is_on_one_device() -> None:
    shared = weights("a")
    with mx.AttrScope(ctx_group="one"):
        first = unroll("gru", singles(), begin("gru"), shared, "one")
    with mx.AttrScope(ctx_group="other"):
        second = unroll("gru", [S.var(f"y{t}") for t in range(STEPS)], first[-1], shared, "other")
    graph = S.Group([second[-1][0], first[1][0]]).graph
    devices = {"one": torch.device("cpu"), "other": torch.device("meta")}
    target = Target(groups=tuple(devices.items()))
    made, facts = join_cells(graph, Facts().on(graph, target), target)
    assert joints(made) == ["one_t0_out to one_t2_out", "other_t0_out to other_t2_out"]
    for node in made.nodes:
        group = "other" if node.name.startswith("other") else "one"
        if not node.is_variable:
            assert facts.devices[Entry(node)] == devices[group]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("cell", CELLS)
def test_types_of_16_bits(cell: str, dtype: str) -> None:
    def run() -> list[np.ndarray]:
        net = network(cell, dtype=dtype)
        types = dict.fromkeys(net.list_arguments(), dtype)
        executor = net.simple_bind(mx.cpu(), data=(STEPS, BATCH, SIZE), type_dict=types)
        fill(executor.arg_dict)
        return [array.astype("float32") for array in trained(executor)]

    joined = run()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(BACKENDS, "default", BACKENDS["plain"])
        plain = run()
    for one, other in zip(joined, plain, strict=True):
        np.testing.assert_allclose(one, other, atol=0.05 * np.abs(other).max())


def test_mixed_precision_joins_what_is_of_one_type() -> None:
    low = amp.convert_symbol(network("rnn_tanh"), target_dtype="float16")
    made = join_cells(low.graph, Facts(), Target())[0]
    assert joints(made) == ["a_t0_out to a_t2_out"]
    # The memory of an LSTM is float32 between cells that are float16: no layer has that.
    low = amp.convert_symbol(network("lstm"), target_dtype="float16")
    assert join_cells(low.graph, Facts(), Target())[0] is low.graph


@pytest.mark.parametrize("cell", MODES)
def test_second_derivatives(cell: str) -> None:
    net = network(cell)
    shapes = net.infer_shape(data=(STEPS, BATCH, SIZE))[0]
    random = np.random.default_rng(0)
    values = [random.normal(size=shape) for shape in shapes]

    def second() -> np.ndarray:
        arrays = [mx.nd.array(value) for value in values]
        for array in arrays:
            array.attach_grad()
        operator = mx.nd.CachedOp(S.sum(net.get_internals()["a_t2_out_output"]))
        with mx.autograd.record():
            (first,) = mx.autograd.grad(operator(*arrays), [arrays[0]], create_graph=True)
            total = (first * first).sum()
        total.backward()
        return arrays[1].grad.asnumpy()

    joined = second()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(BACKENDS, "default", BACKENDS["plain"])
        np.testing.assert_allclose(joined, second(), rtol=1e-4, atol=1e-5)
