"""What an executor keeps of its parameters between runs in inference: never longer than it is right."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from tests.newer_torch import uses_private_names

import rebind as mx
from rebind.executor.prepared_parameters import PreparedParameters
from rebind.ops.nn.inference_layers import have_same_layout
from rebind.optimizer.base import optimizers

SHAPE = (2, 3, 6, 6)


def network() -> Any:
    x = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), num_filter=4, name="conv")
    x = mx.sym.Activation(mx.sym.BatchNorm(x, fix_gamma=False, name="bn"), act_type="relu")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(x, num_hidden=3, name="fc"), name="softmax")


NET = network()


def bound(**given: Any) -> Any:
    return filled(NET.simple_bind(mx.cpu(), data=SHAPE, **given))


def filled(exe: Any) -> Any:
    draws = np.random.default_rng(0)
    for name, array in {**exe.arg_dict, **exe.aux_dict}.items():
        low = 0.5 if name.endswith(("var", "gamma")) else -1.0
        array[:] = draws.uniform(low, 1.5, array.shape) if name != "softmax_label" else 1
    return exe


def expected(exe: Any) -> np.ndarray:
    """What the parameters give that are in memory now, without anything that is kept."""
    args, aux = ({k: v.asnumpy() for k, v in each.items()} for each in (exe.arg_dict, exe.aux_dict))
    fresh = NET.simple_bind(mx.cpu(), data=SHAPE)
    fresh.copy_params_from(
        {k: mx.nd.array(v) for k, v in args.items()}, {k: mx.nd.array(v) for k, v in aux.items()}
    )
    return fresh.forward()[0].asnumpy()


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each question for what is kept got an answer."""
    answers: list[bool] = []
    values = PreparedParameters.values

    def noted(self: PreparedParameters, *given: Any) -> Any:
        found = values(self, *given)
        answers.append(found is not None)
        return found

    monkeypatch.setattr(PreparedParameters, "values", noted)
    return answers


def write_whole(exe: Any) -> None:
    exe.arg_dict["conv_weight"][:] = 2


def write_rows(exe: Any) -> None:
    exe.arg_dict["conv_weight"][1:3] = 2


def write_one(exe: Any) -> None:
    exe.aux_dict["bn_moving_mean"][0] = 2


def write_over(exe: Any) -> None:
    exe.arg_dict["bn_gamma"] *= 2


def write_as_out(exe: Any) -> None:
    mx.nd.exp(exe.arg_dict["conv_bias"], out=exe.arg_dict["conv_bias"])


def copy_params(exe: Any) -> None:
    exe.copy_params_from({"bn_beta": mx.nd.ones((4,))}, {"bn_moving_var": mx.nd.ones((4,))})


def exchange(exe: Any) -> None:
    exe.arg_dict["conv_weight"].exchange(torch.ones(4, 3, 3, 3))


def sample(exe: Any) -> None:
    mx.random.uniform(0, 1, out=exe.arg_dict["conv_weight"])


def initialize(exe: Any) -> None:
    mx.init.Xavier()(mx.init.InitDesc("conv_weight"), exe.arg_dict["conv_weight"])


def train(exe: Any) -> None:
    exe.forward(is_train=True)
    exe.backward()


SEEN = [
    write_whole,
    write_rows,
    write_one,
    write_over,
    write_as_out,
    copy_params,
    exchange,
    sample,
    initialize,
    train,
]


@pytest.mark.parametrize("change", SEEN, ids=lambda each: each.__name__)
def test_a_write_is_seen(change: Callable[[Any], None], prepared: list[bool]) -> None:
    exe = bound()
    before = exe.forward()[0].asnumpy()
    change(exe)
    found = exe.forward()[0].asnumpy()
    np.testing.assert_allclose(found, expected(exe), rtol=1e-5, atol=1e-6)
    assert np.abs(found - before).max() > 1e-4
    assert all(prepared)


def through_numpy(weight: Any) -> Callable[[], None]:
    view = torch.from_dlpack(weight.to_dlpack_for_write()).numpy()
    return lambda: view.fill(0.5)


def through_torch(weight: Any) -> Callable[[], None]:
    data = weight.to_torch().data  # with a version of its own
    return lambda: data.fill_(0.5)


def through_a_row(weight: Any) -> Callable[[], None]:
    row = weight[0]
    data = row.to_torch().data
    return lambda: data.fill_(0.5)


@pytest.mark.parametrize(
    "take", [through_numpy, through_torch, through_a_row], ids=lambda each: each.__name__
)
@pytest.mark.parametrize("first", [False, True], ids=["before", "between"])
def test_memory_that_others_hold_is_read_in_each_run(take: Any, first: bool, prepared: list[bool]) -> None:
    exe = bound()
    if first:
        exe.forward()
    write = take(exe.arg_dict["conv_weight"])
    before = exe.forward()[0].asnumpy()
    write()
    found = exe.forward()[0].asnumpy()
    np.testing.assert_allclose(found, expected(exe), rtol=1e-5, atol=1e-6)
    assert np.abs(found - before).max() > 1e-4
    assert not prepared[-2]  # the last one is that of `expected`


def test_arrays_of_the_caller_that_share_memory_with_numpy() -> None:
    exe = bound()
    weight = np.ones((4, 3, 3, 3), np.float32)
    args = {name: array.copy() for name, array in exe.arg_dict.items()}
    args["conv_weight"] = mx.nd.from_dlpack(weight)
    other = NET.bind(mx.cpu(), args, aux_states={name: array.copy() for name, array in exe.aux_dict.items()})
    other.forward()
    weight[:] = 0.25
    np.testing.assert_allclose(other.forward()[0].asnumpy(), expected(other), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", list(optimizers))
def test_updates_of_all_optimizers_are_seen(kind: str) -> None:
    module = mx.mod.Module(NET)
    module.bind([("data", SHAPE)], [("softmax_label", (2,))])
    module.init_params(mx.init.Uniform(1))
    module.init_optimizer(optimizer=kind)
    batch = mx.io.DataBatch([mx.nd.random.normal(shape=SHAPE)], [mx.nd.array([0, 2])])
    for _ in range(2):
        module.forward(batch, is_train=False)
        module.forward_backward(batch)
        module.update()
    module.forward(batch, is_train=False)
    [exe] = module._exec_group.execs
    np.testing.assert_allclose(module.get_outputs()[0].asnumpy(), expected(exe), rtol=1e-4, atol=1e-5)


@uses_private_names
def test_parameters_are_prepared_once() -> None:
    exe = bound()
    exe.forward()
    first = kept_by(exe)
    for _ in range(2):
        exe.forward(data=mx.nd.random.normal(shape=SHAPE))
    assert kept_by(exe) is first
    exe.arg_dict["fc_weight"][:] = 1  # nothing that is kept follows from it
    exe.forward()
    assert kept_by(exe) is first
    write_whole(exe)
    exe.forward()
    assert kept_by(exe) is not first


def test_training_frees_what_is_kept() -> None:
    exe = bound()
    exe.forward()
    assert exe.runner.prepared._values
    exe.forward(is_train=True)
    assert not exe.runner.prepared._values


def test_backward_after_a_forward_in_inference() -> None:
    one, two = bound(), bound()
    one.forward()
    one.backward()
    two.forward(is_train=False)
    two.backward()
    assert np.abs(one.grad_dict["conv_weight"].asnumpy()).max() > 0
    for name, grad in one.grad_dict.items():
        np.testing.assert_array_equal(grad.asnumpy(), two.grad_dict[name].asnumpy())


def test_other_shapes_and_modes() -> None:
    exe = bound()
    exe.forward()
    other = exe.reshape(data=(5, 3, 6, 6), softmax_label=(5,), allow_up_sizing=True, partial_shaping=True)
    other.arg_dict["data"][:2] = exe.arg_dict["data"]
    write_whole(exe)  # shared with the other
    np.testing.assert_allclose(
        other.forward()[0].asnumpy()[:2], exe.forward()[0].asnumpy(), rtol=1e-5, atol=1e-6
    )


def in_batches_of(size: int, exe: Any) -> Any:
    return exe.reshape(partial_shaping=True, allow_up_sizing=True, data=(size, *SHAPE[1:]))


def kept_by(exe: Any) -> Any:
    return exe.runner.prepared._values.values


@uses_private_names
def test_executors_for_other_shapes_have_what_lies_alike_in_common() -> None:
    exe = bound()
    others = [in_batches_of(size, exe) for size in (1, 5)]
    for weight in (None, 2.0, -1.0):
        if weight is not None:
            exe.arg_dict["conv_weight"][:] = weight
        expected = fresh_output(exe)
        for each in (exe, *others):
            found = each.forward(data=mx.nd.ones(each.arg_dict["data"].shape))[0].asnumpy()[0]
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
        for other in others:
            pairs = list(zip(kept_by(exe), kept_by(other), strict=True))
            assert [one is two for one, two in pairs] == [have_same_layout(one, two) for one, two in pairs]
            # The bias is, for all shapes.
            assert any(one is two for one, two in pairs)


def fresh_output(exe: Any) -> np.ndarray:
    """What an executor of its own gives for ones, from the parameters as they are now."""
    fresh = NET.simple_bind(mx.cpu(), data=SHAPE)
    fresh.copy_params_from(
        {k: mx.nd.array(v.asnumpy()) for k, v in exe.arg_dict.items()},
        {k: mx.nd.array(v.asnumpy()) for k, v in exe.aux_dict.items()},
    )
    return fresh.forward(data=mx.nd.ones(SHAPE))[0].asnumpy()[0]


@uses_private_names
def test_what_is_shared_goes_with_the_last_executor() -> None:
    exe = bound()
    other = in_batches_of(1, exe)
    exe.forward()
    other.forward()
    alive = [weakref.ref(value) for value in kept_by(exe)]
    exe.forward(is_train=True)
    assert any(each() is not None for each in alive)
    other.forward(is_train=True)
    assert not any(each() is not None for each in alive)


def test_a_monitor_sees_the_network_as_it_was_written() -> None:
    exe, names = bound(), []
    exe.forward()
    exe.set_monitor_callback(lambda name, array: names.append(name))
    exe.forward()
    assert names[0] == "conv_output" and "bn_output" in names


def test_the_body_of_a_loop_keeps_nothing() -> None:
    def body(data: Any, state: Any) -> Any:
        weight = mx.sym.var("weight", shape=(3, 3, 3, 3))
        out = mx.sym.Convolution(data + state, weight, kernel=(3, 3), pad=(1, 1), num_filter=3, no_bias=True)
        out = mx.sym.BatchNorm(out, name="bn")
        return out, out

    out, _ = mx.sym.contrib.foreach(body, mx.sym.var("data"), mx.sym.var("state"))
    exe = filled(out.simple_bind(mx.cpu(), data=(4, *SHAPE), state=SHAPE))
    found = exe.forward()[0].asnumpy()
    assert exe.runner.plans.get(False, recorded=False).preparation is None
    exe.set_monitor_callback(lambda name, array: None)
    np.testing.assert_allclose(found, exe.forward()[0].asnumpy(), rtol=1e-5)


def test_no_gradient_is_recorded() -> None:
    exe = bound()
    assert not exe.forward()[0].tensor.requires_grad
    assert not any(value.requires_grad for value in kept_by(exe))
