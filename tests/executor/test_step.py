"""The step as one function: the same numbers as an executor and an optimizer, compiled whole, once for all rates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from benchmarks.networks import ROWS, initial_value
from tests.newer_torch import follows_gradients
from torch import Tensor
from torch._dynamo.testing import CompileCounter

import rebind as mx
from rebind.executor import Step, Target, compiled, make_step
from rebind.graph import Facts, Graph, infer_shapes, infer_types
from rebind.optimizer import Optimizer
from rebind.optimizer.step import StateTree, UpdatePart

S = mx.sym


def mixed() -> Any:
    """Convolution, batch norm, dropout and a recurrent layer."""
    net = S.Convolution(S.var("data"), kernel=(3, 3), num_filter=4, name="conv")
    net = S.Activation(S.BatchNorm(net, name="bn"), act_type="relu")
    net = S.Dropout(net, p=0.3, name="drop")
    net = S.transpose(S.Reshape(net, shape=(0, 0, -1)), axes=(2, 0, 1))
    # Its batch size follows from the data: a pass fills it in.
    states = [S.zeros(shape=(2, 0, 5)) for _ in range(2)]
    weights = S.var("rnn_weight")
    net = S.RNN(net, weights, *states, state_size=5, num_layers=2, mode="lstm", p=0.2, name="rnn")
    return S.SoftmaxOutput(S.FullyConnected(S.mean(net, axis=0), num_hidden=3, name="fc"), name="softmax")


def shared_weights() -> Any:
    """Two losses, one of which needs a head gradient, and layers that a pass joins."""
    weight = S.var("fc_weight")
    layers = [
        S.FullyConnected(S.var(x), weight, no_bias=True, num_hidden=3, name=f"fc_{x}")
        for x in ("data", "more")
    ]
    return S.Group([S.MakeLoss(S.tanh(layers[0]).sum()), layers[1] * 2])


def with_a_torch_module() -> Any:
    """A PyTorch module whose statistics move, and which counts batches in a whole number."""
    torch.manual_seed(0)
    layers = torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Tanh(), torch.nn.Linear(4, 3)
    )
    net = S.torch_module(layers, S.tanh(S.var("data")), name="net")
    return S.SoftmaxOutput(net * 2, name="softmax")


@dataclass(frozen=True)
class Case:
    """A network with the shapes of its inputs."""

    make: Callable[[], Any]
    shapes: dict[str, tuple[int, ...]]
    head_grads: bool = False

    @classmethod
    def of_row(cls, name: str, batch: int, size: int | None = None) -> Case:
        """Return a network of the benchmark, on a smaller batch and image."""
        row = ROWS[name]
        shape = row.data_shape if size is None else (*row.data_shape[:2], size, size)
        fixed = name == "lstm"  # its batch size is written into the network
        shapes = {
            "data": shape if fixed else (batch, *shape[1:]),
            "softmax_label": row.label_shape if fixed else (batch, *row.label_shape[1:]),
        }
        return cls(lambda: row.network(mx), shapes)


CASES: dict[str, Case] = {
    "mlp": Case.of_row("mlp", 4),
    "lenet": Case.of_row("lenet", 2),
    "resnet18": Case.of_row("resnet18", 2, 16),
    "resnet50": Case.of_row("resnet50", 1, 32),
    "lstm": Case.of_row("lstm", 32),
    "mixed": Case(mixed, {"data": (2, 1, 6, 6), "softmax_label": (2,)}),
    "torch module": Case(with_a_torch_module, {"data": (8, 3), "softmax_label": (8,)}),
    "shared weights": Case(shared_weights, {"data": (2, 3), "more": (4, 3)}, head_grads=True),
}
SLOW = {"resnet50", "lstm"}
WITH_ZEROS = {"lstm", "mixed"}  # of float32, as the first states of recurrent layers
COMPILED_FOR_LONG = SLOW | {"resnet18"}


def cases(slow: set[str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "name", [pytest.param(name, marks=pytest.mark.slow if name in slow else ()) for name in CASES]
    )


all_cases, compiled_cases = cases(SLOW), cases(COMPILED_FOR_LONG)
INPUTS = {"data", "softmax_label", "more"}


class Prepared:
    """A network with arrays, as an executor and as steps."""

    def __init__(self, name: str, training: bool) -> None:
        case = CASES[name]
        self.symbol = case.make()
        self.graph: Graph = self.symbol.graph
        types = infer_types(self.graph, {}, torch.float32)
        self.facts = Facts.of(infer_shapes(self.graph, case.shapes, types), types)
        self.training = training
        self.names = self.symbol.list_arguments()
        self.wanted = [i for i, each in enumerate(self.names) if each not in INPUTS]
        random = np.random.default_rng(3)
        values = {}
        for node in self.graph.variables:
            shape = case.shapes.get(node.name)
            known = self.facts.shapes[
                self.graph.internals.outputs[self.graph.internals.output_names.index(node.name)]
            ]
            if node.name.endswith("num_batches_tracked"):
                values[node.name] = np.zeros(known, "int64")
            elif shape is None:
                values[node.name] = initial_value(node.name, known)
            elif node.name == "softmax_label" or name == "lstm":
                values[node.name] = random.integers(0, 3, known).astype("float32")
            else:
                values[node.name] = random.normal(size=known).astype("float32")
        self.arguments = [torch.from_numpy(values[each]) for each in self.names]
        self.auxiliary = [torch.from_numpy(values[each]) for each in self.symbol.list_auxiliary_states()]
        self.head_grads: Sequence[Tensor | None] | None = None
        if case.head_grads:
            self.head_grads = [None, torch.ones(4, 3)]
        self.seed = torch.tensor(11) if name == "mixed" else None

    def to(self, dtype: torch.dtype) -> Prepared:
        self.facts = replace(self.facts, types=infer_types(self.graph, {}, dtype).entries)
        self.arguments = [tensor.to(dtype) for tensor in self.arguments]
        self.auxiliary = [
            tensor.to(dtype) if tensor.is_floating_point() else tensor for tensor in self.auxiliary
        ]
        if self.head_grads is not None:
            self.head_grads = [None if each is None else each.to(dtype) for each in self.head_grads]
        return self

    def step(self, traced: bool) -> Step:
        return make_step(self.graph, Target(self.training, traced=traced), self.wanted, self.facts)

    def update(self, optimizer: Optimizer) -> tuple[UpdatePart, list[StateTree]]:
        """Return the update part of an optimizer, and the states of the weights."""
        weights = [mx.nd.array(self.arguments[i].numpy(), dtype=self.arguments[i].dtype) for i in self.wanted]
        states = [
            optimizer.step_state(i, weight, optimizer.create_state_multi_precision(i, weight))
            for i, weight in zip(self.wanted, weights, strict=True)
        ]
        return optimizer.update_part(self.wanted), states

    def executor(self) -> Any:
        def arrays(tensors: Sequence[Tensor]) -> list[Any]:
            return [mx.nd.array(tensor.numpy(), dtype=tensor.numpy().dtype) for tensor in tensors]

        grads = [mx.nd.zeros(tuple(tensor.shape)) for tensor in self.arguments]
        requests = ["write" if i in self.wanted else "null" for i in range(len(self.names))]
        return self.symbol.bind(mx.cpu(), arrays(self.arguments), grads, requests, arrays(self.auxiliary))


def close(found: Sequence[Any], wanted: Sequence[Any]) -> None:
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        if one is None or other is None:
            assert one is other
        else:
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.sampled
@all_cases
@pytest.mark.parametrize("training", [True, False], ids=["training", "inference"])
def test_a_step_is_what_an_executor_does(name: str, training: bool) -> None:
    prepared = Prepared(name, training)
    step, exe = prepared.step(traced=False), prepared.executor()
    source = None
    if prepared.seed is not None:
        mx.random.seed(5)
        source = torch.Generator().manual_seed(5)
    found = step.forward_backward(prepared.arguments, prepared.auxiliary, prepared.head_grads, source)
    outputs = exe.forward(is_train=training)
    exe.backward(
        None
        if prepared.head_grads is None
        else [None if head is None else mx.nd.array(head.numpy()) for head in prepared.head_grads]
    )
    close(found.outputs, [output.tensor for output in outputs])
    # Where no gradient arrives (a gamma that is fixed), the executor shows zeros.
    gradients = [
        torch.zeros_like(prepared.arguments[i]) if gradient is None else gradient
        for i, gradient in zip(prepared.wanted, found.gradients, strict=True)
    ]
    close(gradients, [exe.grad_arrays[i].tensor for i in prepared.wanted])
    if training:
        states = [
            new if new is not None else old
            for new, old in zip(found.new_aux, prepared.auxiliary, strict=True)
        ]
        close(states, [state.tensor for state in exe.aux_arrays])


@pytest.mark.sampled
@follows_gradients
@compiled_cases
@pytest.mark.parametrize("training", [True, False], ids=["training", "inference"])
def test_forward_backward_and_update_are_compiled_whole(name: str, training: bool) -> None:
    prepared = Prepared(name, training)
    step = prepared.step(traced=True)
    inputs = (prepared.arguments, prepared.auxiliary)
    optimizer = mx.optimizer.create("sgd", **OPTIMIZERS["sgd"])
    update, states = prepared.update(optimizer)
    rates = optimizer.rates(prepared.wanted)
    for part, more in (
        (step.forward, (prepared.seed,)),
        (step.forward_backward, (prepared.head_grads, prepared.seed)),
        (step, (update, states, rates, prepared.head_grads, prepared.seed)),
    ):
        torch._dynamo.reset()
        found = compiled(part, backend="aot_eager")(*inputs, *more)
        wanted = part(*inputs, *more)
        for one, other in zip(found[:4], wanted[:4], strict=True):
            close(one, other)


OPTIMIZERS: dict[str, dict[str, Any]] = {
    "sgd": {"momentum": 0.9, "wd": 1e-3, "clip_gradient": 1.0},
    "adam": {"wd": 1e-3},
}


@pytest.mark.sampled
@all_cases
@pytest.mark.parametrize("training", [True, False], ids=["training", "inference"])
@pytest.mark.parametrize("rule", OPTIMIZERS)
def test_a_whole_step_is_forward_backward_and_update(name: str, training: bool, rule: str) -> None:
    prepared = Prepared(name, training)
    step = prepared.step(traced=True)
    optimizer = mx.optimizer.create(rule, learning_rate=0.05, **OPTIMIZERS[rule])
    part, states = prepared.update(optimizer)
    rates = optimizer.rates(prepared.wanted)
    inputs = (prepared.arguments, prepared.auxiliary)
    found = step(*inputs, part, states, rates, prepared.head_grads, prepared.seed)
    gradients = step.forward_backward(*inputs, prepared.head_grads, prepared.seed).gradients
    constants = step.forward_part.constants  # gamma, where a BatchNorm fixes it: updated from there
    before = [
        torch.full_like(prepared.arguments[i], constants[i]) if i in constants else prepared.arguments[i]
        for i in prepared.wanted
    ]
    weights = [mx.nd.array(weight.numpy()) for weight in before]
    updater = mx.optimizer.get_updater(mx.optimizer.create(rule, learning_rate=0.05, **OPTIMIZERS[rule]))
    for i, weight, gradient in zip(prepared.wanted, weights, gradients, strict=True):
        grad = mx.nd.zeros(weight.shape) if gradient is None else mx.nd.array(gradient.numpy())
        updater(i, grad, weight)
    close(found.new_weights, [weight.tensor for weight in weights])


@pytest.mark.sampled
@follows_gradients
@compiled_cases
@pytest.mark.parametrize("training", [True, False], ids=["training", "inference"])
def test_a_whole_step_is_compiled_once_for_all_learning_rates(name: str, training: bool) -> None:
    prepared = Prepared(name, training)
    step = prepared.step(traced=True)
    optimizer = mx.optimizer.create("sgd", **OPTIMIZERS["sgd"])
    part, states = prepared.update(optimizer)
    counter = CompileCounter()
    torch._dynamo.reset()
    fast = compiled(step, backend=counter)
    for k in range(10):
        optimizer.set_learning_rate(0.1 / (k + 1))
        rates = optimizer.rates(prepared.wanted)
        inputs = (
            prepared.arguments,
            prepared.auxiliary,
            part,
            states,
            rates,
            prepared.head_grads,
            prepared.seed,
        )
        found = fast(*inputs)
        if k in (0, 9):
            close(found.new_weights, step(*inputs).new_weights)
    assert counter.frame_count == 1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # inductor imports what torch itself deprecates
@all_cases
@pytest.mark.parametrize("training", [True, False], ids=["training", "inference"])
def test_inductor_compiles_a_whole_step(name: str, training: bool) -> None:
    prepared = Prepared(name, training)
    if name not in WITH_ZEROS:
        # A ResNet in training multiplies what inductor rounds otherwise by thousands on the way back.
        prepared = prepared.to(torch.float64)
    step = prepared.step(traced=True)
    optimizer = mx.optimizer.create("sgd", **OPTIMIZERS["sgd"])
    update, states = prepared.update(optimizer)
    rates = optimizer.rates(prepared.wanted)
    inputs = (
        prepared.arguments,
        prepared.auxiliary,
        update,
        states,
        rates,
        prepared.head_grads,
        prepared.seed,
    )
    torch._dynamo.reset()
    for one, other in zip(compiled(step)(*inputs)[:4], step(*inputs)[:4], strict=True):
        close(one, other)
