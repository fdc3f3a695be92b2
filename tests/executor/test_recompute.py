"""Results that backward computes again: the same numbers to the last bit, and less memory."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from tests.newer_torch import uses_private_names
from torch.profiler import ProfilerActivity, profile

import rebind as mx
from rebind.executor.overwrite import overwriting_kernels
from rebind.executor.recompute import recomputed_nodes
from rebind.graph import Facts, Target

S = mx.sym
IMAGE = (2, 3, 8, 8)


def conv(x: Any, name: str, filters: int = 4, **given: Any) -> Any:
    return S.Convolution(x, num_filter=filters, name=name, **{"kernel": (3, 3), "pad": (1, 1), **given})


def norm(x: Any, name: str, **given: Any) -> Any:
    return S.BatchNorm(x, name=name, **{"fix_gamma": False, **given})


def relu(x: Any, name: str) -> Any:
    return S.Activation(x, act_type="relu", name=name)


def loss(x: Any) -> Any:
    return S.SoftmaxOutput(S.FullyConnected(x, num_hidden=3, name="fc"), name="softmax")


def residual() -> Any:
    x = relu(norm(conv(S.var("data"), "c"), "n"), "r")
    for i in range(5):
        y = relu(norm(conv(x, f"c{i}"), f"n{i}"), f"r{i}")
        x = relu(norm(conv(y, f"d{i}"), f"m{i}") + x, f"s{i}")
    return loss(S.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max"))


def before_activation() -> Any:
    """Residual units with the norm first: sums of sums."""
    x = conv(S.var("data"), "c")
    for i in range(5):
        x = conv(relu(norm(x, f"n{i}"), f"r{i}"), f"d{i}") + x
    return loss(S.Pooling(x, global_pool=True, kernel=(1, 1), pool_type="avg"))


def recurrent(batch: int = 2) -> Any:
    """Gates by hand, which no pass joins to a layer."""
    cell = hidden = S.zeros((batch, 6))
    outputs = []
    for i, x in enumerate(S.split(S.var("data"), num_outputs=8, axis=2, squeeze_axis=True)):
        gates = [
            S.FullyConnected(S.concat(S.Flatten(x), hidden, dim=1), num_hidden=6, name=f"{g}{i}")
            for g in "ifgo"
        ]
        keep, write, out = (S.sigmoid(gate) for gate in (gates[0], gates[1], gates[3]))
        cell = keep * cell + write * S.tanh(gates[2])
        hidden = out * S.tanh(cell)
        outputs.append(hidden)
    return S.Group([loss(outputs[-1]), S.BlockGrad(outputs[0])])


def random() -> Any:
    """Masks, slopes and noise, which must be drawn again as they were; one of them is used twice."""
    x = S.Dropout(S.tanh(conv(S.var("data"), "c")), p=0.4)
    x = S.LeakyReLU(x, act_type="rrelu")[0] + S.random.normal_like(x)
    x = S.Dropout(x, p=0.5, axes=(2, 3))
    return loss(S.concat(x, S.sin(x), dim=1))


def attention() -> Any:
    x = S.Reshape(S.var("data"), shape=(0, 0, -1))
    x = S.LayerNorm(x, name="l")
    q, k, v = (S.FullyConnected(x, num_hidden=8, flatten=False, name=name) for name in "qkv")
    weights = S.Dropout(S.softmax(S.batch_dot(q, k, transpose_b=True) / 3.0), p=0.2)
    x = S.transpose(S.batch_dot(weights, v), axes=(0, 2, 1))
    return loss(S.LeakyReLU(x, act_type="gelu"))


def losses() -> Any:
    """An output that needs a head gradient, one that is used again, one that none comes to, one that is an input."""
    hidden = S.tanh(norm(S.Flatten(S.var("data")), "n"))
    made = S.MakeLoss(S.square(hidden), name="loss")
    return S.Group([made, S.exp(made), S.sin(hidden) * 2, S.BlockGrad(S.cos(hidden)), S.var("data")])


def views() -> Any:
    """Results that share memory with their inputs, and what is written over an input."""
    x = S.sigmoid(S.FullyConnected(S.var("data"), num_hidden=6, name="a"))
    y = S.Reshape(S.expand_dims(x * x, axis=1), shape=(-1, 3))
    y = S.tanh(S.slice_axis(y, axis=1, begin=0, end=2)) + S.identity(S.slice_axis(y, axis=1, begin=1, end=3))
    return S.MakeLoss(S.sqrt(S.square(S.transpose(y)) + 1.0))


def loop() -> Any:
    states = S.relu(norm(S.var("data"), "n"))
    outputs, _ = S.contrib.foreach(
        lambda x, h: (S.Dropout(x, p=0.5) * h, S.tanh(h + x)), states, S.zeros((3, 8, 8))
    )
    return S.MakeLoss(S.square(outputs))


class Doubled(mx.operator.CustomOp):
    def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        aux[0][:] += 1
        self.assign(out_data[0], req[0], in_data[0] * 2)

    def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
        self.assign(in_grad[0], req[0], out_grad[0] * 2 + in_data[0] * out_data[0])


@mx.operator.register("recompute_doubled")
class DoubledProp(mx.operator.CustomOpProp):
    def list_auxiliary_states(self) -> list[str]:
        return ["runs"]

    def infer_shape(self, shapes: Any) -> Any:
        return shapes, shapes, [(1,)]

    def create_operator(self, *_: Any) -> Doubled:
        return Doubled()


def custom() -> Any:
    x = S.Custom(S.tanh(norm(S.var("data"), "n")), op_type="recompute_doubled", name="twice")
    return S.MakeLoss(S.square(x))


NETWORKS: dict[str, Callable[[], Any]] = {
    each.__name__: each
    for each in (
        residual, before_activation, recurrent, random, attention, losses, views, loop, custom,
    )
}  # fmt: skip
all_networks = pytest.mark.parametrize("name", NETWORKS)


def bound(net: Any, recompute: bool | None, grad_req: Any = "write", **shapes: Any) -> Any:
    exe = net.simple_bind(mx.cpu(), grad_req, recompute=recompute, **(shapes or {"data": IMAGE}))
    draws = np.random.default_rng(3)
    for name, array in {**exe.arg_dict, **exe.aux_dict}.items():
        whole = name.endswith("label")
        value = draws.integers(0, 3, array.shape) if whole else draws.normal(size=array.shape)
        array[:] = abs(value) if name.endswith("var") else value
    mx.random.seed(7)
    return exe


def heads(exe: Any) -> list[Any]:
    return [mx.nd.full(each.shape, i + 1.0) for i, each in enumerate(exe.outputs)]


def state(exe: Any, seed: int | None = None) -> dict[str, np.ndarray]:
    """All that a program can see, the next random number too; with a seed, the first one after it."""
    if seed is not None:
        mx.random.seed(seed)
    found = {f"output {i}": array for i, array in enumerate(exe.outputs)}
    found.update({f"aux {name}": array for name, array in exe.aux_dict.items()})
    found.update({f"grad {name}": array for name, array in exe.grad_dict.items() if array is not None})
    found["random"] = mx.nd.random.uniform(shape=(2,))
    return {name: array.asnumpy().copy() for name, array in found.items()}


def equal(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> None:
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


def names_again(exe: Any, is_train: bool = True) -> set[str]:
    return {node.name for node in exe.runner.plans.get(is_train).recomputed}


# The same numbers.


@pytest.mark.sampled
@all_networks
@pytest.mark.parametrize("is_train", [True, False], ids=["training", "inference"])
@pytest.mark.parametrize("grad_req", ["write", "add"])
def test_numbers_are_those_of_a_run_that_keeps_all(name: str, is_train: bool, grad_req: str) -> None:
    states = []
    for recompute in (False, True):
        exe = bound(NETWORKS[name](), recompute, grad_req)
        seen = []
        for _ in range(2):
            exe.forward(is_train=is_train)
            exe.backward(heads(exe))
            seen.append(state(exe))
        exe.backward(heads(exe))  # again, after one forward
        states.append([*seen, state(exe)])
        assert bool(names_again(exe, is_train)) == recompute
    for wanted, found in zip(*states, strict=True):
        equal(found, wanted)


def test_some_gradients_only() -> None:
    states = []
    for recompute in (False, True):
        requests = {name: "null" if "c" in name else "write" for name in residual().list_arguments()}
        exe = bound(residual(), recompute, requests)
        exe.forward(is_train=True)
        exe.backward()
        states.append(state(exe))
    equal(*states)


def test_gradients_are_announced_in_the_same_order() -> None:
    orders: list[list[str]] = []
    for recompute in (False, True):
        exe = bound(residual(), recompute)
        exe.forward(is_train=True)
        orders.append([])
        exe.backward(on_gradient=orders[-1].append)
    assert orders[0] == orders[1] and set(orders[0]) == set(exe.grad_dict) - {"softmax_label"}


def test_a_monitor_sees_each_node_once() -> None:
    net = residual()
    exe, plain = bound(net, True), bound(net, False)
    seen: list[list[str]] = [[], []]
    for each, names in zip((exe, plain), seen, strict=True):
        each.set_monitor_callback(lambda name, array, names=names: names.append(name))
        each.forward(is_train=True)
        each.backward()
    assert seen[0] == seen[1] and len(seen[0]) > 50
    equal(state(exe, seed=1), state(plain, seed=1))


def test_compiled_code_is_left_to_the_compiler() -> None:
    exe = residual().simple_bind(mx.cpu(), backend="aot_eager", recompute=True, data=IMAGE)
    plan = exe.runner.plans.get(is_train=True)
    assert plan.compiled is not None and not plan.recomputed


def test_an_error_names_its_node() -> None:
    exe = bound(S.dot(S.var("data"), S.tanh(S.var("w")), name="product"), True, data=(2, 3), w=(3, 4))
    plan = exe.runner.plans.get(is_train=True)
    with pytest.raises(mx.base.MXNetError, match=r"^dot 'product'"), torch.enable_grad():
        plan(None, [torch.ones(2, 3), torch.ones(5, 4, requires_grad=True)])


# What is computed again.


CHOICES: dict[str, tuple[Any, set[str]]] = {
    "after a layer": (S.sum(relu(norm(conv(S.var("x"), "c"), "n"), "r"), name="sum"), {"n", "r"}),
    "written over a layer's result": (S.sum(relu(conv(S.var("x"), "c"), "r"), name="sum"), set()),
    "an output": (S.Group([S.exp(S.var("x"), name="e")]), set()),
    "what a loss takes": (S.MakeLoss(S.exp(S.sin(S.var("x"), name="s"), name="e")), {"s"}),
    "a layer": (S.sum(S.FullyConnected(S.var("x"), num_hidden=2, name="fc"), name="sum"), set()),
    "a marked layer": (
        S.sum(S.FullyConnected(S.var("x"), num_hidden=2, name="fc", force_mirroring="True"), name="sum"),
        {"fc"},
    ),
    "a marked activation over a layer": (
        S.sum(
            S.Activation(conv(S.var("x"), "c"), act_type="tanh", name="t", force_mirroring="1"), name="sum"
        ),
        {"t"},
    ),
    "long computations": (S.sum(S.linalg.potrf(S.sort(S.var("x"), name="s"), name="p"), name="sum"), {"p"}),
}


@pytest.mark.parametrize("name", CHOICES)
def test_what_takes_little_time_is_computed_again(name: str) -> None:
    symbol, expected = CHOICES[name]
    graph = symbol.graph
    held = {entry.node for node in graph.nodes if node.name.startswith("makeloss") for entry in node.inputs}
    found = recomputed_nodes(graph, Facts(), Target(recompute="cheap"), overwriting_kernels(graph), held)
    assert {node.name for node in found} == expected


@pytest.mark.parametrize(("channels", "again"), [(8, True), (64, False)])
def test_products_over_few_channels_are(channels: int, again: bool) -> None:
    net = S.MakeLoss(S.square(norm(conv(S.var("data"), "c"), "n")))
    assert ("c" in names_again(bound(net, True, data=(1, channels, 4, 4)))) == again


def test_of_a_long_chain_one_in_about_the_square_root_is_kept() -> None:
    x = S.var("x")
    for i in range(100):
        x = S.sin(x, name=f"s{i}")
    found = recomputed_nodes(x.graph, Facts(), Target(recompute="cheap"), {})
    kept = [i for i in range(100) if f"s{i}" not in {node.name for node in found}]
    assert kept == [11, 22, 33, 44, 55, 66, 77, 88, 99]


# Who asks for it.


@pytest.mark.parametrize(
    ("environment", "given", "expected"),
    [("1", None, True), ("0", None, False), ("1", False, False), ("0", True, True)],
)
def test_the_environment_says_where_the_program_does_not(
    environment: str, given: bool | None, expected: bool
) -> None:
    with mx.test_utils.environment("MXNET_BACKWARD_DO_MIRROR", environment):
        net = residual()
        executors = [
            net.simple_bind(mx.cpu(), recompute=given, data=IMAGE),
            net.bind(mx.cpu(), *arrays_of(net), recompute=given),
            mx.executor.Executor(net, mx.cpu(), *arrays_of(net), recompute=given),
            net.with_recompute(given).simple_bind(mx.cpu(), data=IMAGE),
            net.simple_bind(mx.cpu(), recompute=given, data=IMAGE).reshape(True, data=(1, *IMAGE[1:])),
        ]
    assert [bool(names_again(exe)) for exe in executors] == [expected] * len(executors)


def arrays_of(net: Any) -> tuple[Any, ...]:
    args, _, aux = ([mx.nd.ones(shape) for shape in shapes or ()] for shapes in net.infer_shape(data=IMAGE))
    return args, [mx.nd.zeros_like(each) for each in args], "write", aux


def test_marks_alone_are_enough() -> None:
    states = []
    for marks in ({}, {"force_mirroring": "True"}):
        with mx.AttrScope(**marks):
            net = loss(relu(norm(conv(S.var("data"), "c"), "n"), "r"))
        exe = bound(net, None)
        exe.forward(is_train=True)
        exe.backward()
        assert {"c", "n", "r"} <= names_again(exe) if marks else not names_again(exe)
        states.append(state(exe))
    equal(*states)


def trained(make: Callable[[bool], Any]) -> list[dict[str, np.ndarray]]:
    found = []
    for recompute in (False, True):
        mx.random.seed(4)
        np.random.seed(4)
        module = make(recompute)
        found.append({name: array.asnumpy() for name, array in module.get_params()[0].items()})
    return found


@pytest.mark.parametrize("devices", [1, 2])
def test_modules_learn_the_same(devices: int) -> None:
    draws = np.random.default_rng(0)
    data = draws.normal(size=(16, *IMAGE[1:])).astype("float32")
    labels = draws.integers(0, 3, 16)

    def module(recompute: bool) -> Any:
        module = mx.mod.Module(residual(), context=[mx.cpu(i) for i in range(devices)], recompute=recompute)
        module.fit(mx.io.NDArrayIter(data, labels, 8), num_epoch=2, optimizer_params={"learning_rate": 0.1})
        assert all(bool(names_again(exe)) == recompute for exe in module.executors.execs)
        return module

    equal(*trained(module))


def bucket(length: int) -> tuple[Any, list[str], list[str]]:
    words = S.Embedding(S.var("data"), input_dim=9, output_dim=3, name="words")
    steps = list(S.split(words, num_outputs=length, axis=1, squeeze_axis=True))
    return loss(functools.reduce(lambda a, b: S.tanh(a + b), steps)), ["data"], ["softmax_label"]


def test_buckets_learn_the_same() -> None:
    def module(recompute: bool) -> Any:
        module = mx.mod.BucketingModule(bucket, 9, recompute=recompute)
        module.bind([("data", (4, 9))], [("softmax_label", (4,))])
        module.init_params(mx.init.Xavier())
        module.init_optimizer()
        draws = np.random.default_rng(0)
        for length in (9, 4, 9, 7, 4):
            batch = mx.io.DataBatch(
                [mx.nd.array(draws.integers(0, 9, (4, length)))],
                [mx.nd.array(draws.integers(0, 3, (4,)))],
                bucket_key=length,
                provide_data=[("data", (4, length))],
                provide_label=[("softmax_label", (4,))],
            )
            module.forward_backward(batch)
            module.update()
        return module

    equal(*trained(module))


# Memory.


def taken(call: Callable[[], object]) -> tuple[int, int]:
    """Return how many bytes of tensors a call leaves, and how many it takes at its peak."""
    gc.collect()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as found:
        call()
    assert found.profiler is not None
    events = [each for each in found.profiler.kineto_results.events() if each.name() == "[memory]"]
    left = peak = 0
    for each in sorted(events, key=lambda each: each.start_ns()):
        left += each.nbytes()
        peak = max(peak, left)
    return left, peak


def sines() -> Any:
    x = S.var("data")
    for i in range(144):
        x = S.sin(x, name=f"s{i}")
    return S.MakeLoss(x)


#: How much of what forward keeps by default it keeps at most, and how much of the peak of a whole step.
SHARES: dict[str, tuple[Callable[[], Any], tuple[int, ...], float, float]] = {
    "residual": (residual, (8, 3, 64, 64), 0.35, 0.6),
    "recurrent": (functools.partial(recurrent, 512), (512, 3, 8, 8), 0.75, 0.95),
    "chain": (sines, (8, 3, 64, 64), 0.1, 0.2),
}


@uses_private_names
@pytest.mark.filterwarnings("ignore::UserWarning")  # of blocks that were there before the profiler
@pytest.mark.parametrize(
    "name", ["residual", *(pytest.param(name, marks=pytest.mark.slow) for name in ("recurrent", "chain"))]
)
def test_less_memory_is_taken(name: str) -> None:
    make, shape, share_kept, share_peak = SHARES[name]
    kept, peak, left, dropped = [], [], [], []
    for recompute in (False, True):
        exe = bound(make(), recompute, data=shape)

        def forward(exe: Any = exe) -> None:
            exe.forward(is_train=True)

        def step(exe: Any = exe) -> None:
            exe.forward(is_train=True)
            exe.backward(heads(exe))

        step()
        exe.release()
        kept.append(taken(forward)[0])
        dropped.append(taken(exe.release)[0] + kept[-1])
        taken(step)  # so that the gradients of the step before are known, too
        after, most = taken(step)
        peak.append(most)
        left.append(after)
    assert 0 < kept[1] <= share_kept * kept[0]
    assert peak[1] <= share_peak * peak[0]
    # What is held for backward goes with it, or without it; single numbers may be cached.
    assert abs(left[1] - left[0]) < 1024 and abs(dropped[1] - dropped[0]) < 1024


def test_chains_may_be_longer_than_those_of_calls_in_python() -> None:
    x = S.var("data")
    for _ in range(1200):
        x = S.sin(x, force_mirroring="True")
    exe = bound(S.MakeLoss(S.square(x)), None, data=(2,))
    exe.forward(is_train=True)
    exe.backward()
    assert len(names_again(exe)) == 1200 and exe.grad_dict["data"].asnumpy().all()
