"""Steps that a program overrides are called, however it does so; and what it trains is what it was without."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rebind as mx
from rebind import sym as S
from rebind.contrib.svrg_optimization import SVRGModule

X = np.random.RandomState(0).rand(8, 3).astype("float32")
Y = X.sum(1, keepdims=True)


def data() -> Any:
    return mx.io.NDArrayIter(X, Y, 4, label_name="label")


def network(_: Any = None) -> Any:
    net = S.FullyConnected(S.var("data"), num_hidden=1, name="fc")
    return S.LinearRegressionOutput(net, S.var("label")), ["data"], ["label"]


def layer() -> Any:
    return mx.mod.Module(S.FullyConnected(S.var("data"), num_hidden=1, name="fc"), label_names=None)


def difference(scores: Any, labels: Any) -> Any:
    return scores - labels


#: From a class, or a part of a chain, to a module that can be trained, and the object that has its steps.
Make = Callable[[Callable[[type], type]], tuple[Any, Any]]


def alone(kind: type, *arguments: Any, **settings: Any) -> Make:
    def make(derive: Callable[[type], type]) -> tuple[Any, Any]:
        module = derive(kind)(*arguments, **settings)
        return module, module

    return make


def chain(derive: Callable[[type], type], head: Callable[[type], type]) -> tuple[Any, Any]:
    loss = head(mx.mod.PythonLossModule)(label_names=["label"], grad_func=difference)
    made = derive(mx.mod.SequentialModule)().add(layer()).add(loss, take_labels=True, auto_wiring=True)
    return made, loss


def as_it_is(kind: type) -> type:
    return kind


class Scores(mx.mod.PythonModule):
    """A module in Python, with steps of its own that do nothing but compute."""

    def _compute_output_shapes(self) -> Any:
        return [("scores", self.data_shapes[0].shape)]

    def forward(self, data_batch: Any, is_train: Any = None) -> None:
        self.scores = data_batch.data[0]

    def backward(self, out_grads: Any = None) -> None: ...

    def get_outputs(self, merge_multi_context: bool = True) -> Any:
        return [self.scores]


KINDS: dict[str, Make] = {
    "Module": alone(mx.mod.Module, *network()),
    "Module, compiled": alone(mx.mod.Module, *network(), backend="aot_eager"),
    "BucketingModule": alone(mx.mod.BucketingModule, network, 1),
    "SVRGModule": alone(SVRGModule, *network(), update_freq=1),
    "SequentialModule": lambda derive: (chain(derive, as_it_is)[0],) * 2,
    "PythonLossModule": lambda derive: chain(as_it_is, derive),
    "PythonModule": alone(Scores, ["data"], ["label"], ["scores"]),
}
STEPS = (
    "bind", "init_params", "init_optimizer", "prepare", "forward", "backward", "forward_backward", "update",
    "update_metric", "get_outputs", "get_params", "score",
)  # fmt: skip
#: What `fit` does not call of some: a chain calls its parts' forward and backward, and measures without padding.
NOT_CALLED = {
    "Module": {"get_outputs"},
    "Module, compiled": {"get_outputs"},
    "BucketingModule": {"get_outputs"},
    "SVRGModule": {"get_outputs"},
    "SequentialModule": {"get_outputs"},
    "PythonLossModule": {"prepare", "forward_backward", "score"},
}


def fitted(module: Any) -> dict[str, Any]:
    np.random.seed(0)
    mx.random.seed(0)
    module.fit(
        data(),
        data(),
        eval_metric="mse",
        num_epoch=2,
        initializer=mx.init.One(),
        optimizer_params={"learning_rate": 0.1, "rescale_grad": 0.25},
        epoch_end_callback=lambda *_: None,
    )
    return {name: value.asnumpy() for name, value in module.get_params()[0].items()}


@functools.cache
def without(kind: str) -> dict[str, Any]:
    return fitted(KINDS[kind](as_it_is)[0])


@pytest.mark.parametrize("by", ["a subclass", "a base beside it", "the object"])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_called(kind: str, step: str, by: str) -> None:
    calls = []

    def own(self: Any, *arguments: Any, **settings: Any) -> Any:
        calls.append(step)
        return getattr(super(derived[0], self), step)(*arguments, **settings)

    derived: list[type] = []

    def derive(base: type) -> type:
        if by == "the object":
            return base
        if by == "a subclass":
            derived.append(type("Own", (base,), {step: own}))
            return derived[0]
        derived.append(type("Beside", (), {step: own}))
        return type("Own", (derived[0], base), {})

    module, owner = KINDS[kind](derive)
    if by == "the object":
        before = getattr(owner, step)

        def replaced(*arguments: Any, **settings: Any) -> Any:
            calls.append(step)
            return before(*arguments, **settings)

        setattr(owner, step, replaced)
    found, expected = fitted(module), without(kind)
    assert found.keys() == expected.keys()
    assert all(np.array_equal(found[name], expected[name]) for name in found)
    assert bool(calls) == (step not in NOT_CALLED.get(kind, set()))
    if calls and step in ("forward", "backward", "forward_backward", "update") and "Sequential" not in kind:
        # In each batch that is trained on, and in forward also in each that is measured.
        assert len(calls) >= (8 if step == "forward" else 4)


@pytest.mark.parametrize("step", ["forward_backward", "update", "forward"])
def test_feedforward_calls_those_of_its_module(step: str, monkeypatch: Any) -> None:
    calls, before = [], getattr(mx.mod.Module, step)

    def own(self: Any, *arguments: Any, **settings: Any) -> Any:
        calls.append(step)
        return before(self, *arguments, **settings)

    monkeypatch.setattr(mx.mod.Module, step, own)
    model = mx.model.FeedForward(network()[0], num_epoch=2, numpy_batch_size=4, learning_rate=0.1)
    model.fit(data(), eval_metric="mse")
    assert len(calls) == 4
