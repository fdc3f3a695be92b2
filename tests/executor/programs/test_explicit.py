"""Small networks forward and backward without autograd: its numbers, to the last bit, and its errors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

import rebind as mx
from rebind.errors import MXNetError
from rebind.executor.programs.explicit import ExplicitProgram
from rebind.executor.programs.recorded import RecordedProgram
from rebind.ops import OPERATORS, Operator, operator
from rebind.ops.declaration import one_shape
from rebind.symbol.symbol import compose

S = mx.sym
X = S.var("data")


def layers(act_type: str = "relu", units: int = 6, **settings: Any) -> Any:
    net = S.FullyConnected(X, num_hidden=units, name="fc1", **settings)
    net = S.FullyConnected(S.Activation(net, act_type=act_type), num_hidden=3, name="fc2", **settings)
    return S.SoftmaxOutput(S.Flatten(net), name="softmax")


def residual() -> Any:
    """Values that are used twice, sums in place, a product, and an argument with two uses."""
    weight = S.var("w", shape=(4, 4))
    first = S.FullyConnected(X, weight, num_hidden=4, no_bias=True, name="a")
    net = first + S.Activation(first, act_type="tanh")
    net = S.FullyConnected(net, weight, num_hidden=4, no_bias=True, name="b") - first * net
    return S.LinearRegressionOutput(net, S.var("softmax_label", shape=(5, 4)))


def two_losses() -> Any:
    hidden = S.FullyConnected(X, num_hidden=4, name="fc")
    first = S.LogisticRegressionOutput(hidden, S.var("softmax_label", shape=(5, 4)), name="first")
    return S.Group([first, S.MakeLoss(hidden * hidden)])


def sums() -> Any:
    """The gradient of a sum is one array for both: each argument gets memory of its own."""
    return S.MakeLoss(X + S.var("more", shape=(5, 4)))


def dropped() -> Any:
    net = S.Dropout(S.FullyConnected(X, num_hidden=4, name="fc1"), p=0.4)
    net = S.Dropout(S.FullyConnected(net, num_hidden=3, name="fc2"), p=0.4, axes=(1,))
    return S.SoftmaxOutput(net, name="softmax")


def actor() -> Any:
    """The loss of a policy, as reinforcement learning writes it."""
    policy = S.sigmoid(S.FullyConnected(X, num_hidden=4, name="policy"))
    chosen = S.sum(S.log(policy + 1e-6) * S.BlockGrad(X), axis=1)
    value = S.mean(
        S.square(S.Reshape(1.0 - S.broadcast_mul(policy, S.var("scale", shape=(5, 1))), shape=(-1,)))
    )
    return S.Group([S.MakeLoss(-S.mean(chosen)), S.MakeLoss(value * 0.5), S.BlockGrad(policy)])


def factors() -> Any:
    """Rows of a table, also of indices that it does not have."""
    rows = S.Embedding(S.BlockGrad(X * 3), S.var("table", shape=(6, 3)), input_dim=6, output_dim=3)
    scores = S.LeakyReLU(S.sum(rows * rows - rows / S.exp(rows), axis=2))
    return S.LinearRegressionOutput(scores, S.var("softmax_label", shape=(5, 4)))


def unused() -> Any:
    """An argument that no loss depends on has zeros."""
    loss = S.MakeLoss(S.FullyConnected(X, num_hidden=2, name="fc"))
    return S.Group([loss, S.BlockGrad(X * S.var("other", shape=(5, 4)))])


NETWORKS: dict[str, Callable[[], Any]] = {
    **{act: lambda act=act: layers(act) for act in ("relu", "sigmoid", "tanh", "softrelu")},
    "no bias": lambda: layers(no_bias=True),
    "time steps": lambda: layers(flatten=False),
    "several threads": lambda: layers(units=600),
    "residual": residual,
    "two losses": two_losses,
    "sums": sums,
    "dropped": dropped,
    "actor": actor,
    "factors": factors,
    "unused": unused,
}
SHAPES = {"time steps": (5, 2, 4), "several threads": (200, 100)}
networks = pytest.mark.parametrize("name", NETWORKS)


def bound(
    symbol: Any, requests: Any = "write", shape: tuple[int, ...] = (5, 4), dtype: str = "float32"
) -> Any:
    types = dict.fromkeys(symbol.list_arguments(), dtype)
    exe = symbol.simple_bind(mx.cpu(), requests, type_dict=types, data=shape)
    random = np.random.default_rng(0)
    for key, array in exe.arg_dict.items():
        whole = key.endswith("label") and len(array.shape) == 1
        array[:] = random.integers(0, 3, array.shape) if whole else random.normal(size=array.shape)
    for grad in gradients(exe):
        grad[:] = 7
    return exe


def gradients(exe: Any) -> list[Any]:
    return [grad for grad in exe.grad_arrays if grad is not None]


def values(exe: Any) -> list[np.ndarray]:
    return [each.asnumpy() for each in (*exe.outputs, *gradients(exe), *exe.arg_arrays)]


def by_autograd(exe: Any) -> Any:
    """Return an executor, which is left to autograd from now on."""
    programs = exe.runner.programs
    programs.training = lambda backward_follows=False: RecordedProgram(programs.plans.get(is_train=True))
    return exe


def together(exe: Any, heads: Any = None) -> None:
    exe.forward_before_backward()
    exe.backward(heads)


def one_by_one(exe: Any, heads: Any = None) -> None:
    exe.forward(is_train=True)
    exe.backward(heads)


both_ways = pytest.mark.parametrize("run", [together, one_by_one])


def is_explicit(exe: Any) -> bool:
    """Whether its last run had no autograd."""
    return isinstance(exe.runner.last.program, ExplicitProgram)


@pytest.mark.sampled
@networks
@both_ways
@pytest.mark.parametrize("requests", ["write", "add"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.filterwarnings("ignore:Embedding. data must hold indices")
def test_outputs_and_gradients_are_those_of_autograd(
    name: str, run: Callable[[Any], None], requests: str, dtype: str
) -> None:
    wanted, found = (bound(NETWORKS[name](), requests, SHAPES.get(name, (5, 4)), dtype) for _ in range(2))
    by_autograd(wanted)
    for seed in range(2):
        for exe, each in ((wanted, one_by_one), (found, run)):
            mx.random.seed(seed)
            each(exe)
        for one, other in zip(values(found), values(wanted), strict=True):
            np.testing.assert_array_equal(one, other)
    assert is_explicit(found) and not is_explicit(wanted)


@networks
@both_ways
@pytest.mark.filterwarnings("ignore:Embedding. data must hold indices")
def test_each_array_has_memory_of_its_own(name: str, run: Callable[[Any], None]) -> None:
    exe = bound(NETWORKS[name](), shape=SHAPES.get(name, (5, 4)))
    run(exe)
    arrays = [*exe.arg_arrays, *exe.outputs, *gradients(exe)]
    assert len({each.tensor.untyped_storage().data_ptr() for each in arrays}) == len(arrays)
    assert all(each.tensor.is_contiguous() for each in arrays)


@pytest.fixture
def difference() -> Iterator[Operator]:
    """A loss that gives its label a gradient, too."""

    @operator("_test_difference", head_gradient=False)
    def function(data: Tensor, label: Tensor) -> Tensor:
        return data - label

    function.output_shapes(one_shape)

    @function.gradient
    def _(p: Any, inputs: Any, outputs: Any, head_grads: Any) -> Any:
        return outputs[0], -outputs[0]

    yield function
    del OPERATORS["_test_difference"]


@both_ways
def test_a_loss_may_give_its_label_a_gradient(difference: Operator, run: Callable[[Any], None]) -> None:
    layer, label = S.FullyConnected(X, num_hidden=4, name="fc"), S.var("softmax_label", shape=(5, 4))
    exe = bound(compose(difference, "loss", [layer, label], {}))
    run(exe)
    assert is_explicit(exe)
    np.testing.assert_array_equal(exe.grad_dict["softmax_label"].asnumpy(), -exe.outputs[0].asnumpy())
    assert np.abs(exe.grad_dict["fc_weight"].asnumpy()).max() > 0


class Products(TorchDispatchMode):
    """Counts products of matrices."""

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += func.overloadpacket.__name__ == "mm"
        return func(*args, **(kwargs or {}))


def test_what_needs_no_gradient_is_not_computed() -> None:
    requests = {"data": "null", "fc1_weight": "null", "fc1_bias": "null"}
    exe = bound(layers(), {name: requests.get(name, "write") for name in layers().list_arguments()})
    exe.forward_before_backward()
    with Products() as products:
        exe.forward_before_backward()
        exe.backward()
    assert products.count == 1 and is_explicit(exe)  # that of the last weight


@pytest.mark.parametrize(
    "symbol",
    [
        S.FullyConnected(X, num_hidden=2),  # needs head gradients
        S.MakeLoss(X) * 2,
        S.MakeLoss(S.LeakyReLU(X, act_type="rrelu")[0]),
        S.MakeLoss(S.Activation(X, act_type="softsign")),
        S.MakeLoss(S.sin(X)),
        S.MakeLoss(S.split(X, num_outputs=2)[0]),
        S.LinearRegressionOutput(X, X * 2),
        S.LinearRegressionOutput(X * 2, X),
        S.MakeLoss(S.Concat(S.BlockGrad(X), S.var("more", shape=(5, 2)))),
        S.MakeLoss(S.broadcast_add(X, S.var("large", shape=(600_000, 1, 4)))),
    ],
    ids=[
        "no loss",
        "loss inside",
        "slopes are drawn",
        "softsign",
        "no rule",
        "several results",
        "a computed label",
        "a label that is data",
        "any number of inputs",
        "large",
    ],
)
@both_ways
def test_other_networks_are_autograds(symbol: Any, run: Callable[..., None]) -> None:
    exe, wanted = bound(symbol), by_autograd(bound(symbol))
    heads = [mx.nd.ones(exe.outputs[0].shape)]
    for each, way in ((exe, run), (wanted, one_by_one)):
        mx.random.seed(1)
        way(each, heads)
    assert not is_explicit(exe)
    for one, other in zip(values(exe), values(wanted), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_watched_run_goes_node_by_node() -> None:
    exe, seen = bound(layers()), []
    exe.set_monitor_callback(lambda name, array: seen.append(name))
    exe.forward_before_backward()
    exe.backward()
    assert "fc1_output" in seen and not is_explicit(exe)


@both_ways
def test_a_second_backward_gives_the_same(run: Callable[[Any], None]) -> None:
    exe = bound(dropped())
    run(exe)
    first = values(exe)
    exe.backward()
    for one, other in zip(values(exe), first, strict=True):
        np.testing.assert_array_equal(one, other)


@both_ways
def test_errors_name_the_node(run: Callable[[Any], None]) -> None:
    exe = bound(S.MakeLoss(S.FullyConnected(X, num_hidden=2, name="fc")))
    exe.arg_dict["fc_weight"].storage.tensor = exe.arg_dict["fc_weight"].tensor[:, :3]
    with pytest.raises(MXNetError, match=r"^FullyConnected 'fc'"):
        run(exe)


def test_an_error_of_a_gradient_is_that_of_backward() -> None:
    messages = []
    for exe in (bound(layers()), by_autograd(bound(layers()))):
        exe.arg_dict["softmax_label"].storage.tensor = exe.arg_dict["softmax_label"].tensor[:2]
        for forward in (exe.forward_before_backward, functools.partial(exe.forward, is_train=True)):
            with pytest.raises(MXNetError, match=r"^SoftmaxOutput 'softmax'") as caught:
                forward()
                exe.backward()
            messages.append(str(caught.value))
    assert len(set(messages)) == 1


def test_backward_reads_what_is_in_memory_then() -> None:
    """As in MXNet, a program may write into weights and outputs between the two calls."""
    found, wanted = bound(layers("tanh")), by_autograd(bound(layers("tanh")))
    for exe in (found, wanted):
        exe.forward(is_train=True)
        exe.arg_dict["fc2_weight"][:] = 2
        exe.outputs[0][:] = 0.5
        exe.backward()
    assert is_explicit(found)
    for one, other in zip(values(found), values(wanted), strict=True):
        np.testing.assert_array_equal(one, other)


def test_gradients_are_announced() -> None:
    exe, seen = (
        bound(layers(), {name: "null" if name == "data" else "write" for name in layers().list_arguments()}),
        [],
    )
    exe.forward(is_train=True)
    exe.backward(on_gradient=lambda name: seen.append((name, float(exe.grad_dict[name].sum().item()))))
    assert is_explicit(exe) and [name for name, _ in seen] == list(exe.arg_dict)[1:]
    assert [value for _, value in seen] == [float(exe.grad_dict[name].sum().item()) for name, _ in seen]


def test_backward_after_inference_is_of_inference() -> None:
    found, wanted = bound(dropped()), by_autograd(bound(dropped()))
    for exe in (found, wanted):
        exe.forward(is_train=False)
        exe.backward()
    for one, other in zip(values(found), values(wanted), strict=True):
        np.testing.assert_array_equal(one, other)


def test_forward_backward_of_a_module_takes_it() -> None:
    trained = []
    for explicit in (True, False):
        module = mx.mod.Module(layers())
        module.bind([("data", (5, 4))], [("softmax_label", (5,))])
        mx.random.seed(3)
        module.init_params(mx.init.Uniform(1.0))
        module.init_optimizer(optimizer_params={"learning_rate": 0.5, "momentum": 0.9})
        batch = mx.io.DataBatch([mx.nd.array(np.arange(20).reshape(5, 4))], [mx.nd.array([0, 1, 2, 0, 1])])
        for _ in range(3):
            if explicit:
                module.forward_backward(batch)
            else:
                by_autograd(module.executors.execs[0])
                module.forward(batch, is_train=True)
                module.backward()
            module.update()
        trained.append([each.asnumpy() for each in module.get_params()[0].values()])
        assert is_explicit(module.executors.execs[0]) or not explicit
    for one, other in zip(*trained, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_run_that_recomputes_is_autograds() -> None:
    exe = layers("tanh").simple_bind(mx.cpu(), data=(5, 4), recompute=True)
    assert exe.runner.plans.get(is_train=True).recomputed
    exe.forward_before_backward()
    assert not is_explicit(exe)
