"""`fit` with forward, backward and update in one call: the same as one after the other, and only where nobody looks."""

from __future__ import annotations

import gc
import itertools
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.newer_torch import follows_gradients, uses_private_names
from torch._dynamo.testing import CompileCounterWithBackend

import rebind as mx
from rebind.executor.joint_update import BoundJointStep, JointStep
from rebind.graph.passes import DEFAULT, register_backend
from rebind.module.joint_update import JointUpdate
from rebind.optimizer.base import optimizers

pytestmark = pytest.mark.usefixtures("own_backends")

S = mx.sym
QUICK = "aot_eager"


@pytest.fixture
def joined(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A word for each step that was one call, and for each update that had to follow by itself."""
    words: list[str] = []
    finish = JointUpdate.finish

    def finish_apart(update: Any, *given: Any) -> None:
        words.append("apart")
        finish(update, *given)

    monkeypatch.setattr(JointUpdate, "finish", finish_apart)
    for kind in (JointStep, BoundJointStep):
        monkeypatch.setattr(kind, "__call__", counted(kind.__call__, words))
    return words


def counted(run: Callable[..., Any], words: list[str]) -> Callable[..., Any]:
    def counted_run(*given: Any) -> Any:
        found = run(*given)
        words.append("joined")
        return found

    return counted_run


def dense() -> Any:
    # Without a bias, whose gradient before a batch norm is rounding alone.
    net = S.FullyConnected(S.var("data"), num_hidden=6, no_bias=True, name="fc1")
    net = S.Activation(S.BatchNorm(net, name="bn"), act_type="relu")  # with a gamma that stays 1
    return S.SoftmaxOutput(S.FullyConnected(net, num_hidden=3, name="fc2"), name="softmax")


def batches(count: int = 3) -> Any:
    random = np.random.default_rng(0)
    data = random.normal(size=(4 * count, 5)).astype("float32")
    return mx.io.NDArrayIter(data, random.integers(0, 3, 4 * count).astype("float32"), 4)


def module(backend: str, kind: type[mx.mod.Module] = mx.mod.Module, **given: Any) -> Any:
    made = kind(given.pop("net", dense()), backend=backend, **given)
    made.bind(batches().provide_data, batches().provide_label)
    random = np.random.default_rng(1)
    shapes = {name: array.shape for name, array in made.executors.execs[0].arg_dict.items()}
    values = {name: mx.nd.array(random.normal(size=shapes[name])) for name in made.parameters.names}
    made.set_params(values, {}, allow_missing=True)
    return made


def arrays_of(state: Any) -> list[Any]:
    if isinstance(state, (list, tuple)):
        return [array for each in state for array in arrays_of(each)]
    return [] if state is None else [state]


def seen(trained: Any) -> dict[str, Any]:
    """All that a program can see after a run."""
    exe, updater = trained.executors.execs[0], trained.policy.updater
    found = {
        **exe.arg_dict,
        **exe.aux_dict,
        **{f"gradient of {n}": each for n, each in exe.grad_dict.items()},
    }
    found |= {f"output {i}": each for i, each in enumerate(trained.get_outputs())}
    for index, state in updater.states.items():
        found |= {f"state {index} {i}": each for i, each in enumerate(arrays_of(state))}
    numbers = {name: array.asnumpy() for name, array in found.items() if array is not None}
    optimizer = updater.optimizer
    counts = {**optimizer._index_update_count, "all": optimizer.num_update, "lr": optimizer.learning_rate}
    return {**numbers, **{f"count {name}": np.array(count) for name, count in counts.items()}}


def equal(found: dict[str, Any], wanted: dict[str, Any], **tolerance: float) -> None:
    assert found.keys() == wanted.keys()
    for name, value in found.items():
        np.testing.assert_allclose(
            value, wanted[name], **{"rtol": 1e-4, "atol": 1e-5, **tolerance}, err_msg=name
        )


def fit(trained: Any, **given: Any) -> Any:
    settings = {"num_epoch": 2, "optimizer_params": {"learning_rate": 0.1, "momentum": 0.9}, **given}
    history = trained.fit(batches(), **settings)
    return {**seen(trained), "accuracy": np.array(history["train"]["accuracy"])}


def schedule() -> Any:
    return mx.lr_scheduler.FactorScheduler(step=2, factor=0.5)


SETTINGS: dict[str, dict[str, Any]] = {
    "sgd": {"optimizer": "sgd", "optimizer_params": {"learning_rate": 0.1}},
    "momentum, decay, schedule": {
        "optimizer": "sgd",
        "optimizer_params": lambda: {"momentum": 0.9, "wd": 0.1, "lr_scheduler": schedule()},
    },
    "clipped": {"optimizer": "nag", "optimizer_params": {"momentum": 0.9, "clip_gradient": 0.01}},
    "clipped together": {"optimizer": "sgd", "optimizer_params": {"clip_global_norm": 0.1}},
    "adam": {"optimizer": "adam", "optimizer_params": {"learning_rate": 0.01}},
    "nadam": {"optimizer": "nadam", "optimizer_params": {"learning_rate": 0.01}},
    "lamb": {"optimizer": "lamb", "optimizer_params": {"learning_rate": 0.01}},
}


@uses_private_names
@pytest.mark.parametrize("name", SETTINGS)
def test_a_run_is_that_of_the_default_mode(name: str, joined: list[str]) -> None:
    assert_as_by_default(QUICK, name)
    assert joined == ["joined"] * 6


def assert_as_by_default(compiler: str, name: str) -> None:
    results = []
    for backend in ("default", compiler):
        given = dict(SETTINGS[name])
        params = given["optimizer_params"]
        given["optimizer_params"] = params() if callable(params) else params
        results.append(fit(module(backend), **given))
    equal(*reversed(results))


@uses_private_names
def test_another_run_goes_on_from_the_same_states(tmp_path: Path, joined: list[str]) -> None:
    results = []
    for backend in ("default", QUICK):
        trained = module(backend)
        fit(trained)
        trained.save_checkpoint(str(tmp_path / backend), 2, save_optimizer_states=True)
        resumed = mx.mod.Module.load(str(tmp_path / backend), 2, load_optimizer_states=True, backend=backend)
        results.append(fit(resumed, begin_epoch=2, num_epoch=4))
    assert len(joined) == 12
    equal(*reversed(results))


def test_a_run_that_was_killed_resumes(tmp_path: Path, joined: list[str]) -> None:
    class Killed(Exception):
        pass

    def kill(record: Any) -> None:
        if (record.epoch, record.nbatch) == (1, 1):
            raise Killed

    given = {"checkpoint": mx.checkpoint.Checkpoint(str(tmp_path / "run"), every_n_batches=1)}
    with pytest.raises(Killed):
        fit(module(QUICK), batch_end_callback=kill, **given)
    found = fit(module(QUICK), **given)
    equal(found, fit(module("default")))


@uses_private_names
def test_arrays_stay_and_nothing_is_compiled_anew_for_other_rates(joined: list[str]) -> None:
    counter = CompileCounterWithBackend(QUICK)
    register_backend("counted", DEFAULT, compiler=counter)
    trained = module("counted")
    weights = dict(trained.executors.execs[0].arg_dict)
    memory = {name: array.tensor.data_ptr() for name, array in weights.items()}
    compiled = []

    def note(record: Any) -> None:
        compiled.append(counter.frame_count)

    params = {"lr_scheduler": schedule(), "wd": 0.1}
    fit(trained, optimizer="adam", optimizer_params=params, batch_end_callback=note)
    trained.optimizers()[0].set_wd_mult({"fc1_weight": 0.5})
    trained.fit(batches(), num_epoch=2, batch_end_callback=note)
    assert len(joined) == 12 and len(set(compiled)) == 1
    for name, array in trained.executors.execs[0].arg_dict.items():
        assert array is weights[name] and array.tensor.data_ptr() == memory[name]


@follows_gradients
def test_changed_settings_count(joined: list[str]) -> None:
    results = []
    for backend in ("default", QUICK):
        trained = module(backend)
        fit(trained)
        trained.optimizers()[0].momentum = 0.5
        trained.optimizers()[0].clip_gradient = 0.1
        trained.fit(batches(), num_epoch=2)
        results.append(seen(trained))
    assert joined == ["joined"] * 12
    equal(*reversed(results))


@uses_private_names
def test_steps_of_the_first_sizes_go_without_dynamo(
    joined: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_dynamo(*args: Any, **kwargs: Any) -> Callable[..., Any]:
        return lambda *args: pytest.fail("Dynamo was called")

    monkeypatch.setattr("rebind.executor.joint_update.compiled", no_dynamo)
    fit(module(QUICK))
    assert joined == ["joined"] * 6


def test_what_inference_keeps_of_weights_is_made_anew(joined: list[str]) -> None:
    results = []
    for backend in ("default", QUICK):
        trained = module(backend)
        trained.forward(next(batches()), is_train=False)
        fit(trained)
        trained.forward(next(batches()), is_train=False)
        results.append({"output": trained.get_outputs()[0].asnumpy()})
    assert joined
    equal(*reversed(results))


@uses_private_names
def test_an_output_that_is_a_weight_is_that_of_before_the_update(joined: list[str]) -> None:
    weight = S.var("fc_weight", shape=(3, 5))
    loss = S.SoftmaxOutput(
        S.FullyConnected(S.var("data"), weight, num_hidden=3, no_bias=True, name="fc"), name="softmax"
    )
    net = S.Group([loss, S.BlockGrad(weight), S.BlockGrad(S.reshape(weight, shape=(15,)))])
    trained = module(QUICK, net=net)
    before = trained.get_params()[0]["fc_weight"].asnumpy()
    metric = mx.metric.Accuracy(output_names=["softmax_output"])
    trained.fit(batches(1), num_epoch=1, eval_metric=metric, optimizer_params={"learning_rate": 1.0})
    assert joined == ["joined"]
    np.testing.assert_array_equal(trained.get_outputs()[1].asnumpy(), before)
    np.testing.assert_array_equal(trained.get_outputs()[2].asnumpy(), before.ravel())
    assert not np.allclose(trained.get_params()[0]["fc_weight"].asnumpy(), before, atol=1e-3)


# Where they stay apart.


class Counted(mx.mod.Module):
    updates = 0

    def update(self) -> None:
        self.updates += 1
        super().update()


class Old(mx.optimizer.SGD):
    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        super().update(index, weight, grad, state)


class Own(mx.optimizer.SGD):
    def update_group(self, group: Any) -> None:
        super().update_group(group)


def patched(backend: str) -> Any:
    found = module(backend)
    found.update = found.update
    return found


def scaled(backend: str) -> Any:
    found = module(backend)
    found.use_loss_scaler(mx.contrib.amp.LossScaler(init_scale=8))
    found.bind(batches().provide_data, batches().provide_label, force_rebind=True)
    return found


def monitor() -> Any:
    return mx.monitor.Monitor(interval=100)


APART: dict[str, tuple[Callable[[str], Any], Callable[[], dict[str, Any]]]] = {
    "monitor": (module, lambda: {"monitor": monitor()}),
    "sums of batches": (module, lambda: {"accumulate": 3}),
    "two devices": (lambda backend: module(backend, context=[mx.cpu(0), mx.cpu(1)]), dict),
    "a step of the user's": (lambda backend: module(backend, Counted), dict),
    "a step that was replaced": (patched, dict),
    "an old optimizer": (module, lambda: {"optimizer": Old(rescale_grad=0.25), "optimizer_params": ()}),
    "a user's rule": (module, lambda: {"optimizer": Own(rescale_grad=0.25), "optimizer_params": ()}),
    "sums that are no state": (module, lambda: {"optimizer": "lbsgd"}),
    "scaled losses": (scaled, dict),
    "a store": (module, lambda: {"kvstore": mx.kv.create("local")}),
}


@pytest.mark.parametrize("name", APART)
def test_they_stay_apart_where_somebody_looks_or_acts_between(name: str, joined: list[str]) -> None:
    make, settings = APART[name]
    results = []
    for backend in ("default", QUICK):
        trained = make(backend)
        results.append(fit(trained, **settings()))
    assert not joined
    equal(*reversed(results))


def read_values(targets: Any, values: Any) -> None:
    """Do what no compiler follows: go by numbers that are not there yet."""
    assert all(bool(torch.isfinite(each).all()) for each in targets[0])


def test_what_the_compiler_cannot_take_is_done_apart_and_counted_once(
    joined: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rebind.executor.joint_update._write", read_values)
    with pytest.warns(
        UserWarning, match="'softmax_output' is compiled, but not forward, backward and update as one: "
    ):
        found = fit(module(QUICK))
    assert joined == ["apart"]  # and is not tried again
    equal(found, fit(module("default")))


def failing_after(runs: int) -> Callable[..., Callable[..., Any]]:
    """Return a compiler whose code fails after so many runs, when it has written into its inputs, if it does."""

    def compiler(graph: torch.fx.GraphModule, inputs: Sequence[torch.Tensor]) -> Callable[..., Any]:
        run = torch._dynamo.lookup_backend(QUICK)(graph, inputs)
        done = itertools.count()

        def fail(*tensors: torch.Tensor) -> Any:
            versions = [each._version for each in tensors]
            results = run(*tensors)
            if versions != [each._version for each in tensors] and next(done) >= runs:
                raise AssertionError("wrong number of dimensions")
            return results

        return fail

    return compiler


@uses_private_names
def test_a_step_that_fails_in_its_first_run_changes_nothing_and_is_done_apart(joined: list[str]) -> None:
    register_backend("failing", DEFAULT, compiler=failing_after(0))
    with pytest.warns(UserWarning, match="update as one: AssertionError: wrong number of dimensions$"):
        found = fit(module("failing"))
    assert joined == ["apart"]
    equal(found, fit(module("default")))


@uses_private_names
def test_what_fails_in_a_later_run_is_an_error() -> None:
    register_backend("failing", DEFAULT, compiler=failing_after(2))
    trained = module("failing")
    with pytest.raises(AssertionError, match="wrong number of dimensions"):
        fit(trained)


@uses_private_names
def test_buckets_are_joined_too(joined: list[str]) -> None:
    def network(length: int) -> tuple[Any, list[str], list[str]]:
        words = S.Embedding(S.var("data"), input_dim=9, output_dim=3, name="words")
        net = S.FullyConnected(S.sum(words, axis=1), num_hidden=3, name=f"fc{length % 2}")
        return S.SoftmaxOutput(net, name="softmax"), ["data"], ["softmax_label"]

    random = np.random.default_rng(0)
    made = [
        mx.io.DataBatch(
            [mx.nd.array(random.integers(0, 9, (4, length)))],
            [mx.nd.array(random.integers(0, 3, (4,)))],
            bucket_key=length,
            provide_data=[("data", (4, length))],
            provide_label=[("softmax_label", (4,))],
        )
        for length in (5, 3, 5, 3)
    ]
    trained = [mx.mod.BucketingModule(network, 5, backend=backend) for backend in ("default", QUICK)]
    for each in trained:
        each.bind([("data", (4, 5))], [("softmax_label", (4,))])
        each.init_params(mx.init.One())
        each.init_optimizer(optimizer="adam")
        for batch in made:
            if not each.forward_backward_update(batch):
                each.forward_backward(batch)
                each.update()
    assert joined == ["joined"] * 4
    states = [{name: array.asnumpy() for name, array in each.get_params()[0].items()} for each in trained]
    equal(*reversed(states))


def test_memory_is_free_when_a_module_is_not_bound_any_more(joined: list[str]) -> None:
    trained = module(QUICK)
    fit(trained)
    weight = weakref.ref(trained.executors.execs[0].arg_dict["fc1_weight"])
    trained.binded = False
    gc.collect()
    assert joined and weight() is None


needs_inductor = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # it imports what torch deprecates


@pytest.mark.slow
@needs_inductor
@pytest.mark.parametrize("name", ["momentum, decay, schedule", "adam"])
def test_inductor_computes_what_the_default_mode_does(name: str, joined: list[str]) -> None:
    assert_as_by_default("inductor", name)
    assert joined == ["joined"] * 6


def recurrent(cell: Any) -> Any:
    data = S.expand_dims(S.transpose(S.var("data")), axis=2)  # 5 steps of a number
    out, _ = cell.unroll(5, data, layout="TNC", merge_outputs=True)
    out = S.transpose(out, axes=(1, 0, 2))
    return S.SoftmaxOutput(S.FullyConnected(out, num_hidden=3, name="fc"), name="softmax")


CELLS: dict[str, Callable[[], Any]] = {
    **{mode: lambda mode=mode: mx.rnn.FusedRNNCell(4, mode=mode) for mode in ("lstm", "gru", "rnn_tanh")},
    "lstm, both ways": lambda: mx.rnn.FusedRNNCell(4, num_layers=2, bidirectional=True),
    "lstm, unrolled": lambda: mx.rnn.LSTMCell(4),
}


@pytest.mark.slow
@needs_inductor
@pytest.mark.parametrize("name", CELLS)
def test_inductor_trains_recurrent_layers(name: str, joined: list[str]) -> None:
    net = recurrent(CELLS[name]())
    equal(*(fit(module(backend, net=net)) for backend in ("inductor", "default")))
    assert joined == ["joined"] * 6


@pytest.mark.parametrize(
    "name", sorted(n for n in optimizers if optimizers[n].__module__.startswith("rebind."))
)
def test_each_optimizer_trains(name: str, joined: list[str]) -> None:
    given = {"optimizer": name, "optimizer_params": {"learning_rate": 0.01}, "num_epoch": 1}
    wanted, found = (fit(module(backend), **given) for backend in ("default", QUICK))
    if name == "sgld":  # it draws other numbers
        found, wanted = ({k: v for k, v in each.items() if k.startswith("count")} for each in (found, wanted))
    equal(found, wanted)
