"""Forward in inference for batches like the last one: what a program changes between two of them counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend

import rebind as mx
from rebind.executor.group.pass_cache import PassCache
from rebind.graph.passes import DEFAULT, register_backend
from rebind.ops import OPERATORS, operator
from rebind.symbol.functions import make_function

from .changes import exchange_weight, exe, set_params, view_of_data, write_weight

S = mx.sym
SIZE = 70  # so that outputs have enough elements not to be copied


def network() -> Any:
    """One with a norm, whose statistics inference folds into weights that it keeps, and two variables for its data."""
    net = S.FullyConnected(S.var("data"), num_hidden=SIZE, name="fc1")
    net = S.Dropout(S.Activation(S.BatchNorm(net, name="bn"), act_type="relu"), p=0.5)
    scores = S.SoftmaxOutput(S.FullyConnected(net, num_hidden=3, name="fc2"), name="softmax")
    # An input, views of what was computed in memory of their own, and two of the same values.
    others = [S.var("data"), S.transpose(net), S.slice_axis(net, axis=0, begin=0, end=2), net, net * 1]
    return S.Group([scores, *map(S.BlockGrad, others)])


def batch(number: int, size: int = 64, labels: bool = True) -> Any:
    random = np.random.default_rng(number)
    data = mx.nd.array(random.normal(size=(size, SIZE)))
    return mx.io.DataBatch([data], [mx.nd.array(random.integers(0, 3, size))] if labels else None)


def made(for_training: bool, backend: str = "default") -> Any:
    mx.random.seed(3)
    module = mx.mod.Module(network(), backend=backend)
    module.bind([("data", (64, SIZE))], [("softmax_label", (64,))], for_training=for_training)
    module.init_params(mx.init.Uniform(0.5))
    if for_training:
        module.init_optimizer(optimizer="sgd", optimizer_params={"learning_rate": 0.1, "momentum": 0.9})
    return module


def write_statistics(module: Any) -> None:
    exe(module).aux_dict["bn_moving_var"][:] = 9


def view_of_weight(module: Any) -> None:
    module.row = exe(module).arg_dict["fc1_weight"][0:2]
    module.row[:] = 1


def view_of_output(module: Any) -> None:
    module.row = module.get_outputs()[0][0:2]


def write_output(module: Any) -> None:
    for output in module.get_outputs():
        output[:] = 5


def no_labels(module: Any) -> None:
    module.forward(batch(90, labels=False), is_train=False)


def other_size(module: Any) -> None:
    module.forward(batch(90, 10), is_train=False)


def watch(module: Any) -> None:
    seen: list[str] = []
    exe(module).set_monitor_callback(lambda name, array: seen.append(name))
    module.seen = seen


def of_numpy(module: Any) -> None:
    module.forward(mx.io.DataBatch([np.ones((64, SIZE), np.float32)], None), is_train=False)


def release(module: Any) -> None:
    module.release()


def run_forward_of_executor(module: Any) -> None:
    exe(module).forward(is_train=False, data=mx.nd.ones((64, SIZE)))


CHANGES: list[Callable[[Any], None]] = [
    write_weight, write_statistics, exchange_weight, set_params, view_of_weight, view_of_data, view_of_output,
    write_output, no_labels, other_size, watch, of_numpy, release, run_forward_of_executor,
]  # fmt: skip


def train(module: Any) -> None:
    module.forward_backward(batch(91))
    module.update()


def outputs(module: Any) -> list[np.ndarray]:
    return [each.asnumpy() for each in module.get_outputs()]


def sequence(change: Callable[[Any], None], for_training: bool, backend: str) -> list[np.ndarray]:
    module = made(for_training, backend)
    found = []
    for number in range(3):
        module.forward(batch(number), is_train=False)
        found += outputs(module)
    change(module)
    for number in range(3, 6):
        module.forward(batch(number), is_train=False)
        found += outputs(module)
    return found


@pytest.mark.parametrize(
    ("change", "for_training"),
    [(change, way) for change in CHANGES for way in (True, False)] + [(train, True)],
    ids=lambda each: each.__name__ if callable(each) else ("inference", "training")[each],
)
@pytest.mark.parametrize("backend", ["default", "aot_eager"])
@pytest.mark.usefixtures("own_backends")
def test_what_changes_between_two_batches_counts(
    change: Callable[[Any], None], for_training: bool, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = sequence(change, for_training, backend)
    with monkeypatch.context() as patch:
        patch.setattr(PassCache, "run", lambda *_, is_train: False)
        expected = sequence(change, for_training, backend)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def ready(for_training: bool = False) -> Any:
    """Return a module whose next forward in inference is like the last one."""
    module = made(for_training)
    for number in range(2):
        module.forward(batch(number), is_train=False)
    assert module.executors.passes.inference.was_used
    return module


def test_outputs_are_ordinary_arrays_in_memory_of_their_own() -> None:
    module = ready()
    given = batch(5)
    module.forward(given, is_train=False)
    found = [each.tensor for each in module.get_outputs()]
    assert not any(each.is_inference() or each.requires_grad or each._is_view() for each in found)
    assert all(each.is_contiguous() for each in found)
    places = [each.untyped_storage().data_ptr() for each in (given.data[0].tensor, *found)]
    assert len(set(places[:-1])) == len(places) - 1  # the last two are of equal values
    # Written, recorded and differentiated as any array.
    output = module.get_outputs()[3]
    output.attach_grad()
    with mx.autograd.record():
        loss = mx.nd.sum(output * output)
    loss.backward()
    np.testing.assert_array_equal(output.grad.asnumpy(), 2 * output.asnumpy())


def test_backward_after_inference_is_that_of_the_same_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    gradients = []
    for repeats in (True, False):
        with monkeypatch.context() as patch:
            if not repeats:
                patch.setattr(PassCache, "run", lambda *_, is_train: False)
            module = made(for_training=True)
            for number in range(3):
                module.forward(batch(number), is_train=False)
            module.backward([mx.nd.ones(each.shape) for each in module.get_outputs()])
            gradients.append(
                {name: each.asnumpy() for name, each in exe(module).grad_dict.items() if each is not None}
            )
    assert gradients[0].keys() == gradients[1].keys()
    for name, each in gradients[0].items():
        np.testing.assert_array_equal(each, gradients[1][name], err_msg=name)


def test_labels_that_a_batch_lacks_are_missed_in_backward() -> None:
    module = ready(for_training=True)
    module.forward(batch(1, labels=False), is_train=False)
    with pytest.warns(UserWarning, match="must have labels, 'softmax_label'; got none"):
        module.backward()
    module.forward(batch(1), is_train=False)
    module.backward([mx.nd.ones(each.shape) for each in module.get_outputs()])


def test_errors_are_those_of_the_ordinary_way() -> None:
    module = ready()
    with pytest.raises(mx.MXNetError, match="fc1"):
        module.forward(mx.io.DataBatch([mx.nd.ones((64, SIZE + 1))], None), is_train=False)
    module.forward(batch(1), is_train=False)


@pytest.mark.usefixtures("own_backends")
def test_compiled_inference_is_compiled_once() -> None:
    counter = CompileCounterWithBackend("eager")
    register_backend("counting", DEFAULT, compiler=counter)
    module = made(for_training=False, backend="counting")
    for number in range(4):
        module.forward(batch(number))
    assert module.executors.passes.inference.was_used
    assert counter.frame_count == 1


def test_draws_follow_the_seed() -> None:
    found = []
    for repeats in (True, False):
        net = S.var("data") + S.random.normal(shape=(4, 3))
        module = mx.mod.Module(net, label_names=None)
        module.bind([("data", (4, 3))], for_training=False)
        module.init_params()
        mx.random.seed(5)
        for _ in range(3):
            if not repeats:
                module.executors.passes.inference.drop()
            module.forward(mx.io.DataBatch([mx.nd.zeros((4, 3))]))
            found.append(module.get_outputs()[0].asnumpy())
    np.testing.assert_array_equal(found[:3], found[3:])


def test_a_custom_operator_sees_ordinary_tensors() -> None:
    seen = []

    class Twice(mx.operator.CustomOp):
        def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
            seen.append(torch.is_inference_mode_enabled())
            self.assign(out_data[0], req[0], in_data[0] * 2)

    @mx.operator.register("twice_in_inference")
    class TwiceProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Any:
            return Twice()

    module = mx.mod.Module(S.Custom(S.var("data"), op_type="twice_in_inference"), label_names=None)
    module.bind([("data", (2, 3))], for_training=False)
    module.init_params()
    for _ in range(3):
        module.forward(mx.io.DataBatch([mx.nd.ones((2, 3))]))
    assert seen == [False] * 3
    assert module.get_outputs()[0].asnumpy().tolist() == [[2.0] * 3] * 2


def positions(kept: dict[torch.device, torch.Tensor], data: torch.Tensor) -> torch.Tensor:
    """A table that is made once on each device, and kept, as programs do with positions and masks."""
    if data.device not in kept:
        kept[data.device] = torch.arange(data.shape[1], dtype=data.dtype, device=data.device)
    return kept[data.device]


class Keeping(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(1))
        self.kept: dict[torch.device, torch.Tensor] = {}

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        return self.scale * data * positions(self.kept, data)


def of_module() -> Any:
    return S.torch_module(Keeping(), S.var("data"), name="net")


def of_operator() -> Any:
    kept: dict[torch.device, torch.Tensor] = {}

    @operator("keeping_in_inference", same_shape=True)
    def keeping(data: torch.Tensor) -> torch.Tensor:
        return data * positions(kept, data)

    scaled = S.broadcast_mul(S.var("data"), S.var("net_scale", shape=(1, 1)))
    return make_function(keeping, keeping.name)(scaled, name="net")


@pytest.mark.parametrize("build", [of_module, of_operator])
def test_users_code_may_keep_tensors_for_a_run_that_is_recorded(build: Callable[[], Any]) -> None:
    try:
        exe = build().simple_bind(mx.cpu(), data=(2, 3))
        exe.arg_dict["net_scale"][:] = 1
        exe.arg_dict["data"][:] = 2
        for _ in range(2):
            exe.forward(is_train=False)
        exe.backward([mx.nd.ones((2, 3))])  # of the same code, recorded
        assert exe.grad_dict["data"].asnumpy().tolist() == [[0.0, 1.0, 2.0]] * 2
    finally:
        OPERATORS.pop("keeping_in_inference", None)
